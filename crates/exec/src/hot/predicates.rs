//! Predicates on the bytes of rows: loops over a tile, one for each type of number.
//!
//! A row without a value meets none of them.

use std::sync::Arc;

use crate::conditions::comparison::Comparison;
use crate::conditions::key_set::KeySet;
use crate::conditions::pattern::TextPattern;
use crate::conditions::ranges::{NumberRange, NumberRanges};
use crate::conditions::text_list::TextList;
use crate::row_bytes::place::{Number, Place, with_number};
use crate::row_bytes::tile::RowTile;

/// A predicate on the bytes of rows. In the order of what a row costs.
#[derive(Debug)]
pub(crate) enum Predicate {
    /// No row meets it.
    None,
    /// The number is in one of these ranges, none of which goes beyond the ends of its type.
    Among(Place, NumberRanges),
    /// Two numbers of one type compare so.
    Compare { left: Place, comparison: Comparison, right: Place },
    /// The number, of at most 8 bytes, is a key.
    Keys(Place, Arc<KeySet>),
    /// The text is one of these, or none of them.
    Texts(Place, TextList),
    /// The text meets a pattern.
    Like(Place, Arc<dyn TextPattern>),
}

impl Predicate {
    /// Ranges of a column; `None` if it has no whole numbers.
    pub(crate) fn among(place: Place, ranges: &NumberRanges) -> Option<Self> {
        let (least, greatest) = with_number!(place, N => N::ENDS, else return None);
        let ranges = ranges.and(&NumberRanges::between(least, greatest));
        let is_empty = ranges.as_slice().is_empty();
        Some(if is_empty { Self::None } else { Self::Among(place, ranges) })
    }

    /// A comparison of two columns; `None` if they are not of one type of whole numbers.
    pub(crate) fn compare(left: Place, comparison: Comparison, right: Place) -> Option<Self> {
        let is_number = with_number!(left, N => N::ENDS.0 <= 0, else false);
        let is_same = left.column_type == right.column_type;
        (is_number && is_same).then_some(Self::Compare { left, comparison, right })
    }

    /// Keys of a column; `None` if its numbers have more than 8 bytes, or are none.
    pub(crate) fn keys(place: Place, keys: &Arc<KeySet>) -> Option<Self> {
        let size = with_number!(place, N => size_of::<N>(), else return None);
        (size <= 8).then(|| Self::Keys(place, Arc::clone(keys)))
    }

    /// Its place in the order of what a row costs.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Among(..) => 1,
            Self::Compare { .. } => 2,
            Self::Keys(..) => 3,
            Self::Texts(..) => 4,
            Self::Like(..) => 5,
        }
    }

    /// Leaves the rows that meet it.
    pub(crate) fn keep(&self, tile: &mut RowTile<'_, '_>) {
        match self {
            Self::None => tile.keep(|_| false),
            Self::Among(place, ranges) => {
                tile.keep_present(place.null);
                with_number!(place, N => keep_among::<N>(tile, place.offset, ranges), else {});
            }
            Self::Compare { left, comparison, right } => {
                tile.keep_present(left.null);
                tile.keep_present(right.null);
                let offsets = [left.offset, right.offset];
                with_number!(left, N => keep_compared::<N>(tile, offsets, *comparison), else {});
            }
            Self::Keys(place, keys) => {
                tile.keep_present(place.null);
                let offset = place.offset;
                with_number!(place, N => {
                    tile.keep(|row| keys.has_word(N::read(row, offset).low_word()));
                }, else {});
            }
            Self::Texts(place, list) => {
                tile.keep_present(place.null);
                tile.keep(|row| {
                    let (start, end) = place.span(row);
                    list.meets_within(row, start, end)
                });
            }
            Self::Like(place, pattern) => {
                tile.keep_present(place.null);
                pattern.filter_rows(tile, place);
            }
        }
    }
}

fn keep_among<N: Number>(tile: &mut RowTile<'_, '_>, offset: usize, ranges: &NumberRanges) {
    let native = |range: &NumberRange| (N::of(range.low), N::of(range.high));
    match ranges.as_slice() {
        [range] => {
            let (low, high) = native(range);
            tile.keep(|row| {
                let number = N::read(row, offset);
                (low <= number) & (number <= high)
            });
        }
        ranges => {
            let ranges: Vec<(N, N)> = ranges.iter().map(native).collect();
            tile.keep(|row| {
                let number = N::read(row, offset);
                let at = ranges.partition_point(|(_, high)| *high < number);
                ranges.get(at).is_some_and(|(low, _)| *low <= number)
            });
        }
    }
}

fn keep_compared<N: Number>(
    tile: &mut RowTile<'_, '_>,
    offsets: [usize; 2],
    comparison: Comparison,
) {
    use Comparison as C;
    let less = matches!(comparison, C::Less | C::LessOrEqual | C::NotEqual);
    let equal = matches!(comparison, C::Equal | C::LessOrEqual | C::GreaterOrEqual);
    let greater = matches!(comparison, C::Greater | C::GreaterOrEqual | C::NotEqual);
    tile.keep(|row| {
        let [a, b] = offsets.map(|offset| N::read(row, offset));
        (less & (a < b)) | (equal & (a == b)) | (greater & (a > b))
    });
}
