//! A column of a key as numbers in its order, of as few bits as they need.
//!
//! What always holds: a row that comes before another one has no greater number; where the numbers
//! are exact, rows with the same one have the same value.

use std::cmp::Ordering;

use crate::keys::texts::KnownTexts;
use crate::rows::{Rows, TILE_ROWS};
use crate::sources::account::{Account, Refused};
use crate::sources::source::{Given, Loader, Slice, Source, Texts, has_bit};

/// Different texts that get ranks, at most.
const RANKED_MAX: usize = 1 << 16;
/// Rows from which on ranks are worth looking for: fewer are compared.
const RANKED_MIN: usize = 1 << 11;
/// Rows of which at most half may have different texts, for ranks to be worth looking for.
const SAMPLED_ROWS: usize = 1 << 12;
/// Bytes of a text that its number has.
const PREFIX_BYTES: usize = 8;

/// A column that rows are sorted by.
#[derive(Clone, Copy)]
pub struct SortKey<'g> {
    /// Its values: numbers or texts.
    pub values: Given<'g>,
    /// Whether the greatest comes first.
    pub descending: bool,
    /// Whether null comes before all others, rather than behind them.
    pub nulls_first: bool,
}

/// How a column's values become numbers.
pub(super) struct KeyCodes<'g> {
    key: SortKey<'g>,
    kind: Kind<'g>,
    /// The number of null.
    of_null: u128,
    /// What is added to the numbers of others.
    base: u128,
    /// The greatest number of a value, before that.
    greatest: u128,
    /// Bits of the numbers.
    pub(super) bits: u32,
    /// Whether the same number is the same value.
    pub(super) is_exact: bool,
}

enum Kind<'g> {
    Numbers {
        loader: Loader<'g>,
        low: i64,
    },
    Wide {
        values: &'g [i128],
        low: i128,
    },
    Floats(&'g [f64]),
    /// The rank of each row's text.
    Ranks(Vec<u32>),
    /// So many bytes that all texts begin with are left out.
    Prefixes {
        texts: &'g dyn Texts,
        skipped: usize,
    },
}

impl<'g> KeyCodes<'g> {
    /// The numbers of a column of so many rows; `None` if its values are neither numbers nor texts.
    ///
    /// # Errors
    /// Memory for ranks is refused.
    pub(super) fn of(
        key: SortKey<'g>,
        rows: usize,
        account: &mut Account<'_>,
    ) -> Result<Option<Self>, Refused> {
        let given = key.values;
        let is_null = |row: usize| given.nulls.is_some_and(|nulls| has_bit(nulls, row));
        let (kind, greatest, is_exact) = match given.values {
            Slice::Other => return Ok(None),
            Slice::F64(values) => (Kind::Floats(values), u64::MAX.into(), true),
            Slice::Texts(texts) => match ranks(texts, rows, is_null, account)? {
                Some((ranks, count)) => (Kind::Ranks(ranks), count.saturating_sub(1) as u128, true),
                None => {
                    let skipped = common_prefix(texts, rows, is_null);
                    (Kind::Prefixes { texts, skipped }, u64::MAX.into(), false)
                }
            },
            values => match (Loader::of(&Source::Given(given)), values) {
                (Some(loader), _) => {
                    // What is said of null rows may lie farther apart, and does no harm.
                    let (low, high) = (loader.range.low as i64, loader.range.high as i64);
                    let greatest = high.wrapping_sub(low) as u64;
                    (Kind::Numbers { loader, low }, greatest.into(), true)
                }
                (None, Slice::I128(values)) => {
                    let low = values.iter().copied().min().unwrap_or_default();
                    let high = values.iter().copied().max().unwrap_or_default();
                    let greatest = high.wrapping_sub(low) as u128;
                    (Kind::Wide { values, low }, greatest, true)
                }
                _ => return Ok(None),
            },
        };
        // Numbers of 128 bits leave no room for null: it is told from them by comparing.
        let has_nulls = given.nulls.is_some();
        let (of_null, base) = match (has_nulls, key.nulls_first) {
            (false, _) => (0, 0),
            (true, true) => (0, 1),
            (true, false) => (greatest.saturating_add(1), 0),
        };
        let is_full = has_nulls && greatest == u128::MAX;
        let top = greatest.saturating_add(u128::from(has_nulls));
        let bits = u128::BITS - top.leading_zeros();
        let is_exact = is_exact && !is_full;
        Ok(Some(Self { key, kind, of_null, base, greatest, bits, is_exact }))
    }

    /// Puts the numbers of rows from a place on behind what is there, without their last bits; of
    /// at most a tile.
    pub(super) fn append(&self, first: usize, dropped: u32, into: &mut [u128]) {
        let (kept, nulls) = (self.bits - dropped, self.key.values.nulls);
        let count = into.len();
        let mut put = |at: usize, code: u128| {
            let code = match nulls.is_some_and(|nulls| has_bit(nulls, first + at)) {
                true => self.of_null,
                // Of null rows there may be numbers beyond the ends.
                false if self.key.descending => self.base.saturating_add(self.greatest - code),
                false => self.base.saturating_add(code),
            };
            into[at] = into[at] << kept | code >> dropped;
        };
        let rows = first..first + count;
        match &self.kind {
            Kind::Numbers { loader, low } => {
                let mut numbers = [0; TILE_ROWS];
                loader.load(Rows::Stretch(first, first + count), &mut numbers[..count]);
                let offset = |number: &i64| number.wrapping_sub(*low) as u64;
                numbers[..count].iter().enumerate().for_each(|(at, it)| put(at, offset(it).into()));
            }
            Kind::Wide { values, low } => {
                let offset = |number: &i128| number.wrapping_sub(*low) as u128;
                values[rows].iter().enumerate().for_each(|(at, it)| put(at, offset(it)));
            }
            Kind::Floats(values) => {
                values[rows]
                    .iter()
                    .enumerate()
                    .for_each(|(at, it)| put(at, float_number(*it).into()));
            }
            Kind::Ranks(ranks) => {
                ranks[rows].iter().enumerate().for_each(|(at, rank)| put(at, (*rank).into()));
            }
            Kind::Prefixes { texts, skipped } => {
                let is_null = |row: usize| nulls.is_some_and(|nulls| has_bit(nulls, row));
                for (at, row) in rows.enumerate() {
                    let text = if is_null(row) { &[] } else { texts.get(row) };
                    put(at, prefix_of(text.get(*skipped..).unwrap_or_default()).into());
                }
            }
        }
    }

    /// How the values of two rows stand to each other.
    pub(super) fn compare(&self, one: usize, other: usize) -> Ordering {
        let is_null = |row: usize| self.key.values.nulls.is_some_and(|nulls| has_bit(nulls, row));
        let order = match (is_null(one), is_null(other)) {
            (true, true) => return Ordering::Equal,
            (false, false) => match &self.kind {
                Kind::Numbers { loader, .. } => number(loader, one).cmp(&number(loader, other)),
                Kind::Wide { values, .. } => values[one].cmp(&values[other]),
                Kind::Floats(values) => float_number(values[one]).cmp(&float_number(values[other])),
                Kind::Ranks(ranks) => ranks[one].cmp(&ranks[other]),
                Kind::Prefixes { texts, .. } => texts.get(one).cmp(texts.get(other)),
            },
            (one, _) if one == self.key.nulls_first => return Ordering::Less,
            _ => return Ordering::Greater,
        };
        if self.key.descending { order.reverse() } else { order }
    }
}

fn number(loader: &Loader<'_>, row: usize) -> i64 {
    let mut number = [0];
    loader.load(Rows::Stretch(row, row + 1), &mut number);
    number[0]
}

/// A float as a number in its order, as PostgreSQL has it: NaN is one, above all others, and zero
/// has no sign.
pub(super) fn float_number(value: f64) -> u64 {
    let value = match value {
        it if it.is_nan() => f64::NAN.abs(),
        0.0 => 0.0,
        it => it,
    };
    let bits = value.to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

/// The first bytes of a text as a number; missing ones are 0.
fn prefix_of(text: &[u8]) -> u64 {
    match text.first_chunk::<PREFIX_BYTES>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut bytes = [0; PREFIX_BYTES];
            bytes[..text.len()].copy_from_slice(text);
            u64::from_be_bytes(bytes)
        }
    }
}

/// How many bytes all texts begin with.
fn common_prefix(texts: &dyn Texts, rows: usize, is_null: impl Fn(usize) -> bool) -> usize {
    let mut others = (0..rows).filter(|row| !is_null(*row));
    let Some(first) = others.next().map(|row| texts.get(row)) else { return 0 };
    let mut common = first.len();
    for row in others {
        let text = texts.get(row);
        if !text.starts_with(&first[..common]) {
            common = text.iter().zip(first).take_while(|(one, other)| one == other).count();
        }
        if common == 0 {
            break;
        }
    }
    common
}

/// The rank of each row's text, and how many there are, if there are few.
fn ranks(
    texts: &dyn Texts,
    rows: usize,
    is_null: impl Fn(usize) -> bool,
    account: &mut Account<'_>,
) -> Result<Option<(Vec<u32>, usize)>, Refused> {
    if rows < RANKED_MIN {
        return Ok(None);
    }
    let mut known = KnownTexts::new();
    let mut ranks: Vec<u32> = Vec::new();
    account.reserve(&mut ranks, rows)?;
    for row in 0..rows {
        if row == SAMPLED_ROWS && known.len() > SAMPLED_ROWS / 2 {
            return Ok(None);
        }
        let number = match is_null(row) {
            true => 0,
            false => known.number_of(texts.get(row), account)?,
        };
        ranks.push(number as u32);
        if known.len() > RANKED_MAX {
            return Ok(None);
        }
    }
    let count = known.len();
    let mut sorted: Vec<u64> = (0..count as u64).collect();
    sorted.sort_unstable_by_key(|number| known.get(*number));
    let mut rank_of = vec![0; count.max(1)];
    sorted.iter().zip(0..).for_each(|(number, rank)| rank_of[*number as usize] = rank);
    ranks.iter_mut().for_each(|number| *number = rank_of[*number as usize]);
    Ok(Some((ranks, count)))
}
