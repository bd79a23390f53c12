//! A row as a reader holds it: a reference into the database.
//!
//! It borrows from the transaction that read it and copies nothing. Which version it refers to was
//! decided when it was found; versions are immutable, so it reads the same for as long as it lives.

use remanent_schema::{RowLayout, Scalar, Value};

use super::version::{Version, bytes_at};
use crate::table::handle::ColumnHandle;
use crate::table::table::TableAt;

/// The id of a row, for as long as the row lives. Ids of deleted rows are used again.
///
/// # Examples
/// ```
/// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
/// # let db = Database::open(Options::new())?;
/// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// # let a = table.column("a")?;
/// let insert = || db.write(|tx| tx.insert_values(&table, &[Some(1.into())]));
/// let (first, second) = (insert()?, insert()?);
/// assert_ne!(first, second);
/// let ids: Vec<_> = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect()))?;
/// assert!(ids.contains(&first) && ids.contains(&second));
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowId(pub(crate) u32);

/// A row that a transaction sees; valid until the transaction ends.
///
/// Reading copies nothing: strings and blobs are references into the database.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("City")
///     .column("name", ColumnType::String { max: None })
///     .column("people", ColumnType::U32)
///     .primary_key(["name"]);
/// let city = db.create_table(schema)?;
/// let people = city.column("people")?;
/// let id = db.write(|tx| tx.insert_values(&city, &[Some("Ulm".into()), Some(126_000.into())]))?;
/// db.read(|tx| {
///     let row = tx.row(&city, id)?.expect("it was committed");
///     assert_eq!(row.get::<u32>(people), Some(126_000));
///     assert_eq!(row.value(city.column("name")?), Value::String("Ulm"));
///     Ok(())
/// })?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Row<'t> {
    layout: &'t RowLayout,
    bytes: &'t [u8],
    id: RowId,
}

impl RowId {
    /// The id as a number.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert_eq!(remanent_engine::RowId::from_number(id.number()), Some(id));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The id with this number, if there can be one.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// # let id = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// # let kept = id.number();
    /// use remanent_engine::RowId;
    /// // `kept` is the number of a row's id.
    /// let id = RowId::from_number(kept).expect("it was an id");
    /// let tx = db.begin_read()?;
    /// assert_eq!(tx.row(&table, id)?.and_then(|row| row.get::<i32>(a)), Some(7));
    /// assert_eq!(RowId::from_number(u64::MAX), None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn from_number(number: u64) -> Option<Self> {
        u32::try_from(number).ok().map(Self)
    }
}

impl<'t> Row<'t> {
    /// The row in the version at `at`.
    #[inline]
    pub(crate) fn at(table: TableAt<'t>, at: u64) -> Self {
        Self {
            layout: &table.core.layout,
            bytes: bytes_at(table.memory, at),
            id: RowId(Version::at(table.memory, at).row()),
        }
    }

    /// The row of these bytes: a draft's, or a version's whose row is known.
    #[inline(always)]
    pub(in crate::table) fn of_bytes(layout: &'t RowLayout, bytes: &'t [u8], id: RowId) -> Self {
        Self { layout, bytes, id }
    }

    #[inline]
    pub(super) fn layout(&self) -> &'t RowLayout {
        self.layout
    }

    /// The row's id.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_write()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// tx.delete(&cities, ulm.id())?;
    /// assert!(tx.row(&cities, ulm.id())?.is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn id(&self) -> RowId {
        self.id
    }

    /// The row's bytes, as [`RowLayout`] lays them out.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let id = db.write(|tx| tx.insert_values(&table, &[Some(0x0102.into())]))?;
    /// let tx = db.begin_read()?;
    /// let row = tx.row(&table, id)?.expect("it was committed");
    /// assert_eq!(row.bytes(), [2, 1, 0, 0]);
    /// let layout = RowLayout::new(table.schema());
    /// assert_eq!(layout.get::<i32>(row.bytes(), 0), Some(0x0102));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// A fixed-size column's value; `None` if it is null or of another type.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// assert_eq!(ulm.get::<u32>(people), Some(126_000));
    /// // The column is U32, not I64.
    /// assert_eq!(ulm.get::<i64>(people), None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn get<T: Scalar>(&self, column: ColumnHandle) -> Option<T> {
        self.layout.get(self.bytes, column.leaf())
    }

    /// A string's value; `None` if it is null or of another type.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// assert_eq!(ulm.str(name), Some("Ulm"));
    /// assert_eq!(ulm.str(people), None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn str(&self, column: ColumnHandle) -> Option<&'t str> {
        self.layout.get_str(self.bytes, column.leaf())
    }

    /// The bytes of a blob, string or binary column; `None` if it is null.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("Image").nullable_column("data", ColumnType::BLOB);
    /// let images = db.create_table(schema)?;
    /// let data = images.column("data")?;
    /// let tx = db.begin_write()?;
    /// let id = tx.insert_values(&images, &[Some(Value::Bytes(&[0xff, 0xd8]))])?;
    /// assert_eq!(tx.row(&images, id)?.and_then(|row| row.blob(data)), Some(&[0xff, 0xd8][..]));
    /// let id = tx.insert_values(&images, &[None])?;
    /// assert_eq!(tx.row(&images, id)?.and_then(|row| row.blob(data)), None);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    #[inline]
    pub fn blob(&self, column: ColumnHandle) -> Option<&'t [u8]> {
        self.layout.get_bytes(self.bytes, column.leaf())
    }

    /// Whether a column is null.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// let tx = db.begin_write()?;
    /// let id = tx.insert_values(&cities, &[Some("Ulm".into()), Some(Value::Null)])?;
    /// let row = tx.row(&cities, id)?.expect("it was inserted");
    /// assert!(row.is_null(people));
    /// assert!(!row.is_null(name));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn is_null(&self, column: ColumnHandle) -> bool {
        self.layout.is_null(self.bytes, column.leaf())
    }

    /// Any column's value.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// assert_eq!(ulm.value(name), Value::String("Ulm"));
    /// assert_eq!(ulm.value(people).as_integer(), Some(126_000));
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn value(&self, column: ColumnHandle) -> Value<'t> {
        self.layout.read_value(self.bytes, column.leaf())
    }

    /// All columns' values, structs flattened, in the order of the layout's leaves.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Find, Options, Row, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let schema = TableSchema::new("City")
    /// #     .column("name", ColumnType::STRING)
    /// #     .nullable_column("people", ColumnType::U32)
    /// #     .primary_key(["name"]);
    /// # let cities = db.create_table(schema)?;
    /// # let (name, people) = (cities.column("name")?, cities.column("people")?);
    /// # let primary = cities.index("primary")?;
    /// # db.write(|tx| {
    /// #     for (name, people) in [("Aalen", 68_000), ("Bonn", 336_000), ("Ulm", 126_000)] {
    /// #         tx.insert_values(&cities, &[Some(name.into()), Some(Value::U32(people))])?;
    /// #     }
    /// #     Ok(())
    /// # })?;
    /// let tx = db.begin_read()?;
    /// let ulm = tx.find(&cities, primary, &["Ulm".into()])?.expect("it is there");
    /// let line: Vec<String> = ulm.values().map(|value| value.to_string()).collect();
    /// assert_eq!(line.join(";"), "Ulm;126000");
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn values(&self) -> impl Iterator<Item = Value<'t>> {
        let (layout, bytes) = (self.layout, self.bytes);
        (0..layout.leaves().len()).map(move |leaf| layout.read_value(bytes, leaf))
    }
}

impl std::fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut map = f.debug_map();
        for (leaf, value) in self.layout.leaves().iter().zip(self.values()) {
            map.entry(&leaf.path, &value);
        }
        map.finish()
    }
}
