//! Which subqueries are left to the planner.
//!
//! A condition of a WHERE clause matters only in so far as it holds, if nothing but AND and OR is
//! around it: there, IN may take NULL for false, which a join does. NOT IN may not, and a join
//! heeds that only for a condition by itself whose value is one of the row's, and of a list that
//! is the same for all rows.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, ExprSchema};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Projection, Subquery};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::simplify_expressions::ExprSimplifier;

use super::factors::factored;
use super::lateral::unnested;
use super::shape::{is_join, is_joined_value, outer_columns};
use super::subplan::{Around, Asked, call};

/// The rule.
#[derive(Debug)]
pub(crate) struct Subqueries;

/// The name of what a list has.
const MEMBER: &str = "\u{1}member";

/// Where in an expression a subquery stands.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// A condition of a WHERE clause by itself.
    Condition,
    /// Below OR in one.
    Alternative,
    /// In one, where its value may be seen.
    Within,
    /// Among what is selected.
    Item,
    /// Anywhere else, where the planner takes none.
    Other,
}

impl AnalyzerRule for Subqueries {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        factored(rewritten(plan)?)
    }

    fn name(&self) -> &str {
        "subqueries"
    }
}

fn rewritten(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let plan = plan.transform_up(|node| {
        let node = match node {
            LogicalPlan::Join(join) => {
                let node = unnested(join)?;
                if node.transformed {
                    return Ok(node);
                }
                node.data
            }
            other => other,
        };
        let mut has_any = false;
        node.apply_expressions(|expr| {
            has_any |= expr.exists(|expr| Ok(subquery_of(expr).is_some()))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        if !has_any {
            return Ok(Transformed::no(node));
        }
        let columns = merge_schema(&node.inputs());
        let around = Around { anchor: anchor(&node), columns: &columns };
        let position = match &node {
            LogicalPlan::Filter(_) => Position::Condition,
            LogicalPlan::Projection(_) => Position::Item,
            _ => Position::Other,
        };
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|expr| {
            let name = names.save(&expr);
            Ok(Transformed::yes(name.restore(expression(expr, &around, position)?)))
        })?;
        node.map_data(LogicalPlan::recompute_schema)
    })?;
    Ok(plan.data)
}

/// The column that keeps a condition above an aggregate of all rows.
fn anchor(node: &LogicalPlan) -> Option<Column> {
    let LogicalPlan::Filter(filter) = node else { return None };
    let is_of_all = |plan: &LogicalPlan| {
        Ok(matches!(plan, LogicalPlan::Aggregate(of) if of.group_expr.is_empty()))
    };
    let found = filter.input.exists(is_of_all).unwrap_or(true);
    found.then(|| filter.input.schema().columns().into_iter().next()).flatten()
}

/// Subqueries within each other that are left to the planner, at most: what checks its plans takes
/// twice the time for each more.
const LEFT_MAX: usize = 4;

/// Whether a subquery has as many within each other as may be left to the planner.
fn is_deep(plan: &LogicalPlan) -> PlanResult<bool> {
    Ok(left_in(plan)? >= LEFT_MAX)
}

/// How many subqueries that are left to the planner stand within each other in a plan.
fn left_in(plan: &LogicalPlan) -> PlanResult<usize> {
    let mut deepest = 0;
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Some(subquery) = subquery_of(expr) {
                    deepest = deepest.max(1 + left_in(&subquery.subquery)?);
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(deepest)
}

fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(member) => Some(&member.subquery),
        Expr::ScalarSubquery(subquery) => Some(subquery),
        _ => None,
    }
}

fn expression(expr: Expr, around: &Around<'_>, position: Position) -> PlanResult<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right })
            if matches!(position, Position::Condition | Position::Alternative) =>
        {
            let position = if op == Operator::Or { Position::Alternative } else { position };
            let left = Box::new(expression(*left, around, position)?);
            let right = Box::new(expression(*right, around, position)?);
            Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(member) => {
                let negated = !member.negated;
                membership(InSubquery { negated, ..member }, around, position)
            }
            Expr::Exists(exists) => {
                let negated = !exists.negated;
                existence(Exists { negated, ..exists }, around, position)
            }
            other => within(Expr::Not(Box::new(other)), around, position),
        },
        Expr::InSubquery(member) => membership(member, around, position),
        Expr::Exists(exists) => existence(exists, around, position),
        Expr::ScalarSubquery(subquery) => {
            let subquery = inner(subquery)?;
            let is_left =
                position != Position::Other && is_joined_value(&subquery.subquery, around.columns)?;
            match is_left && !is_deep(&subquery.subquery)? {
                true => Ok(Expr::ScalarSubquery(subquery)),
                false => call(Asked::Value, None, subquery.subquery, around),
            }
        }
        other => within(other, around, position),
    }
}

/// The subqueries below an expression whose own value may be seen.
fn within(expr: Expr, around: &Around<'_>, position: Position) -> PlanResult<Expr> {
    let position = match position {
        Position::Condition | Position::Alternative => Position::Within,
        other => other,
    };
    let mapped =
        expr.map_children(|child| Ok(Transformed::yes(expression(child, around, position)?)))?;
    Ok(mapped.data)
}

fn existence(exists: Exists, around: &Around<'_>, position: Position) -> PlanResult<Expr> {
    let negated = exists.negated;
    let subquery = inner(exists.subquery)?;
    let in_filter =
        matches!(position, Position::Condition | Position::Alternative | Position::Within);
    let is_correlated = !subquery.outer_ref_columns.is_empty();
    let may_be_left = in_filter && is_correlated && !is_deep(&subquery.subquery)?;
    if may_be_left && is_join(&subquery.subquery, around.columns)? {
        return Ok(Expr::Exists(Exists { subquery, negated }));
    }
    Ok(negate(call(Asked::Existence, None, subquery.subquery, around)?, negated))
}

fn membership(member: InSubquery, around: &Around<'_>, position: Position) -> PlanResult<Expr> {
    let negated = member.negated;
    let subquery = inner(member.subquery)?;
    let value = within(*member.expr, around, position)?;
    let is_left = match (position, negated) {
        (Position::Condition | Position::Alternative, false) => {
            is_join(&subquery.subquery, around.columns)?
        }
        (Position::Condition, true) => {
            subquery.outer_ref_columns.is_empty()
                && !is_constant(&value, around)
                && !is_null_by_itself(&value, around)?
        }
        _ => false,
    };
    if is_left && !is_deep(&subquery.subquery)? {
        let subquery = plainly_named(subquery)?;
        return Ok(Expr::InSubquery(InSubquery { expr: Box::new(value), subquery, negated }));
    }
    Ok(negate(call(Asked::Membership, Some(value), subquery.subquery, around)?, negated))
}

/// The list with a name that says nothing: the planner may take one like `cast(t.a AS ..)` for that
/// of a column of the list's own tables.
fn plainly_named(subquery: Subquery) -> PlanResult<Subquery> {
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else {
        return Ok(subquery);
    };
    let [Expr::Alias(item)] = projection.expr.as_slice() else { return Ok(subquery) };
    let items = vec![item.expr.as_ref().clone().alias(MEMBER)];
    let named = Projection::try_new(items, Arc::clone(&projection.input))?;
    Ok(Subquery { subquery: Arc::new(LogicalPlan::Projection(named)), ..subquery })
}

/// Whether a value may be NULL although none of its columns is: the planner looks at columns alone.
fn is_null_by_itself(value: &Expr, around: &Around<'_>) -> PlanResult<bool> {
    let columns = value.column_refs();
    let mut fields = columns.iter().map(|column| around.columns.field_from_column(column));
    let any_is_null = fields.any(|field| field.is_ok_and(|field| field.is_nullable()));
    Ok(!any_is_null && value.nullable(around.columns)?)
}

/// Whether the planner will find that a value is the same in all rows.
fn is_constant(value: &Expr, around: &Around<'_>) -> bool {
    let schema = Arc::new(around.columns.clone());
    let simplifier = ExprSimplifier::new(SimplifyContext::builder().with_schema(schema).build());
    match simplifier.simplify(value.clone()) {
        Ok(simple) => simple.column_refs().is_empty(),
        // It fails where it is computed.
        Err(_) => value.column_refs().is_empty(),
    }
}

fn negate(expr: Expr, negated: bool) -> Expr {
    if negated { Expr::Not(Box::new(expr)) } else { expr }
}

/// The subquery with what is to become of those in it.
fn inner(subquery: Subquery) -> PlanResult<Subquery> {
    let plan = factored(rewritten(Arc::unwrap_or_clone(subquery.subquery))?)?;
    let outer = outer_columns(&plan)?.into_iter();
    let outer = outer.map(|(field, column)| Expr::OuterReferenceColumn(field, column));
    Ok(Subquery {
        outer_ref_columns: outer.collect(),
        subquery: Arc::new(plan),
        spans: subquery.spans,
    })
}
