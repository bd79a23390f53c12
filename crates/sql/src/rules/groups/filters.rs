//! `f(x) FILTER (WHERE c)` is `f(CASE WHEN c THEN x END)`.
//!
//! Of functions that pass over null both say the same; but DataFusion computes an argument of rows
//! that do not meet the condition as well, which may fail, and PostgreSQL does not.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::{Expr, LogicalPlan, when};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::aggregates::sum;
use crate::functions::expressions::rewrite_own;

/// Functions of one argument that pass over null.
const FUNCTIONS: [&str; 15] = [
    sum::NAME,
    "count",
    "avg",
    "min",
    "max",
    "stddev",
    "stddev_samp",
    "stddev_pop",
    "var",
    "var_samp",
    "var_pop",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
];

/// The rule.
#[derive(Debug)]
pub(crate) struct FiltersInArguments;

impl AnalyzerRule for FiltersInArguments {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let rewritten = plan.transform_up_with_subqueries(|plan| match plan {
            LogicalPlan::Aggregate(_) => rewrite_own(plan, |expr, _| in_argument(expr)),
            plan => Ok(Transformed::no(plan)),
        })?;
        rewritten.data.recompute_schema()
    }

    fn name(&self) -> &str {
        "filters_in_arguments"
    }
}

fn in_argument(expr: Expr) -> PlanResult<Transformed<Expr>> {
    let Expr::AggregateFunction(AggregateFunction { func, mut params }) = expr else {
        return Ok(Transformed::no(expr));
    };
    let is_known = FUNCTIONS.contains(&func.name()) && params.args.len() == 1;
    let filter = params.filter.take_if(|_| is_known);
    let is_changed = filter.is_some();
    if let (Some(filter), Some(argument)) = (filter, params.args.pop_if(|_| is_changed)) {
        params.args.push(when(*filter, argument).end()?);
    }
    let call = Expr::AggregateFunction(AggregateFunction { func, params });
    Ok(if is_changed { Transformed::yes(call) } else { Transformed::no(call) })
}
