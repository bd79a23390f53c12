//! Rows on their way into a table: all columns of it, as batches.
//!
//! What is here has the types of the columns, is not NULL where it must not be, and has met the
//! conditions of the table.

use std::sync::Arc;

use datafusion::arrow::array::Array;
use datafusion::arrow::array::{ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, TableReference};
use datafusion::logical_expr::{ColumnarValue, LogicalPlan};
use datafusion::sql::sqlparser::ast;

use super::target::Target;
use crate::catalog::table::Table;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::quoted;
use crate::plan::planner;
use crate::query::binder::Binder;
use crate::query::rewrite;
use crate::values::arrow_out::assign;

/// What a statement changed.
#[derive(Default)]
pub(super) struct Changed {
    pub(super) count: u64,
    /// The rows as they are now, or of a deletion as they were; kept where somebody asks for them.
    pub(super) rows: Vec<RecordBatch>,
    pub(super) beside: Beside,
}

/// What stood beside the rows that were changed: the columns of the further tables of FROM or
/// USING, kept where somebody asks for them.
#[derive(Default)]
pub(super) struct Beside {
    /// By which table and name each is spoken of.
    pub(super) columns: Vec<(Option<TableReference>, FieldRef)>,
    /// For each batch of the rows one.
    pub(super) rows: Vec<RecordBatch>,
}

impl Beside {
    /// The columns of a plan behind so many of the target's and the number of the row.
    pub(super) fn behind(width: usize, plan: &LogicalPlan) -> Self {
        let columns = plan.schema().iter().skip(width + 1);
        let columns = columns.map(|(table, field)| (table.cloned(), Arc::clone(field)));
        Self { columns: columns.collect(), rows: Vec::new() }
    }
}

/// A batch of whole rows of a table from these arrays, cast to what its columns hold.
///
/// # Errors
/// As [`assign`], with the column's name; `NOT_NULL_VIOLATION`.
pub(super) fn whole_rows(
    table: &Table,
    arrays: Vec<ArrayRef>,
    count: usize,
) -> Result<RecordBatch> {
    let columns = table.columns.iter().zip(arrays).map(|(column, array)| {
        let assigned = assign(&array, &column.sql_type).map_err(|error| {
            error.detail(format!("in column {} of {}", quoted(&column.name), table.name))
        })?;
        if !column.nullable && assigned.null_count() > 0 {
            let name = quoted(&column.name);
            let text = format!(
                "null value in column {name} of relation {} violates not-null constraint",
                table.name
            );
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, text).of_column(
                &table.name.schema,
                &table.name.name,
                &column.name,
            ));
        }
        Ok(assigned)
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    Ok(RecordBatch::try_new_with_options(Arc::clone(&table.arrow), columns, &options)?)
}

/// The values of an expression over the columns of whole rows.
///
/// # Errors
/// What the binder finds wrong; whatever the expression meets.
pub(super) fn evaluate(
    context: &mut StatementContext,
    target: &Target,
    expression: &ast::Expr,
    rows: &RecordBatch,
) -> Result<ArrayRef> {
    let schema = DFSchema::try_from_qualified_schema(target.alias.as_str(), &rows.schema())?;
    evaluate_over(context, target, expression, &schema, rows)
}

/// The values of an expression over columns with these names.
///
/// # Errors
/// What the binder finds wrong; whatever the expression meets.
pub(super) fn evaluate_over(
    context: &mut StatementContext,
    target: &Target,
    expression: &ast::Expr,
    schema: &DFSchema,
    rows: &RecordBatch,
) -> Result<ArrayRef> {
    let expression = rewrite::rewritten_expression(context, expression)?;
    let bound = Binder::of(context, &target.catalog).bind_expression(expression, schema)?;
    let subquery = bound.exists(|expr| {
        use datafusion::logical_expr::Expr;
        Ok(matches!(expr, Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_)))
    })?;
    if subquery {
        return Err(Error::unsupported("a subquery here"));
    }
    let bound = planner::ready(&context.state, bound, schema)?;
    let physical = context.state.create_physical_expr(bound, schema)?;
    match physical.evaluate(rows)? {
        ColumnarValue::Array(array) => Ok(array),
        ColumnarValue::Scalar(scalar) => Ok(scalar.to_array_of_size(rows.num_rows())?),
    }
}

/// Computes the generated columns of whole rows.
///
/// # Errors
/// Whatever the expressions meet.
pub(super) fn generate(
    context: &mut StatementContext,
    target: &Target,
    rows: RecordBatch,
) -> Result<RecordBatch> {
    let table = Arc::clone(&target.table);
    if table.columns.iter().all(|column| column.generated.is_none()) {
        return Ok(rows);
    }
    let mut arrays = rows.columns().to_vec();
    for (place, column) in table.columns.iter().enumerate() {
        if let Some(expression) = &column.generated {
            arrays[place] = evaluate(context, target, expression, &rows)?;
        }
    }
    whole_rows(&table, arrays, rows.num_rows())
}

/// Checks the conditions of the table on whole rows.
///
/// # Errors
/// `CHECK_VIOLATION`.
pub(super) fn check_rows(
    context: &mut StatementContext,
    target: &Target,
    rows: &RecordBatch,
) -> Result<()> {
    let table = Arc::clone(&target.table);
    for check in &table.checks {
        let holds = evaluate(context, target, &check.condition, rows)?;
        let failed = |holds: &BooleanArray| holds.iter().any(|truth| truth == Some(false));
        if holds.as_boolean_opt().is_some_and(failed) {
            let text = format!(
                "new row for relation {} violates check constraint \"{}\"",
                table.name, check.name
            );
            return Err(Error::new(SqlState::CHECK_VIOLATION, text)
                .detail(format!("{} does not hold", check.condition))
                .of_constraint(&table.name.schema, &table.name.name, &check.name));
        }
    }
    Ok(())
}
