//! What a join wants of a column of whole numbers that lie far apart: about, in a few bits a key.
//!
//! Each key sets three bits of one word of 8 bytes, which its hash chooses: a number that is none
//! of them has all three in one of thirty cases or so. (Blocked Bloom filters: Putze, Sanders and
//! Singler, Cache-, Hash- and Space-Efficient Bloom Filters, WEA 2007.) The join checks what it
//! gets as ever.

#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod wide;

use std::sync::Arc;

use crate::conditions::key_set::{KeySet, ends_of};
use crate::rows::bits::{RowBits, each_of};

/// Bits for each key, at least.
const BITS_A_KEY: usize = 12;

/// Odd, so that no two numbers become the same.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Where in a hash the places of the three bits stand, each in six bits.
const BIT_PLACES: [u32; 3] = [58, 52, 46];

/// Numbers that a column may have, and some others.
#[derive(Debug)]
pub struct KeySketch {
    low: i64,
    high: i64,
    /// As many as a power of two.
    words: Vec<u64>,
}

impl KeySketch {
    /// A sketch of the numbers of a list; `None` if there is none.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::KeySketch;
    /// let keys = KeySketch::of_numbers(&[70, i64::MIN, i64::MAX]).expect("there are numbers");
    /// assert!(keys.may_have(70) && keys.may_have(i64::MAX.into()));
    /// assert!((0..70).filter(|number| keys.may_have(*number)).count() < 20);
    /// ```
    pub fn of_numbers(numbers: &[i64]) -> Option<Self> {
        let (low, high) = ends_of(numbers)?;
        let mut words = vec![0; Self::words_for(numbers.len())];
        let last = words.len() - 1;
        for number in numbers {
            let hash = hash_of(*number as u64);
            words[hash as usize & last] |= bits_of(hash);
        }
        Some(Self { low, high, words })
    }

    fn words_for(numbers: usize) -> usize {
        (numbers * BITS_A_KEY).div_ceil(64).next_power_of_two()
    }

    /// The bytes that a sketch of so many numbers takes.
    pub fn bytes_for(numbers: usize) -> usize {
        Self::words_for(numbers) * size_of::<u64>()
    }

    /// Whether a number may be among them.
    pub fn may_have(&self, number: i128) -> bool {
        i64::try_from(number).is_ok_and(|number| self.may_have_word(number as u64))
    }

    /// Whether a number from the first to the second may be among them.
    pub(crate) fn may_have_between(&self, first: i128, last: i128) -> bool {
        first <= self.high.into() && last >= self.low.into()
    }

    /// The same of a number of at most 8 bytes, given by its lower ones; numbers and keys are of
    /// one type.
    #[inline]
    pub(crate) fn may_have_word(&self, number: u64) -> bool {
        let (hash, last) = (hash_of(number), self.words.len() - 1);
        let bits = bits_of(hash);
        self.words[hash as usize & last] & bits == bits
    }

    /// Leaves the rows of a stretch whose numbers may be among them: those of 8 bytes each, of
    /// which the stretch's begin with the first.
    pub(crate) fn keep(&self, numbers: &[[u8; 8]], rows: &mut RowBits) {
        let each = |row: usize| self.may_have_word(u64::from_le_bytes(numbers[row]));
        rows.keep_words(|rows, left| {
            #[cfg(target_arch = "x86_64")]
            if left.count_ones() >= wide::LEFT_MIN
                && let Some(block) = numbers[rows.clone()].first_chunk()
                && let Some(found) = wide::may_have(&self.words, block, left)
            {
                return found;
            }
            each_of(left, |bit| each(rows.start + bit))
        });
    }
}

/// The lower bits choose a word, the upper ones bits of it.
#[inline]
fn hash_of(number: u64) -> u64 {
    let mixed = number.wrapping_mul(FACTOR);
    (mixed ^ mixed >> 32).wrapping_mul(FACTOR).rotate_left(32)
}

#[inline]
fn bits_of(hash: u64) -> u64 {
    BIT_PLACES.iter().fold(0, |bits, place| bits | 1 << (hash >> place & 63))
}

/// What a join wants of a column of whole numbers.
#[derive(Clone, Debug)]
pub enum WantedNumbers {
    /// These numbers.
    Set(Arc<KeySet>),
    /// These, and some others.
    Sketch(Arc<KeySketch>),
}

impl WantedNumbers {
    /// Whether a number may be wanted.
    pub fn may_have(&self, number: i128) -> bool {
        match self {
            Self::Set(set) => set.has(number),
            Self::Sketch(sketch) => sketch.may_have(number),
        }
    }

    /// Whether a number from the first to the second may be wanted.
    pub(crate) fn may_have_between(&self, first: i128, last: i128) -> bool {
        match self {
            Self::Set(set) => set.has_between(first, last),
            Self::Sketch(sketch) => sketch.may_have_between(first, last),
        }
    }

    /// Whether it seems to keep hardly a row of a table with so many rows away.
    pub fn is_useless(&self, rows: usize) -> bool {
        match self {
            Self::Set(set) => set.is_useless(rows),
            // How many of the table's numbers these are shows as it is read.
            Self::Sketch(_) => false,
        }
    }

    /// The share of rows that have such a number, as a guess.
    pub(crate) fn share(&self) -> f64 {
        match self {
            Self::Set(set) => set.share(),
            Self::Sketch(_) => 0.5,
        }
    }
}
