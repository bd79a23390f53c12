//! Means are rounded, and refused where they have too many digits.

use super::*;

/// What the mean is in hundredths of a value's last place, of a sum and a count.
fn mean(sum: i128, count: u64) -> i128 {
    Mean::new(0, &DataType::Decimal128(38, 2)).unwrap().of(sum, count).unwrap()
}

#[test]
fn halves_are_rounded_away_from_zero() {
    assert_eq!([mean(20, 13), mean(-20, 13)], [154, -154]);
    assert_eq!([mean(1, 200), mean(-1, 200)], [1, -1]);
    assert_eq!([mean(1, 201), mean(-1, 201)], [0, 0]);
    assert_eq!([mean(7, 1), mean(0, 0)], [700, 0]);
}

#[test]
fn a_mean_of_many_digits_is_refused_and_not_wrapped() {
    let mean = Mean::new(0, &DataType::Decimal128(38, 2)).unwrap();
    let largest = 10_i128.pow(36);
    assert_eq!(mean.of(largest - 1, 1).unwrap(), (largest - 1) * 100);
    let errors = [mean.of(largest, 1), mean.of(i128::MAX, 1), mean.of(i128::MIN, 1)];
    for error in errors {
        assert_eq!(error.unwrap_err().state(), SqlState::NUMBER_OUT_OF_RANGE);
    }
    assert_eq!(mean.of(i128::MAX / 2, 1 << 40).unwrap(), i128::MAX / 2 / (1 << 40) * 100 + 100);
}
