//! What a predicate or the keys of a join say of one encoded column.
//!
//! A predicate on a dictionary is evaluated once for each of its values, on offsets of a byte once
//! for each of 256 numbers; after that codes are compared with the ends of what meets it, or a row
//! costs one look-up. Sets of numbers are compared with wider offsets, and with numbers as they lie
//! in rows; keys are looked up by number, patterns searched for in the encoded text. A segment is
//! passed over if its least and greatest value lie outside a set, and so are 2,048 rows whose do.

use std::sync::Arc;

use remanent_engine::schema::Value;
use remanent_engine::{
    ColumnSummary, Encoding, EncodingSummary, FrozenColumn, Result, Symbols, Zones,
};

use crate::conditions::automaton::Automaton;
use crate::conditions::key_set::KeySet;
use crate::conditions::key_sketch::{KeySketch, WantedNumbers};
use crate::conditions::on_offsets::{EncodedOffsets, OffsetBits, OffsetRange};
use crate::conditions::pattern::TextPattern;
use crate::conditions::plain::{self, PlainBytes};
use crate::conditions::predicate::ColumnPredicate;
use crate::conditions::ranges::{NumberRange, NumberRanges};
use crate::conditions::text_bound::BoundOnCodes;
use crate::decode::{consecutive, dictionary_values, from_values};
use crate::encodings::encoded_texts::EncodedTexts;
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::bits::RowBits;
use crate::vector::Decoded;

/// Values of a dictionary for which a predicate is evaluated ahead, at most.
const DICTIONARY_MAX: usize = 16_384;

/// Ranges that numbers are compared with, at most.
const RANGES_MAX: usize = 8;

/// Numbers of a zone that are looked through for keys, at most.
const NUMBERS_MAX: i128 = 1 << 16;

/// What is said of the rows of one segment.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// All rows meet it.
    All,
    /// No row meets it.
    None,
    /// It has to be evaluated on the values.
    Unknown,
    /// By a bit for each code or offset, and for null.
    Table { meets: Vec<u64>, null: bool },
    /// By the code or the offset, which is in one of these ranges, and for null.
    Ranges { ranges: Vec<OffsetRange>, null: bool },
    /// By the number as it lies in rows; null does not meet it.
    Plain(NumberRanges),
    /// By the number, which is the offset more than the least: one of these.
    Among { keys: Arc<KeySet>, min: i128 },
    /// By the number, which is the offset more than `min`, or as in rows: maybe one of these.
    MaybeAmong { keys: Arc<KeySketch>, min: i128 },
    /// By the text, which lies behind those of other rows.
    Like(Arc<dyn TextPattern>),
    /// By the codes of the text's symbols.
    LikeCodes(Box<Automaton>),
    /// By how the text with these codes stands to another one.
    BoundCodes(Box<BoundOnCodes>),
}

impl Verdict {
    /// What a predicate says of a column. `whole` gives it with its rows, which a large dictionary
    /// stands among.
    ///
    /// # Errors
    /// Those of `whole`.
    pub(crate) fn of<'c>(
        predicate: &dyn ColumnPredicate,
        column: &ColumnSummary<'_>,
        whole: impl FnOnce() -> Result<FrozenColumn<'c>>,
    ) -> Result<Self> {
        let ranges = match ranges_within(predicate, column) {
            Some(ranges) if ranges.as_slice().is_empty() => return Ok(Self::None),
            Some(ranges) if is_all_of(&ranges, column) => return Ok(Self::All),
            ranges => ranges,
        };
        Ok(match column.encoding() {
            EncodingSummary::Constant(value) if !column.has_nulls() => {
                Self::of_constant(predicate, column, value)
            }
            EncodingSummary::Dictionary { code_width, count, values }
                if code_width <= 2 && count <= DICTIONARY_MAX =>
            {
                let values = match values {
                    Some(values) => values,
                    None => match whole()?.encoding() {
                        Encoding::Dictionary { values, .. } => values,
                        _ => return Ok(Self::Unknown),
                    },
                };
                let values = dictionary_values(column.column_type(), &values);
                Self::table(predicate, column, values)
            }
            EncodingSummary::Offsets { min, width: 1 } => {
                match consecutive(min, 256, column.column_type()) {
                    Some(values) => Self::table(predicate, column, Decoded { values, valid: None }),
                    None => Self::Unknown,
                }
            }
            EncodingSummary::Offsets { min, .. } => {
                ranges.map_or(Self::Unknown, |ranges| Self::offset_ranges(&ranges, min))
            }
            EncodingSummary::Plain { width } => match ranges {
                Some(ranges) if plain::has_numbers(column.column_type(), width) => {
                    match ranges.as_slice().len() {
                        ..=RANGES_MAX => Self::Plain(ranges),
                        _ => Self::Unknown,
                    }
                }
                _ => Self::Unknown,
            },
            EncodingSummary::Strings => match predicate.pattern() {
                Some(pattern) => Self::Like(Arc::clone(pattern)),
                None => Self::Unknown,
            },
            EncodingSummary::Fsst { symbols } => match predicate.pattern() {
                Some(pattern) => Self::of_symbols(pattern, &symbols),
                None => Self::Unknown,
            },
            _ => Self::Unknown,
        })
    }

    /// Whether the least and the greatest value say that no row meets a predicate.
    pub(crate) fn is_none(predicate: &dyn ColumnPredicate, column: &ColumnSummary<'_>) -> bool {
        ranges_within(predicate, column).is_some_and(|ranges| ranges.as_slice().is_empty())
    }

    /// One value that all rows have.
    fn of_constant(
        predicate: &dyn ColumnPredicate,
        column: &ColumnSummary<'_>,
        value: Value<'_>,
    ) -> Self {
        match meets(predicate, from_values(column.column_type(), vec![value])) {
            Some(meets) if meets[0] => Self::All,
            Some(_) => Self::None,
            None => Self::Unknown,
        }
    }

    /// A pattern that is searched for in text of these symbols.
    fn of_symbols(pattern: &Arc<dyn TextPattern>, symbols: &Symbols<'_>) -> Self {
        if let Some(bound) = pattern.bound() {
            return Self::BoundCodes(Box::new(BoundOnCodes::new(bound, symbols)));
        }
        let automaton = pattern.parts().and_then(|it| Automaton::new(it, symbols));
        automaton.map_or(Self::Unknown, |it| Self::LikeCodes(Box::new(it)))
    }

    /// Ranges of numbers that are so much more than the least.
    fn offset_ranges(ranges: &NumberRanges, min: i128) -> Self {
        let offset = |bound: i128| bound.saturating_sub(min).clamp(0, u32::MAX.into()) as u32;
        let range =
            |range: &NumberRange| OffsetRange { low: offset(range.low), high: offset(range.high) };
        match ranges.as_slice() {
            many if many.len() > RANGES_MAX => Self::Unknown,
            few => Self::Ranges { ranges: few.iter().map(range).collect(), null: false },
        }
    }

    /// A table by the codes or offsets, whose values are given.
    fn table(
        predicate: &dyn ColumnPredicate,
        column: &ColumnSummary<'_>,
        values: Decoded<'_>,
    ) -> Self {
        let Some(truths) = meets(predicate, values) else { return Self::Unknown };
        let null = match column.has_nulls() {
            false => false,
            true => {
                let null = from_values(column.column_type(), vec![Value::Null]);
                match meets(predicate, null) {
                    Some(meets) => meets[0],
                    None => return Self::Unknown,
                }
            }
        };
        if !null && !truths.contains(&true) {
            return Self::None;
        }
        if (null || !column.has_nulls()) && !truths.contains(&false) {
            return Self::All;
        }
        if let Some(range) = only_range(&truths) {
            return Self::Ranges { ranges: vec![range], null };
        }
        let words = truths.chunks(64).map(|truths| {
            truths.iter().zip(0..).fold(0, |word, (meets, bit)| word | u64::from(*meets) << bit)
        });
        Self::Table { meets: words.collect(), null }
    }

    /// What the keys that a join wants say of a column; nothing where it is not numbers that are
    /// kept as offsets, or as they lie in rows.
    pub(crate) fn of_keys(keys: &WantedNumbers, column: &ColumnSummary<'_>) -> Self {
        if let (Some(least), Some(greatest)) =
            (column.min().and_then(number_of), column.max().and_then(number_of))
            && !keys.may_have_between(least, greatest)
        {
            return Self::None;
        }
        match column.encoding() {
            EncodingSummary::Constant(value) => match number_of(value) {
                Some(number) if keys.may_have(number) => Self::All,
                _ => Self::None,
            },
            EncodingSummary::Offsets { min, .. } => match keys {
                WantedNumbers::Set(keys) => Self::Among { keys: Arc::clone(keys), min },
                WantedNumbers::Sketch(keys) => Self::MaybeAmong { keys: Arc::clone(keys), min },
            },
            EncodingSummary::Plain { width: 8 } => match keys {
                WantedNumbers::Sketch(keys) if plain::has_numbers(column.column_type(), 8) => {
                    Self::MaybeAmong { keys: Arc::clone(keys), min: 0 }
                }
                _ => Self::Unknown,
            },
            _ => Self::Unknown,
        }
    }

    /// Leaves the rows of a stretch that meet it; the stretch begins at row `first`.
    pub(crate) fn filter(&self, column: &FrozenColumn<'_>, first: usize, rows: &mut RowBits) {
        let Some(nulls) = column.nulls() else { return self.filter_values(column, first, rows) };
        // What stands at the place of a null row says nothing.
        let null_rows = self.meets_null().then(|| rows.common(nulls, first));
        rows.remove(nulls, first);
        self.filter_values(column, first, rows);
        if let Some(null_rows) = null_rows {
            rows.add(&null_rows);
        }
    }

    fn filter_values(&self, column: &FrozenColumn<'_>, first: usize, rows: &mut RowBits) {
        if let Some(zones) = column.zones() {
            self.leave_zones(&zones, column, first, rows);
            if rows.is_none() {
                return;
            }
        }
        match column.encoding() {
            Encoding::Offsets { width, bytes, .. } => {
                self.filter_offsets(bytes, width, first, rows);
            }
            Encoding::Dictionary { code_width, codes, .. } => {
                self.filter_offsets(codes, code_width, first, rows);
            }
            Encoding::Plain { width, bytes } => {
                let values = PlainBytes { width, bytes };
                match self {
                    Self::Plain(ranges) => {
                        plain::filter(column.column_type(), values, ranges, first, rows);
                    }
                    Self::MaybeAmong { keys, .. } => plain::keep_keys(values, keys, first, rows),
                    _ => {}
                }
            }
            Encoding::Strings { ends, bytes } | Encoding::Fsst { ends, codes: bytes, .. } => {
                let texts = EncodedTexts::new(ends, bytes);
                match self {
                    Self::Like(pattern) => pattern.filter(&texts, first, rows),
                    Self::LikeCodes(automaton) => automaton.filter(&texts, first, rows),
                    Self::BoundCodes(bound) => bound.filter(&texts, first, rows),
                    _ => {}
                }
            }
            _ => {}
        }
    }

    /// Leaves the rows of zones in which a row may meet it.
    fn leave_zones(
        &self,
        zones: &Zones<'_>,
        column: &FrozenColumn<'_>,
        first: usize,
        rows: &mut RowBits,
    ) {
        let min = match column.encoding() {
            Encoding::Offsets { min, .. } => min,
            _ => 0,
        };
        let may_meet = |(least, greatest): (i128, i128)| match self {
            Self::Ranges { ranges, .. } => {
                let (least, greatest) = (least - min, greatest - min);
                ranges.iter().any(|it| i128::from(it.low) <= greatest && least <= it.high.into())
            }
            Self::Plain(ranges) => {
                ranges.as_slice().iter().any(|it| it.low <= greatest && least <= it.high)
            }
            Self::Among { keys, .. } => {
                greatest - least > NUMBERS_MAX || keys.has_between(least, greatest)
            }
            Self::MaybeAmong { keys, .. } => keys.may_have_between(least, greatest),
            _ => true,
        };
        let end = first + rows.len();
        for zone in first / Zones::ROWS..end.div_ceil(Zones::ROWS) {
            if !may_meet(zones.get(zone)) {
                let from = zone * Zones::ROWS;
                let passed = from.max(first) - first..(from + Zones::ROWS).min(end) - first;
                rows.remove_stretch(passed);
            }
        }
    }

    fn meets_null(&self) -> bool {
        matches!(self, Self::Table { null: true, .. } | Self::Ranges { null: true, .. })
    }

    fn filter_offsets(&self, bytes: &[u8], width: usize, first: usize, rows: &mut RowBits) {
        let offsets = EncodedOffsets { bytes, width };
        match self {
            Self::Table { meets, .. } => {
                let bits = OffsetBits { bits: meets, len: meets.len() * 64, first: 0 };
                offsets.keep_with_bit(bits, first, rows);
            }
            Self::Ranges { ranges, .. } => match ranges.as_slice() {
                [range] => offsets.keep_between(*range, first, rows),
                ranges => with_offsets!(bytes, width, |offsets| {
                    rows.keep_words(|stretch, _| {
                        let stretch = first + stretch.start..first + stretch.end;
                        let word_of = |range: &OffsetRange| {
                            offsets.word(stretch.clone(), |offset| range.has(offset))
                        };
                        ranges.iter().fold(0, |word, range| word | word_of(range))
                    });
                }),
            },
            Self::Among { keys, min } => {
                offsets.keep_with_bit(keys.by_offset(*min), first, rows);
            }
            Self::MaybeAmong { keys, min } => {
                let least = *min as u64;
                let may_be = |offset: u32| keys.may_have_word(least.wrapping_add(offset.into()));
                with_offsets!(bytes, width, |offsets| offsets.filter(first, rows, may_be));
            }
            _ => {}
        }
    }
}

/// Of the numbers that a predicate is met by, those between the least and the greatest of a column,
/// if it has these.
fn ranges_within(
    predicate: &dyn ColumnPredicate,
    column: &ColumnSummary<'_>,
) -> Option<NumberRanges> {
    let (least, greatest) = ends_of(column)?;
    Some(predicate.ranges()?.and(&NumberRanges::between(least, greatest)))
}

/// Whether these are all that a column can have.
fn is_all_of(ranges: &NumberRanges, column: &ColumnSummary<'_>) -> bool {
    let all = ends_of(column).map(|(low, high)| NumberRange { low, high });
    !column.has_nulls() && all.is_some_and(|all| ranges.as_slice() == [all])
}

fn ends_of(column: &ColumnSummary<'_>) -> Option<(i128, i128)> {
    column.min().and_then(number_of).zip(column.max().and_then(number_of))
}

/// The one range of codes that meet something, if it is one.
fn only_range(truths: &[bool]) -> Option<OffsetRange> {
    let low = truths.iter().position(|meets| *meets)?;
    let high = truths.iter().rposition(|meets| *meets)?;
    let is_one = truths[low..=high].iter().all(|meets| *meets);
    is_one.then_some(OffsetRange { low: low as u32, high: high as u32 })
}

/// For each value whether it meets a predicate; `None` if that fails for one.
fn meets(predicate: &dyn ColumnPredicate, values: Decoded<'_>) -> Option<Vec<bool>> {
    let count = values.values.len();
    Some(predicate.matches(values)?.to_truths(count))
}

/// The whole number of a value that has one.
pub(crate) fn number_of(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Decimal(number) => Some(number),
        Value::Date(days) => Some(days.into()),
        Value::Time(at) | Value::Timestamp(at) => Some(at.into()),
        other => other.as_integer(),
    }
}
