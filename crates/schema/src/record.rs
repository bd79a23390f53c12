//! Rows as Rust structs: the traits behind `#[derive(Record)]` and `#[derive(RecordStruct)]`.
//!
//! A record writes the same bytes as [`RowLayout`](crate::RowLayout) for its schema, and a key the
//! same bytes as [`KeyPlan`](crate::KeyPlan) for its index. Whoever opens a table with a record
//! type compares [`Record::schema`] with the table's; afterwards the bytes can be trusted.

use crate::definition::table_schema::TableSchema;
use crate::error::{KeyError, RowError};
use crate::field::PlainField;
use crate::key::buffer::KeyBuffer;
use crate::row::bytes::RowBytes;
use crate::row::layout::RowLayout;

/// A struct that is a row of a table.
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
/// # struct One { a: u32 }
/// # impl Record for One {
/// #     type At<'t> = One;
/// #     const FIXED_SIZE: usize = 4;
/// #     fn schema() -> TableSchema {
/// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
/// #     }
/// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
/// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
/// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
/// # }
/// // `One { a: u32 }` derives `Record`, with the primary key `a`.
/// let mut row = vec![0; One { a: 7 }.encoded_len()?];
/// One { a: 7 }.encode(&mut row);
/// let layout = RowLayout::new(&One::schema());
/// assert_eq!(layout.get::<u32>(&row, 0), Some(7));
/// assert_eq!(One::decode_checked(&row).map(|one| one.a), Some(7));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// // `One { a: u32 }` derives `Record`, with the primary key `a`.
    /// let schema = One::schema().build()?;
    /// assert_eq!(schema.columns, [Column::new("a", ColumnType::U32)]);
    /// assert_eq!(schema.primary_index().map(|index| index.parts.len()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn schema() -> TableSchema;

    /// The bytes this row needs.
    ///
    /// # Errors
    /// A value does not fit its column, or the row is too long.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// // `One { a: u32 }` derives `Record`.
    /// assert_eq!(One { a: 7 }.encoded_len()?, One::FIXED_SIZE);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn encoded_len(&self) -> Result<usize, RowError>;

    /// Writes the row; `out` has exactly the bytes that [`encoded_len`](Record::encoded_len) gave.
    ///
    /// # Panics
    /// If `out` is shorter, or the length was an error.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// // `One { a: u32 }` derives `Record`.
    /// let one = One { a: 7 };
    /// let mut row = vec![0; one.encoded_len()?];
    /// one.encode(&mut row);
    /// assert_eq!(row, [7, 0, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn encode(&self, out: &mut [u8]);

    /// Reads a row, borrowing what is borrowed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// // `One { a: u32 }` derives `Record`.
    /// let mut row = [0; 4];
    /// One { a: 7 }.encode(&mut row);
    /// // SAFETY: a `One` wrote the row.
    /// let one = One::decode(unsafe { RowBytes::trusted(&row) });
    /// assert_eq!(one.a, 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn decode(row: RowBytes<'_>) -> Self::At<'_>;

    /// Reads a row from anywhere; `None` if it is not one of this record's table.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// // `One { a: u32 }` derives `Record`.
    /// assert_eq!(One::decode_checked(&[7, 0, 0, 0]).map(|one| one.a), Some(7));
    /// assert!(One::decode_checked(&[7, 0, 0]).is_none());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
///
/// # Examples
/// ```
/// # use remanent_schema::*;
/// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
/// # struct One { a: u32 }
/// # impl Record for One {
/// #     type At<'t> = One;
/// #     const FIXED_SIZE: usize = 4;
/// #     fn schema() -> TableSchema {
/// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
/// #     }
/// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
/// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
/// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
/// # }
/// # struct OnePrimary { a: u32 }
/// # impl Key for OnePrimary {
/// #     type Record = One;
/// #     const INDEX: &'static str = "primary";
/// #     const INDEX_ORDINAL: usize = 0;
/// #     const PARTS: usize = 1;
/// #     fn encode_parts(&self, parts: usize, out: &mut KeyBuffer) -> Result<(), KeyError> {
/// #         out.clear();
/// #         if parts > 1 {
/// #             return Err(KeyError::TooManyParts { expected: 1, found: parts });
/// #         }
/// #         if parts == 1 { self.a.encode_part(false, out)?; }
/// #         Ok(())
/// #     }
/// # }
/// // `OnePrimary { a: u32 }` is derived with the record `One`.
/// let mut key = KeyBuffer::new();
/// OnePrimary { a: 7 }.encode(&mut key)?;
/// let schema = One::schema().build()?;
/// let index = &schema.indexes[OnePrimary::INDEX_ORDINAL];
/// let plan = KeyPlan::new(&RowLayout::new(&schema), index)?;
/// assert!(plan.matches_row(&[7, 0, 0, 0], key.as_slice()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// # struct OnePrimary { a: u32 }
    /// # impl Key for OnePrimary {
    /// #     type Record = One;
    /// #     const INDEX: &'static str = "primary";
    /// #     const INDEX_ORDINAL: usize = 0;
    /// #     const PARTS: usize = 1;
    /// #     fn encode_parts(&self, parts: usize, out: &mut KeyBuffer) -> Result<(), KeyError> {
    /// #         out.clear();
    /// #         if parts > 1 {
    /// #             return Err(KeyError::TooManyParts { expected: 1, found: parts });
    /// #         }
    /// #         if parts == 1 { self.a.encode_part(false, out)?; }
    /// #         Ok(())
    /// #     }
    /// # }
    /// // `OnePrimary { a: u32 }` is derived with the record `One`.
    /// let mut key = KeyBuffer::new();
    /// OnePrimary { a: 7 }.encode_parts(1, &mut key)?;
    /// assert_eq!(key.as_slice(), [0, 0, 0, 7]);
    /// assert!(OnePrimary { a: 7 }.encode_parts(2, &mut key).is_err());
    /// # Ok::<(), remanent_schema::KeyError>(())
    /// ```
    fn encode_parts(&self, parts: usize, out: &mut KeyBuffer) -> Result<(), KeyError>;

    /// Makes `out` the bytes of the key.
    ///
    /// # Errors
    /// The key is too long.
    ///
    /// # Examples
    /// ```
    /// # use remanent_schema::*;
    /// # // Written out; programs derive it: #[derive(Record)] #[record(primary_key(a))]
    /// # struct One { a: u32 }
    /// # impl Record for One {
    /// #     type At<'t> = One;
    /// #     const FIXED_SIZE: usize = 4;
    /// #     fn schema() -> TableSchema {
    /// #         TableSchema::new("One").column("a", ColumnType::U32).primary_key(["a"])
    /// #     }
    /// #     fn encoded_len(&self) -> Result<usize, RowError> { Ok(4) }
    /// #     fn encode(&self, out: &mut [u8]) { out[..4].copy_from_slice(&self.a.to_le_bytes()) }
    /// #     fn decode(row: RowBytes<'_>) -> One { One { a: FixedField::read(&row) } }
    /// # }
    /// # struct OnePrimary { a: u32 }
    /// # impl Key for OnePrimary {
    /// #     type Record = One;
    /// #     const INDEX: &'static str = "primary";
    /// #     const INDEX_ORDINAL: usize = 0;
    /// #     const PARTS: usize = 1;
    /// #     fn encode_parts(&self, parts: usize, out: &mut KeyBuffer) -> Result<(), KeyError> {
    /// #         out.clear();
    /// #         if parts > 1 {
    /// #             return Err(KeyError::TooManyParts { expected: 1, found: parts });
    /// #         }
    /// #         if parts == 1 { self.a.encode_part(false, out)?; }
    /// #         Ok(())
    /// #     }
    /// # }
    /// // `OnePrimary { a: u32 }` is derived with the record `One`.
    /// let (mut small, mut large) = (KeyBuffer::new(), KeyBuffer::new());
    /// OnePrimary { a: 255 }.encode(&mut small)?;
    /// OnePrimary { a: 256 }.encode(&mut large)?;
    /// assert!(small.as_slice() < large.as_slice());
    /// # Ok::<(), remanent_schema::KeyError>(())
    /// ```
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
