//! Numbers sorted byte by byte.
//!
//! Few bytes are sorted from the last to the first, each in one pass over all numbers. Many are
//! sorted from the first on, until what has the same bytes fits a cache.

use std::mem::swap;

use crate::sources::account::Refused;

/// Numbers below which comparing is faster.
const FEW: usize = 1 << 11;
/// Bytes that are sorted in passes over all numbers, at most.
const PASSES_MAX: u32 = 8;
/// Numbers with the same first bytes that are sorted by comparing.
const CACHED: usize = 1 << 15;

/// A key and the row that has it, in one number.
pub(super) trait Word: Copy + Ord + Default {
    /// Bits of it.
    const BITS: u32;

    /// A key with its row behind it, which has so many bits.
    fn new(key: u128, row: u32, row_bits: u32) -> Self;

    /// The row.
    fn row(self, row_bits: u32) -> u32;

    /// The eight bits above this one.
    fn byte(self, bit: u32) -> usize;

    /// Whether the keys are the same.
    fn has_key_of(self, other: Self, row_bits: u32) -> bool;
}

macro_rules! word {
    ($number:ty) => {
        impl Word for $number {
            const BITS: u32 = <$number>::BITS;

            #[inline]
            fn new(key: u128, row: u32, row_bits: u32) -> Self {
                (key as $number) << row_bits | row as $number
            }

            #[inline]
            fn row(self, row_bits: u32) -> u32 {
                (self & ((1 << row_bits) - 1)) as u32
            }

            #[inline]
            fn byte(self, bit: u32) -> usize {
                (self >> bit) as u8 as usize
            }

            #[inline]
            fn has_key_of(self, other: Self, row_bits: u32) -> bool {
                (self ^ other) >> row_bits == 0
            }
        }
    };
}

word!(u64);
word!(u128);

/// Sorts numbers whose keys have so many bits above those of the rows, which ascend. `other` has
/// as many numbers, of any kind; `stop` is asked now and then.
///
/// # Errors
/// `stop` says so.
pub(super) fn sort<W: Word>(
    words: &mut Vec<W>,
    other: &mut Vec<W>,
    row_bits: u32,
    key_bits: u32,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Refused> {
    if words.is_sorted() {
        return Ok(());
    }
    if words.len() < FEW {
        words.sort_unstable();
        return Ok(());
    }
    if key_bits.div_ceil(8) > PASSES_MAX {
        return sort_from_first(words, other, row_bits + key_bits, row_bits, stop);
    }
    for bit in (row_bits..row_bits + key_bits).step_by(8) {
        if stop() {
            return Err(Refused);
        }
        if scatter(words, other, bit).is_some() {
            swap(words, other);
        }
    }
    Ok(())
}

/// Puts numbers into the order of one of their bytes, the others being as they were; where each
/// begins. `None` if all have the same, and nothing was done.
fn scatter<W: Word>(words: &[W], into: &mut [W], bit: u32) -> Option<[usize; 257]> {
    let mut begins = [0; 257];
    words.iter().for_each(|word| begins[word.byte(bit) + 1] += 1);
    if begins.contains(&words.len()) {
        return None;
    }
    (1..257).for_each(|byte| begins[byte] += begins[byte - 1]);
    let mut next = begins;
    for word in words {
        let place = &mut next[word.byte(bit)];
        into[*place] = *word;
        *place += 1;
    }
    Some(begins)
}

/// Sorts by the byte below a bit, then what has the same one by the next.
fn sort_from_first<W: Word>(
    words: &mut [W],
    other: &mut [W],
    above: u32,
    row_bits: u32,
    stop: &mut dyn FnMut() -> bool,
) -> Result<(), Refused> {
    if words.len() <= CACHED || above <= row_bits {
        words.sort_unstable();
        return Ok(());
    }
    if stop() {
        return Err(Refused);
    }
    // The last byte may reach into the rows, which ascend anyway.
    let bit = above.saturating_sub(8);
    let Some(begins) = scatter(words, other, bit) else {
        return sort_from_first(words, other, bit, row_bits, stop);
    };
    words.copy_from_slice(other);
    for ends in begins.windows(2) {
        let (words, other) = (&mut words[ends[0]..ends[1]], &mut other[ends[0]..ends[1]]);
        sort_from_first(words, other, bit, row_bits, stop)?;
    }
    Ok(())
}
