//! Sums by group where there are few groups.
//!
//! A row's numbers are not added where its group lies, for which one row would wait for the one
//! before it: for each group, the numbers of eight rows at once are added, of those rows that are
//! of the group. That needs instructions of 64 bytes; without them there are no such sums.

#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::simd::Instructions;

/// Groups whose sums are made so, at most.
pub(crate) const GROUPS_MAX: usize = 8;

/// Calls `add` with the place of each tile, each group, which are less than `count`, and the sum
/// of the tile's numbers in the rows of the group, as it is when it wraps; false, and nothing done,
/// if there are too many groups, or the processor does not have the instructions.
pub(crate) fn add(
    groups: &[u32],
    count: usize,
    tiles: &[&[i64]],
    add: impl FnMut(usize, usize, i64),
) -> bool {
    #[cfg(target_arch = "x86_64")]
    if Instructions::used() == Instructions::Avx512 {
        // SAFETY: the processor has the instructions that are used.
        unsafe {
            match count {
                2 => wide::add::<2>(groups, tiles, add),
                3 => wide::add::<3>(groups, tiles, add),
                4 => wide::add::<4>(groups, tiles, add),
                5 | 6 => wide::add::<6>(groups, tiles, add),
                7 | GROUPS_MAX => wide::add::<GROUPS_MAX>(groups, tiles, add),
                _ => return false,
            }
        }
        return true;
    }
    let _ = (groups, count, tiles, add);
    false
}

#[cfg(target_arch = "x86_64")]
mod wide {
    use std::arch::x86_64::*;

    use crate::rows::TILE_ROWS;

    /// Rows that are added at once.
    const LANES: usize = 8;

    #[target_feature(enable = "avx512f,avx512dq,avx512vl,popcnt,bmi1,bmi2")]
    pub(super) fn add<const G: usize>(
        groups: &[u32],
        tiles: &[&[i64]],
        mut add: impl FnMut(usize, usize, i64),
    ) {
        assert!(groups.len() <= TILE_ROWS, "{} rows of a tile", groups.len());
        let mut rows_of = [[0; G]; TILE_ROWS / LANES];
        let (eights, rest) = groups.as_chunks::<LANES>();
        for (rows_of, eight) in rows_of.iter_mut().zip(eights) {
            // SAFETY: there are 32 bytes, which may lie anywhere.
            let eight = unsafe { _mm256_loadu_si256(eight.as_ptr().cast()) };
            for (group, rows) in rows_of.iter_mut().enumerate() {
                *rows = _mm256_cmpeq_epi32_mask(eight, _mm256_set1_epi32(group as i32));
            }
        }
        for (place, tile) in tiles.iter().enumerate() {
            let mut sums = [_mm512_setzero_si512(); G];
            for (numbers, rows_of) in tile.as_chunks::<LANES>().0.iter().zip(&rows_of) {
                // SAFETY: there are 64 bytes, which may lie anywhere.
                let numbers = unsafe { _mm512_loadu_si512(numbers.as_ptr().cast()) };
                for (sum, rows) in sums.iter_mut().zip(rows_of) {
                    *sum = _mm512_mask_add_epi64(*sum, *rows, *sum, numbers);
                }
            }
            for (group, sum) in sums.into_iter().enumerate() {
                let sum = _mm512_reduce_add_epi64(sum);
                if sum != 0 {
                    add(place, group, sum);
                }
            }
            for (group, number) in rest.iter().zip(&tile[groups.len() - rest.len()..]) {
                add(place, *group as usize, *number);
            }
        }
    }
}
