//! The order of rows by their keys.
//!
//! Keys of all columns become one number, as far as there is room in it; the numbers are sorted,
//! and what they leave open is compared.

use std::cmp::Ordering;

use super::key::{KeyCodes, SortKey};
use super::radix::{Word, sort};
use super::ties::sort_ties;
use crate::rows::TILE_ROWS;
use crate::sources::account::{Account, Refused};

/// Bits of a row's number where keys are long.
const ROW_BITS: u32 = u32::BITS;
/// Bits that keys have then.
const KEY_BITS: u32 = u128::BITS - ROW_BITS;

/// The numbers of rows in the order of keys, the first key first; rows with equal keys stay in
/// their order. `None` if a key's values are neither numbers nor texts. `memory` is asked whether
/// so many bytes may be taken in all, and `stop` now and then whether to go on.
///
/// # Errors
/// Memory is refused, or `stop` says so.
///
/// # Examples
/// ```
/// use remanent_exec::{Given, Slice, SortKey, sort_rows};
/// let (prices, ids) = ([30, 10, 30, 20], [4, 3, 2, 1]);
/// let key = |values, descending| SortKey {
///     values: Given { values, nulls: None, range: None },
///     descending,
///     nulls_first: false,
/// };
/// let keys = [key(Slice::I64(&prices), true), key(Slice::I32(&ids), false)];
/// let order = sort_rows(&keys, 4, &mut |_| true, &mut || false);
/// assert_eq!(order, Ok(Some(vec![2, 0, 3, 1])));
/// ```
pub fn sort_rows(
    keys: &[SortKey<'_>],
    rows: usize,
    memory: &mut dyn FnMut(usize) -> bool,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<u32>>, Refused> {
    if rows > u32::MAX as usize {
        return Err(Refused);
    }
    let mut taken = 0;
    let mut account = Account { taken: &mut taken, memory };
    let mut codes = Vec::with_capacity(keys.len());
    for key in keys {
        let Some(code) = KeyCodes::of(*key, rows, &mut account)? else { return Ok(None) };
        codes.push(code);
        if stop() {
            return Err(Refused);
        }
    }
    let row_bits = usize::BITS - rows.saturating_sub(1).leading_zeros();
    let all_bits: u32 = codes.iter().map(|key| key.bits.min(KEY_BITS)).sum();
    let order = match all_bits + row_bits <= u64::BITS {
        true => order_of::<u64>(&codes, rows, row_bits, &mut account, stop)?,
        false => order_of::<u128>(&codes, rows, ROW_BITS, &mut account, stop)?,
    };
    Ok(Some(order))
}

/// Keys that numbers have room for: how many bits of each, and how many of them tell all.
struct Layout {
    /// Bits that are left out of each key's number.
    dropped: Vec<u32>,
    bits: u32,
    /// Keys in front that need not be compared any longer.
    told: usize,
}

impl Layout {
    fn of(codes: &[KeyCodes<'_>], room: u32) -> Self {
        let (mut dropped, mut bits, mut told) = (Vec::new(), 0, 0);
        for key in codes {
            let kept = key.bits.min(room - bits);
            dropped.push(key.bits - kept);
            bits += kept;
            if kept < key.bits || !key.is_exact {
                // Behind what does not tell all, nothing may decide.
                break;
            }
            told += 1;
        }
        Self { dropped, bits, told }
    }
}

fn order_of<W: Word>(
    codes: &[KeyCodes<'_>],
    rows: usize,
    row_bits: u32,
    account: &mut Account<'_>,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Vec<u32>, Refused> {
    let layout = Layout::of(codes, W::BITS - row_bits);
    let (mut words, mut other, mut order) = (Vec::new(), Vec::new(), Vec::new());
    account.reserve(&mut words, rows)?;
    account.reserve(&mut other, rows)?;
    account.reserve(&mut order, rows)?;
    for first in (0..rows).step_by(TILE_ROWS) {
        let mut tile = [0; TILE_ROWS];
        let tile = &mut tile[..TILE_ROWS.min(rows - first)];
        for (key, dropped) in codes.iter().zip(&layout.dropped) {
            key.append(first, *dropped, tile);
        }
        words.extend(tile.iter().zip(first as u32..).map(|(key, row)| W::new(*key, row, row_bits)));
    }
    other.resize(rows, W::default());
    sort(&mut words, &mut other, row_bits, layout.bits, stop)?;
    let left = &codes[layout.told..];
    if !left.is_empty() {
        let compare = |one: u32, other: u32| {
            let orders = left.iter().map(|key| key.compare(one as usize, other as usize));
            orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        sort_ties(&mut words, row_bits, &compare, stop)?;
    }
    order.extend(words.iter().map(|word| word.row(row_bits)));
    Ok(order)
}
