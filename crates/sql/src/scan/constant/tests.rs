//! A set of numbers has those for which DataFusion says that the condition holds.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Date32Array, Int32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, cast, col, lit};
use proptest::prelude::*;

use super::ranges_of;
use crate::values::sql_type::SqlType;

/// Numbers of the column: all that conditions are about, those beside them, and the ends.
const NUMBERS: [i32; 15] =
    [i32::MIN, i32::MIN + 1, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7, i32::MAX - 1, i32::MAX];

fn constant() -> impl Strategy<Value = i32> {
    prop_oneof![8 => -2..6, 1 => Just(i32::MIN), 1 => Just(i32::MAX)]
}

fn comparison() -> impl Strategy<Value = Expr> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let op = prop::sample::select(vec![Eq, NotEq, Lt, LtEq, Gt, GtEq]);
    let compared = (op, constant(), any::<bool>()).prop_map(|(op, value, turned)| {
        let (left, right) = match turned {
            true => (lit(value), col("a")),
            false => (col("a"), lit(value)),
        };
        Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
    });
    let between = (constant(), constant(), any::<bool>()).prop_map(|(low, high, negated)| {
        let (low, high) = (lit(low), lit(high));
        if negated { col("a").not_between(low, high) } else { col("a").between(low, high) }
    });
    let list = (prop::collection::vec(constant(), 1..5), any::<bool>())
        .prop_map(|(list, negated)| col("a").in_list(list.into_iter().map(lit).collect(), negated));
    prop_oneof![3 => compared, 1 => between, 1 => list]
}

fn condition() -> impl Strategy<Value = Expr> {
    comparison().prop_recursive(4, 16, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(|a| !a),
        ]
    })
}

/// For each value of a column whether DataFusion says that the condition holds.
fn by_datafusion(condition: &Expr, column: ArrayRef) -> Vec<bool> {
    let schema = Arc::new(Schema::new(vec![Field::new("a", column.data_type().clone(), true)]));
    let names = DFSchema::try_from(Arc::clone(&schema)).expect("one name");
    let expr = SessionContext::new().create_physical_expr(condition.clone(), &names);
    let expr = expr.expect("it binds");
    let count = column.len();
    let batch = RecordBatch::try_new(schema, vec![column]).expect("one column");
    let truths = expr.evaluate(&batch).and_then(|truths| truths.into_array(count));
    let truths = truths.expect("it is evaluated");
    truths.as_boolean().iter().map(|truth| truth == Some(true)).collect()
}

/// A day as a moment, a little away from its beginning.
fn moment(unit: TimeUnit) -> impl Strategy<Value = Expr> {
    let beside = prop_oneof![2 => Just(0), 1 => -2_i64..3];
    (-3_i64..4, beside).prop_map(move |(day, beside)| {
        let moment = match unit {
            TimeUnit::Microsecond => {
                ScalarValue::TimestampMicrosecond(Some(day * 86_400_000_000 + beside), None)
            }
            _ => ScalarValue::TimestampNanosecond(Some(day * 86_400_000_000_000 + beside), None),
        };
        Expr::Literal(moment, None)
    })
}

/// Conditions on a column of days, which are compared with moments of a unit.
fn day_condition(unit: TimeUnit) -> impl Strategy<Value = Expr> {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let day = move || cast(col("a"), DataType::Timestamp(unit, None));
    let op = prop::sample::select(vec![Eq, NotEq, Lt, LtEq, Gt, GtEq]);
    let compared = (op, moment(unit), any::<bool>()).prop_map(move |(op, moment, turned)| {
        let (left, right) = if turned { (moment, day()) } else { (day(), moment) };
        Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
    });
    let between =
        (moment(unit), moment(unit)).prop_map(move |(low, high)| day().between(low, high));
    let list = (prop::collection::vec(moment(unit), 1..5), any::<bool>())
        .prop_map(move |(list, negated)| day().in_list(list, negated));
    prop_oneof![3 => compared, 1 => between, 1 => list]
}

proptest! {
    #[test]
    fn a_set_has_the_numbers_that_meet_the_condition(condition in condition()) {
        let ranges = ranges_of(&condition, &SqlType::Integer).expect("it has but comparisons");
        let mut expected: Vec<_> =
            NUMBERS.iter().map(|number| ranges.has(i128::from(*number))).collect();
        expected.push(false);
        let numbers = NUMBERS.into_iter().map(Some).chain([None]);
        let column = Arc::new(Int32Array::from_iter(numbers));
        prop_assert_eq!(by_datafusion(&condition, column), expected, "{}", condition);
    }

    #[test]
    fn days_are_compared_with_moments(
        condition in prop_oneof![
            day_condition(TimeUnit::Microsecond),
            day_condition(TimeUnit::Nanosecond),
        ],
    ) {
        let ranges = ranges_of(&condition, &SqlType::Date).expect("it has but comparisons");
        let days = -5..6;
        let mut expected: Vec<_> = days.clone().map(|day| ranges.has(day.into())).collect();
        expected.push(false);
        let column = Arc::new(Date32Array::from_iter(days.map(Some).chain([None])));
        prop_assert_eq!(by_datafusion(&condition, column), expected, "{}", condition);
    }
}

#[test]
fn what_is_more_than_comparisons_is_no_set() {
    let null = Expr::Literal(ScalarValue::Int32(None), None);
    let ranges = |condition: Expr| ranges_of(&condition, &SqlType::Integer);
    assert!(ranges(col("a").in_list(vec![lit(1), null.clone()], true)).is_none());
    assert!(ranges(col("a").eq(null)).is_none());
    assert!(ranges(col("a").is_null()).is_none());
    assert!(ranges(col("a").eq(lit("1"))).is_none());
    assert!(ranges(col("a").eq(lit(1)).or(col("a").is_null())).is_none());
    assert!(ranges((col("a") + lit(1)).eq(lit(1))).is_none());
    let many = (0..200).step_by(2).map(lit).collect();
    assert!(ranges(col("a").in_list(many, false)).is_none());
    let close = (0..200).map(lit).collect();
    assert_eq!(ranges(col("a").in_list(close, false)).expect("one range").as_slice().len(), 1);
}
