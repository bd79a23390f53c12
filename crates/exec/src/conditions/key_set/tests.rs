//! Numbers are found where they were put, at the ends of words and beyond the set alike.

use super::KeySet;

fn set(low: i64, numbers: &[i64], len: usize) -> KeySet {
    KeySet::of_all(numbers, low, len)
}

#[test]
fn numbers_beyond_the_set_are_not_in_it() {
    let set = set(-10, &[-10, 53, 54, 189], 200);
    for number in -300..300 {
        assert_eq!(set.has(number), [-10, 53, 54, 189].contains(&(number as i64)), "{number}");
    }
    assert!(!set.has(i128::from(u64::MAX) - 9), "what wraps around");
}

#[test]
fn a_stretch_has_what_one_of_its_numbers_is() {
    let numbers = [3, 64, 127, 128, 200, 299];
    let set = set(0, &numbers, 300);
    for first in -70..370 {
        for last in first..370 {
            let expected =
                numbers.iter().any(|number| (first..=last).contains(&i128::from(*number)));
            assert_eq!(set.has_between(first, last), expected, "{first} to {last}");
        }
    }
}

#[test]
fn numbers_of_a_list_have_bits_as_long_as_they_are_close() {
    let every = |step: i64, count: i64| (0..count).map(|at| at * step - 9).collect::<Vec<_>>();
    for (step, count) in [(1, 1), (1, 500), (31, 1000), (500, 20_000)] {
        let numbers = every(step, count);
        let set = KeySet::of_numbers(&numbers).expect("they are close");
        for number in -70..700 {
            let is_one = (number + 9) % step == 0 && (0..count).contains(&((number + 9) / step));
            assert_eq!(set.has(number.into()), is_one && number >= -9, "{number} by {step}");
        }
        assert_eq!(set.bytes(), ((step * (count - 1) + 1) as usize).div_ceil(64) * 8);
    }
    assert!(KeySet::of_numbers(&every(4100, 5_000)).is_none(), "more than 512 bytes a key");
    assert!(KeySet::of_numbers(&every(500, 200_000)).is_none(), "more than 8 MiB");
    assert!(KeySet::of_numbers(&[i64::MIN, i64::MAX]).is_none());
    assert!(KeySet::of_numbers(&[i64::MAX]).expect("one").has(i64::MAX.into()));
}

#[test]
fn keys_that_are_all_numbers_of_a_table_are_useless() {
    let all: Vec<i64> = (0..1000).collect();
    let all = KeySet::of_numbers(&all).expect("they are close");
    assert!(all.is_useless(1000) && all.is_useless(4000));
    assert!(!all.is_useless(4001), "a stretch of the table's numbers");
    let half: Vec<i64> = (0..1000).step_by(2).collect();
    assert!(!KeySet::of_numbers(&half).expect("they are close").is_useless(10));
}
