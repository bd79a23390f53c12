//! Results are computed once for each number, and looked up then; what cannot be is computed for
//! each row, as before.

use std::cell::Cell;

use datafusion::arrow::array::{Date32Array, Int64Array};

use super::*;
use crate::error::Error;

/// The results for values, and how often something was computed.
fn twice(
    memo: &Memo,
    values: Vec<Option<i64>>,
    computed: &Cell<usize>,
) -> Option<Vec<Option<i64>>> {
    let values = Arc::new(Int64Array::from(values)) as ArrayRef;
    let results = memo.results(&values, |values| {
        computed.set(computed.get() + 1);
        let values = values.as_primitive::<dt::Int64Type>();
        let doubled = values.iter().map(|value| match value {
            Some(5000) => Err(Error::internal("a number that fails")),
            Some(value) => Ok(Some(value.wrapping_mul(2))),
            None => Ok(Some(-1)),
        });
        Ok(Arc::new(doubled.collect::<Result<Int64Array>>()?))
    });
    let results = results.expect("what fails is not worth it");
    results.map(|results| results.as_primitive::<dt::Int64Type>().iter().collect())
}

#[test]
fn each_number_is_computed_once() {
    let (memo, computed) = (Memo::default(), Cell::new(0));
    let many: Vec<Option<i64>> = (0..700).map(|i| (i % 7 > 0).then_some(i % 90 - 30)).collect();
    let wanted: Vec<_> = many.iter().map(|it| it.map_or(Some(-1), |it| Some(it * 2))).collect();
    // Not before there are as many rows as numbers.
    assert!(twice(&memo, many.clone(), &computed).is_none() && computed.get() == 0);
    while computed.get() == 0 {
        if let Some(found) = twice(&memo, many.clone(), &computed) {
            assert_eq!(found, wanted);
        }
    }
    assert_eq!(twice(&memo, many, &computed), Some(wanted));
    assert_eq!(computed.get(), 1);
    // Others are computed with those that are known; then all are.
    let others = vec![Some(3000), None, Some(-1500), Some(7)];
    let wanted = Some(vec![Some(6000), Some(-1), Some(-3000), Some(14)]);
    assert_eq!(twice(&memo, others.clone(), &computed), wanted);
    assert_eq!((twice(&memo, others, &computed), computed.get()), (wanted, 2));
    assert_eq!(twice(&memo, vec![None], &computed), None);
}

#[test]
fn what_fails_or_is_too_much_is_left() {
    for values in [vec![Some(4990); 9000], vec![Some(0), Some(100_000)]] {
        let (memo, computed) = (Memo::default(), Cell::new(0));
        for _ in 0..20 {
            assert_eq!(twice(&memo, values.clone(), &computed), None);
        }
        assert!(computed.get() <= 1);
    }
    for end in [i64::MIN, i64::MAX] {
        let (memo, computed) = (Memo::default(), Cell::new(0));
        for _ in 0..20 {
            let found = twice(&memo, vec![Some(end); 2000], &computed);
            let wanted = Some(vec![Some(end.wrapping_mul(2)); 2000]);
            assert!(found.is_none() || found == wanted, "{end}");
        }
    }
}

#[test]
fn days_and_decimals_are_numbers() {
    let days = Arc::new(Date32Array::from_iter_values((0..9000).map(|i| 8000 + i % 2500)));
    let (memo, mut calls) = (Memo::default(), 0);
    for _ in 0..2 {
        let found = memo.results(&(Arc::clone(&days) as ArrayRef), |days| {
            calls += 1;
            Ok(days)
        });
        let found = found.expect("no error").expect("enough rows");
        assert_eq!(found.as_primitive::<dt::Date32Type>(), days.as_ref());
    }
    assert_eq!(calls, 1);
}

/// It is computed of numbers that no row has: what may be large, or does more than answer, is not.
#[test]
fn only_small_answers_are_looked_up() {
    use datafusion::arrow::datatypes::Field;
    use datafusion::common::ScalarValue;
    use datafusion::logical_expr::{ScalarUDF, Volatility, create_udf};
    use datafusion::physical_expr::expressions::{Column, case, lit};

    let columns = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
    let column = || Arc::new(Column::new("n", 0)) as Arc<dyn PhysicalExpr>;
    let function = |result: DataType, volatility| -> ScalarUDF {
        let none = Arc::new(|_: &[_]| unreachable!("nobody computes it"));
        create_udf("f", vec![DataType::Int64], result, volatility, none)
    };
    let call = |result: DataType, volatility, of: Arc<dyn PhysicalExpr>| {
        let function = Arc::new(function(result, volatility));
        let call = ScalarFunctionExpr::try_new(function, vec![of], &columns, Arc::default());
        Arc::new(call.expect("a call")) as Arc<dyn PhysicalExpr>
    };
    let is_looked_up =
        |expr: &Arc<dyn PhysicalExpr>| Memo::of(expr, &columns).expect("an expression").is_some();
    use Volatility as V;
    assert!(is_looked_up(&call(DataType::Date32, V::Immutable, column())));
    assert!(!is_looked_up(&call(DataType::Date32, V::Stable, column())));
    assert!(!is_looked_up(&call(DataType::Date32, V::Volatile, column())));
    assert!(!is_looked_up(&call(DataType::Utf8, V::Immutable, column())));
    // A number that is made of a text.
    let text = || call(DataType::Utf8, V::Immutable, column());
    let truth = Arc::new(datafusion::physical_expr::expressions::BinaryExpr::new(
        text(),
        datafusion::logical_expr::Operator::Eq,
        lit(ScalarValue::Utf8(Some("x".to_owned()))),
    )) as Arc<dyn PhysicalExpr>;
    let of_text = case(None, vec![(truth, lit(1_i64))], None).expect("a case");
    assert!(!is_looked_up(&of_text));
    assert!(!is_looked_up(&column()));
}
