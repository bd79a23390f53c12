//! Rules that rewrite the expressions of a plan by the types of what they are made of.
//!
//! Each expression comes with the columns of its operator's inputs, from the leaves up, so that a
//! rule sees what it has made of the operands already; subqueries are plans like any other. The
//! names of the results stay, and the schemas of operators above a change follow it.

use datafusion::common::DFSchema;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::limits::cancel::Cancel;

/// The plan with all its expressions rewritten.
///
/// # Errors
/// Of what rewrites.
pub(crate) fn rewrite_all(
    plan: LogicalPlan,
    mut rewrite: impl FnMut(Expr, &DFSchema) -> PlanResult<Transformed<Expr>>,
) -> PlanResult<LogicalPlan> {
    let mut changed = false;
    let rewritten = plan.transform_up_with_subqueries(|plan| {
        let rewritten = rewrite_own(plan, &mut rewrite)?;
        changed |= rewritten.transformed;
        // What stands below may have other types now, or be NULL where it was not.
        match changed {
            true => rewritten.map_data(LogicalPlan::recompute_schema),
            false => Ok(rewritten),
        }
    })?;
    Ok(rewritten.data)
}

/// One operator with its own expressions rewritten.
///
/// # Errors
/// Of what rewrites.
pub(crate) fn rewrite_own(
    plan: LogicalPlan,
    mut rewrite: impl FnMut(Expr, &DFSchema) -> PlanResult<Transformed<Expr>>,
) -> PlanResult<Transformed<LogicalPlan>> {
    let mut schema = merge_schema(&plan.inputs());
    if let LogicalPlan::TableScan(scan) = &plan {
        let columns = scan.source.schema();
        schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &columns)?);
    }
    let names = NamePreserver::new(&plan);
    let mut named = |expr: Expr| {
        let name = names.save(&expr);
        let rewritten = expr.transform_up(|expr| {
            Cancel::check_current()?;
            rewrite(expr, &schema)
        })?;
        Ok(rewritten.update_data(|expr| name.restore(expr)))
    };
    plan.map_expressions(|expr| match expr {
        // Its keys have names, not the set.
        Expr::GroupingSet(_) => expr.map_children(&mut named),
        expr => named(expr),
    })
}
