//! A projection that is pushed below a filter computes of the columns that it meant.
//!
//! Two tables have a column `c2`: one of them comes out of the filter in the place in which the
//! other goes in, which its condition reads.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, lit};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

use super::BEFORE;
use crate::plan::planner::physical_rules;

fn column(name: &str, place: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(name, place))
}

fn computed(expr: Arc<dyn PhysicalExpr>, alias: &str) -> ProjectionExpr {
    ProjectionExpr { expr, alias: alias.to_owned() }
}

/// `c3 + c1`, `c1` and the first table's `c2`, of the rows whose second `c2` is 1.
fn plan() -> Arc<dyn ExecutionPlan> {
    let field = |name: &str, kind| Field::new(name, kind, true);
    let schema = Schema::new(vec![
        field("c1", DataType::Float64),
        field("c2", DataType::Int32),
        field("c1", DataType::Int32),
        field("c2", DataType::Int64),
        field("c3", DataType::Int32),
    ]);
    let rows = Arc::new(EmptyExec::new(Arc::new(schema)));
    let is_one = Arc::new(BinaryExpr::new(column("c2", 3), Operator::Eq, lit(1_i64)));
    let filter = FilterExecBuilder::new(is_one, rows)
        .apply_projection(Some(vec![4, 2, 0, 1]))
        .and_then(FilterExecBuilder::build)
        .expect("the columns are there");
    let sum = Arc::new(BinaryExpr::new(column("c3", 0), Operator::Plus, column("c1", 1)));
    let all = [computed(sum, "a"), computed(column("c1", 2), "b"), computed(column("c2", 3), "c")];
    Arc::new(ProjectionExec::try_new(all, Arc::new(filter)).expect("the columns are there"))
}

#[test]
fn the_condition_reads_the_column_that_it_meant() {
    let mut plan = plan();
    let expected = plan.schema();
    let rules = physical_rules();
    let at = rules.iter().position(|rule| rule.name() == BEFORE).expect("DataFusion has the rule");
    for rule in &rules[at - 1..=at] {
        plan = rule.optimize(plan, &ConfigOptions::new()).expect("the plan is right");
    }
    assert_eq!(plan.schema(), expected);
    let mut filters = 0;
    let mut inner = Some(plan);
    while let Some(plan) = inner {
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let read = filter.predicate().downcast_ref::<BinaryExpr>().expect("it was one");
            let read = read.left().data_type(&filter.input().schema()).expect("it is there");
            assert_eq!(read, DataType::Int64, "the other c2");
            filters += 1;
        }
        inner = plan.children().first().map(|plan| Arc::clone(plan));
    }
    assert_eq!(filters, 1);
}
