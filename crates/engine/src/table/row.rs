//! A row as a reader holds it: a reference into the database.
//!
//! It borrows from the transaction that read it and copies nothing. Which version it refers to was
//! decided when it was found; versions are immutable, so it reads the same for as long as it lives.

use remanent_schema::{RowLayout, Scalar, Value};

use super::handle::ColumnHandle;
use super::table::TableAt;
use super::version::{Version, bytes_at};

/// The id of a row, for as long as the row lives. Ids of deleted rows are used again.
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
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The id with this number, if there can be one.
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

    /// The row's id.
    #[inline]
    pub fn id(&self) -> RowId {
        self.id
    }

    /// The row's bytes, as [`RowLayout`] lays them out.
    #[inline]
    pub fn bytes(&self) -> &'t [u8] {
        self.bytes
    }

    /// A fixed-size column's value; `None` if it is null or of another type.
    #[inline]
    pub fn get<T: Scalar>(&self, column: ColumnHandle) -> Option<T> {
        self.layout.get(self.bytes, column.leaf())
    }

    /// A string's value; `None` if it is null or of another type.
    #[inline]
    pub fn str(&self, column: ColumnHandle) -> Option<&'t str> {
        self.layout.get_str(self.bytes, column.leaf())
    }

    /// The bytes of a blob, string or binary column; `None` if it is null.
    #[inline]
    pub fn blob(&self, column: ColumnHandle) -> Option<&'t [u8]> {
        self.layout.get_bytes(self.bytes, column.leaf())
    }

    /// Whether a column is null.
    pub fn is_null(&self, column: ColumnHandle) -> bool {
        self.layout.is_null(self.bytes, column.leaf())
    }

    /// Any column's value.
    pub fn value(&self, column: ColumnHandle) -> Value<'t> {
        self.layout.read_value(self.bytes, column.leaf())
    }

    /// All columns' values, structs flattened, in the order of the layout's leaves.
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
