//! What a predicate or the keys of a join say of one encoded column.
//!
//! A predicate on a dictionary is evaluated once for each of its values, on offsets of a byte once
//! for each of 256 numbers; after that a row costs one look-up. Ranges of wider offsets are
//! compared as offsets, keys are looked up by number, patterns searched for in the encoded text. A
//! segment whose least and greatest value lie outside a range is passed over.

use std::sync::Arc;

use remanent_engine::schema::Value;
use remanent_engine::{Encoding, FrozenColumn};

use crate::automaton::Automaton;
use crate::decode::{consecutive, dictionary_values, from_values};
use crate::encoded_texts::EncodedTexts;
use crate::key_set::KeySet;
use crate::offsets::Parts;
use crate::pattern::TextPattern;
use crate::predicate::ColumnPredicate;
use crate::vector::Decoded;

/// Values of a dictionary for which a predicate is evaluated ahead, at most.
const DICTIONARY_MAX: usize = 16_384;

/// What is said of the rows of one segment.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// All rows meet it.
    All,
    /// No row meets it.
    None,
    /// It has to be evaluated on the values.
    Unknown,
    /// By the code or the offset of a row, and for null.
    Table { bytes: usize, meets: Vec<bool>, null: bool },
    /// By the offset: from the first to the second.
    Between { bytes: usize, low: u32, high: u32 },
    /// By the number, which is the offset more than the least: one of these.
    Among { keys: Arc<KeySet>, min: i128, bytes: usize },
    /// By the text, which lies behind those of other rows.
    Like(Arc<dyn TextPattern>),
    /// By the codes of the text's symbols.
    LikeCodes(Automaton),
}

impl Verdict {
    /// What a predicate says of a column.
    pub(crate) fn of(predicate: &dyn ColumnPredicate, column: &FrozenColumn<'_>) -> Self {
        if let (Some((low, high)), Some(least), Some(greatest)) =
            (predicate.range(), column.min().and_then(number_of), column.max().and_then(number_of))
        {
            if greatest < low || least > high {
                return Self::None;
            }
            if low <= least && greatest <= high && column.nulls().is_none() {
                return Self::All;
            }
        }
        match column.encoding() {
            Encoding::Constant(value) if column.nulls().is_none() => {
                match meets(predicate, from_values(column.column_type(), vec![value])) {
                    Some(meets) if meets[0] => Self::All,
                    Some(_) => Self::None,
                    None => Self::Unknown,
                }
            }
            Encoding::Dictionary { code_width, values, .. }
                if code_width <= 2 && values.len() <= DICTIONARY_MAX =>
            {
                let values = dictionary_values(column.column_type(), &values);
                Self::table(predicate, column, code_width, values)
            }
            Encoding::Offsets { min, width: 1, .. } => {
                match consecutive(min, 256, column.column_type()) {
                    Some(values) => {
                        Self::table(predicate, column, 1, Decoded { values, valid: None })
                    }
                    None => Self::Unknown,
                }
            }
            Encoding::Offsets { min, width, .. } => {
                predicate.range().map_or(Self::Unknown, |range| Self::between(range, min, width))
            }
            Encoding::Strings { .. } => match predicate.pattern() {
                Some(pattern) => Self::Like(Arc::clone(pattern)),
                None => Self::Unknown,
            },
            Encoding::Fsst { symbols, .. } => {
                let pattern = predicate.pattern();
                let automaton =
                    pattern.and_then(|pattern| Automaton::new(pattern.parts(), &symbols));
                automaton.map_or(Self::Unknown, Self::LikeCodes)
            }
            _ => Self::Unknown,
        }
    }

    /// A range, of numbers that are so much more than the least.
    fn between(range: (i128, i128), min: i128, width: usize) -> Self {
        let (low, high) = range;
        if high < min {
            return Self::None;
        }
        let offset = |bound: i128| bound.saturating_sub(min).clamp(0, u32::MAX.into()) as u32;
        Self::Between { bytes: width, low: offset(low), high: offset(high) }
    }

    /// A table by the codes or offsets, of so many bytes, whose values are given.
    fn table(
        predicate: &dyn ColumnPredicate,
        column: &FrozenColumn<'_>,
        bytes: usize,
        values: Decoded<'_>,
    ) -> Self {
        let Some(mut truths) = meets(predicate, values) else { return Self::Unknown };
        let null = match column.nulls() {
            None => false,
            Some(_) => {
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
        if (null || column.nulls().is_none()) && !truths.contains(&false) {
            return Self::All;
        }
        // The code of a null row may be any.
        truths.resize(if bytes == 1 { 256 } else { 65_536 }, false);
        Self::Table { bytes, meets: truths, null }
    }

    /// What the keys that a join wants say of a column; nothing where it is not numbers that are
    /// kept as offsets.
    pub(crate) fn of_keys(keys: &Arc<KeySet>, column: &FrozenColumn<'_>) -> Self {
        if let (Some(least), Some(greatest)) =
            (column.min().and_then(number_of), column.max().and_then(number_of))
            && !keys.has_between(least, greatest)
        {
            return Self::None;
        }
        match column.encoding() {
            Encoding::Constant(value) => match number_of(value) {
                Some(number) if keys.has(number) => Self::All,
                _ => Self::None,
            },
            Encoding::Offsets { min, width, .. } => {
                Self::Among { keys: Arc::clone(keys), min, bytes: width }
            }
            _ => Self::Unknown,
        }
    }

    /// Takes the rows of a stretch that do not meet it out of `meets`.
    pub(crate) fn filter(&self, column: &FrozenColumn<'_>, from: usize, meets: &mut [bool]) {
        match column.encoding() {
            Encoding::Offsets { bytes: codes, .. } | Encoding::Dictionary { codes, .. } => {
                self.filter_numbers(column, codes, from, meets);
            }
            Encoding::Strings { ends, bytes } | Encoding::Fsst { ends, codes: bytes, .. } => {
                let texts = EncodedTexts::new(column, ends, bytes);
                match self {
                    Self::Like(pattern) => pattern.filter(&texts, from, meets),
                    Self::LikeCodes(automaton) => {
                        texts.filter(from, meets, |codes| automaton.meets(codes));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn filter_numbers(
        &self,
        column: &FrozenColumn<'_>,
        codes: &[u8],
        from: usize,
        meets: &mut [bool],
    ) {
        let before = column.nulls().map(|nulls| (nulls, meets.to_vec()));
        match self {
            Self::Table { bytes, meets: table, .. } => {
                filter_by_table(table, *bytes, &codes[from * bytes..], meets);
            }
            Self::Between { bytes, low, high } => match bytes {
                3 => {
                    let offsets = Parts::of(codes).stretch(from, meets.len());
                    meets.iter_mut().zip(offsets).for_each(|(meet, offset)| {
                        *meet &= (offset >= *low) & (offset <= *high);
                    });
                }
                _ => filter_between(*low, *high, *bytes, &codes[from * bytes..], meets),
            },
            Self::Among { keys, min, bytes } => match bytes {
                1 => keys.filter(*min, codes[from..].iter().map(|byte| (*byte).into()), meets),
                2 => {
                    let entries = codes.as_chunks().0[from..].iter();
                    keys.filter(*min, entries.map(|two| u16::from_le_bytes(*two).into()), meets);
                }
                3 => keys.filter(*min, Parts::of(codes).stretch(from, meets.len()), meets),
                _ => {
                    let entries = codes.as_chunks().0[from..].iter();
                    keys.filter(*min, entries.map(|four| u32::from_le_bytes(*four)), meets);
                }
            },
            _ => return,
        }
        let null = matches!(self, Self::Table { null: true, .. });
        let Some((nulls, before)) = before else { return };
        // The code of a null row says nothing.
        for (at, meet) in meets.iter_mut().enumerate() {
            let row = from + at;
            if nulls[row / 64] >> (row % 64) & 1 == 1 {
                *meet = before[at] && null;
            }
        }
    }
}

/// Takes the rows out of `meets` whose codes, which begin with that of the first, a table has not.
fn filter_by_table(table: &[bool], bytes: usize, codes: &[u8], meets: &mut [bool]) {
    match bytes {
        1 => meets.iter_mut().zip(codes).for_each(|(meet, &code)| {
            *meet &= table[usize::from(code)];
        }),
        _ => meets.iter_mut().zip(codes.as_chunks().0).for_each(|(meet, code)| {
            *meet &= table[usize::from(u16::from_le_bytes(*code))];
        }),
    }
}

/// Takes the rows out of `meets` whose offsets, of 2 or 4 bytes, do not lie between two.
fn filter_between(low: u32, high: u32, bytes: usize, codes: &[u8], meets: &mut [bool]) {
    match bytes {
        2 => {
            let (low, high) = (low as u16, high.min(u16::MAX.into()) as u16);
            meets.iter_mut().zip(codes.as_chunks().0).for_each(|(meet, code)| {
                let code = u16::from_le_bytes(*code);
                *meet &= (code >= low) & (code <= high);
            });
        }
        _ => meets.iter_mut().zip(codes.as_chunks().0).for_each(|(meet, code)| {
            let code = u32::from_le_bytes(*code);
            *meet &= (code >= low) & (code <= high);
        }),
    }
}

/// For each value whether it meets a predicate; `None` if that fails for one.
fn meets(predicate: &dyn ColumnPredicate, values: Decoded<'_>) -> Option<Vec<bool>> {
    let count = values.values.len();
    Some(predicate.matches(values)?.to_truths(count))
}

/// The whole number of a value that has one.
fn number_of(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Decimal(number) => Some(number),
        Value::Date(days) => Some(days.into()),
        Value::Time(at) | Value::Timestamp(at) => Some(at.into()),
        other => other.as_integer(),
    }
}
