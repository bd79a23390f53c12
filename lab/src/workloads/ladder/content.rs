//! What a pair holds: a key that is its number, a value made from number and generation.
//!
//! A number's most significant byte comes first in its key, so that keys are ordered as numbers
//! are. A value's four words differ for every number and every generation, so that neither an old
//! value nor another pair's passes for the right one.

use lab_harness::Outcome;
use lab_harness::pairs::{KEY_LEN, Key, Pair, PairStore, Seen, VALUE_LEN, Value};

/// Bytes of the fields of a pair.
pub(crate) const PAIR_BYTES: u64 = (KEY_LEN + VALUE_LEN) as u64;

/// The key of a number.
#[inline]
pub(crate) fn key(number: u64) -> Key {
    number.to_be_bytes()
}

/// The value of a number in a generation.
#[inline]
pub(crate) fn value(number: u64, generation: u32) -> Value {
    let mut value = [0; VALUE_LEN];
    let mut state = number ^ u64::from(generation).rotate_right(24);
    for word in value.chunks_exact_mut(8) {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word.copy_from_slice(&(mixed ^ mixed >> 32).to_le_bytes());
    }
    value
}

/// The first pairs of a range in their first generation.
pub(crate) fn pairs(numbers: std::ops::Range<u64>) -> Vec<Pair> {
    numbers.map(|number| (key(number), value(number, 0))).collect()
}

/// Compares every pair of a store with what it should hold, the generation of each number; says
/// what is different.
pub(crate) fn difference(
    store: &mut dyn PairStore,
    generations: &[u32],
) -> Outcome<Option<String>> {
    let numbered = || (0..).zip(generations);
    if !store.is_ordered() {
        let mut found = [0; VALUE_LEN];
        for (number, &generation) in numbered() {
            if !store.read(&key(number), &mut found)? || found != value(number, generation) {
                return Ok(Some(format!("pair {number} is not what was written")));
            }
        }
        return Ok(None);
    }
    let mut seen = Seen::keeping(generations.len());
    store.read_in_order(&mut seen)?;
    let pairs = seen.pairs();
    if pairs.len() != generations.len() || seen.check().out_of_order > 0 {
        return Ok(Some(format!("{} pairs in place of {}", pairs.len(), generations.len())));
    }
    let wrong = numbered().zip(pairs).find(|((number, generation), pair)| {
        **pair != (key(*number), value(*number, **generation))
    });
    Ok(wrong.map(|((number, _), _)| format!("pair {number} is not what was written")))
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
