//! IN with a list of values, of which some are not constants.
//!
//! DataFusion takes what two lists for the same value have in common for what both say together,
//! comparing the lists' expressions by their text: it would not see that `a IN (1, 2)` and
//! `a IN (a, b)` may both hold, nor heed a NULL in one of them. So only constants stay in a list;
//! the value is compared with each of the others. Where two lists have nothing in common, it would
//! forget that the answer about NULL is NULL; what two lists say together is said here.

use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::expressions::rewrite_all;

/// The rule.
#[derive(Debug)]
pub(crate) struct ListsOfConstants;

impl AnalyzerRule for ListsOfConstants {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        rewrite_all(plan, |expr, _| Ok(together(of_constants(expr))))
    }

    fn name(&self) -> &str {
        "lists_of_constants"
    }
}

fn of_constants(expr: Expr) -> Transformed<Expr> {
    let Expr::InList(InList { expr: value, list, negated }) = expr else {
        return Transformed::no(expr);
    };
    if list.iter().all(is_constant) || value.is_volatile() {
        return Transformed::no(Expr::InList(InList { expr: value, list, negated }));
    }
    let (constants, others): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_constant);
    let mut any: Vec<Expr> =
        others.into_iter().map(|other| value.as_ref().clone().eq(other)).collect();
    if !constants.is_empty() {
        any.push(Expr::InList(InList { expr: value, list: constants, negated: false }));
    }
    match any_of(any) {
        Some(found) if negated => Transformed::yes(Expr::Not(Box::new(found))),
        Some(found) => Transformed::yes(found),
        None => unreachable!("a list has values"),
    }
}

/// Two lists for one value as one, if both have to hold, or one of two negated ones.
fn together(expr: Transformed<Expr>) -> Transformed<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = &expr.data else { return expr };
    let (Expr::InList(one), Expr::InList(other)) = (left.as_ref(), right.as_ref()) else {
        return expr;
    };
    let negated = match op {
        Operator::And => false,
        Operator::Or => true,
        _ => return expr,
    };
    let lists = [one, other];
    if one.expr != other.expr
        || one.expr.is_volatile()
        || lists.iter().any(|list| list.negated != negated || !list.list.iter().all(is_constant))
    {
        return expr;
    }
    let value = &one.expr;
    let common: Vec<Expr> =
        one.list.iter().filter(|constant| other.list.contains(constant)).cloned().collect();
    let unknown = Expr::Literal(ScalarValue::Boolean(None), None);
    Transformed::yes(match (common.is_empty(), negated) {
        (false, _) => Expr::InList(InList { expr: value.clone(), list: common, negated }),
        // Nothing is in both, and of NULL nobody knows.
        (true, false) => Expr::IsNull(value.clone()).and(unknown),
        (true, true) => Expr::IsNotNull(value.clone()).or(unknown),
    })
}

/// A value that is known before a query runs, and is not NULL.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => !value.is_null(),
        Expr::Placeholder(_) => true,
        Expr::Negative(inner) => is_constant(inner),
        Expr::Cast(cast) => is_constant(&cast.expr),
        _ => false,
    }
}

/// That one of these holds, nested no deeper than it must be.
fn any_of(mut conditions: Vec<Expr>) -> Option<Expr> {
    while conditions.len() > 1 {
        let mut pairs = Vec::with_capacity(conditions.len().div_ceil(2));
        let mut rest = conditions.into_iter();
        while let Some(one) = rest.next() {
            pairs.push(match rest.next() {
                Some(other) => one.or(other),
                None => one,
            });
        }
        conditions = pairs;
    }
    conditions.pop()
}
