//! Parameters in physical plans, and the copies of such plans that have values instead.
//!
//! A parameter is a function without arguments there, which nobody calls. In a copy that is run
//! a value stands in its place: in the conditions of scans, which choose by them how they read, in
//! filters and in projections. A plan with parameters in other operators has no such copies.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::SessionState;
use datafusion::physical_expr::expressions::lit;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

use super::template::{can_be_copied, copied_over};
use crate::scan::condition::parameters;
use crate::scan::exec::ScanExec;

fn place_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    parameters::place_of(expr.downcast_ref::<ScalarFunctionExpr>()?.fun())
}

/// Whether an expression of an operator has a parameter in it.
fn has_physical(expr: &Arc<dyn PhysicalExpr>) -> PlanResult<bool> {
    expr.exists(|expr| Ok(place_of(expr).is_some()))
}

/// Whether an operator has a parameter in it.
fn of_operator(plan: &dyn ExecutionPlan) -> PlanResult<bool> {
    let mut found = false;
    plan.apply_expressions(&mut |expr| {
        found |= has_physical(expr)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether copies of a plan with values can be made.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn can_have_values(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<bool> {
    let mut values_of_subqueries = Vec::new();
    Ok(can_be_copied(plan, &mut values_of_subqueries)
        && values_of_subqueries.is_empty()
        && parameters_are_known(plan)?)
}

/// Whether all parameters stand where their values are put.
fn parameters_are_known(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<bool> {
    let is_known = match plan.downcast_ref::<ScanExec>() {
        Some(scan) => scan.parameters_are_conditions(),
        None => {
            plan.is::<FilterExec>() || plan.is::<ProjectionExec>() || !of_operator(plan.as_ref())?
        }
    };
    let children = plan.children();
    Ok(is_known
        && children.into_iter().try_fold(true, |all, child| {
            Ok::<_, datafusion::error::DataFusionError>(all && parameters_are_known(child)?)
        })?)
}

/// A copy of a plan that has not run, with values in the places of parameters.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn with_values(
    plan: &Arc<dyn ExecutionPlan>,
    state: &SessionState,
    values: &[ScalarValue],
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let children = plan.children().into_iter();
    let mut children: Vec<_> =
        children.map(|child| with_values(child, state, values)).collect::<PlanResult<_>>()?;
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Ok(Arc::new(scan.with_values(state, values)?));
    }
    let value_of = |expr: &Arc<dyn PhysicalExpr>| {
        let known = Arc::clone(expr).transform_up(|expr| {
            let value = place_of(&expr).and_then(|place| values.get(place));
            Ok(match value {
                Some(value) => Transformed::yes(lit(value.clone())),
                None => Transformed::no(expr),
            })
        });
        known.map(|known| known.data)
    };
    if let Some(filter) = plan.downcast_ref::<FilterExec>()
        && has_physical(filter.predicate())?
    {
        let input = children.pop().unwrap_or_else(|| Arc::clone(filter.input()));
        let builder = FilterExecBuilder::from(filter).with_input(input);
        return Ok(Arc::new(builder.with_predicate(value_of(filter.predicate())?).build()?));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>()
        && of_operator(projection)?
    {
        let input = children.pop().unwrap_or_else(|| Arc::clone(projection.input()));
        let exprs = projection
            .expr()
            .iter()
            .map(|of| Ok(ProjectionExpr { expr: value_of(&of.expr)?, alias: of.alias.clone() }));
        let exprs = exprs.collect::<PlanResult<Vec<_>>>()?;
        return Ok(Arc::new(ProjectionExec::try_new(exprs, input)?));
    }
    copied_over(plan, children)
}
