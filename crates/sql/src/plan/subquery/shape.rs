//! What a subquery says of the rows around it, and whether a join can say the same.
//!
//! The forms that the planner is trusted with are few: random queries whose answers were compared
//! with those of other databases have found it wrong about others.

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use crate::functions::aggregates::{single_value, sum};

/// A column of a row around a subquery.
pub(crate) type Outer = (FieldRef, Column);

/// The columns of rows around it that a plan names, each once. Subqueries in its expressions that
/// are left to the planner name none of them.
pub(crate) fn outer_columns(plan: &LogicalPlan) -> PlanResult<Vec<Outer>> {
    let mut found: Vec<Outer> = Vec::new();
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(field, column) = expr
                    && found.iter().all(|(_, other)| other != column)
                {
                    found.push((field.clone(), column.clone()));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

/// Whether the planner can find by a join whether there is such a row: what it says of the row
/// around it stands in its own conditions, above which nothing but the selection is.
pub(crate) fn is_join(plan: &LogicalPlan, scope: &DFSchema) -> PlanResult<bool> {
    if outer_columns(plan)?.is_empty() {
        return Ok(true);
    }
    let below = match plan {
        LogicalPlan::Projection(projection) => {
            // A column that a condition names is added to what is selected, which may not have
            // its name for something else.
            if !projection.expr.iter().all(is_column_or_constant) {
                return Ok(false);
            }
            &projection.input
        }
        other => other,
    };
    Ok(knows_all(plan, scope)? && conditions(below, &|_| true)?)
}

/// Whether the planner can join the one value that a subquery has for each row: an aggregate of
/// the rows that are equal to it in some columns, which is NULL of no rows or a count.
pub(crate) fn is_joined_value(plan: &LogicalPlan, scope: &DFSchema) -> PlanResult<bool> {
    if outer_columns(plan)?.is_empty() {
        return Ok(true);
    }
    if !knows_all(plan, scope)? {
        return Ok(false);
    }
    let (mut plan, mut is_plain) = (plan, true);
    loop {
        match plan {
            LogicalPlan::Projection(projection) => {
                is_plain &= projection.expr.iter().all(is_column);
                if !projection.expr.iter().all(is_strict) {
                    return Ok(false);
                }
                plan = &projection.input;
            }
            LogicalPlan::SubqueryAlias(alias) => plan = &alias.input,
            LogicalPlan::Aggregate(aggregate) => {
                let is_known = aggregate.aggr_expr.iter().all(|expr| aggregates(expr, is_plain));
                return Ok(aggregate.group_expr.is_empty()
                    && is_known
                    && conditions(&aggregate.input, &is_equality)?);
            }
            _ => return Ok(false),
        }
    }
}

/// Whether an aggregate is NULL of no rows, or a count, which has to be seen as it is.
fn aggregates(expr: &Expr, is_plain: bool) -> bool {
    let Expr::AggregateFunction(function) = unaliased(expr) else { return false };
    let is_known = match function.func.name() {
        "min" | "max" | "avg" | sum::NAME | single_value::NAME => true,
        "count" => is_plain,
        _ => false,
    };
    is_known && !expr.contains_outer()
}

/// Whether all columns around a plan that it names are at the place where it stands, of the types
/// for which it was bound: those of expressions may have changed since.
fn knows_all(plan: &LogicalPlan, scope: &DFSchema) -> PlanResult<bool> {
    Ok(outer_columns(plan)?.iter().all(|(bound, column)| {
        let field = scope.field_from_column(column);
        field.is_ok_and(|field| field.data_type() == bound.data_type())
    }))
}

/// Whether columns of the rows around a plan stand in its own conditions alone, which are as they
/// have to be, and not in those of a query that it selects from.
fn conditions(plan: &LogicalPlan, is_fit: &dyn Fn(&Expr) -> bool) -> PlanResult<bool> {
    if let LogicalPlan::Filter(filter) = plan {
        let mut own = split_conjunction(&filter.predicate).into_iter();
        let fits = own.all(|expr| !expr.contains_outer() || (is_fit(expr) && is_plain(expr)));
        return Ok(fits && conditions(&filter.input, is_fit)?);
    }
    Ok(outer_columns(plan)?.is_empty())
}

/// Whether an expression has no query in it.
fn is_plain(expr: &Expr) -> bool {
    let is_query = |expr: &Expr| {
        matches!(expr, Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_))
    };
    !expr.is_volatile() && !expr.exists(|expr| Ok(is_query(expr))).unwrap_or(true)
}

/// Whether a condition is that something of the inner rows equals something of the outer one.
fn is_equality(condition: &Expr) -> bool {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else {
        return false;
    };
    let is_inner = |expr: &Expr| !expr.column_refs().is_empty() && !expr.contains_outer();
    let is_outer = |expr: &Expr| expr.column_refs().is_empty() && expr.contains_outer();
    (is_inner(left) && is_outer(right)) || (is_outer(left) && is_inner(right))
}

/// Whether an expression is NULL if a column of it is.
fn is_strict(expr: &Expr) -> bool {
    match expr {
        Expr::Column(_) | Expr::Literal(..) => true,
        Expr::Alias(alias) => is_strict(&alias.expr),
        Expr::Cast(cast) => is_strict(&cast.expr),
        Expr::Negative(inner) => is_strict(inner),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let is_arithmetic = matches!(
                op,
                Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide
            );
            is_arithmetic && is_strict(left) && is_strict(right)
        }
        Expr::ScalarFunction(function) => {
            let mut signs = function.func.name().chars();
            signs.all(|sign| "+-*".contains(sign)) && function.args.iter().all(is_strict)
        }
        _ => false,
    }
}

fn is_column_or_constant(expr: &Expr) -> bool {
    matches!(unaliased(expr), Expr::Column(_) | Expr::Literal(..))
}

fn is_column(expr: &Expr) -> bool {
    matches!(unaliased(expr), Expr::Column(_))
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}
