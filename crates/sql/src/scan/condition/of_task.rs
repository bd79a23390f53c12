//! Conditions of the rows that one of several tasks reads, where a table is divided by a key.
//!
//! The values between the least and the greatest are cut into ranges of the same size; the first
//! and the last one have no end.

#[cfg(test)]
mod tests;

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::{Expr, Operator, binary_expr};

use crate::catalog::table::Table;
use crate::values::sql_type::SqlType;
use crate::workers::{Division, Task};

/// Whether a table can be divided by a column: one of whole numbers.
pub(crate) fn can_divide(table: &Table, column: usize) -> bool {
    let of = table.columns.get(column).map(|column| &column.sql_type);
    matches!(of, Some(SqlType::Integer | SqlType::BigInt))
}

/// What the rows of a task meet; each row meets that of one task.
pub(in crate::scan) fn filters_of(division: Division, table: &Table, task: Task) -> Vec<Expr> {
    let Division::Keys { column, low, high } = division else { return Vec::new() };
    let Some(column) = table.columns.get(column) else { return Vec::new() };
    let key = || Expr::Column(Column::new_unqualified(column.name.clone()));
    let bound = |index: usize| {
        let values = i128::from(high) - i128::from(low) + 1;
        let bound = i128::from(low) + values * index as i128 / task.tasks.max(1) as i128;
        let bound = match column.sql_type {
            SqlType::Integer => i32::try_from(bound).ok().map(|it| ScalarValue::Int32(Some(it))),
            _ => i64::try_from(bound).ok().map(|it| ScalarValue::Int64(Some(it))),
        };
        bound.map(|bound| Expr::Literal(bound, None))
    };
    // There is nothing beyond the greatest number of a type.
    let nothing = || vec![Expr::Literal(ScalarValue::Boolean(Some(false)), None)];
    let mut filters = Vec::new();
    if task.index > 0 {
        let Some(bound) = bound(task.index) else { return nothing() };
        filters.push(binary_expr(key(), Operator::GtEq, bound));
    }
    if task.index + 1 < task.tasks
        && let Some(bound) = bound(task.index + 1)
    {
        let below = binary_expr(key(), Operator::Lt, bound);
        filters.push(match task.index == 0 && column.nullable {
            true => binary_expr(below, Operator::Or, Expr::IsNull(Box::new(key()))),
            false => below,
        });
    }
    filters
}
