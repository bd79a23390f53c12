//! A column of the keys that rows are grouped or joined by, as numbers of 8 bytes.
//!
//! A whole number is itself, moved so that unsigned numbers have its order; a text is the number
//! under which it was met first, so that it is compared once for each value of a segment's
//! dictionary, and once for each row of a relation that is read again and again.

use remanent_engine::{DictionaryValues, Encoding, FrozenColumn};

use crate::encodings::dictionary::is_text;
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::Rows;
use crate::sources::account::Refused;
use crate::sources::source::{Codes, Given, Loader, Slice, Source, Texts, has_bit};

/// An id that was not looked up yet.
const UNKNOWN: u64 = u64::MAX;

/// The number of a whole number: unsigned, in the same order.
pub(crate) fn ordered(number: i64) -> u64 {
    number as u64 ^ 1 << 63
}

/// The whole number of its number.
pub(crate) fn of_ordered(number: u64) -> i64 {
    (number ^ 1 << 63) as i64
}

/// A key's column in a segment, or in a slice.
pub(crate) enum KeyColumn<'s> {
    /// Whole numbers.
    Numbers(Loader<'s>),
    /// Texts of a dictionary, with the number of each that was met so far.
    Codes {
        codes: Codes<'s>,
        values: DictionaryValues<'s>,
        nulls: Option<&'s [u64]>,
        numbers: Vec<u64>,
    },
    /// Texts by themselves, with the numbers of some that were met.
    Texts { texts: &'s dyn Texts, nulls: Option<&'s [u64]>, met: Vec<Met> },
    /// Texts of rows that come again and again.
    RowTexts { texts: &'s dyn Texts, nulls: Option<&'s [u64]> },
    /// The number of the row itself, of so many.
    Row { rows: usize },
}

/// How texts become numbers.
pub(crate) struct TextNumbers<'n> {
    /// The number of a text.
    pub(crate) number_of: &'n mut dyn FnMut(&[u8]) -> Result<u64, Refused>,
    /// Those of rows that come again and again, as far as they are known.
    pub(crate) by_row: &'n mut Vec<u64>,
}

/// The number of the text that a view leads to.
#[derive(Clone, Copy)]
pub(crate) struct Met {
    view: u128,
    number: u64,
}

/// Views whose numbers are kept, each in the place that its bytes say.
const MET: usize = 512;

impl<'s> KeyColumn<'s> {
    /// How a column's values become numbers, if the same rows come again and again.
    pub(crate) fn of_relation(source: &Source<'s>) -> Option<Self> {
        match source {
            Source::Given(Given { values: Slice::Texts(texts), nulls, .. }) => {
                Some(Self::RowTexts { texts: *texts, nulls: *nulls })
            }
            source => Self::of(source),
        }
    }

    /// How a column's values become numbers; `None` if they have to be given one by one.
    pub(crate) fn of(source: &Source<'s>) -> Option<Self> {
        match source {
            Source::Encoded(column) if is_text(column.column_type()) => Self::of_texts(column),
            Source::Given(Given { values: Slice::Texts(texts), nulls, .. }) => {
                let met = vec![Met { view: 0, number: UNKNOWN }; MET];
                Some(Self::Texts { texts: *texts, nulls: *nulls, met })
            }
            _ => Loader::of(source).map(Self::Numbers),
        }
    }

    fn of_texts(column: &FrozenColumn<'s>) -> Option<Self> {
        let Encoding::Dictionary { code_width, codes, values } = column.encoding() else {
            return None;
        };
        let numbers = vec![UNKNOWN; values.len()];
        let codes = Codes::Encoded { width: code_width, bytes: codes, count: values.len() };
        Some(Self::Codes { codes, values, nulls: column.nulls(), numbers })
    }

    /// A bitmap of the rows that are null.
    pub(crate) fn nulls(&self) -> Option<&'s [u64]> {
        match self {
            Self::Numbers(loader) => loader.nulls,
            Self::Codes { nulls, .. }
            | Self::Texts { nulls, .. }
            | Self::RowTexts { nulls, .. } => *nulls,
            Self::Row { .. } => None,
        }
    }

    /// The codes of its values, if they have small ones.
    pub(crate) fn codes(&self) -> Option<Codes<'s>> {
        match self {
            Self::Numbers(loader) => loader.offsets(),
            Self::Codes { codes, .. } => Some(*codes),
            Self::Texts { .. } => None,
            Self::RowTexts { texts, .. } => Some(Codes::Rows { count: texts.rows() }),
            Self::Row { rows } => Some(Codes::Rows { count: *rows }),
        }
    }

    /// Loads the numbers of these rows; of null rows come any.
    ///
    /// # Errors
    /// Memory for new texts is refused.
    pub(crate) fn load(
        &mut self,
        rows: Rows<'_>,
        known: &mut TextNumbers<'_>,
        into: &mut [u64],
        scratch: &mut Vec<i64>,
    ) -> Result<(), Refused> {
        match self {
            Self::Numbers(loader) => {
                scratch.resize(into.len(), 0);
                loader.load(rows, scratch);
                into.iter_mut().zip(scratch).for_each(|(to, number)| *to = ordered(*number));
                Ok(())
            }
            Self::Codes { codes, values, numbers, .. } => {
                let Codes::Encoded { width, bytes, .. } = *codes else { return Ok(()) };
                with_offsets!(bytes, width, |codes| {
                    rows.load(
                        into,
                        |rows, into| codes.load(rows, into, u64::from),
                        |row| codes.get(row).into(),
                    );
                });
                for to in into {
                    *to = number_of_code(*to as usize, values, numbers, known)?;
                }
                Ok(())
            }
            Self::Texts { texts, nulls, met } => {
                let is_null = |row: usize| nulls.is_some_and(|nulls| has_bit(nulls, row));
                rows.try_each(|at, row| {
                    if is_null(row) {
                        into[at] = 0;
                        return Ok(());
                    }
                    let view = texts.view(row);
                    let met = &mut met[place_of(view)];
                    if met.view != view || met.number == UNKNOWN {
                        let number = (known.number_of)(texts.get(row))?;
                        *met = Met { view, number };
                    }
                    into[at] = met.number;
                    Ok(())
                })
            }
            Self::Row { .. } => {
                rows.each(|at, row| into[at] = row as u64);
                Ok(())
            }
            Self::RowTexts { texts, nulls } => {
                known.by_row.resize(texts.rows(), UNKNOWN);
                rows.try_each(|at, row| {
                    if nulls.is_some_and(|nulls| has_bit(nulls, row)) {
                        into[at] = 0;
                        return Ok(());
                    }
                    if known.by_row[row] == UNKNOWN {
                        known.by_row[row] = (known.number_of)(texts.get(row))?;
                    }
                    into[at] = known.by_row[row];
                    Ok(())
                })
            }
        }
    }

    /// Whether it has texts.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, Self::Numbers(_) | Self::Row { .. })
    }
}

/// The place of a view among those whose numbers are kept.
#[inline]
fn place_of(view: u128) -> usize {
    let folded = (view as u64 ^ (view >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (folded >> 32) as usize % MET
}

/// The number of a dictionary's text; of a code that it does not have, as null rows may, any.
#[inline]
fn number_of_code(
    code: usize,
    values: &DictionaryValues<'_>,
    numbers: &mut [u64],
    known: &mut TextNumbers<'_>,
) -> Result<u64, Refused> {
    let Some(number) = numbers.get_mut(code) else { return Ok(0) };
    if *number == UNKNOWN {
        *number = (known.number_of)(values.bytes(code as u32))?;
    }
    Ok(*number)
}
