//! Conditions on 64 encoded rows at once, by instructions of 64 bytes.
//!
//! A condition on offsets is a bit for each row in a few instructions: offsets of one and two bytes
//! are compared as they are, wider ones 16 at a time, and what is looked up in bits is read from
//! one vector where 64 rows are neighbours there, else gathered. Whoever calls has a plain loop for
//! processors without these instructions, which says the same.

use std::arch::x86_64::*;

use remanent_engine::FrozenColumn;

use crate::conditions::comparison::Comparison;
use crate::conditions::on_offsets::{EncodedOffsets, OffsetBits, OffsetRange};
use crate::simd::Instructions;

/// Rows of a block.
const BLOCK: usize = 64;

/// Bytes from what is compared to what is read ahead.
const PREFETCHED: usize = 1024;

/// Words of 4 bytes in a vector.
const WINDOW: usize = 16;

/// The encoded offsets of a stretch of rows.
#[derive(Clone, Copy)]
pub(crate) struct Blocks<'e> {
    width: usize,
    /// The lower two bytes of offsets of three, else all.
    low: &'e [u8],
    /// The third bytes of offsets of three.
    high: &'e [u8],
}

impl<'e> Blocks<'e> {
    /// The offsets of so many rows from row `first` on.
    pub(crate) fn new(offsets: EncodedOffsets<'e>, first: usize, rows: usize) -> Self {
        let EncodedOffsets { bytes, width } = offsets;
        if width == 3 {
            let (low, high) = FrozenColumn::offset_parts(bytes);
            let low = low[first..first + rows].as_flattened();
            return Self { width, low, high: &high[first..first + rows] };
        }
        Self { width, low: &bytes[first * width..][..rows * width], high: &[] }
    }

    /// Bytes of each offset in the first array.
    fn low_width(self) -> usize {
        if self.width == 3 { 2 } else { self.width }
    }

    /// A block of them, which is whole.
    fn block(self, at: usize) -> Self {
        let low_len = self.low_width() * BLOCK;
        let high = if self.width == 3 { &self.high[at * BLOCK..][..BLOCK] } else { self.high };
        Self { width: self.width, low: &self.low[at * low_len..][..low_len], high }
    }
}

/// Bits by offsets, all places in 32 bits: an offset has bit `offset + first`, modulo 2 to the
/// power of 32, if it is at least `low` and at most so much more; that is one of `bits`, always.
#[derive(Clone, Copy)]
pub(crate) struct Table<'b> {
    bits: &'b [u64],
    first: u32,
    low: u32,
    span: u32,
}

impl<'b> Table<'b> {
    /// `None` if no offset has a bit, or there are more than 2 to the power of 32.
    ///
    /// # Panics
    /// If there are fewer words than the bits need.
    pub(crate) fn new(of: OffsetBits<'b>) -> Option<Self> {
        let OffsetBits { bits, len, first } = of;
        assert!(len.div_ceil(64) <= bits.len(), "{len} bits in {} words", bits.len());
        u32::try_from(len.checked_sub(1)?).ok()?;
        let low = u32::try_from((-first).max(0)).ok()?;
        let high = (len as i128 - 1 - first).min(u32::MAX.into());
        let span = u32::try_from(high - i128::from(low)).ok()?;
        Some(Self { bits, first: first as u32, low, span })
    }
}

/// Leaves in `words`, a bit for each row, those whose offsets are in a range; false, and nothing
/// done, if the processor does not have the instructions.
pub(crate) fn keep_between(range: OffsetRange, blocks: Blocks<'_>, words: &mut [u64]) -> bool {
    if Instructions::used() != Instructions::Avx512 {
        return false;
    }
    let OffsetRange { low, high } = range;
    // SAFETY: the processor has the instructions that are used.
    unsafe {
        match blocks.width {
            1 => between_bytes(low as u8, high as u8, blocks, words),
            2 => between_twos(low as u16, high as u16, blocks, words),
            3 => between::<3>(low, high, blocks, words),
            _ => between::<4>(low, high, blocks, words),
        }
    }
    true
}

/// Leaves in `words` the rows that have a bit by their offsets; false, and nothing done, if the
/// processor does not have the instructions.
pub(crate) fn keep_with_bit(table: Table<'_>, blocks: Blocks<'_>, words: &mut [u64]) -> bool {
    if Instructions::used() != Instructions::Avx512 {
        return false;
    }
    // SAFETY: the processor has the instructions that are used.
    unsafe {
        match blocks.width {
            1 => with_bit::<1>(table, blocks, words),
            2 => with_bit::<2>(table, blocks, words),
            3 => with_bit::<3>(table, blocks, words),
            _ => with_bit::<4>(table, blocks, words),
        }
    }
    true
}

/// Columns of numbers of 4 bytes, which are so much more than their offsets.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'e> {
    pub(crate) offsets: Blocks<'e>,
    pub(crate) least: i32,
}

/// Leaves in `words` the rows of whole blocks whose first number compares so with the second; of
/// how many words that was, which is none if the processor does not have the instructions.
pub(crate) fn keep_compared(
    comparison: Comparison,
    left: Numbers<'_>,
    right: Numbers<'_>,
    words: &mut [u64],
) -> usize {
    if Instructions::used() != Instructions::Avx512 {
        return 0;
    }
    let blocks = left.offsets.low.len() / (left.offsets.low_width() * BLOCK);
    // SAFETY: the processor has the instructions that are used.
    unsafe { compared(comparison, left, right, &mut words[..blocks]) };
    blocks
}

/// Declares a function for the instructions that these loops use.
macro_rules! avx512 {
    ($($function:item)+) => {
        $(
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
            $function
        )+
    };
}

avx512! {
    fn between_bytes(low: u8, high: u8, blocks: Blocks<'_>, words: &mut [u64]) {
        let (least, len) = (_mm512_set1_epi8(low as i8), _mm512_set1_epi8((high - low) as i8));
        each_block::<1>(blocks, words, |low, _| {
            // What is less than the least wraps around to more than the greatest.
            _mm512_cmple_epu8_mask(_mm512_sub_epi8(load_64(low, 0), least), len)
        });
    }

    fn between_twos(low: u16, high: u16, blocks: Blocks<'_>, words: &mut [u64]) {
        let (least, len) = (_mm512_set1_epi16(low as i16), _mm512_set1_epi16((high - low) as i16));
        each_block::<2>(blocks, words, |low, _| {
            let half = |at: usize| {
                let offsets = load_64(low, at * 64);
                u64::from(_mm512_cmple_epu16_mask(_mm512_sub_epi16(offsets, least), len))
            };
            half(0) | half(1) << 32
        });
    }

    fn between<const W: usize>(low: u32, high: u32, blocks: Blocks<'_>, words: &mut [u64]) {
        let (least, len) = (_mm512_set1_epi32(low as i32), _mm512_set1_epi32((high - low) as i32));
        each_block::<W>(blocks, words, |low, high| {
            let quarter = |at: usize| {
                let offsets = load::<W>(low, high, at);
                u64::from(_mm512_cmple_epu32_mask(_mm512_sub_epi32(offsets, least), len))
            };
            quarter(0) | quarter(1) << 16 | quarter(2) << 32 | quarter(3) << 48
        });
    }

    fn with_bit<const W: usize>(table: Table<'_>, blocks: Blocks<'_>, words: &mut [u64]) {
        let first = _mm512_set1_epi32(table.first as i32);
        let least = _mm512_set1_epi32(table.low as i32);
        let span = _mm512_set1_epi32(table.span as i32);
        let mut few = [0; WINDOW / 2];
        let is_few = table.bits.len() <= few.len();
        if is_few {
            few[..table.bits.len()].copy_from_slice(table.bits);
        }
        let few = window(&few, 0);
        each_block::<W>(blocks, words, |low, high| {
            let (mut at, mut within) = ([first; 4], [0; 4]);
            for quarter in 0..4 {
                let offsets = load::<W>(low, high, quarter);
                at[quarter] = _mm512_add_epi32(offsets, first);
                within[quarter] = _mm512_cmple_epu32_mask(_mm512_sub_epi32(offsets, least), span);
            }
            if is_few {
                return word_of(at, within, |at, _| {
                    _mm512_permutexvar_epi32(_mm512_srli_epi32::<5>(at), few)
                });
            }
            match table.window(at, within) {
                // A vector has the bits of all rows.
                Some((base, near)) => word_of(at, within, |at, _| {
                    let place = _mm512_sub_epi32(_mm512_srli_epi32::<5>(at), base);
                    _mm512_permutexvar_epi32(place, near)
                }),
                None => word_of(at, within, |at, within| table.gather(at, within)),
            }
        });
    }

    fn compared(
        comparison: Comparison,
        left: Numbers<'_>,
        right: Numbers<'_>,
        words: &mut [u64],
    ) {
        let least = [left, right].map(|numbers| _mm512_set1_epi32(numbers.least));
        for (at, word) in words.iter_mut().enumerate().filter(|(_, word)| **word != 0) {
            let (left, right) = (left.offsets.block(at), right.offsets.block(at));
            prefetch(left.low);
            prefetch(right.low);
            let mut met = 0;
            for quarter in 0..4 {
                let left = _mm512_add_epi32(load_any(left, quarter), least[0]);
                let right = _mm512_add_epi32(load_any(right, quarter), least[1]);
                let quarter_met = match comparison {
                    Comparison::Less => _mm512_cmplt_epi32_mask(left, right),
                    Comparison::LessOrEqual => _mm512_cmple_epi32_mask(left, right),
                    Comparison::Equal => _mm512_cmpeq_epi32_mask(left, right),
                    Comparison::NotEqual => _mm512_cmpneq_epi32_mask(left, right),
                    Comparison::GreaterOrEqual => _mm512_cmpge_epi32_mask(left, right),
                    Comparison::Greater => _mm512_cmpgt_epi32_mask(left, right),
                };
                met |= u64::from(quarter_met) << (quarter * 16);
            }
            *word &= met;
        }
    }

    /// The offsets of 16 rows of a block, of any width.
    #[inline]
    fn load_any(block: Blocks<'_>, quarter: usize) -> __m512i {
        match block.width {
            1 => load::<1>(block.low, block.high, quarter),
            2 => load::<2>(block.low, block.high, quarter),
            3 => load::<3>(block.low, block.high, quarter),
            _ => load::<4>(block.low, block.high, quarter),
        }
    }

    /// The offsets of 16 rows of a block.
    #[inline]
    fn load<const W: usize>(low: &[u8], high: &[u8], quarter: usize) -> __m512i {
        match W {
            1 => _mm512_cvtepu8_epi32(load_16(low, quarter * 16)),
            2 => _mm512_cvtepu16_epi32(load_32(low, quarter * 32)),
            3 => {
                let low = _mm512_cvtepu16_epi32(load_32(low, quarter * 32));
                let high = _mm512_cvtepu8_epi32(load_16(high, quarter * 16));
                _mm512_or_si512(low, _mm512_slli_epi32::<16>(high))
            }
            _ => load_64(low, quarter * 64),
        }
    }

    /// A bit for each row whose bit, of those that `dwords` finds 4 bytes of, is set.
    #[inline]
    fn word_of(
        at: [__m512i; 4],
        within: [u16; 4],
        dwords: impl Fn(__m512i, u16) -> __m512i,
    ) -> u64 {
        let one = _mm512_set1_epi32(1);
        let mut word = 0;
        for quarter in 0..4 {
            let dwords = dwords(at[quarter], within[quarter]);
            let lowest = _mm512_rorv_epi32(dwords, at[quarter]);
            let met = _mm512_mask_test_epi32_mask(within[quarter], lowest, one);
            word |= u64::from(met) << (quarter * 16);
        }
        word
    }

    #[inline]
    fn load_64(bytes: &[u8], at: usize) -> __m512i {
        let bytes = &bytes[at..at + 64];
        // SAFETY: there are 64 bytes, which may lie anywhere.
        unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
    }

    #[inline]
    fn load_32(bytes: &[u8], at: usize) -> __m256i {
        let bytes = &bytes[at..at + 32];
        // SAFETY: there are 32 bytes, which may lie anywhere.
        unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
    }

    #[inline]
    fn load_16(bytes: &[u8], at: usize) -> __m128i {
        let bytes = &bytes[at..at + 16];
        // SAFETY: there are 16 bytes, which may lie anywhere.
        unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
    }

    /// Eight words of bits.
    #[inline]
    fn window(bits: &[u64], first: usize) -> __m512i {
        let bits = &bits[first..first + WINDOW / 2];
        // SAFETY: there are 64 bytes, which may lie anywhere.
        unsafe { _mm512_loadu_si512(bits.as_ptr().cast()) }
    }
}

impl Table<'_> {
    /// A vector that has the bits of all rows of a block that have one, and the number of 4 bytes
    /// that come before it; `None` if they lie farther apart. It begins with the bit of the first
    /// row, which is the least where rows ascend.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
    #[inline]
    fn window(&self, at: [__m512i; 4], within: [u16; 4]) -> Option<(__m512i, __m512i)> {
        let first = _mm_cvtsi128_si32(_mm512_castsi512_si128(at[0])) as u32 as usize / 64;
        let has_bits = within[0] & 1 == 1 && first + WINDOW / 2 <= self.bits.len();
        if !has_bits {
            return None;
        }
        let base = _mm512_set1_epi32(first as i32 * 2);
        let mut far = 0;
        for quarter in 0..4 {
            let place = _mm512_sub_epi32(_mm512_srli_epi32::<5>(at[quarter]), base);
            let is_far = _mm512_cmpge_epu32_mask(place, _mm512_set1_epi32(WINDOW as i32));
            far |= is_far & within[quarter];
        }
        (far == 0).then(|| (base, window(self.bits, first)))
    }

    /// The 4 bytes that each row's bit is one of, of those rows that have one.
    #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
    #[inline]
    fn gather(&self, at: __m512i, within: u16) -> __m512i {
        let places = _mm512_srli_epi32::<5>(at);
        let bits = self.bits.as_ptr().cast();
        // SAFETY: of a row that is within, the bit is one of `bits`, as `new` has seen to; no other
        // is read. A place has 27 bits, and is no negative number.
        unsafe { _mm512_mask_i32gather_epi32::<4>(_mm512_setzero_si512(), within, places, bits) }
    }
}

/// Says that what lies so far behind these bytes will be read: the processor does it by itself, but
/// not beyond the end of a page.
#[inline(always)]
fn prefetch(bytes: &[u8]) {
    let later = bytes.as_ptr().wrapping_add(PREFETCHED);
    // SAFETY: nothing is read, wherever that is.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(later.cast()) };
}

/// Leaves in each word what `word_of` says of its 64 rows; what it says of rows beyond the last
/// does not matter. It is not asked of rows of which none is left.
#[inline(always)]
fn each_block<const W: usize>(
    blocks: Blocks<'_>,
    words: &mut [u64],
    word_of: impl Fn(&[u8], &[u8]) -> u64,
) {
    let (low_width, high_width) = if W == 3 { (2, 1) } else { (W, 0) };
    let (low_len, high_len) = (BLOCK * low_width, BLOCK * high_width);
    for (at, word) in words.iter_mut().enumerate() {
        if *word == 0 {
            continue;
        }
        let (low, high) = (&blocks.low[at * low_len..], &blocks.high[at * high_len..]);
        prefetch(low);
        prefetch(high);
        if low.len() >= low_len && high.len() >= high_len {
            *word &= word_of(&low[..low_len], &high[..high_len]);
            continue;
        }
        let (mut all_low, mut all_high) = ([0; BLOCK * 4], [0; BLOCK]);
        all_low[..low.len()].copy_from_slice(low);
        all_high[..high.len()].copy_from_slice(high);
        *word &= word_of(&all_low[..low_len], &all_high[..high_len]);
    }
}
