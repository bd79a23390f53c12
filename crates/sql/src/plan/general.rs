//! Plans with parameters in them, and what becomes of them when there are values.
//!
//! DataFusion's rules take a parameter for an expression without columns of which nothing is known
//! but its type. So what they make of a plan is right for any values. Most are plans of operators,
//! of which an execution has a copy with its values ([`super::parameter`]). Where values stand
//! elsewhere, as those of a limit, the logical plan is what is kept: when they are in their places,
//! what has become constant is simplified, limits are told to what is below them, and operators are
//! chosen. Access paths are chosen by the values, either way.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::SessionState;
use datafusion::logical_expr::expr::Placeholder;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Optimizer, OptimizerRule};

use crate::scan::condition::parameters::parameter;

/// A general plan, in which operators can have its parameters.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_functions(logical: LogicalPlan) -> PlanResult<LogicalPlan> {
    let function = |expr: Expr| {
        let Expr::Placeholder(Placeholder { id, field: Some(field) }) = expr else {
            return Ok(Transformed::no(expr));
        };
        Ok(Transformed::yes(parameter(place_of(&id)?, field.data_type().clone())))
    };
    with_parameters(logical, &function, &Ok)
}

/// Limits that are parameters stand still until they have values.
static LIMITS: LazyLock<Optimizer> =
    LazyLock::new(|| Optimizer::with_rules(vec![Arc::new(PushDownLimit::new())]));

/// A bound plan whose parameters have these types.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn typed(logical: LogicalPlan, types: &[DataType]) -> PlanResult<LogicalPlan> {
    let with_type = |expr: Expr| {
        let Expr::Placeholder(Placeholder { id, .. }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let of = types.get(place_of(&id)?).ok_or_else(|| unknown(&id))?;
        let field = Arc::new(Field::new("", of.clone(), true));
        let typed = Placeholder::new_with_field(id, Some(field));
        Ok(Transformed::yes(Expr::Placeholder(typed)))
    };
    let typed = with_parameters(logical, &with_type, &Ok)?;
    // Operators above them have columns of these types, too.
    let typed = typed
        .transform_up_with_subqueries(|node| Ok(Transformed::yes(node.recompute_schema()?)))?;
    Ok(typed.data)
}

/// The plan that a general one is for these values.
///
/// # Errors
/// What simplifying meets, as a division by zero.
pub(crate) fn with_values(
    state: &SessionState,
    general: LogicalPlan,
    values: &[ScalarValue],
) -> PlanResult<LogicalPlan> {
    let value_of = |expr: Expr| {
        let Expr::Placeholder(Placeholder { id, .. }) = expr else {
            return Ok(Transformed::no(expr));
        };
        let value = values.get(place_of(&id)?).ok_or_else(|| unknown(&id))?;
        Ok(Transformed::yes(Expr::Literal(value.clone(), None)))
    };
    let simplifying = SimplifyExpressions::new();
    let simplified = |node| Ok(simplifying.rewrite(node, state)?.data);
    let has_limit = has_limit(&general)?;
    let plan = with_parameters(general, &value_of, &simplified)?;
    if has_limit { LIMITS.optimize(plan, state, |_, _| {}) } else { Ok(plan) }
}

/// A plan with something in the places of its parameters; operators that have some go through
/// `finish` afterwards.
fn with_parameters(
    logical: LogicalPlan,
    exchange: &dyn Fn(Expr) -> PlanResult<Transformed<Expr>>,
    finish: &dyn Fn(LogicalPlan) -> PlanResult<LogicalPlan>,
) -> PlanResult<LogicalPlan> {
    let exchanged = logical.transform_up_with_subqueries(|node| {
        if !has_parameter(&node)? {
            return Ok(Transformed::no(node));
        }
        // Operators above name what these expressions are.
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(expr.transform_up(exchange)?.update_data(|expr| name.restore(expr)))
        })?;
        Ok(Transformed::yes(finish(node.data)?))
    })?;
    Ok(exchanged.data)
}

/// Whether an expression of an operator has a parameter in it.
fn has_parameter(node: &LogicalPlan) -> PlanResult<bool> {
    let mut found = false;
    node.apply_expressions(|expr| {
        found |= expr.exists(|expr| Ok(matches!(expr, Expr::Placeholder(_))))?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// Whether a limit in a plan is a parameter.
fn has_limit(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::Limit(_)) && has_parameter(node)?;
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

/// The place of a parameter's value.
fn place_of(id: &str) -> PlanResult<usize> {
    let number = id.trim_start_matches('$').parse::<usize>().ok();
    number.and_then(|number| number.checked_sub(1)).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> DataFusionError {
    DataFusionError::Plan(format!("there is no parameter {id}"))
}
