//! Sets of numbers against the same sets as lists of truths, at both ends of all numbers, too.

use super::NumberRanges;

/// A set of numbers below six by its bits; all others, and the least and the greatest of all, too,
/// by the next three.
fn set(bits: u32) -> NumberRanges {
    let has = |bit: u32| bits >> bit & 1 == 1;
    let list = (0..6).filter(|number| has(*number as u32)).collect();
    let mut set = NumberRanges::of_list(list);
    if has(6) {
        set = set.or(&NumberRanges::between(6, i128::MAX));
    }
    if has(7) {
        set = set.or(&NumberRanges::between(i128::MIN, -1));
    }
    if has(8) {
        set = set.or(&NumberRanges::of_list(vec![i128::MAX, i128::MIN]));
    }
    set
}

const NUMBERS: [i128; 12] =
    [i128::MIN, i128::MIN + 1, -1, 0, 1, 2, 3, 4, 5, 6, i128::MAX - 1, i128::MAX];

#[test]
fn sets_are_joined_and_turned_around_number_by_number() {
    for a in (0..512).step_by(3) {
        let of_a = set(a);
        let is_in = |set: &NumberRanges| NUMBERS.map(|number| set.has(number));
        assert_eq!(is_in(&of_a.not()), is_in(&of_a).map(|is_in| !is_in), "{of_a:?}");
        assert_eq!(of_a.not().not(), of_a);
        for b in (0..512).step_by(7) {
            let of_b = set(b);
            for number in NUMBERS {
                let (in_a, in_b) = (of_a.has(number), of_b.has(number));
                assert_eq!(of_a.and(&of_b).has(number), in_a && in_b, "{of_a:?} {of_b:?}");
                assert_eq!(of_a.or(&of_b).has(number), in_a || in_b, "{of_a:?} {of_b:?}");
            }
        }
    }
}

#[test]
fn ranges_that_touch_are_one() {
    let set = NumberRanges::of_list(vec![3, 1, 2, 2]);
    assert_eq!(set, NumberRanges::between(1, 3));
    assert_eq!(NumberRanges::between(4, 3).as_slice(), []);
    assert_eq!(NumberRanges::between(4, 3).not(), NumberRanges::between(i128::MIN, i128::MAX));
}
