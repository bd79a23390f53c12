//! A sketch has all of its numbers, and few others.

use super::*;

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
