//! A value compared with ANY or ALL values of a query, in terms of IN and EXISTS.
//!
//! One that decides is enough to know; without one, a comparison that is NULL leaves it open.

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr};

use crate::catalog::written::read_expression;
use crate::error::Result;

/// The same without ANY and ALL; `None` if neither stands before a query.
///
/// # Errors
/// None that a statement could cause.
pub(super) fn plain(expr: &Expr) -> Result<Option<Expr>> {
    let (left, op, right, is_any) = match expr {
        Expr::AnyOp { left, compare_op, right, .. } => (left, compare_op, right, true),
        Expr::AllOp { left, compare_op, right } => (left, compare_op, right, false),
        _ => return Ok(None),
    };
    let Expr::Subquery(query) = right.as_ref() else { return Ok(None) };
    let negated = match (op, is_any) {
        (BinaryOperator::Eq, true) => false,
        (BinaryOperator::NotEq, false) => true,
        _ => {
            let list = format!("SELECT 1 FROM ({query}) AS of_list(of_value)");
            let compared = format!("({left}) {op} of_value");
            let (decides, found, rest) = match is_any {
                true => (compared.clone(), "TRUE", "FALSE"),
                false => (format!("NOT ({compared})"), "FALSE", "TRUE"),
            };
            let text = format!(
                "CASE WHEN EXISTS ({list} WHERE {decides}) THEN {found} \
                 WHEN EXISTS ({list} WHERE ({compared}) IS NULL) THEN NULL ELSE {rest} END"
            );
            return read_expression(&text).map(Some);
        }
    };
    let (expr, subquery) = (left.clone(), query.clone());
    Ok(Some(Expr::InSubquery { expr, subquery, negated }))
}
