//! A range of keys that a cursor stays within.
//!
//! Whoever reads a range says where it ends before reading: then the row beyond the end is neither
//! given nor remembered as read, and another transaction may change it.

use remanent_schema::{KeyBuffer, Value};

use super::read_set::RangeBound;
use crate::error::Result;
use crate::index::cursor::Direction;
use crate::table::rows::version::bytes_at;
use crate::table::table::{IndexCore, TableAt};

/// An end of a range of keys: the first parts of a key, and whether rows that have them belong to
/// the range.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, KeyBound, Options, schema::*};
/// let db = Database::open(Options::new())?;
/// let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
/// let table = db.create_table(schema)?;
/// let (a, primary) = (table.column("a")?, table.index("primary")?);
/// let rows = (0..100).map(|i| [Some(Value::I32(i))]);
/// db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
/// let (low, high) = ([Value::I32(10)], [Value::I32(13)]);
/// let tx = db.begin_read()?;
/// let (low, high) = (KeyBound::included(&low), KeyBound::excluded(&high));
/// let mut cursor = tx.cursor_within(&table, primary, Some(low), Some(high))?;
/// let mut found = Vec::new();
/// let mut row = cursor.first();
/// while let Some(at) = row {
///     found.extend(at.get::<i32>(a));
///     row = cursor.next();
/// }
/// assert_eq!(found, [10, 11, 12]);
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct KeyBound<'k> {
    /// Values of the first parts of the key.
    pub key: &'k [Value<'k>],
    /// Whether rows with these values belong to the range.
    pub included: bool,
}

/// The ends of a range, as encoded keys.
#[derive(Default)]
pub(crate) struct KeyRange {
    low: Option<EncodedBound>,
    high: Option<EncodedBound>,
}

struct EncodedBound {
    key: KeyBuffer,
    included: bool,
}

impl<'k> KeyBound<'k> {
    /// Up to, or from, rows with these values, and with them.
    pub fn included(key: &'k [Value<'k>]) -> Self {
        Self { key, included: true }
    }

    /// Up to, or from, rows with these values, but without them.
    pub fn excluded(key: &'k [Value<'k>]) -> Self {
        Self { key, included: false }
    }

    fn encode(&self, index: &IndexCore) -> Result<EncodedBound> {
        let mut key = KeyBuffer::new();
        let encoded = index.plan.encode_values(self.key, &mut key);
        encoded.map_err(|error| index.key_error(error))?;
        Ok(EncodedBound { key, included: self.included })
    }
}

impl KeyRange {
    /// The range between two bounds of an index.
    ///
    /// # Errors
    /// `WrongKeyShape`, `KeyTooLong`, `ValueOutOfRange`.
    pub(crate) fn encode(
        index: &IndexCore,
        low: Option<KeyBound<'_>>,
        high: Option<KeyBound<'_>>,
    ) -> Result<Self> {
        let encode = |bound: Option<KeyBound<'_>>| bound.map(|it| it.encode(index)).transpose();
        Ok(Self { low: encode(low)?, high: encode(high)? })
    }

    /// The bound at which a walk in this direction begins.
    pub(crate) fn start(&self, direction: Direction) -> Option<RangeBound<'_>> {
        let bound = match direction {
            Direction::Forward => &self.low,
            Direction::Backward => &self.high,
        };
        bound.as_ref().map(EncodedBound::as_bound)
    }

    /// The bound at which it ends.
    pub(crate) fn end(&self, direction: Direction) -> Option<RangeBound<'_>> {
        match direction {
            Direction::Forward => self.start(Direction::Backward),
            Direction::Backward => self.start(Direction::Forward),
        }
    }

    /// Whether a walk in this direction has left the range with the row version at `at`.
    pub(crate) fn is_left(
        &self,
        direction: Direction,
        table: TableAt<'_>,
        index: &IndexCore,
        at: u64,
    ) -> bool {
        let Some(bound) = self.end(direction) else { return false };
        let row = bytes_at(table.memory, at);
        // The whole key comes behind each of its beginnings.
        let order = index.plan.compare_row(row, bound.bytes);
        let begins = || index.plan.row_starts_with(row, bound.bytes);
        match direction {
            Direction::Forward => order.is_ge() && !(bound.included && begins()),
            Direction::Backward => order.is_lt() || !bound.included && begins(),
        }
    }
}

impl EncodedBound {
    fn as_bound(&self) -> RangeBound<'_> {
        RangeBound { bytes: self.key.as_slice(), included: self.included }
    }
}
