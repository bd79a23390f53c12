//! Where the values of a column are, and how those of some rows are loaded as numbers of 8 bytes.
//!
//! A column is encoded in a frozen segment, or given as a slice with a value for each row. A
//! [`Loader`] is prepared once for a segment or a slice: it knows the least and the greatest
//! number, by which it is decided what can be computed without an overflow.

use remanent_engine::schema::{ColumnType, Value};
use remanent_engine::{Encoding, FrozenColumn};

use crate::conditions::key_set::ends_of;
use crate::conditions::plain;
use crate::conditions::ranges::NumberRange;
use crate::conditions::verdict::number_of;
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::Rows;
use crate::simd::vectorized;

/// The values of a column.
#[derive(Clone, Copy)]
pub enum Source<'s> {
    /// In a frozen segment, whose rows have their numbers there.
    Encoded(FrozenColumn<'s>),
    /// In a slice, with a value for each row.
    Given(Given<'s>),
    /// Elsewhere: whoever adds rows gives what is computed of it.
    Elsewhere,
}

/// Values that are given one by one.
#[derive(Clone, Copy)]
pub struct Given<'s> {
    /// The values; those of null rows are arbitrary.
    pub values: Slice<'s>,
    /// A bitmap with a bit set for each row that is null; `None` if none is.
    pub nulls: Option<&'s [u64]>,
    /// The least and the greatest number, if somebody knows them; null rows may have others.
    pub range: Option<NumberRange>,
}

impl Given<'_> {
    /// The least and the greatest number, if these are whole numbers of 8 bytes.
    pub fn find_range(&self) -> Option<NumberRange> {
        Loader::of(&Source::Given(*self)).map(|loader| loader.range)
    }
}

/// Values of one type.
#[derive(Clone, Copy)]
pub enum Slice<'s> {
    /// Numbers of one byte.
    I8(&'s [i8]),
    /// Numbers of two bytes.
    I16(&'s [i16]),
    /// Numbers of four bytes, or days.
    I32(&'s [i32]),
    /// Numbers of eight bytes, or microseconds.
    I64(&'s [i64]),
    /// Unsigned numbers of one byte.
    U8(&'s [u8]),
    /// Unsigned numbers of two bytes.
    U16(&'s [u16]),
    /// Unsigned numbers of four bytes.
    U32(&'s [u32]),
    /// Unscaled integers of decimals.
    I128(&'s [i128]),
    /// Floats.
    F64(&'s [f64]),
    /// Texts.
    Texts(&'s dyn Texts),
    /// Others, of which nothing is known but which are null.
    Other,
}

/// Texts, by their row.
pub trait Texts {
    /// How many rows there are.
    fn rows(&self) -> usize;

    /// The bytes of a row's text; of a null row any.
    fn get(&self, row: usize) -> &[u8];

    /// Two rows for which this is the same have the same text; the other way round need not be
    /// so. Of views these are their bytes.
    fn view(&self, row: usize) -> u128;
}

/// A column whose values can be loaded as numbers of 8 bytes.
pub(crate) struct Loader<'s> {
    numbers: Numbers<'s>,
    /// The least and the greatest number; rows that are null may have others.
    pub(crate) range: NumberRange,
    pub(crate) nulls: Option<&'s [u64]>,
}

enum Numbers<'s> {
    Constant(i64),
    Offsets {
        min: i64,
        width: usize,
        bytes: &'s [u8],
    },
    /// So many bytes each, of which the lowest eight are the number.
    Plain {
        width: usize,
        bytes: &'s [u8],
    },
    /// The values of a dictionary, by their codes.
    Table {
        values: Vec<i64>,
        width: usize,
        codes: &'s [u8],
    },
    Slice(Slice<'s>),
}

impl<'s> Loader<'s> {
    /// How a column's values are loaded; `None` if they are no whole numbers, or one of them has
    /// more than 8 bytes.
    pub(crate) fn of(source: &Source<'s>) -> Option<Self> {
        match source {
            Source::Encoded(column) => Self::of_encoded(column),
            Source::Given(given) => Self::of_given(given),
            Source::Elsewhere => None,
        }
    }

    fn of_encoded(column: &FrozenColumn<'s>) -> Option<Self> {
        let nulls = column.nulls();
        let ends = column.min().and_then(number_of).zip(column.max().and_then(number_of));
        let (numbers, range) = match column.encoding() {
            // All rows are null, and have any number.
            Encoding::Constant(Value::Null) if has_numbers(column.column_type()) => {
                (Numbers::Constant(0), NumberRange { low: 0, high: 0 })
            }
            Encoding::Constant(value) => {
                let number = number_of(value)?;
                let numbers = Numbers::Constant(i64::try_from(number).ok()?);
                (numbers, NumberRange { low: number, high: number })
            }
            Encoding::Offsets { min, width, bytes } if has_numbers(column.column_type()) => {
                let (low, high) = ends?;
                let min = i64::try_from(min).ok()?;
                (Numbers::Offsets { min, width, bytes }, NumberRange { low, high })
            }
            Encoding::Plain { width, bytes } if plain::has_numbers(column.column_type(), width) => {
                let (low, high) = ends?;
                (Numbers::Plain { width, bytes }, NumberRange { low, high })
            }
            Encoding::Dictionary { code_width, codes, values } => {
                let (low, high) = ends?;
                let numbers = (0..values.len() as u32).map(|code| {
                    let number = number_of(values.get(code))?;
                    i64::try_from(number).ok()
                });
                let values = numbers.collect::<Option<Vec<_>>>()?;
                (Numbers::Table { values, width: code_width, codes }, NumberRange { low, high })
            }
            _ => return None,
        };
        (fits(range.low) && fits(range.high)).then_some(Self { numbers, range, nulls })
    }

    fn of_given(given: &Given<'s>) -> Option<Self> {
        macro_rules! of_type {
            ($native:ty) => {
                NumberRange { low: <$native>::MIN.into(), high: <$native>::MAX.into() }
            };
        }
        let range = match given.values {
            Slice::F64(_) | Slice::Texts(_) | Slice::Other => return None,
            _ if given.range.is_some_and(|range| fits(range.low) && fits(range.high)) => {
                given.range?
            }
            Slice::I8(_) => of_type!(i8),
            Slice::I16(_) => of_type!(i16),
            Slice::I32(_) => of_type!(i32),
            Slice::U8(_) => of_type!(u8),
            Slice::U16(_) => of_type!(u16),
            Slice::U32(_) => of_type!(u32),
            Slice::I64(values) => {
                let (low, high) = ends_of(values).unwrap_or_default();
                NumberRange { low: low.into(), high: high.into() }
            }
            Slice::I128(values) => {
                let (mut ends, mut are_narrow) = ((0, 0), true);
                find_ends(values, &mut ends, &mut are_narrow);
                if !are_narrow {
                    return None;
                }
                NumberRange { low: ends.0.into(), high: ends.1.into() }
            }
        };
        Some(Self { numbers: Numbers::Slice(given.values), range, nulls: given.nulls })
    }

    /// Loads the numbers of these rows; of null rows come any.
    pub(crate) fn load(&self, rows: Rows<'_>, into: &mut [i64]) {
        match &self.numbers {
            Numbers::Constant(number) => into.fill(*number),
            Numbers::Offsets { min, width, bytes } => load_offsets(*min, *width, bytes, rows, into),
            Numbers::Plain { width: 8, bytes } => {
                rows.load_entries(bytes.as_chunks().0, into, i64::from_le_bytes);
            }
            Numbers::Plain { bytes, .. } => {
                rows.load_entries(bytes.as_chunks().0, into, |entry| {
                    i128::from_le_bytes(entry) as i64
                });
            }
            Numbers::Table { values, width, codes } => with_offsets!(codes, *width, |codes| {
                // The code of a null row may be any.
                let number = |code: u32| values.get(code as usize).copied().unwrap_or_default();
                rows.load(
                    into,
                    |rows, into| codes.load(rows, into, number),
                    |row| number(codes.get(row)),
                );
            }),
            Numbers::Slice(slice) => match slice {
                Slice::I8(values) => rows.load_entries(values, into, i64::from),
                Slice::I16(values) => rows.load_entries(values, into, i64::from),
                Slice::I32(values) => rows.load_entries(values, into, i64::from),
                Slice::I64(values) => rows.load_entries(values, into, |number| number),
                Slice::U8(values) => rows.load_entries(values, into, i64::from),
                Slice::U16(values) => rows.load_entries(values, into, i64::from),
                Slice::U32(values) => rows.load_entries(values, into, i64::from),
                Slice::I128(values) => rows.load_entries(values, into, |number| number as i64),
                Slice::F64(_) | Slice::Texts(_) | Slice::Other => {}
            },
        }
    }

    /// The offsets, where the numbers are encoded so.
    pub(crate) fn offsets(&self) -> Option<Codes<'s>> {
        let Numbers::Offsets { min, width, bytes } = self.numbers else { return None };
        let greatest = usize::try_from(self.range.high - i128::from(min)).ok()?;
        Some(Codes::Encoded { width, bytes, count: greatest + 1 })
    }
}

vectorized! {
    /// The least and the greatest of numbers and 0, and whether all have room in 8 bytes.
    fn find_ends(numbers: &[i128], ends: &mut (i64, i64), are_narrow: &mut bool) {
        let (mut low, mut high, mut beyond) = (0, 0, 0);
        for number in numbers {
            let lower = *number as i64;
            // The upper half is nothing but the sign.
            beyond |= (*number >> 64) as i64 ^ (lower >> 63);
            (low, high) = (lower.min(low), lower.max(high));
        }
        (*ends, *are_narrow) = ((low, high), beyond == 0);
    }
}

vectorized! {
    /// Loads numbers that are so much more than the least.
    fn load_offsets(min: i64, width: usize, bytes: &[u8], rows: Rows<'_>, into: &mut [i64]) {
        with_offsets!(bytes, width, |offsets| {
            let number = |offset: u32| min.wrapping_add(offset.into());
            rows.load(into, |rows, into| offsets.load(rows, into, number), |row| {
                number(offsets.get(row))
            });
        });
    }
}

vectorized! {
    /// Puts `factor` times what is there and each row's code, which is `top` at most, in its place.
    fn combine(
        width: usize,
        bytes: &[u8],
        top: u32,
        rows: Rows<'_>,
        into: &mut [u32],
        factor: u32,
    ) {
        // The code of a null row may be any; another one is put in its place afterwards.
        let with = |before: u32, code: u32| before * factor + code.min(top);
        with_offsets!(bytes, width, |codes| match rows {
            Rows::List(list) => {
                let rows = into.iter_mut().zip(list);
                rows.for_each(|(to, row)| *to = with(*to, codes.get(*row as usize)));
            }
            rows => rows.stretches(into, |stretch, into| codes.merge(stretch, into, with)),
        });
    }
}

/// Small numbers that stand for values, one for each row.
#[derive(Clone, Copy)]
pub(crate) enum Codes<'s> {
    /// As they are encoded, in so many bytes each; the greatest, but of null rows, is less than
    /// the count.
    Encoded { width: usize, bytes: &'s [u8], count: usize },
    /// The number of the row itself, of so many.
    Rows { count: usize },
}

impl Codes<'_> {
    /// One more than the greatest, but of null rows.
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Encoded { count, .. } | Self::Rows { count } => count,
        }
    }

    /// Puts `factor` times what is there and each row's code in its place.
    pub(crate) fn combine(self, rows: Rows<'_>, into: &mut [u32], factor: u32) {
        match self {
            Self::Encoded { width, bytes, count } => {
                combine(width, bytes, count as u32, rows, into, factor);
            }
            Self::Rows { .. } => {
                rows.each(|at, row| into[at] = into[at] * factor + row as u32);
            }
        }
    }
}

/// Whether a number has room in 8 bytes.
fn fits(number: i128) -> bool {
    i64::try_from(number).is_ok()
}

/// Whether numbers of a column of this type are whole.
fn has_numbers(column_type: &ColumnType) -> bool {
    use ColumnType as T;
    matches!(
        column_type,
        T::Bool
            | T::I8
            | T::I16
            | T::I32
            | T::I64
            | T::U8
            | T::U16
            | T::U32
            | T::U64
            | T::Date
            | T::Time
            | T::Timestamp
            | T::Decimal { .. }
    )
}

/// Whether a bitmap has a row's bit.
#[inline]
pub(crate) fn has_bit(bitmap: &[u64], row: usize) -> bool {
    bitmap[row / 64] >> (row % 64) & 1 == 1
}
