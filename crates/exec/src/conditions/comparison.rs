//! Two columns of whole numbers compared with each other, row by row, without decoding them.
//!
//! Both are brought to one base, the lesser of their least numbers: where no number of the segment
//! is farther from it than 32 bits, twice as many are compared at once.

use std::ops::Range;

use remanent_engine::schema::ColumnType;
use remanent_engine::{ColumnSummary, Encoding, EncodingSummary, FrozenColumn};

#[cfg(target_arch = "x86_64")]
use crate::conditions::blocks::{self, Blocks, Numbers};
#[cfg(target_arch = "x86_64")]
use crate::conditions::on_offsets::EncodedOffsets;
use crate::conditions::plain;
use crate::conditions::verdict::number_of;
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::bits::{RowBits, low_bits, packed};

/// How two numbers of a row compare; null compares with nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The first is less.
    Less,
    /// The first is less, or they are equal.
    LessOrEqual,
    /// They are equal.
    Equal,
    /// They are not equal.
    NotEqual,
    /// The first is greater, or they are equal.
    GreaterOrEqual,
    /// The first is greater.
    Greater,
}

/// A comparison of two columns of one segment.
#[derive(Debug)]
pub(crate) struct ColumnComparison {
    comparison: Comparison,
    /// What all numbers are taken from before they are compared.
    base: i128,
    /// Whether 32 bits have room for what is left.
    is_narrow: bool,
}

/// The columns that are compared.
pub(crate) struct Columns<'c, 't> {
    pub(crate) left: &'c FrozenColumn<'t>,
    pub(crate) right: &'c FrozenColumn<'t>,
}

impl ColumnComparison {
    /// How two columns of one type are compared; `None` where one is not kept as numbers, or these
    /// are too far apart.
    pub(crate) fn of(comparison: Comparison, columns: [&ColumnSummary<'_>; 2]) -> Option<Self> {
        let [left, right] = columns;
        if left.column_type() != right.column_type() || !columns.into_iter().all(has_numbers) {
            return None;
        }
        let end = |value: Option<_>| value.and_then(number_of);
        let base = end(left.min())?.min(end(right.min())?);
        let greatest = end(left.max())?.max(end(right.max())?);
        let farthest = greatest.checked_sub(base)?;
        i64::try_from(farthest).ok()?;
        Some(Self { comparison, base, is_narrow: i32::try_from(farthest).is_ok() })
    }

    /// Leaves the rows of a stretch that meet it; the stretch begins at row `first`.
    pub(crate) fn filter(&self, columns: &Columns<'_, '_>, first: usize, rows: &mut RowBits) {
        for column in [columns.left, columns.right] {
            if let Some(nulls) = column.nulls() {
                rows.remove(nulls, first);
            }
        }
        let compared = self.filter_blocks(columns, first, rows) * 64;
        match self.is_narrow {
            true => self.filter_as::<i32>(columns, first, compared, rows),
            false => self.filter_as::<i64>(columns, first, compared, rows),
        }
    }

    /// Compares 64 rows at once, if the processor has instructions for it; how many words have had
    /// their turn.
    #[cfg(target_arch = "x86_64")]
    fn filter_blocks(&self, columns: &Columns<'_, '_>, first: usize, rows: &mut RowBits) -> usize {
        let left = self.numbers(columns.left, first, rows.len());
        let Some((left, right)) = left.zip(self.numbers(columns.right, first, rows.len())) else {
            return 0;
        };
        blocks::keep_compared(self.comparison, left, right, rows.words_mut())
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn filter_blocks(&self, _: &Columns<'_, '_>, _: usize, _: &mut RowBits) -> usize {
        0
    }

    /// The numbers of some rows from row `first` on, less the base, if they are narrow offsets.
    #[cfg(target_arch = "x86_64")]
    fn numbers<'t>(
        &self,
        column: &FrozenColumn<'t>,
        first: usize,
        rows: usize,
    ) -> Option<Numbers<'t>> {
        match column.encoding() {
            Encoding::Offsets { min, width, bytes } if self.is_narrow => {
                let offsets = Blocks::new(EncodedOffsets { bytes, width }, first, rows);
                Some(Numbers { offsets, least: (min - self.base) as i32 })
            }
            _ => None,
        }
    }

    /// Compares rows from one of them on.
    fn filter_as<N: Number>(
        &self,
        columns: &Columns<'_, '_>,
        first: usize,
        from: usize,
        rows: &mut RowBits,
    ) {
        let (mut left, mut right) = ([N::default(); 64], [N::default(); 64]);
        rows.keep_words(|stretch, word| {
            if stretch.start < from {
                return word;
            }
            let stretch = first + stretch.start..first + stretch.end;
            self.load(columns.left, stretch.clone(), &mut left);
            self.load(columns.right, stretch.clone(), &mut right);
            self.comparison.word(&left, &right) & low_bits(stretch.len())
        });
    }

    /// The numbers of up to 64 rows, less the base.
    fn load<N: Number>(&self, column: &FrozenColumn<'_>, rows: Range<usize>, into: &mut [N; 64]) {
        let base = self.base as i64;
        match column.encoding() {
            Encoding::Constant(value) => {
                into.fill(N::of(number_of(value).unwrap_or(self.base) as i64, base));
            }
            Encoding::Offsets { min, width, bytes } => with_offsets!(bytes, width, |offsets| {
                let least = N::of(min as i64, base);
                offsets.load(rows, into, |offset| least.plus(offset));
            }),
            Encoding::Plain { bytes, .. } => {
                let entries = bytes.as_chunks().0[rows].iter();
                for (number, entry) in into.iter_mut().zip(entries) {
                    *number = N::of(i64::from_le_bytes(*entry), base);
                }
            }
            _ => {}
        }
    }
}

/// Whether a column's values can be loaded as numbers of 8 bytes.
fn has_numbers(column: &ColumnSummary<'_>) -> bool {
    let column_type = column.column_type();
    match column.encoding() {
        EncodingSummary::Constant(value) => number_of(value).is_some(),
        EncodingSummary::Offsets { .. } => *column_type != ColumnType::Bool,
        EncodingSummary::Plain { width, .. } => {
            width == 8 && plain::has_numbers(column_type, width)
        }
        _ => false,
    }
}

/// What numbers are compared as.
trait Number: Copy + Default + Ord {
    /// A number less a base, which it has room for; both wrap around.
    fn of(number: i64, base: i64) -> Self;

    /// So much more.
    fn plus(self, offset: u32) -> Self;
}

impl Number for i32 {
    #[inline]
    fn of(number: i64, base: i64) -> Self {
        number.wrapping_sub(base) as Self
    }

    #[inline]
    fn plus(self, offset: u32) -> Self {
        self.wrapping_add(offset as Self)
    }
}

impl Number for i64 {
    #[inline]
    fn of(number: i64, base: i64) -> Self {
        number.wrapping_sub(base)
    }

    #[inline]
    fn plus(self, offset: u32) -> Self {
        self.wrapping_add(offset.into())
    }
}

impl Comparison {
    /// A bit for each of 64 rows that meets it.
    fn word<N: Number>(self, left: &[N; 64], right: &[N; 64]) -> u64 {
        match self {
            Self::Less => word_of(left, right, |a, b| a < b),
            Self::Equal => word_of(left, right, |a, b| a == b),
            Self::Greater => word_of(right, left, |a, b| a < b),
            Self::GreaterOrEqual => !word_of(left, right, |a, b| a < b),
            Self::NotEqual => !word_of(left, right, |a, b| a == b),
            Self::LessOrEqual => !word_of(right, left, |a, b| a < b),
        }
    }
}

#[inline]
fn word_of<N: Number>(left: &[N; 64], right: &[N; 64], meets: impl Fn(N, N) -> bool) -> u64 {
    let mut truths = [0; 64];
    for ((truth, left), right) in truths.iter_mut().zip(left).zip(right) {
        *truth = meets(*left, *right).into();
    }
    packed(&truths)
}
