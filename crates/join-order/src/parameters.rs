//! What a parameter says of the key of one side of a join, it says of the other's.
//!
//! DataFusion infers that of constants alone where rows without a partner are kept: it evaluates
//! the condition for NULL. `k = $1` is never true of NULL, whatever the parameter is, and a row of
//! the other side whose key is another one is no row's partner.

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, JoinType};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, Filter, Join, LogicalPlan};
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::constant::constant;

/// The rule.
#[derive(Debug)]
pub(super) struct ParametersThroughJoins;

impl OptimizerRule for ParametersThroughJoins {
    fn name(&self) -> &str {
        "parameters_through_joins"
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Join(join) => told(join),
            other => Ok(Transformed::no(other)),
        })
    }
}

/// The join, of which one side was told what the other knows of a key.
fn told(mut join: Join) -> PlanResult<Transformed<LogicalPlan>> {
    use JoinType as T;
    let tells_right = match join.join_type {
        T::Left | T::LeftSemi | T::LeftAnti | T::LeftMark => true,
        T::Right | T::RightSemi | T::RightAnti | T::RightMark => false,
        T::Inner | T::Full => return Ok(Transformed::no(LogicalPlan::Join(join))),
    };
    if join.null_aware {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let mut conditions = Vec::new();
    for (left, right) in &join.on {
        let (Expr::Column(left), Expr::Column(right)) = (left, right) else { continue };
        let (known, asked) = if tells_right { (left, right) } else { (right, left) };
        let sides = if tells_right { (&join.left, &join.right) } else { (&join.right, &join.left) };
        conditions.extend(condition(sides.0, known, sides.1, asked));
    }
    let Some(condition) = conditions.into_iter().reduce(Expr::and) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let side = if tells_right { &mut join.right } else { &mut join.left };
    *side = LogicalPlan::Filter(Filter::try_new(condition, std::sync::Arc::clone(side))?).into();
    Ok(Transformed::yes(LogicalPlan::Join(join)))
}

/// What one side says of its key by a parameter, of the key of another that says nothing.
fn condition(
    known: &LogicalPlan,
    key: &Column,
    asked: &LogicalPlan,
    other: &Column,
) -> Option<Expr> {
    let parameter = constant(known, key).filter(|it| matches!(it, Expr::Placeholder(_)))?;
    let is_told = constant(asked, other).is_some();
    (!is_told).then(|| Expr::Column(other.clone()).eq(parameter))
}
