//! A table's schema: its columns and indexes, and the builder that applications write them with.
//!
//! A schema is plain data that anybody may put together; what `build` or `validate` accepts is a
//! schema that layouts and key plans can be compiled from. Catalogues keep it as bytes, made and
//! read in `schema_bytes`.

use crate::definition::set_schema::SetSchema;
use crate::error::SchemaError;
use crate::values::column_type::{Column, ColumnType};
use crate::values::default_value::DefaultValue;

/// The schema of a table.
///
/// # Examples
/// ```
/// use remanent_schema::{ColumnType, KeyPart, TableSchema};
/// let schema = TableSchema::new("Measure")
///     .column("sensor_id", ColumnType::U32)
///     .column("timestamp", ColumnType::U32)
///     .column("value", ColumnType::F64)
///     .default(0.0)
///     .nullable_column("note", ColumnType::String { max: Some(100) })
///     .primary_key(["sensor_id", "timestamp"])
///     .ordered_index("newest", [KeyPart::desc("timestamp")])
///     .build()?;
/// assert_eq!(schema.indexes[0].name, "primary");
/// # Ok::<(), remanent_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// The table's name.
    pub name: String,
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// The indexes, in order; an index is also known by its place here.
    pub indexes: Vec<IndexSchema>,
    /// The set whose relation the table is: each row says who is a member of whom.
    pub set: Option<SetSchema>,
    /// Where its rows are kept.
    pub storage: TableStorage,
}

/// Where the rows of a table are kept.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = TableSchema::new("T").column("a", ColumnType::I64).storage(TableStorage::Paged);
/// assert_eq!(schema.storage, TableStorage::Paged);
/// assert_eq!(TableStorage::default(), TableStorage::Memory);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum TableStorage {
    /// In memory, all of them.
    #[default]
    Memory = 0,
    /// Columns of frozen segments that stand in a file may leave memory; they are read again when
    /// they are needed. Rows that are not frozen, indexes and the columns of their keys stay.
    Paged = 1,
}

/// An index of a table.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let by_name = IndexSchema::new("by_name", ["name", "id"]).unique();
/// assert!(by_name.unique && !by_name.primary);
/// assert_eq!(by_name.kind, IndexKind::Ordered);
/// assert_eq!(by_name.parts[0].column, "name");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The name, unique within the table.
    pub name: String,
    /// The parts of a key, the most significant first.
    pub parts: Vec<KeyPart>,
    /// Whether two rows may not have the same key.
    pub unique: bool,
    /// How it is searched.
    pub kind: IndexKind,
    /// Whether it is the table's primary key.
    pub primary: bool,
}

/// How an index is searched.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = TableSchema::new("T")
///     .column("a", ColumnType::U32)
///     .primary_key(["a"])
///     .hash_index("quick", ["a"]);
/// let kinds: Vec<IndexKind> = schema.indexes.iter().map(|index| index.kind).collect();
/// assert_eq!(kinds, [IndexKind::Ordered, IndexKind::Hash]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// By key, prefix and range, in order.
    Ordered,
    /// By whole key alone.
    Hash,
}

/// A part of a key.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// let schema = TableSchema::new("News")
///     .column("section", ColumnType::U8)
///     .column("time", ColumnType::Timestamp)
///     .ordered_index("newest", [KeyPart::asc("section"), KeyPart::desc("time")])
///     .build()?;
/// assert!(schema.indexes[0].parts[1].descending);
/// # Ok::<(), remanent_schema::SchemaError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The column, or for a struct's field a dotted path such as `thing.a`.
    pub column: String,
    /// Whether greater values come first.
    pub descending: bool,
}

impl TableSchema {
    /// A schema without columns.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("City");
    /// assert_eq!(schema.name, "City");
    /// // A table has at least one column.
    /// assert_eq!(schema.build(), Err(SchemaError::NoColumns));
    /// ```
    pub fn new(name: impl Into<String>) -> TableSchema {
        TableSchema {
            name: name.into(),
            columns: Vec::new(),
            indexes: Vec::new(),
            set: None,
            storage: TableStorage::Memory,
        }
    }

    /// Says where the rows are kept.
    ///
    /// # Examples
    /// See [`TableStorage`].
    pub fn storage(mut self, storage: TableStorage) -> TableSchema {
        self.storage = storage;
        self
    }

    /// Adds a column that is never NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("City")
    ///     .column("name", ColumnType::STRING)
    ///     .column("people", ColumnType::U32);
    /// assert_eq!(schema.columns[1], Column::new("people", ColumnType::U32));
    /// let twice = schema.column("name", ColumnType::Bool).build();
    /// assert_eq!(twice, Err(SchemaError::DuplicateName { name: "name".into() }));
    /// ```
    pub fn column(self, name: impl Into<String>, column_type: ColumnType) -> TableSchema {
        self.with(Column::new(name, column_type))
    }

    /// Adds a column that may be NULL.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("City")
    ///     .column("name", ColumnType::STRING)
    ///     .nullable_column("mayor", ColumnType::STRING);
    /// assert!(!schema.columns[0].nullable && schema.columns[1].nullable);
    /// // What may be NULL is no part of a primary key.
    /// let refused = schema.primary_key(["mayor"]).build();
    /// assert_eq!(refused, Err(SchemaError::NullablePrimaryKey { column: "mayor".into() }));
    /// ```
    pub fn nullable_column(self, name: impl Into<String>, column_type: ColumnType) -> TableSchema {
        self.with(Column::new(name, column_type).nullable())
    }

    /// Adds a column.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let position = Column::new("position", ColumnType::Struct(vec![
    ///     Column::new("x", ColumnType::F64),
    ///     Column::new("y", ColumnType::F64),
    /// ]));
    /// let schema = TableSchema::new("City").with(position.nullable()).build()?;
    /// assert_eq!(RowLayout::new(&schema).leaf_by_path("position.y"), Some(2));
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn with(mut self, column: Column) -> TableSchema {
        self.columns.push(column);
        self
    }

    /// Gives the last column a default value.
    ///
    /// # Panics
    /// If there is no column yet.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Part")
    ///     .column("number", ColumnType::U32)
    ///     .column("stock", ColumnType::I32)
    ///     .default(5);
    /// let layout = RowLayout::new(&schema.build()?);
    /// let mut row = [0; 8];
    /// layout.encode(&[Some(Value::U32(1)), None], &mut row)?;
    /// assert_eq!(layout.get::<i32>(&row, 1), Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn default(mut self, default: impl Into<DefaultValue>) -> TableSchema {
        let column = self.columns.last_mut().expect("a default comes after its column");
        column.default = Some(default.into());
        self
    }

    /// Adds the primary key: an ordered, unique index named `primary`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Measure")
    ///     .column("sensor", ColumnType::U32)
    ///     .column("time", ColumnType::Timestamp)
    ///     .primary_key(["sensor", "time"])
    ///     .build()?;
    /// let primary = schema.primary_index().expect("there is one");
    /// assert_eq!((primary.name.as_str(), primary.unique), ("primary", true));
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn primary_key(self, parts: impl IntoIterator<Item = impl Into<KeyPart>>) -> TableSchema {
        let index = IndexSchema::new("primary", parts).unique();
        self.index(IndexSchema { primary: true, ..index })
    }

    /// Adds an ordered index.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Measure")
    ///     .column("time", ColumnType::Timestamp)
    ///     .ordered_index("oldest", ["time"])
    ///     .ordered_index("newest", [KeyPart::desc("time")])
    ///     .build()?;
    /// assert!(schema.indexes.iter().all(|index| !index.unique));
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn ordered_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts))
    }

    /// Adds an ordered index in which no key is twice.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Person")
    ///     .column("email", ColumnType::STRING)
    ///     .unique_index("email", ["email"])
    ///     .build()?;
    /// let index = &schema.indexes[0];
    /// assert!(index.unique && !index.primary && index.kind == IndexKind::Ordered);
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn unique_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).unique())
    }

    /// Adds a hash index.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Order")
    ///     .column("customer", ColumnType::U64)
    ///     .hash_index("customer", ["customer"])
    ///     .build()?;
    /// let index = &schema.indexes[0];
    /// assert!(!index.unique && index.kind == IndexKind::Hash);
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn hash_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).hash())
    }

    /// Adds a hash index in which no key is twice.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("Session")
    ///     .column("token", ColumnType::Binary(16))
    ///     .unique_hash_index("token", ["token"])
    ///     .build()?;
    /// let index = &schema.indexes[0];
    /// assert!(index.unique && index.kind == IndexKind::Hash);
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn unique_hash_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).hash().unique())
    }

    /// Adds any index.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("City").column("name", ColumnType::STRING);
    /// let schema = schema.index(IndexSchema::new("name", ["name"]).hash());
    /// assert!(schema.validate().is_ok());
    /// let schema = schema.index(IndexSchema::new("mayor", ["mayor"]));
    /// assert!(matches!(schema.validate(), Err(SchemaError::UnknownKeyColumn { .. })));
    /// ```
    pub fn index(mut self, index: IndexSchema) -> TableSchema {
        self.indexes.push(index);
        self
    }

    /// The schema, if it is one that a table can have.
    ///
    /// # Errors
    /// As [`validate`](TableSchema::validate).
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let price = ColumnType::Decimal { precision: 12, scale: 2 };
    /// let schema = TableSchema::new("Part").column("price", price).build()?;
    /// assert_eq!(RowLayout::new(&schema).fixed_size(), 8);
    /// let wrong = ColumnType::Decimal { precision: 2, scale: 12 };
    /// let refused = TableSchema::new("Part").column("price", wrong).build();
    /// assert!(matches!(refused, Err(SchemaError::BadType { .. })));
    /// # Ok::<(), remanent_schema::SchemaError>(())
    /// ```
    pub fn build(self) -> Result<TableSchema, SchemaError> {
        self.validate()?;
        Ok(self)
    }

    /// Whether a table of this schema will do where one of `expected` is: the same columns,
    /// whatever the limits of text and blobs, and the same indexes first.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = |max| {
    ///     TableSchema::new("T").column("a", ColumnType::String { max }).ordered_index("a", ["a"])
    /// };
    /// assert!(schema(None).serves(&schema(Some(20))));
    /// assert!(!schema(None).serves(&schema(None).column("b", ColumnType::Bool)));
    /// ```
    pub fn serves(&self, expected: &TableSchema) -> bool {
        let same = |(column, known): (&Column, &Column)| {
            let types = match (&column.column_type, &known.column_type) {
                (ColumnType::String { .. }, ColumnType::String { .. })
                | (ColumnType::Blob { .. }, ColumnType::Blob { .. }) => true,
                (column, known) => column == known,
            };
            column.name == known.name && column.nullable == known.nullable && types
        };
        let same_key = |(index, known): (&IndexSchema, &IndexSchema)| {
            (index.unique, index.kind, &index.parts) == (known.unique, known.kind, &known.parts)
        };
        self.columns.len() == expected.columns.len()
            && self.columns.iter().zip(&expected.columns).all(same)
            && self.indexes.len() >= expected.indexes.len()
            && self.indexes.iter().zip(&expected.indexes).all(same_key)
    }

    /// The primary key's index, if there is one.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T").column("a", ColumnType::U32).ordered_index("a", ["a"]);
    /// assert!(schema.primary_index().is_none());
    /// let schema = schema.primary_key(["a"]);
    /// assert_eq!(schema.primary_index().map(|index| index.name.as_str()), Some("primary"));
    /// ```
    pub fn primary_index(&self) -> Option<&IndexSchema> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// The index of this name, and its place.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # let schema = TableSchema::new("City")
    /// #     .column("id", ColumnType::U32)
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["id"])
    /// #     .ordered_index("name", ["name", "id"])
    /// #     .build()?;
    /// # let layout = RowLayout::new(&schema);
    /// let (place, index) = schema.index_by_name("name").expect("there is one");
    /// assert_eq!((place, index.parts.len()), (1, 2));
    /// assert!(schema.index_by_name("people").is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_by_name(&self, name: &str) -> Option<(usize, &IndexSchema)> {
        self.indexes.iter().enumerate().find(|(_, index)| index.name == name)
    }
}

impl IndexSchema {
    /// An ordered index that allows equal keys.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let index = IndexSchema::new("newest", [KeyPart::desc("time"), "id".into()]);
    /// assert_eq!((index.kind, index.unique), (IndexKind::Ordered, false));
    /// assert!(index.parts[0].descending && !index.parts[1].descending);
    /// ```
    pub fn new(
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> IndexSchema {
        IndexSchema {
            name: name.into(),
            parts: parts.into_iter().map(Into::into).collect(),
            unique: false,
            kind: IndexKind::Ordered,
            primary: false,
        }
    }

    /// The same index, not allowing equal keys.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let index = IndexSchema::new("email", ["email"]).unique();
    /// let schema = TableSchema::new("Person").column("email", ColumnType::STRING);
    /// assert_eq!(schema.clone().index(index), schema.unique_index("email", ["email"]));
    /// ```
    pub fn unique(mut self) -> IndexSchema {
        self.unique = true;
        self
    }

    /// The same index, hashed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let index = IndexSchema::new("customer", ["customer"]).hash();
    /// assert_eq!(index.kind, IndexKind::Hash);
    /// assert!(!index.unique);
    /// ```
    pub fn hash(mut self) -> IndexSchema {
        self.kind = IndexKind::Hash;
        self
    }
}

impl KeyPart {
    /// A part in ascending order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// assert_eq!(KeyPart::asc("thing.a"), KeyPart::from("thing.a"));
    /// assert_ne!(KeyPart::asc("time"), KeyPart::desc("time"));
    /// ```
    pub fn asc(column: impl Into<String>) -> KeyPart {
        KeyPart { column: column.into(), descending: false }
    }

    /// A part in descending order.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// let schema = TableSchema::new("T")
    ///     .column("a", ColumnType::U8)
    ///     .ordered_index("down", [KeyPart::desc("a")])
    ///     .build()?;
    /// let plan = KeyPlan::new(&RowLayout::new(&schema), &schema.indexes[0])?;
    /// let (mut one, mut two) = (KeyBuffer::new(), KeyBuffer::new());
    /// plan.encode_values(&[1.into()], &mut one)?;
    /// plan.encode_values(&[2.into()], &mut two)?;
    /// assert!(two.as_slice() < one.as_slice());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn desc(column: impl Into<String>) -> KeyPart {
        KeyPart { column: column.into(), descending: true }
    }
}

impl From<&str> for KeyPart {
    fn from(column: &str) -> KeyPart {
        KeyPart::asc(column)
    }
}

impl From<&&str> for KeyPart {
    fn from(column: &&str) -> KeyPart {
        KeyPart::asc(*column)
    }
}

impl From<String> for KeyPart {
    fn from(column: String) -> KeyPart {
        KeyPart::asc(column)
    }
}

impl From<&KeyPart> for KeyPart {
    fn from(part: &KeyPart) -> KeyPart {
        part.clone()
    }
}

#[cfg(test)]
mod tests;
