//! Where a part of a LIKE may lie in text that is written in symbols.
//!
//! A part lies within one symbol, or a symbol ends with its first letters and the next one goes on
//! with others. Both are bits that two codes side by side have in common, of which 64 pairs are
//! compared together; most texts have no such pair, and are not read any further. (A sieve by
//! shared bits of neighbours: Teddy, of Intel's Hyperscan, NSDI 2019.)

#[cfg(test)]
mod tests;

use remanent_engine::Symbols;

#[cfg(target_arch = "x86_64")]
use crate::simd::Instructions;

/// Which pairs of codes a part may begin with.
#[derive(Debug)]
pub(crate) struct PartSearch {
    /// Bits of a code that may be the first of a part, and of one that may be the second.
    first: Box<[u8; 256]>,
    second: Box<[u8; 256]>,
}

/// The bit of a code that has the whole part, or of which nothing is known, whatever follows.
const WHOLE: u8 = 1 << 7;

/// Bits for how many letters of a part the first code has; of others that have the same bit, it is
/// not known which.
const LETTERS: usize = 7;

impl PartSearch {
    /// To search for a part, which is not empty, in a column's codes.
    pub(crate) fn new(part: &[u8], symbols: &Symbols<'_>) -> Self {
        let (mut first, mut second) = (Box::new([0; 256]), Box::new([WHOLE; 256]));
        let (writer, mut text) = (symbols.writer(), Vec::new());
        for code in 0..=u8::MAX {
            let at = usize::from(code);
            text.clear();
            writer.append(&[code], &mut text);
            // What follows an escape is no code.
            if code == Symbols::ESCAPE || has(&text, part) {
                first[at] |= WHOLE;
            }
            for letters in 1..part.len() {
                let (head, rest) = part.split_at(letters);
                let shared = rest.len().min(text.len());
                let bit = 1 << ((letters - 1) % LETTERS);
                first[at] |= if text.ends_with(head) { bit } else { 0 };
                second[at] |= if rest[..shared] == text[..shared] { bit } else { 0 };
            }
        }
        Self { first, second }
    }

    /// A bit for each code with which a part may begin, which may be one too many, and never one
    /// too few.
    pub(crate) fn find(&self, codes: &[u8]) -> Vec<u64> {
        let mut found = vec![0; codes.len().div_ceil(64)];
        #[cfg(target_arch = "x86_64")]
        if Instructions::used() == Instructions::Avx512 && is_x86_feature_detected!("avx512vbmi") {
            // SAFETY: the processor has the instructions that are used, and VBMI.
            unsafe { wide::find(&self.first, &self.second, codes, &mut found) };
            return found;
        }
        self.find_plain(codes, &mut found);
        found
    }

    fn find_plain(&self, codes: &[u8], found: &mut [u64]) {
        for (word, from) in found.iter_mut().zip((0..).step_by(64)) {
            let now = &codes[from..codes.len().min(from + 64)];
            // Behind the last code there is none, and what it has is said by itself.
            let next = codes[from + 1..].iter().chain(&[0]);
            let pairs = now.iter().zip(next).enumerate();
            *word = pairs.fold(0, |word, (bit, (one, next))| {
                let shared = self.first[usize::from(*one)] & self.second[usize::from(*next)];
                word | u64::from(shared != 0) << bit
            });
        }
    }
}

/// Whether a text has a part somewhere.
fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    /// Bits of 256 codes.
    type Table = [__m512i; 4];

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn find(first: &[u8; 256], second: &[u8; 256], codes: &[u8], found: &mut [u64]) {
        let (first, second) = (table(first), table(second));
        for (at, word) in found.iter_mut().enumerate() {
            let rest = &codes[at * 64..];
            let (now, next) = match rest.first_chunk::<65>() {
                Some(codes) => (load(codes, 0), load(codes, 1)),
                None => {
                    let mut last = [0; 65];
                    last[..rest.len()].copy_from_slice(rest);
                    (load(&last, 0), load(&last, 1))
                }
            };
            *word = _mm512_test_epi8_mask(look_up(&first, now), look_up(&second, next));
        }
        // There may be no bits beyond the last code.
        if let (Some(last), len @ 1..) = (found.last_mut(), codes.len() % 64) {
            *last &= (1 << len) - 1;
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn table(bytes: &[u8; 256]) -> Table {
        let parts = bytes.as_chunks::<64>().0;
        let part = |at: usize| {
            let part: &[u8; 64] = &parts[at];
            // SAFETY: there are 64 bytes, which may lie anywhere.
            unsafe { _mm512_loadu_si512(part.as_ptr().cast()) }
        };
        [part(0), part(1), part(2), part(3)]
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn load(codes: &[u8; 65], from: usize) -> __m512i {
        let codes = &codes[from..from + 64];
        // SAFETY: there are 64 bytes, which may lie anywhere.
        unsafe { _mm512_loadu_si512(codes.as_ptr().cast()) }
    }

    /// The bits of each code.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    #[inline]
    fn look_up(table: &Table, codes: __m512i) -> __m512i {
        // The lower seven bits of a code choose from two vectors, the highest one which two.
        let low = _mm512_permutex2var_epi8(table[0], codes, table[1]);
        let high = _mm512_permutex2var_epi8(table[2], codes, table[3]);
        _mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), low, high)
    }
}
