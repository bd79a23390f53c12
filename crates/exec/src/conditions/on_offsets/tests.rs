//! Conditions say of each row what a look at its offset by itself says, whatever the instructions.

use super::{EncodedOffsets, OffsetBits, OffsetRange};
use crate::rows::bits::RowBits;
use crate::simd::Instructions;

const ROWS: usize = 700;

/// A generator of numbers that look random (Marsaglia, Xorshift RNGs, 2003).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Offsets as a column of this width has them.
fn encoded(offsets: &[u32], width: usize) -> Vec<u8> {
    let bytes = |from: usize, to: usize| {
        offsets.iter().flat_map(move |offset| offset.to_le_bytes()[from..to].to_vec())
    };
    match width {
        3 => bytes(0, 2).chain(bytes(2, 3)).collect(),
        width => bytes(0, width).collect(),
    }
}

/// Offsets of this width: anywhere, or near one another and mostly ascending.
fn offsets(random: &mut Random, width: usize, is_near: bool) -> Vec<u32> {
    let end = 1_u64 << (8 * width);
    let step = random.below(end.min(40)) + 1;
    let mut last = random.below(end);
    let offsets = (0..ROWS).map(|_| {
        last = match is_near && random.below(200) > 0 {
            true => (last + random.below(step)) % end,
            false => random.below(end),
        };
        last as u32
    });
    offsets.collect()
}

/// Rows from some row on, of which many, few or hardly any are left.
fn some_rows(random: &mut Random) -> (usize, RowBits) {
    let first = random.below(300) as usize;
    let mut rows = RowBits::all(1 + random.below((ROWS - first) as u64) as usize);
    let share = [1, 3, 90][random.below(3) as usize];
    if random.below(2) == 0 {
        rows.words_mut().iter_mut().for_each(|word| {
            let left =
                (0..64).fold(0, |left, bit| left | u64::from(random.below(share) == 0) << bit);
            *word &= left;
        });
    }
    (first, rows)
}

/// Checks what is left of rows by all instructions.
fn check(first: usize, rows: &RowBits, keep: impl Fn(&mut RowBits), meets: impl Fn(usize) -> bool) {
    let mut expected = rows.clone();
    expected.keep_each(|row| meets(first + row));
    Instructions::with_each(|instructions| {
        let mut left = rows.clone();
        keep(&mut left);
        assert_eq!(left.words(), expected.words(), "{instructions:?}");
    });
}

#[test]
fn ranges_have_the_offsets_between_their_ends() {
    let mut random = Random(9);
    for round in 0..2_000 {
        let width = round % 4 + 1;
        let all = offsets(&mut random, width, round % 3 == 0);
        let bytes = encoded(&all, width);
        let (first, rows) = some_rows(&mut random);
        let mut end = || match random.below(4) {
            0 => 0,
            1 => ((1_u64 << (8 * width)) - 1) as u32,
            2 => all[random.below(ROWS as u64) as usize],
            _ => random.below(1 << (8 * width)) as u32,
        };
        let (one, other) = (end(), end());
        let range = OffsetRange { low: one.min(other), high: one.max(other) };
        let offsets = EncodedOffsets { bytes: &bytes, width };
        let meets = |row: usize| (range.low..=range.high).contains(&all[row]);
        check(first, &rows, |left| offsets.keep_between(range, first, left), meets);
    }
}

#[test]
fn bits_are_those_of_offsets_on_either_side_of_the_first() {
    let mut random = Random(5);
    for round in 0..4_000_usize {
        let width = round % 4 + 1;
        let all = offsets(&mut random, width, round % 3 > 0);
        let bytes = encoded(&all, width);
        let (first_row, rows) = some_rows(&mut random);
        let words = [1, 3, 8, 9, 16, 500, 1 << 14][random.below(7) as usize];
        let bits: Vec<u64> = (0..words).map(|_| random.below(u64::MAX)).collect();
        let len = words * 64 - random.below(64) as usize;
        let near = i128::from(all[random.below(ROWS as u64) as usize]);
        let far = i128::from(random.below(u64::MAX));
        let place = random.below(len as u64) as i128;
        let first = [0, -near, place - near, far, -far, -(1 << 32), 1 << 32, -(len as i128)]
            [random.below(8) as usize];
        let offsets = EncodedOffsets { bytes: &bytes, width };
        let of = OffsetBits { bits: &bits, len, first };
        let meets = |row: usize| {
            let at = first + i128::from(all[row]);
            let at = usize::try_from(at).ok().filter(|at| *at < len);
            at.is_some_and(|at| bits[at / 64] >> (at % 64) & 1 == 1)
        };
        check(first_row, &rows, |left| offsets.keep_with_bit(of, first_row, left), meets);
    }
}

#[test]
fn no_offset_has_a_bit_of_none() {
    let offsets = EncodedOffsets { bytes: &[0; 100], width: 1 };
    for first in [0, -1, i128::from(i64::MIN), i128::from(u64::MAX)] {
        let none = OffsetBits { bits: &[], len: 0, first };
        check(0, &RowBits::all(100), |left| offsets.keep_with_bit(none, 0, left), |_| false);
    }
}
