//! What is computed in 8 bytes is what Arrow computes, and what does not fit is left to it.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Scalar};
use datafusion::arrow::compute::kernels::numeric;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Operator};

use super::apply;

const OPERATORS: [Operator; 3] = [Operator::Plus, Operator::Minus, Operator::Multiply];
const GREATEST: i128 = i64::MAX as i128;

fn array(numbers: &[Option<i128>], scale: i8) -> ArrayRef {
    let array = Decimal128Array::from(numbers.to_vec());
    Arc::new(array.with_precision_and_scale(30, scale).expect("they have 30 digits"))
}

fn by_arrow(
    operator: Operator,
    left: &dyn datafusion::arrow::array::Datum,
    right: &ArrayRef,
) -> ArrayRef {
    let result = match operator {
        Operator::Plus => numeric::add(left, right),
        Operator::Minus => numeric::sub(left, right),
        _ => numeric::mul(left, right),
    };
    result.expect("nothing overflows")
}

#[test]
fn results_are_those_of_arrow_whatever_the_scales() {
    let numbers = [0, 1, -1, 99, -12_345, 1 << 40, GREATEST, -GREATEST - 1];
    let mut pairs: Vec<(Option<i128>, Option<i128>)> =
        numbers.iter().flat_map(|&a| numbers.iter().map(move |&b| (Some(a), Some(b)))).collect();
    pairs.extend([(None, Some(7)), (Some(7), None), (None, None)]);
    let (left, right): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
    for (left_scale, right_scale) in [(2, 2), (0, 4), (4, 0), (6, 1), (18, 0)] {
        let (a, b) = (array(&left, left_scale), array(&right, right_scale));
        for operator in OPERATORS {
            let expected = by_arrow(operator, &a, &b);
            let (left, right) = (ColumnarValue::Array(a.clone()), ColumnarValue::Array(b.clone()));
            let result = apply(operator, &left, &right, expected.data_type());
            let result =
                result.unwrap_or_else(|| panic!("{operator} of {left_scale}, {right_scale}"));
            assert_eq!(&result, &expected, "{operator} of {left_scale}, {right_scale}");
        }
    }
}

#[test]
fn one_number_for_all_rows_is_as_good_as_many() {
    let rows = array(&[Some(5), None, Some(-70_000), Some(GREATEST)], 2);
    let one = ScalarValue::Decimal128(Some(1), 20, 0);
    let scalar = Scalar::new(one.to_array().expect("it is an array of one"));
    for operator in OPERATORS {
        let expected = by_arrow(operator, &scalar, &rows);
        let left = ColumnarValue::Scalar(one.clone());
        let right = ColumnarValue::Array(rows.clone());
        let result = apply(operator, &left, &right, expected.data_type()).expect("it fits");
        assert_eq!(&result, &expected, "{operator}");
    }
}

#[test]
fn what_does_not_fit_is_left_to_arrow() {
    let small = array(&[Some(1), Some(2)], 2);
    for wide in [GREATEST + 1, -GREATEST - 2, 10_i128.pow(29)] {
        let wide = array(&[Some(3), Some(wide)], 2);
        for operator in OPERATORS {
            let to = by_arrow(operator, &small, &wide);
            for (left, right) in [(&small, &wide), (&wide, &small)] {
                let left = ColumnarValue::Array(left.clone());
                let right = ColumnarValue::Array(right.clone());
                let result = apply(operator, &left, &right, to.data_type());
                assert!(result.is_none(), "{operator}");
            }
        }
    }
}
