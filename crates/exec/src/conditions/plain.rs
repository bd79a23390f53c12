//! Numbers that lie in a segment as they do in rows: too far apart for offsets of four bytes.
//!
//! Timestamps of more than 71 minutes are such numbers. They are compared where they lie.

use remanent_engine::schema::ColumnType;

use crate::conditions::key_sketch::KeySketch;
use crate::conditions::ranges::NumberRanges;
use crate::rows::bits::RowBits;

/// A column's values, of so many bytes each.
#[derive(Clone, Copy)]
pub(crate) struct PlainBytes<'b> {
    pub(crate) width: usize,
    pub(crate) bytes: &'b [u8],
}

/// Whether values of this type and width are numbers that can be compared where they lie.
pub(crate) fn has_numbers(column_type: &ColumnType, width: usize) -> bool {
    use ColumnType as T;
    matches!(
        (column_type, width),
        (T::I64 | T::Time | T::Timestamp | T::U64, 8) | (T::Decimal { .. }, 8 | 16)
    )
}

/// Leaves the rows of a stretch whose numbers, of 8 bytes, may be keys; it begins at row `first`.
pub(crate) fn keep_keys(
    values: PlainBytes<'_>,
    keys: &KeySketch,
    first: usize,
    rows: &mut RowBits,
) {
    keys.keep(&values.bytes.as_chunks().0[first..], rows);
}

/// Leaves the rows of a stretch whose numbers are in a set, all of which the type can have; the
/// stretch begins at row `first`.
pub(crate) fn filter(
    column_type: &ColumnType,
    values: PlainBytes<'_>,
    ranges: &NumberRanges,
    first: usize,
    rows: &mut RowBits,
) {
    let bytes = values.bytes;
    macro_rules! keep {
        ($native:ty) => {{
            let ends = |number: i128| number as $native;
            let ranges: Vec<_> =
                ranges.as_slice().iter().map(|it| ends(it.low)..=ends(it.high)).collect();
            rows.keep_entries(first, bytes.as_chunks().0, |entry| {
                let number = <$native>::from_le_bytes(entry);
                ranges.iter().fold(false, |met, range| met | range.contains(&number))
            });
        }};
    }
    match (column_type, values.width) {
        (ColumnType::U64, _) => keep!(u64),
        (ColumnType::Decimal { .. }, 16) => keep!(i128),
        _ => keep!(i64),
    }
}
