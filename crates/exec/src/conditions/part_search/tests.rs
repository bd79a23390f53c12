//! All instructions find the same pairs of codes, up to the last.

use super::PartSearch;
use crate::simd::Instructions;

#[test]
fn pairs_have_a_bit_in_common() {
    let mut state = 11_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for len in 0..300_usize {
        let bits = |random: &mut dyn FnMut() -> u64| {
            Box::new(std::array::from_fn(|_| (random() & random() & random()) as u8))
        };
        let search = PartSearch { first: bits(&mut random), second: bits(&mut random) };
        let codes: Vec<u8> = (0..len).map(|_| random() as u8).collect();
        let bit_of = |at: usize| {
            let next = codes.get(at + 1).copied().unwrap_or_default();
            search.first[usize::from(codes[at])] & search.second[usize::from(next)] != 0
        };
        let mut expected = vec![0; len.div_ceil(64)];
        (0..len).for_each(|at| expected[at / 64] |= u64::from(bit_of(at)) << (at % 64));
        Instructions::with_each(|instructions| {
            assert_eq!(search.find(&codes), expected, "{len} codes, {instructions:?}");
        });
    }
}
