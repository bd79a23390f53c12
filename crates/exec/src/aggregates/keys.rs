//! The keys that rows are grouped by, as numbers of 8 bytes: one for each column, and one more that
//! says which of them are null, if any may be.
//!
//! A whole number is itself, moved so that unsigned numbers have its order; a text is the number
//! under which it was met first, so that it is compared once for each value of a segment's
//! dictionary. Where all columns of a segment have small codes, a group is found by the product of
//! its codes, and the numbers are needed once for each product.

use remanent_engine::{DictionaryValues, Encoding, FrozenColumn};

use super::account::{Account, Refused};
use super::hash::{HashTable, Hasher};
use super::source::{Codes, Given, Loader, Slice, Source, Texts};
use crate::encodings::dictionary::is_text;
use crate::encodings::offsets::{Offsets, with_offsets};
use crate::rows::Rows;

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

/// Different texts, by the number under which they were met first.
pub(crate) struct KnownTexts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    table: HashTable,
    hasher: Hasher,
}

impl KnownTexts {
    pub(crate) fn new() -> Self {
        Self { bytes: Vec::new(), ends: Vec::new(), table: HashTable::new(), hasher: Hasher::new() }
    }

    /// The text of a number.
    pub(crate) fn get(&self, number: u64) -> &[u8] {
        text_of(&self.bytes, &self.ends, number as usize)
    }

    /// The number of a text.
    ///
    /// # Errors
    /// Memory for a new one is refused.
    pub(crate) fn number_of(
        &mut self,
        text: &[u8],
        account: &mut Account<'_>,
    ) -> Result<u64, Refused> {
        let hash = self.hasher.of_bytes(text);
        let (bytes, ends, hasher) = (&self.bytes, &self.ends, self.hasher);
        let known = |number: u32| text_of(bytes, ends, number as usize);
        if let Some(number) = self.table.find(hash, |number| known(number) == text) {
            return Ok(number.into());
        }
        let number = u32::try_from(self.ends.len()).map_err(|_| Refused)?;
        self.table.make_room(1, account, |number| hasher.of_bytes(known(number)))?;
        account.reserve(&mut self.bytes, text.len())?;
        account.reserve(&mut self.ends, 1)?;
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.table.insert(hash, number);
        Ok(number.into())
    }
}

fn text_of<'t>(bytes: &'t [u8], ends: &[usize], number: usize) -> &'t [u8] {
    let start = number.checked_sub(1).map_or(0, |before| ends[before]);
    &bytes[start..ends[number]]
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
    /// How a column's values become numbers; `None` if they have to be given one by one.
    pub(crate) fn of(source: &Source<'s>) -> Option<Self> {
        match source {
            Source::Encoded(column) if is_text(column.column_type()) => Self::of_texts(column),
            Source::Given(Given { values: Slice::Texts(texts), nulls }) => {
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
        let codes = Codes { width: code_width, bytes: codes, count: values.len() };
        Some(Self::Codes { codes, values, nulls: column.nulls(), numbers })
    }

    /// A bitmap of the rows that are null.
    pub(crate) fn nulls(&self) -> Option<&'s [u64]> {
        match self {
            Self::Numbers(loader) => loader.nulls,
            Self::Codes { nulls, .. } | Self::Texts { nulls, .. } => *nulls,
        }
    }

    /// The codes of its values, if they have small ones.
    pub(crate) fn codes(&self) -> Option<Codes<'s>> {
        match self {
            Self::Numbers(loader) => loader.offsets(),
            Self::Codes { codes, .. } => Some(*codes),
            Self::Texts { .. } => None,
        }
    }

    /// Loads the numbers of these rows; of null rows come any.
    ///
    /// # Errors
    /// Memory for new texts is refused.
    pub(crate) fn load(
        &mut self,
        rows: Rows<'_>,
        known: &mut KnownTexts,
        into: &mut [u64],
        scratch: &mut Vec<i64>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        match self {
            Self::Numbers(loader) => {
                scratch.resize(into.len(), 0);
                loader.load(rows, scratch);
                into.iter_mut().zip(scratch).for_each(|(to, number)| *to = ordered(*number));
                Ok(())
            }
            Self::Codes { codes, values, numbers, .. } => {
                with_offsets!(codes.bytes, codes.width, |codes| {
                    rows.load(
                        into,
                        |rows, into| codes.load(rows, into, u64::from),
                        |row| codes.get(row).into(),
                    );
                });
                for to in into {
                    *to = number_of_code(*to as usize, values, numbers, known, account)?;
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
                        let number = known.number_of(texts.get(row), account)?;
                        *met = Met { view, number };
                    }
                    into[at] = met.number;
                    Ok(())
                })
            }
        }
    }

    /// Whether it has texts.
    pub(crate) fn is_text(&self) -> bool {
        !matches!(self, Self::Numbers(_))
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
    known: &mut KnownTexts,
    account: &mut Account<'_>,
) -> Result<u64, Refused> {
    let Some(number) = numbers.get_mut(code) else { return Ok(0) };
    if *number == UNKNOWN {
        *number = known.number_of(values.bytes(code as u32), account)?;
    }
    Ok(*number)
}

/// Whether a bitmap has a row's bit.
#[inline]
pub(crate) fn has_bit(bitmap: &[u64], row: usize) -> bool {
    bitmap[row / 64] >> (row % 64) & 1 == 1
}
