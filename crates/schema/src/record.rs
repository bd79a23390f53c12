//! Rows as Rust structs: the traits behind `#[derive(Record)]` and `#[derive(RecordStruct)]`.
//!
//! A record writes the same bytes as [`RowLayout`](crate::RowLayout) for its schema, and a key the
//! same bytes as [`KeyPlan`](crate::KeyPlan) for its index. Whoever opens a table with a record
//! type compares [`Record::schema`] with the table's; afterwards the bytes can be trusted.

use crate::error::{KeyError, RowError};
use crate::field::PlainField;
use crate::key_buffer::KeyBuffer;
use crate::row_bytes::RowBytes;
use crate::row_layout::RowLayout;
use crate::table_schema::TableSchema;

/// A struct that is a row of a table.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record",
    note = "add `#[derive(Record)]` to it"
)]
pub trait Record {
    /// The same struct, borrowing from a row for `'t`.
    type At<'t>;
    /// Bytes of the fixed part.
    const FIXED_SIZE: usize;

    /// The table's schema; not validated.
    fn schema() -> TableSchema;

    /// The bytes this row needs.
    ///
    /// # Errors
    /// A value does not fit its column, or the row is too long.
    fn encoded_len(&self) -> Result<usize, RowError>;

    /// Writes the row; `out` has exactly the bytes that [`encoded_len`](Record::encoded_len) gave.
    ///
    /// # Panics
    /// If `out` is shorter, or the length was an error.
    fn encode(&self, out: &mut [u8]);

    /// Reads a row, borrowing what is borrowed.
    fn decode(row: RowBytes<'_>) -> Self::At<'_>;

    /// Reads a row from anywhere; `None` if it is not one of this record's table.
    fn decode_checked(row: &[u8]) -> Option<Self::At<'_>> {
        let layout = RowLayout::new(&Self::schema());
        RowBytes::checked(&layout, row).map(Self::decode)
    }
}

/// A struct that is a column of a table: its fields become the row's leaves.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a record struct",
    note = "add `#[derive(RecordStruct)]` to it"
)]
pub trait RecordStruct: PlainField {}

/// The key of one index of a record's table.
pub trait Key {
    /// The record whose table has the index.
    type Record: Record;
    /// The index's name.
    const INDEX: &'static str;
    /// The index's place among the schema's indexes.
    const INDEX_ORDINAL: usize;
    /// How many parts the key has.
    const PARTS: usize;

    /// Makes `out` the bytes of the first `parts` parts, for searching by a prefix.
    ///
    /// # Errors
    /// The key is too long, or does not have so many parts.
    fn encode_parts(&self, parts: usize, out: &mut KeyBuffer) -> Result<(), KeyError>;

    /// Makes `out` the bytes of the key.
    ///
    /// # Errors
    /// The key is too long.
    #[inline]
    fn encode(&self, out: &mut KeyBuffer) -> Result<(), KeyError> {
        self.encode_parts(Self::PARTS, out)
    }
}

/// A field of a record struct found by the hash of its name, so that the key of an outer record
/// can have it as a part. Only derived code implements or names this.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no such field that a key could have as a part",
    note = "key parts such as `thing.a` name a field of a struct deriving `RecordStruct`"
)]
pub trait StructField<const NAME: u64> {
    /// The field's type as part of a key that borrows for `'k`.
    type Part<'k>: OrNull;
    /// The name of the field's column.
    const COLUMN: &'static str;
}

/// A field of an absent struct is NULL.
impl<T: StructField<NAME>, const NAME: u64> StructField<NAME> for Option<T> {
    type Part<'k> = <T::Part<'k> as OrNull>::OrNull;
    const COLUMN: &'static str = T::COLUMN;
}

/// What a type becomes when it may also be NULL: `Option` of it, unless it is that already.
pub trait OrNull {
    /// The nullable type.
    type OrNull: OrNull;
}

impl<T: PlainField> OrNull for T {
    type OrNull = Option<T>;
}

impl<T: PlainField> OrNull for Option<T> {
    type OrNull = Option<T>;
}

#[cfg(test)]
mod tests;
