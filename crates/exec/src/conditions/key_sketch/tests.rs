//! A sketch has all of its numbers, and few others.

use super::*;
use crate::simd::Instructions;

#[test]
fn numbers_are_found_and_few_others() {
    for count in [1_u64, 2, 100, 5_000, 200_000] {
        let number = |at: u64| (at.wrapping_mul(0x1234_5678_9ABC_DEF1) >> 2) as i64;
        let numbers: Vec<i64> = (0..count).map(number).collect();
        let sketch = KeySketch::of_numbers(&numbers).expect("there are numbers");
        assert!(numbers.iter().all(|number| sketch.may_have((*number).into())), "{count}");
        let others = (count..count + 100_000).filter(|at| sketch.may_have(number(*at).into()));
        let others = others.count();
        assert!(others < 12_000, "{count} numbers: {others} of 100,000 others");
        assert!(sketch.words.len() * 8 == KeySketch::bytes_for(numbers.len()), "{count}");
    }
    assert!(KeySketch::of_numbers(&[]).is_none());
}

#[test]
fn numbers_beyond_the_ends_are_none() {
    let sketch = KeySketch::of_numbers(&[-5, 1 << 40]).expect("there are numbers");
    assert!(!sketch.may_have_between(-100, -6) && !sketch.may_have_between(1 << 41, 1 << 50));
    assert!(sketch.may_have_between(-100, -5) && sketch.may_have_between(0, 0));
    assert!(!sketch.may_have(i128::MAX) && !sketch.may_have(i128::MIN));
}

#[test]
fn rows_are_left_as_by_each_number_with_all_instructions() {
    let number = |at: u64| at.wrapping_mul(0x1234_5678_9ABC_DEF1) as i64;
    let keys: Vec<i64> = (0..3_000).map(|at| number(at * 5)).collect();
    let sketch = KeySketch::of_numbers(&keys).expect("there are numbers");
    let numbers: Vec<[u8; 8]> = (0..2_055).map(|at| number(at).to_le_bytes()).collect();
    Instructions::with_each(|instructions| {
        for (first, every) in [(0, 1), (1, 2), (7, 9), (40, 1), (0, 64)] {
            let numbers = &numbers[first..];
            let mut left = RowBits::all(numbers.len());
            left.keep_each(|row| row % every == 0);
            let mut expected = left.clone();
            expected.keep_each(|row| sketch.may_have_word(u64::from_le_bytes(numbers[row])));
            sketch.keep(numbers, &mut left);
            assert_eq!(left.words(), expected.words(), "{instructions:?}, {first}, {every}");
            assert!((1..numbers.len().div_ceil(every)).contains(&left.count()));
        }
    });
}
