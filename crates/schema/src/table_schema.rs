//! A table's schema: its columns and indexes, and the builder that applications write them with.
//!
//! A schema is plain data that anybody may put together; what `build` or `validate` accepts is a
//! schema that layouts and key plans can be compiled from. Catalogues keep it as bytes, made and
//! read in `schema_bytes`.

use crate::column_type::{Column, ColumnType};
use crate::default_value::DefaultValue;
use crate::error::SchemaError;
use crate::validate::validate;

/// What a table is.
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
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// The name, unique within the table.
    pub name: String,
    /// What keys are made of, the most significant part first.
    pub parts: Vec<KeyPart>,
    /// Whether two rows may not have the same key.
    pub unique: bool,
    /// How it is searched.
    pub kind: IndexKind,
    /// Whether it is the table's primary key.
    pub primary: bool,
}

/// How an index is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// By key, prefix and range, in order.
    Ordered,
    /// By whole key alone.
    Hash,
}

/// A part of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The column, or for a struct's field a dotted path such as `thing.a`.
    pub column: String,
    /// Whether greater values come first.
    pub descending: bool,
}

impl TableSchema {
    /// A schema without columns.
    pub fn new(name: impl Into<String>) -> TableSchema {
        TableSchema { name: name.into(), columns: Vec::new(), indexes: Vec::new() }
    }

    /// Adds a column that is never NULL.
    pub fn column(self, name: impl Into<String>, column_type: ColumnType) -> TableSchema {
        self.with(Column::new(name, column_type))
    }

    /// Adds a column that may be NULL.
    pub fn nullable_column(self, name: impl Into<String>, column_type: ColumnType) -> TableSchema {
        self.with(Column::new(name, column_type).nullable())
    }

    /// Adds a column.
    pub fn with(mut self, column: Column) -> TableSchema {
        self.columns.push(column);
        self
    }

    /// Gives the last column a default value.
    ///
    /// # Panics
    /// If there is no column yet.
    pub fn default(mut self, default: impl Into<DefaultValue>) -> TableSchema {
        let column = self.columns.last_mut().expect("a default comes after its column");
        column.default = Some(default.into());
        self
    }

    /// Adds the primary key: an ordered, unique index named `primary`.
    pub fn primary_key(self, parts: impl IntoIterator<Item = impl Into<KeyPart>>) -> TableSchema {
        let index = IndexSchema::new("primary", parts).unique();
        self.index(IndexSchema { primary: true, ..index })
    }

    /// Adds an ordered index.
    pub fn ordered_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts))
    }

    /// Adds an ordered index in which no key is twice.
    pub fn unique_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).unique())
    }

    /// Adds a hash index.
    pub fn hash_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).hash())
    }

    /// Adds a hash index in which no key is twice.
    pub fn unique_hash_index(
        self,
        name: impl Into<String>,
        parts: impl IntoIterator<Item = impl Into<KeyPart>>,
    ) -> TableSchema {
        self.index(IndexSchema::new(name, parts).hash().unique())
    }

    /// Adds any index.
    pub fn index(mut self, index: IndexSchema) -> TableSchema {
        self.indexes.push(index);
        self
    }

    /// The schema, if it is one that a table can have.
    ///
    /// # Errors
    /// As [`validate`](TableSchema::validate).
    pub fn build(self) -> Result<TableSchema, SchemaError> {
        self.validate()?;
        Ok(self)
    }

    /// Checks names, types, defaults and keys.
    ///
    /// # Errors
    /// The first fault found.
    pub fn validate(&self) -> Result<(), SchemaError> {
        validate(self)
    }

    /// The primary key's index, if there is one.
    pub fn primary_index(&self) -> Option<&IndexSchema> {
        self.indexes.iter().find(|index| index.primary)
    }

    /// The index of this name, and its place.
    pub fn index_by_name(&self, name: &str) -> Option<(usize, &IndexSchema)> {
        self.indexes.iter().enumerate().find(|(_, index)| index.name == name)
    }
}

impl IndexSchema {
    /// An ordered index that allows equal keys.
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
    pub fn unique(mut self) -> IndexSchema {
        self.unique = true;
        self
    }

    /// The same index, hashed.
    pub fn hash(mut self) -> IndexSchema {
        self.kind = IndexKind::Hash;
        self
    }
}

impl KeyPart {
    /// A part in ascending order.
    pub fn asc(column: impl Into<String>) -> KeyPart {
        KeyPart { column: column.into(), descending: false }
    }

    /// A part in descending order.
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
