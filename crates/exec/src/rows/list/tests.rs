//! A list has the rows of all bits, in their order, however it is made.

use super::list_of;
use crate::simd::Instructions;

#[test]
fn lists_have_the_rows_of_all_bits() {
    let mut state = 7_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for len in 0..140 {
        for ands in 0..6 {
            let words: Vec<u64> =
                (0..len).map(|_| (0..ands).fold(u64::MAX, |word, _| word & random())).collect();
            let first = (random() % 100_000) as u32;
            let rows = 0..words.len() * 64;
            let left = rows.filter(|row| words[row / 64] >> (row % 64) & 1 == 1);
            let expected: Vec<u32> = left.map(|row| first + row as u32).collect();
            Instructions::with_each(|instructions| {
                assert_eq!(list_of(&words, first, expected.len()), expected, "{instructions:?}");
            });
        }
    }
}
