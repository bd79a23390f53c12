//! A small random generator: Steele, Lea, Flood (2014), SplitMix64.
//!
//! What is drawn depends on the seed alone, which tests have in their messages.

use std::ops::Range;

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// The seeds that a test takes: these, or those that a variable of the environment says as
/// `FIRST..COUNT`.
pub(crate) fn seeds(variable: &str, first: u64, count: u64) -> Range<u64> {
    let (first, count) = match std::env::var(variable) {
        Ok(text) => {
            let (first, count) = text.split_once("..").expect("FIRST..COUNT");
            (first.parse().expect("a number"), count.parse().expect("a number"))
        }
        Err(_) => (first, count),
    };
    first..first + count
}
