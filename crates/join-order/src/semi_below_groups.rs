//! The rule that moves semi and anti joins below aggregates.
//!
//! Where groups are filtered by their key, their rows can be: then the aggregate has less to do.
//! What always holds: all expressions of the join are keys that the aggregate groups by, so that
//! every group is kept whole or left out whole. It is done where most rows are left out, since a
//! semi join over the rows looks at more of them than one over the groups.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{JoinType, Result};
use datafusion::logical_expr::{Expr, Join, LogicalPlan};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use super::estimate::estimate;
use super::groups::{group_key, with_input};

/// A join that keeps more than this share of the groups stays above them.
const KEEPS_MOST: f64 = 0.5;

/// See the module.
#[derive(Debug)]
pub(super) struct SemiJoinsBelowGroups;

impl OptimizerRule for SemiJoinsBelowGroups {
    fn name(&self) -> &str {
        "semi_joins_below_groups"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(join) = plan else { return Ok(Transformed::no(plan)) };
        let Some(keys) = keys_below(&join) else {
            return Ok(Transformed::no(LogicalPlan::Join(join)));
        };
        Ok(Transformed::yes(push_down(join, keys)?))
    }
}

fn keeps_left(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
}

/// The keys of the aggregate in the order of the join's, if it is right to join below it.
fn keys_below(join: &Join) -> Option<Vec<Expr>> {
    use JoinType::{LeftAnti, LeftSemi, RightAnti, RightSemi};
    let filters = matches!(join.join_type, LeftSemi | LeftAnti | RightSemi | RightAnti);
    if !filters || join.filter.is_some() || join.null_aware || join.on.is_empty() {
        return None;
    }
    let (kept, other) =
        if keeps_left(join) { (&join.left, &join.right) } else { (&join.right, &join.left) };
    let mut keys = Vec::new();
    let mut below = None;
    for (left, right) in &join.on {
        let Expr::Column(column) = (if keeps_left(join) { left } else { right }) else {
            return None;
        };
        let (aggregate, key) = group_key(kept, column)?;
        keys.push(key.clone());
        below = Some(&aggregate.input);
    }
    let columns = other.schema().columns();
    let clash = below?.schema().columns().iter().any(|column| columns.contains(column));
    let rows = estimate(&LogicalPlan::Join(join.clone())).rows;
    (!clash && rows <= KEEPS_MOST * estimate(kept).rows).then_some(keys)
}

fn push_down(join: Join, keys: Vec<Expr>) -> Result<LogicalPlan> {
    let left_kept = keeps_left(&join);
    let Join { left, right, on, join_type, join_constraint, null_equality, .. } = join;
    let (kept, other) = if left_kept { (left, right) } else { (right, left) };
    with_input(Arc::unwrap_or_clone(kept), &mut |input| {
        let pairs = on.iter().zip(&keys).map(|((left, right), key)| {
            if left_kept { (key.clone(), right.clone()) } else { (left.clone(), key.clone()) }
        });
        let (input, other) = (Arc::new(input), Arc::clone(&other));
        let (left, right) = if left_kept { (input, other) } else { (other, input) };
        let join = Join::try_new(
            left,
            right,
            pairs.collect(),
            None,
            join_type,
            join_constraint,
            null_equality,
            false,
        )?;
        Ok(LogicalPlan::Join(join))
    })
}
