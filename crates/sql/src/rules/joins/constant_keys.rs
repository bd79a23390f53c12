//! Keys of joins of which one side is a constant, which a rule of DataFusion's would lose.
//!
//! The rule takes inner joins apart and puts them together by the keys that have columns of both
//! sides. Whatever is no such key becomes a condition before it. Where some joins find NULL equal
//! to NULL and others do not, the rule is not used.

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, Join, LogicalPlan, and};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// The rule, behind what it needs.
#[derive(Debug)]
pub(crate) struct WithoutConstantKeys {
    rule: EliminateCrossJoin,
}

impl WithoutConstantKeys {
    pub(crate) fn new() -> Self {
        Self { rule: EliminateCrossJoin::new() }
    }
}

impl OptimizerRule for WithoutConstantKeys {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> PlanResult<Transformed<LogicalPlan>> {
        let conditioned = plan.transform_up_with_subqueries(|node| {
            Ok(match node {
                LogicalPlan::Join(join) if join.join_type == JoinType::Inner => {
                    conditioned(join).update_data(LogicalPlan::Join)
                }
                other => Transformed::no(other),
            })
        })?;
        let was_changed = conditioned.transformed;
        if mixes_equalities(&conditioned.data)? {
            return Ok(conditioned);
        }
        let mut rewritten = self.rule.rewrite(conditioned.data, config)?;
        rewritten.transformed |= was_changed;
        Ok(rewritten)
    }
}

/// Whether of some joins NULL equals NULL, and of others it does not: the rule would put them
/// together as if all were of one kind.
fn mixes_equalities(plan: &LogicalPlan) -> PlanResult<bool> {
    let (mut has_equal, mut has_other) = (false, false);
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node
            && join.join_type == JoinType::Inner
            && !join.on.is_empty()
        {
            let is_equal = join.null_equality == NullEquality::NullEqualsNull;
            has_equal |= is_equal;
            has_other |= !is_equal;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(has_equal && has_other)
}

fn conditioned(join: Join) -> Transformed<Join> {
    let has_columns = |expr: &Expr| !expr.column_refs().is_empty();
    let is_key = |(left, right): &(Expr, Expr)| has_columns(left) && has_columns(right);
    if join.on.iter().all(is_key) {
        return Transformed::no(join);
    }
    let (on, others): (Vec<_>, Vec<_>) = join.on.into_iter().partition(is_key);
    let conditions = others.into_iter().map(|(left, right)| left.eq(right));
    let filter = join.filter.into_iter().chain(conditions).reduce(and);
    Transformed::yes(Join { on, filter, ..join })
}
