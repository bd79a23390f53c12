//! Keys of joins of which one side is a constant, which a rule of DataFusion's would lose.
//!
//! The rule takes inner joins apart and puts them together by the keys that have columns of both
//! sides. Whatever is no such key becomes a condition before it.

use datafusion::common::JoinType;
use datafusion::common::tree_node::Transformed;
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
        let mut rewritten = self.rule.rewrite(conditioned.data, config)?;
        rewritten.transformed |= was_changed;
        Ok(rewritten)
    }
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
