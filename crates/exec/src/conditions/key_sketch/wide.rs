//! 64 numbers at once asked of a sketch, by instructions of 64 bytes.
//!
//! Eight numbers are hashed in one vector, and the words that their hashes choose are gathered: no
//! read of memory waits for what another one finds. Rows that are not left are not read for.

use std::arch::x86_64::*;

use super::{BIT_PLACES, FACTOR};
use crate::simd::Instructions;

/// Numbers that are asked for at once.
pub(super) const BLOCK: usize = 64;

/// Of these, so many have to be left for it to take less than one by one.
pub(super) const LEFT_MIN: u32 = 8;

/// Numbers of a vector.
const LANES: usize = 8;

/// Which of the numbers that are left, a bit for each, may be among those of a sketch; `None` if
/// the processor does not have the instructions.
///
/// # Panics
/// If the words are not as many as a power of two.
pub(super) fn may_have(sketch: &[u64], numbers: &[[u8; 8]; BLOCK], left: u64) -> Option<u64> {
    assert!(sketch.len().is_power_of_two(), "{} words", sketch.len());
    if Instructions::used() != Instructions::Avx512 {
        return None;
    }
    // SAFETY: the processor has the instructions that are used.
    Some(unsafe { may_have_512(sketch, numbers, left) })
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
fn may_have_512(sketch: &[u64], numbers: &[[u8; 8]; BLOCK], left: u64) -> u64 {
    let (factor, one) = (_mm512_set1_epi64(FACTOR as i64), _mm512_set1_epi64(1));
    let last = _mm512_set1_epi64(sketch.len() as i64 - 1);
    let mut found = 0;
    for (eight, at) in numbers.as_chunks::<LANES>().0.iter().zip((0..).step_by(LANES)) {
        let lanes = (left >> at) as u8;
        // SAFETY: these are 64 bytes, which may lie anywhere.
        let numbers = unsafe { _mm512_loadu_si512(eight.as_ptr().cast()) };
        let mixed = _mm512_mullo_epi64(numbers, factor);
        let mixed = _mm512_xor_si512(mixed, _mm512_srli_epi64::<32>(mixed));
        let hash = _mm512_rol_epi64::<32>(_mm512_mullo_epi64(mixed, factor));
        let place = _mm512_and_si512(hash, last);
        let bits = BIT_PLACES.map(|shift| {
            let place = _mm512_srlv_epi64(hash, _mm512_set1_epi64(shift.into()));
            _mm512_sllv_epi64(one, _mm512_and_si512(place, _mm512_set1_epi64(63)))
        });
        let bits = _mm512_or_si512(_mm512_or_si512(bits[0], bits[1]), bits[2]);
        let none = _mm512_setzero_si512();
        // SAFETY: a place is at most that of the last word; only words of rows left are read.
        let words =
            unsafe { _mm512_mask_i64gather_epi64::<8>(none, lanes, place, sketch.as_ptr().cast()) };
        let missing = _mm512_andnot_si512(words, bits);
        found |= u64::from(_mm512_mask_testn_epi64_mask(lanes, missing, missing)) << at;
    }
    found
}
