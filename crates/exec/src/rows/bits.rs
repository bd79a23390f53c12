//! The rows of a stretch that are left, a bit for each.
//!
//! What encoded values are compared with answers 64 rows at once; where few of these are left, they
//! are checked one by one.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::simd::vectorized;

/// Of 64 rows, so many have to be left for all to be compared at once.
const LEFT_MIN: u32 = 8;

/// The rows of a stretch that are left.
///
/// # Examples
/// See [`TextPattern`](crate::TextPattern).
#[derive(Clone, Debug)]
pub struct RowBits {
    /// Bits beyond the last row are 0.
    words: Vec<u64>,
    len: usize,
}

impl RowBits {
    /// All of so many rows.
    pub(crate) fn all(len: usize) -> Self {
        let words = (0..len).step_by(64).map(|from| low_bits(len - from));
        Self { words: words.collect(), len }
    }

    /// Those of the stretch that have a bit in a bitmap over all rows.
    pub(crate) fn of_bitmap(bitmap: &[u64], stretch: Range<usize>) -> Self {
        let words = stretch.clone().step_by(64);
        let words = words.map(|from| bits_of(bitmap, from..stretch.end.min(from + 64)));
        Self { words: words.collect(), len: stretch.len() }
    }

    /// The bits, 64 rows in each word.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The same, to leave fewer.
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    /// How many rows the stretch has, left or not.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// How many are left.
    pub(crate) fn count(&self) -> usize {
        let mut count = 0;
        count_ones(&self.words, &mut count);
        count
    }

    /// Whether none is left.
    pub(crate) fn is_none(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Leaves those that are not in a part of the stretch.
    pub(crate) fn remove_stretch(&mut self, part: Range<usize>) {
        let (first, last) = (part.start / 64, part.end.div_ceil(64));
        for (word, from) in self.words[first..last].iter_mut().zip((first * 64..).step_by(64)) {
            let below = low_bits(part.start.saturating_sub(from));
            *word &= below | !low_bits(part.end - from);
        }
    }

    /// Leaves those that a word for up to 64 rows has a bit of; it is not asked of rows of which
    /// none is left.
    #[inline]
    pub(crate) fn keep_words(&mut self, mut word_of: impl FnMut(Range<usize>, u64) -> u64) {
        for (word, from) in self.words.iter_mut().zip((0..).step_by(64)) {
            if *word != 0 {
                *word &= word_of(from..self.len.min(from + 64), *word);
            }
        }
    }

    /// Leaves those that meet something, each by itself.
    #[inline]
    pub(crate) fn keep_each(&mut self, meets: impl Fn(usize) -> bool) {
        self.keep_words(|rows, word| each_of(word, |bit| meets(rows.start + bit)));
    }

    /// Leaves those that meet something: `each` says it of one row, `word_of` of up to 64.
    #[inline]
    pub(crate) fn keep(
        &mut self,
        each: impl Fn(usize) -> bool,
        word_of: impl Fn(Range<usize>) -> u64,
    ) {
        self.keep_words(|rows, word| match word.count_ones() < LEFT_MIN {
            true => each_of(word, |bit| each(rows.start + bit)),
            false => word_of(rows),
        });
    }

    /// Leaves those whose entry meets something; the stretch begins at row `first` of them.
    #[inline]
    pub(crate) fn keep_entries<E: Copy>(
        &mut self,
        first: usize,
        entries: &[E],
        meets: impl Fn(E) -> bool,
    ) {
        let word_of = |rows: Range<usize>| word_of(&entries[first..][rows], &meets);
        self.keep(|row| meets(entries[first + row]), word_of);
    }

    /// Those that have a bit in a bitmap over all rows; the stretch begins at row `first` of it.
    pub(crate) fn common(&self, bitmap: &[u64], first: usize) -> Self {
        let mut common = self.clone();
        common.keep_words(|rows, _| bits_of(bitmap, first + rows.start..first + rows.end));
        common
    }

    /// Leaves those that have no bit in a bitmap over all rows.
    pub(crate) fn remove(&mut self, bitmap: &[u64], first: usize) {
        self.keep_words(|rows, _| !bits_of(bitmap, first + rows.start..first + rows.end));
    }

    /// Puts others of the same stretch beside those that are left.
    pub(crate) fn add(&mut self, others: &Self) {
        self.words.iter_mut().zip(&others.words).for_each(|(word, other)| *word |= other);
    }
}

vectorized! {
    /// How many bits there are.
    fn count_ones(words: &[u64], count: &mut usize) {
        *count = words.iter().map(|word| word.count_ones() as usize).sum();
    }
}

/// A word with the lowest bits set, as many as there are.
pub(crate) fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// The bits of up to 64 rows in a bitmap.
pub(crate) fn bits_of(bitmap: &[u64], rows: Range<usize>) -> u64 {
    let (at, shift) = (rows.start / 64, rows.start % 64);
    let word = |at: usize| bitmap.get(at).copied().unwrap_or_default();
    let low = word(at) >> shift;
    let high = if shift == 0 { 0 } else { word(at + 1) << (64 - shift) };
    (low | high) & low_bits(rows.len())
}

/// The bits of a word for which something holds.
#[inline]
pub(crate) fn each_of(word: u64, holds: impl Fn(usize) -> bool) -> u64 {
    let (mut rest, mut kept) = (word, 0);
    while rest != 0 {
        let bit = rest.trailing_zeros();
        kept |= u64::from(holds(bit as usize)) << bit;
        rest &= rest - 1;
    }
    kept
}

/// A bit for each of up to 64 entries that meets something.
///
/// Truths are bytes first, which are made of several entries at once; a multiplication moves those
/// of eight into one byte.
#[inline]
pub(crate) fn word_of<E: Copy>(entries: &[E], meets: impl Fn(E) -> bool) -> u64 {
    let mut truths = [0_u8; 64];
    match entries.first_chunk::<64>() {
        // The number of entries is known when this is compiled.
        Some(entries) => {
            truths.iter_mut().zip(entries).for_each(|(truth, entry)| *truth = meets(*entry).into());
        }
        None => {
            truths.iter_mut().zip(entries).for_each(|(truth, entry)| *truth = meets(*entry).into());
        }
    }
    packed(&truths)
}

/// The lowest bit of each byte.
#[inline]
pub(crate) fn packed(truths: &[u8; 64]) -> u64 {
    /// Bit `8 i` of a factor comes to bit `56 + i`, and no two come to one.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let eights = truths.as_chunks::<8>().0.iter().zip((0..).step_by(8));
    let words = eights.map(|(eight, at)| {
        let gathered = u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56;
        gathered << at
    });
    words.fold(0, |bits, word| bits | word)
}
