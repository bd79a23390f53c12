//! What a join wants of a column of whole numbers: a bit for each number between two.
//!
//! A hash join reads its smaller side first, and can tell which keys it found; where these lie
//! close together, each number between the least and the greatest has a bit. After that a row of
//! the other side costs one bit, found by its encoded value. (Semi-join reduction by bitmaps:
//! Graefe, Query Evaluation Techniques for Large Databases, ACM Computing Surveys 1993.) The join
//! checks what it gets as ever.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::conditions::key_sketch::WantedNumbers;
use crate::conditions::on_offsets::OffsetBits;
use crate::simd::vectorized;

/// Rows of a table for each number between the ends of a set, at most, for the set to be useless
/// where nearly all of the numbers are keys.
const ROWS_A_NUMBER: usize = 4;

/// Numbers that get a bit whatever the number of keys.
const NUMBERS_FREE: usize = 4096;

/// Of the numbers between the least and the greatest key, so many in four may be keys for the
/// others to be worth looking for.
const KEYS_IN_FOUR: usize = 3;

/// The numbers that a column may have.
#[derive(Debug)]
pub struct KeySet {
    low: i64,
    len: usize,
    bits: Vec<u64>,
}

/// How many rows a set was asked for, and how many of them it kept.
#[derive(Debug, Default)]
pub struct KeyTally {
    asked: AtomicU64,
    kept: AtomicU64,
}

/// Rows after which it is decided whether a set is worth its time.
const ASKED_MIN: u64 = 64 * 1024;

impl KeyTally {
    /// Whether hardly a row was kept away: then it is cheaper to let the join look all of them up.
    pub fn is_useless(&self) -> bool {
        let (asked, kept) = (self.asked.load(Relaxed), self.kept.load(Relaxed));
        asked >= ASKED_MIN && kept * 8 > asked * 7
    }

    /// The share of rows that are kept, as far as it is known, else that of numbers.
    pub fn share(&self, keys: &WantedNumbers) -> f64 {
        match self.asked.load(Relaxed) {
            0 => keys.share(),
            asked => self.kept.load(Relaxed) as f64 / asked as f64,
        }
    }

    pub(crate) fn note(&self, asked: usize, kept: usize) {
        self.asked.fetch_add(asked as u64, Relaxed);
        self.kept.fetch_add(kept as u64, Relaxed);
    }
}

/// Numbers for each key that get a bit, at most, where the keys come as they are: 4 bytes a key.
const NUMBERS_A_KEY: usize = 32;

/// The same while all bits take less than 8 MiB: 512 bytes a key, which is less than a scan takes
/// to look for its rows in a hash table.
const NUMBERS_A_KEY_OF_FEW: usize = 4096;
const NUMBERS_OF_FEW: usize = 1 << 26;

impl KeySet {
    /// The numbers of a list; `None` if they are too far apart for a bit for each between them.
    ///
    /// # Examples
    /// ```
    /// use remanent_exec::KeySet;
    /// let keys = KeySet::of_numbers(&[70, -3, 70]).expect("they are close");
    /// assert!(keys.has(70) && keys.has(-3) && !keys.has(0));
    /// assert!(KeySet::of_numbers(&[0, i64::MAX]).is_none());
    /// assert!(!KeySet::of_numbers(&[]).expect("no keys").has(0));
    /// ```
    pub fn of_numbers(numbers: &[i64]) -> Option<Self> {
        let Some((low, high)) = ends_of(numbers) else {
            return Some(Self { low: 0, len: 0, bits: Vec::new() });
        };
        let len = usize::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?;
        let of_few = numbers.len().saturating_mul(NUMBERS_A_KEY_OF_FEW).min(NUMBERS_OF_FEW);
        let of_many = numbers.len().saturating_mul(NUMBERS_A_KEY);
        if len > NUMBERS_FREE.max(of_few).max(of_many) {
            return None;
        }
        Some(Self::of_all(numbers, low, len))
    }

    /// The same, if a bit for each number between takes no more than so many bits.
    pub fn of_few(numbers: &[i64], bits_max: usize) -> Option<Self> {
        let (low, high) = ends_of(numbers)?;
        let len = usize::try_from(high.checked_sub(low)?).ok()?.checked_add(1)?;
        (len <= bits_max).then(|| Self::of_all(numbers, low, len))
    }

    /// Numbers that are so many from the least on at most, of which each gets its bit.
    fn of_all(numbers: &[i64], low: i64, len: usize) -> Self {
        let mut bits = vec![0; len.div_ceil(64)];
        // Numbers that follow one another, as keys often do, share a word, which is written once.
        let (mut place, mut word) = (0, 0);
        for number in numbers {
            // What is not less than the least number is not beyond the last.
            let at = number.wrapping_sub(low) as usize;
            if at / 64 != place {
                bits[place] |= word;
                (place, word) = (at / 64, 0);
            }
            word |= 1 << (at % 64);
        }
        if let Some(last) = bits.get_mut(place) {
            *last |= word;
        }
        Self { low, len, bits }
    }

    /// The least number.
    pub(crate) fn low(&self) -> i64 {
        self.low
    }

    /// The bits, from that of the least number on; those beyond the greatest are 0.
    pub(crate) fn words(&self) -> &[u64] {
        &self.bits
    }

    /// How many numbers there are.
    pub fn count(&self) -> usize {
        self.bits.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The numbers, from the least on, of a set that was made of numbers of 8 bytes.
    pub fn numbers(&self) -> impl Iterator<Item = i64> {
        let words = self.bits.iter().zip((self.low()..).step_by(64));
        words.flat_map(|(word, first)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| first + bit)
        })
    }

    /// The bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bits.len() * size_of::<u64>()
    }

    /// The share of the numbers between the ends that are keys.
    pub(crate) fn share(&self) -> f64 {
        self.count() as f64 / self.len.max(1) as f64
    }

    /// Whether it seems to keep hardly a row of a table with so many rows away: nearly all numbers
    /// between the ends are keys, and these are about as many as the table may have.
    pub fn is_useless(&self, rows: usize) -> bool {
        self.count() * 4 > self.len * KEYS_IN_FOUR && self.len.saturating_mul(ROWS_A_NUMBER) >= rows
    }

    /// The place of a number, if it is not beyond the ends.
    fn place_of(&self, number: i128) -> Option<usize> {
        let at = usize::try_from(number.checked_sub(self.low.into())?).ok()?;
        (at < self.len).then_some(at)
    }

    /// Whether a number is among them.
    pub fn has(&self, number: i128) -> bool {
        self.place_of(number).is_some_and(|at| self.has_at(at))
    }

    /// Whether a number from the first to the second is among them.
    pub fn has_between(&self, first: i128, last: i128) -> bool {
        let at = |number: i128| {
            number.saturating_sub(self.low.into()).clamp(0, self.len as i128) as usize
        };
        let (from, to) = (at(first), at(last.saturating_add(1)));
        let (head, tail) = (from.next_multiple_of(64).min(to), to / 64 * 64);
        let words = self.bits.get(head / 64..tail / 64).unwrap_or_default();
        (from..head).chain(tail.max(head)..to).any(|at| self.has_at(at))
            || words.iter().any(|word| *word != 0)
    }

    #[inline]
    fn has_at(&self, at: usize) -> bool {
        at < self.len && self.bits[at / 64] >> (at % 64) & 1 == 1
    }

    /// Whether a number of at most 8 bytes, given by its lower ones, is among them; numbers and
    /// keys are of one type.
    #[inline]
    pub(crate) fn has_word(&self, number: u64) -> bool {
        // What is less than the first number wraps around to more than the last.
        self.has_at(number.wrapping_sub(self.low as u64) as usize)
    }

    /// The bits by offsets, where numbers are so much more than `min`; numbers and keys are of one
    /// type of at most 8 bytes.
    pub(crate) fn by_offset(&self, min: i128) -> OffsetBits<'_> {
        OffsetBits { bits: &self.bits, len: self.len, first: min - i128::from(self.low) }
    }
}

/// The least and the greatest of some numbers, if there is one.
pub(crate) fn ends_of(numbers: &[i64]) -> Option<(i64, i64)> {
    let (mut low, mut high) = (i64::MAX, i64::MIN);
    find_ends(numbers, &mut low, &mut high);
    (!numbers.is_empty()).then_some((low, high))
}

vectorized! {
    fn find_ends(numbers: &[i64], low: &mut i64, high: &mut i64) {
        let ends = (*low, *high);
        (*low, *high) = numbers.iter().fold(ends, |(low, high), number| {
            (low.min(*number), high.max(*number))
        });
    }
}
