//! Rows that have a bit, as a list.
//!
//! Unless hardly a row is left, the instructions of 64 bytes put the rows of 16 bits at once
//! side by side; else bits are taken one by one.

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::simd::Instructions;

/// The rows of so many bits, the first of which is that of row `first`, as a list.
pub(crate) fn list_of(words: &[u64], first: u32, count: usize) -> Vec<u32> {
    #[cfg(target_arch = "x86_64")]
    if count * wide::WORDS_A_ROW >= words.len() && Instructions::used() == Instructions::Avx512 {
        // SAFETY: the processor has the instructions that are used.
        return unsafe { wide::list_of(words, first, count) };
    }
    plain(words, first, count)
}

fn plain(words: &[u64], first: u32, count: usize) -> Vec<u32> {
    let mut list = Vec::with_capacity(count);
    for (mut word, at) in words.iter().copied().zip((first..).step_by(64)) {
        while word != 0 {
            list.push(at + word.trailing_zeros());
            word &= word - 1;
        }
    }
    list
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;
    use std::mem::MaybeUninit;

    /// Words for each row that is left, on average, up to which this is faster: how many bits a
    /// word has, or whether any, is not foreseen.
    pub(super) const WORDS_A_ROW: usize = 2;

    /// Rows that are put side by side at once.
    const LANES: usize = 16;

    #[target_feature(enable = "avx512f,popcnt,bmi1,bmi2")]
    pub(super) fn list_of(words: &[u64], first: u32, count: usize) -> Vec<u32> {
        // Behind the last row others are written, which do not count.
        let mut list = Vec::with_capacity(count + LANES);
        let room: &mut [MaybeUninit<u32>] = list.spare_capacity_mut();
        let mut len = 0;
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        for (word, at) in words.iter().zip((first..).step_by(64)).filter(|(word, _)| **word != 0) {
            for quarter in 0..4 {
                let left = (word >> (quarter * LANES)) as u16;
                let from = _mm512_set1_epi32((at + (quarter * LANES) as u32) as i32);
                let rows = _mm512_maskz_compress_epi32(left, _mm512_add_epi32(lanes, from));
                let into = &mut room[len..len + LANES];
                // SAFETY: there is room for 16 rows, which may lie anywhere.
                unsafe { _mm512_storeu_si512(into.as_mut_ptr().cast(), rows) };
                len += left.count_ones() as usize;
            }
        }
        assert_eq!(len, count, "rows that are left");
        // SAFETY: so many rows were written.
        unsafe { list.set_len(count) };
        list
    }
}
