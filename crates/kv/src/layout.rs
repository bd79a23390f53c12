//! How a key/value database lies on the engine: a table of two blobs, `key` and `value`.
//!
//! Its indexes say what it is, so nothing else need be stored: an ordered primary key over `key`,
//! or over `key` and `value` where a key has duplicates; a hash index `hash` over `key` where it
//! is hashed. A hashed database with duplicates has both, since duplicates are kept in order. Any
//! table of this shape is a key/value database, whoever created it.

use remanent_derive::Record;
use remanent_engine::schema::{ColumnType, IndexKind, IndexSchema, TableSchema};

/// A key and its value, references into the database.
///
/// # Examples
/// ```
/// use remanent_kv::KeyValue;
/// fn line((key, value): KeyValue<'_>) -> String {
///     format!("{}={}", key.escape_ascii(), value.escape_ascii())
/// }
/// assert_eq!(line((b"a", b"1")), "a=1");
/// ```
pub type KeyValue<'t> = (&'t [u8], &'t [u8]);

/// The longest key that fits whatever its bytes: in an index a zero byte takes two bytes of the
/// 1,024 that there are, and two end the key. With duplicates, key and value share the room.
///
/// # Examples
/// ```
/// # use remanent_engine::{ErrorKind, Options};
/// use remanent_kv::{Environment, KvOptions, MAX_PLAIN_KEY_LEN};
/// let environment = Environment::open(Options::new())?;
/// let database = environment.create("d", KvOptions::ordered())?;
/// let put = |key: &[u8]| environment.write(|tx| database.put(tx, key, b""));
/// put(&[0; MAX_PLAIN_KEY_LEN])?;
/// assert_eq!(put(&[0; MAX_PLAIN_KEY_LEN + 1]).unwrap_err().kind(), ErrorKind::KeyTooLong);
/// put(&[1; 1022])?;
/// # Ok::<(), remanent_engine::Error>(())
/// ```
pub const MAX_PLAIN_KEY_LEN: usize = 511;

/// In which order a key/value database has its records.
///
/// # Examples
/// ```
/// use remanent_kv::{Kind, KvOptions};
/// assert_eq!(KvOptions::hashed().kind(), Kind::Hash);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// In the order of the keys' bytes; a shorter key comes before one that it begins.
    Ordered,
    /// In no particular order; a look-up takes the same time for every number of records.
    Hash,
}

/// The options of a key/value database.
///
/// # Examples
/// ```
/// use remanent_kv::{Kind, KvOptions};
/// let options = KvOptions::ordered().with_duplicates();
/// assert_eq!((options.kind(), options.has_duplicates()), (Kind::Ordered, true));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KvOptions {
    kind: Kind,
    duplicates: bool,
}

impl KvOptions {
    /// In key order, one value for a key.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::{Kind, KvOptions};
    /// assert_eq!(KvOptions::ordered().kind(), Kind::Ordered);
    /// ```
    pub fn ordered() -> Self {
        Self { kind: Kind::Ordered, duplicates: false }
    }

    /// Hashed, one value for a key.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::{Kind, KvOptions};
    /// assert_eq!(KvOptions::hashed().kind(), Kind::Hash);
    /// ```
    pub fn hashed() -> Self {
        Self { kind: Kind::Hash, duplicates: false }
    }

    /// The same with several values for a key, in the order of their bytes, each once.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::KvOptions;
    /// assert!(KvOptions::hashed().with_duplicates().has_duplicates());
    /// ```
    pub fn with_duplicates(self) -> Self {
        Self { duplicates: true, ..self }
    }

    /// The order of the records.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::{Kind, KvOptions};
    /// assert_eq!(KvOptions::hashed().kind(), Kind::Hash);
    /// ```
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether a key may have several values.
    ///
    /// # Examples
    /// ```
    /// use remanent_kv::KvOptions;
    /// assert!(!KvOptions::ordered().has_duplicates());
    /// ```
    pub fn has_duplicates(&self) -> bool {
        self.duplicates
    }
}

/// A record as the row that it is.
#[derive(Record)]
#[record(crate = "remanent_engine::schema")]
pub(crate) struct Pair<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: &'a [u8],
}

/// The index that finds a record by its key, and its duplicates in their order.
pub(crate) const PRIMARY: &str = "primary";
/// The index of hashed databases.
pub(crate) const HASH: &str = "hash";

/// The table that a database is.
pub(crate) fn schema_of(name: &str, options: KvOptions) -> TableSchema {
    let table =
        TableSchema::new(name).column("key", ColumnType::BLOB).column("value", ColumnType::BLOB);
    match (options.kind, options.duplicates) {
        (Kind::Ordered, false) => table.primary_key(["key"]),
        (Kind::Ordered, true) => table.primary_key(["key", "value"]),
        (Kind::Hash, false) => table.unique_hash_index(HASH, ["key"]),
        (Kind::Hash, true) => table.primary_key(["key", "value"]).hash_index(HASH, ["key"]),
    }
}

/// The options of a table as a key/value database, if it is one.
pub(crate) fn options_of(schema: &TableSchema) -> Option<KvOptions> {
    [Kind::Ordered, Kind::Hash]
        .into_iter()
        .flat_map(|kind| [true, false].map(|duplicates| KvOptions { kind, duplicates }))
        // A hashed database with duplicates has the indexes of an ordered one as well.
        .rev()
        .max_by_key(|options| matching_indexes(schema, *options))
        .filter(|options| matching_indexes(schema, *options) > 0)
}

/// How many indexes a database of these options has, if the table has them all; otherwise 0.
fn matching_indexes(schema: &TableSchema, options: KvOptions) -> usize {
    let expected = schema_of(&schema.name, options);
    let same = |index: &IndexSchema| {
        let found = schema.index_by_name(&index.name).map(|(_, found)| found);
        found.is_some_and(|found| is_same(found, index))
    };
    let all = schema.columns == expected.columns && expected.indexes.iter().all(same);
    if all { expected.indexes.len() } else { 0 }
}

fn is_same(found: &IndexSchema, expected: &IndexSchema) -> bool {
    let is_hash = |index: &IndexSchema| index.kind == IndexKind::Hash;
    found.parts == expected.parts
        && found.unique == expected.unique
        && is_hash(found) == is_hash(expected)
}

/// Key and value of a row: two ends from the row's start, then the bytes, as the row format has it.
/// The value's end is the row's.
#[inline]
pub(crate) fn pair_of(row: &[u8]) -> (&[u8], &[u8]) {
    let Some((ends, bytes)) = row.split_first_chunk::<8>() else {
        unreachable!("a row has its fixed part")
    };
    let key_end = u64::from_le_bytes(*ends) as u32 as usize;
    bytes.split_at(key_end - 8)
}

#[cfg(test)]
mod tests;
