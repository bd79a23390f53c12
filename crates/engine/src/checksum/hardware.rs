//! CRC-32C by the processor's instruction (SSE 4.2), eight bytes at a time.
//!
//! Its result is there after three cycles, but it may begin in each of them. So of long bytes three
//! stripes are taken at once, and their states put together by a table of what a state becomes when
//! a stripe of zeros follows (Gopal and others, Fast CRC Computation for iSCSI Polynomial Using
//! CRC32 Instruction, Intel 2011).

use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};

use super::tables;

/// Bytes of a stripe.
const STRIPE: usize = 2048;

/// What becomes of a state when a stripe of zeros follows, by the place and value of its bytes.
static PAST_STRIPE: [[u32; 256]; 4] = past_stripe();

/// The state after `bytes`; `None` where the processor cannot.
#[inline]
pub(super) fn add(state: u32, bytes: &[u8]) -> Option<u32> {
    if !is_x86_feature_detected!("sse4.2") {
        return None;
    }
    // SAFETY: the processor has SSE 4.2, which is all that the function asks for.
    Some(unsafe { add_words(state, bytes) })
}

#[target_feature(enable = "sse4.2")]
fn add_words(state: u32, bytes: &[u8]) -> u32 {
    let (three, rest) = bytes.as_chunks::<{ 3 * STRIPE }>();
    let add = |state, word: &[u8; 8]| _mm_crc32_u64(state, u64::from_le_bytes(*word));
    let mut state = state;
    for stripes in three {
        let (words, _) = stripes.as_chunks::<8>();
        let (first, others) = words.split_at(STRIPE / 8);
        let (second, third) = others.split_at(STRIPE / 8);
        let mut states = [u64::from(state), 0, 0];
        for ((a, b), c) in first.iter().zip(second).zip(third) {
            states = [add(states[0], a), add(states[1], b), add(states[2], c)];
        }
        let [first, second, third] = states.map(|state| state as u32);
        state = past(past(first) ^ second) ^ third;
    }
    let (words, rest) = rest.as_chunks::<8>();
    let state = words.iter().fold(u64::from(state), add);
    rest.iter().fold(state as u32, |state, &byte| _mm_crc32_u8(state, byte))
}

/// What becomes of a state when a stripe of zeros follows.
fn past(state: u32) -> u32 {
    let bytes = state.to_le_bytes();
    (0..4).fold(0, |past, i| past ^ PAST_STRIPE[i][usize::from(bytes[i])])
}

const fn past_stripe() -> [[u32; 256]; 4] {
    // A state is the sum of its bits, and so is what becomes of it.
    let tables_of_bytes = tables();
    let mut bits = [0; 32];
    let mut bit = 0;
    while bit < 32 {
        let mut state = 1_u32 << bit;
        let mut byte = 0;
        while byte < STRIPE {
            state = state >> 8 ^ tables_of_bytes[0][(state & 0xff) as usize];
            byte += 1;
        }
        bits[bit] = state;
        bit += 1;
    }
    let mut tables = [[0; 256]; 4];
    let mut at = 0;
    while at < 4 * 256 * 8 {
        let (place, value, bit) = (at / 2048, at / 8 % 256, at % 8);
        if value >> bit & 1 == 1 {
            tables[place][value] ^= bits[place * 8 + bit];
        }
        at += 1;
    }
    tables
}
