//! The one value that a relation's predicates leave a column.
//!
//! It is looked for in filters and in what scans were told, below aliases and renaming.

use datafusion::common::Column;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, LogicalPlan, Operator};

use super::region::picked;

/// The literal, or the parameter, that a column of the plan must equal.
pub(super) fn constant(plan: &LogicalPlan, column: &Column) -> Option<Expr> {
    match plan {
        LogicalPlan::Filter(filter) => {
            among(split_conjunction(&filter.predicate).into_iter(), &|other| other == column)
                .or_else(|| constant(&filter.input, column))
        }
        LogicalPlan::TableScan(scan) => {
            let conjuncts = scan.filters.iter().flat_map(split_conjunction);
            among(conjuncts, &|other| other.name == column.name)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let at = alias.schema.maybe_index_of_column(column)?;
            constant(&alias.input, &alias.input.schema().columns()[at])
        }
        LogicalPlan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            constant(&projection.input, picked(&projection.expr[at])?)
        }
        _ => None,
    }
}

fn among<'a>(
    mut conjuncts: impl Iterator<Item = &'a Expr>,
    is_column: &dyn Fn(&Column) -> bool,
) -> Option<Expr> {
    conjuncts.find_map(|conjunct| {
        let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = conjunct else {
            return None;
        };
        let (column, value) = match (left.as_ref(), right.as_ref()) {
            (Expr::Column(column), value @ (Expr::Literal(..) | Expr::Placeholder(_)))
            | (value @ (Expr::Literal(..) | Expr::Placeholder(_)), Expr::Column(column)) => {
                (column, value)
            }
            _ => return None,
        };
        is_column(column).then(|| value.clone())
    })
}
