//! A list of constants becomes a table with the same columns and values, any other stays.

use datafusion::arrow::array::{Array, Int64Array};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr_fn::cast;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

use super::{ROWS_MIN, batch, with_lists_as_tables};

fn list(rows: Vec<Vec<Expr>>) -> LogicalPlan {
    LogicalPlanBuilder::values(rows).expect("rows").build().expect("a plan")
}

fn is_listed(plan: LogicalPlan) -> bool {
    let schema = plan.schema().clone();
    let plan = with_lists_as_tables(plan).expect("a plan");
    assert_eq!(plan.schema(), &schema);
    !matches!(plan, LogicalPlan::Values(_))
}

fn numbers(count: i64) -> Vec<Vec<Expr>> {
    (0..count).map(|number| vec![lit(number)]).collect()
}

#[test]
fn only_a_long_list_of_constants_becomes_a_table() {
    let long = ROWS_MIN as i64;
    assert!(is_listed(list(numbers(long))));
    assert!(!is_listed(list(numbers(long - 1))));
    let mut computed = numbers(long);
    computed[3] = vec![lit(1_i64) + lit(2_i64)];
    assert!(!is_listed(list(computed)));
    // What may fail is left to who says so in the words of SQL.
    let mut text = numbers(long);
    text[3] = vec![cast(lit("three"), DataType::Int64)];
    assert!(!is_listed(list(text)));
}

#[test]
fn its_values_are_those_of_the_list() {
    let mut rows = numbers(20);
    rows[1] = vec![lit(7_i32)];
    rows[2] = vec![lit(ScalarValue::Null)];
    let LogicalPlan::Values(values) = list(rows) else { panic!("it is a list") };
    let batch = batch(&values).expect("of constants");
    let column = batch.column(0).as_any().downcast_ref::<Int64Array>().expect("of integers");
    assert!(column.is_null(2) && column.null_count() == 1);
    assert_eq!([column.value(0), column.value(1), column.value(19)], [0, 7, 19]);
}
