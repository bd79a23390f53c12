//! Sums of few groups are what adding row by row makes, also where they wrap.

use super::{GROUPS_MAX, add};
use crate::simd::Instructions;

#[test]
fn sums_are_those_of_each_group() {
    let mut state = 3_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    for count in 1..=GROUPS_MAX + 1 {
        for rows in [0, 1, 7, 8, 9, 500, 1024] {
            let groups: Vec<u32> = (0..rows).map(|_| (random() % count as u64) as u32).collect();
            let tiles: Vec<Vec<i64>> =
                (0..3).map(|tile| (0..rows).map(|_| (random() >> tile) as i64).collect()).collect();
            let mut expected = vec![vec![0_i64; count]; 3];
            for (sums, tile) in expected.iter_mut().zip(&tiles) {
                for (group, number) in groups.iter().zip(tile) {
                    let sum = &mut sums[*group as usize];
                    *sum = sum.wrapping_add(*number);
                }
            }
            let tiles: Vec<&[i64]> = tiles.iter().map(Vec::as_slice).collect();
            Instructions::with_each(|instructions| {
                let mut sums = vec![vec![0_i64; count]; 3];
                let is_done = add(&groups, count, &tiles, |tile, group, more| {
                    let sum = &mut sums[tile][group];
                    *sum = sum.wrapping_add(more);
                });
                let has_instructions = instructions == Instructions::Avx512;
                assert_eq!(is_done, has_instructions && (2..=GROUPS_MAX).contains(&count));
                if is_done {
                    assert_eq!(sums, expected, "{count} groups of {rows} rows");
                }
            });
        }
    }
}
