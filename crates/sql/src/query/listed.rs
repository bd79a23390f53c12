//! A long list of constants, as INSERT has it, becomes a table of one batch.
//!
//! Every rule of the planner looks at every value of a list; of a table it sees the columns. What
//! is not a constant, or has to become of another type in a way that can fail, stays as it is.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Values};

use crate::error::Result;

/// A shorter list is planned as quickly as it is.
const ROWS_MIN: usize = 16;
/// No name of a statement can be this one.
const NAME: &str = "\u{1}listed";

/// The plan with a table for each long list of constants.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_lists_as_tables(plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = plan.transform_up(|node| match &node {
        LogicalPlan::Values(values) if values.values.len() >= ROWS_MIN => match batch(values) {
            Some(batch) => Ok(Transformed::yes(table(batch)?)),
            None => Ok(Transformed::no(node)),
        },
        _ => Ok(Transformed::no(node)),
    })?;
    Ok(plan.data)
}

/// Its rows, if all of them are constants.
fn batch(values: &Values) -> Option<RecordBatch> {
    let schema = Arc::clone(values.schema.inner());
    let mut arrays = Vec::with_capacity(schema.fields().len());
    for (column, field) in schema.fields().iter().enumerate() {
        let rows = values.values.iter();
        let constants = rows.map(|row| constant(row.get(column)?, field.data_type()));
        let constants = constants.collect::<Option<Vec<_>>>()?;
        arrays.push(ScalarValue::iter_to_array(constants).ok()?);
    }
    RecordBatch::try_new(schema, arrays).ok()
}

/// What an expression is for every row, if that is known here and is of this type.
fn constant(expr: &Expr, of: &DataType) -> Option<ScalarValue> {
    match expr {
        Expr::Literal(value, _) if value.data_type() == *of => Some(value.clone()),
        Expr::Literal(value, _) if value.is_null() => ScalarValue::try_from(of).ok(),
        Expr::Cast(cast) if cast.field.data_type() == of => match &*cast.expr {
            Expr::Literal(value, _) if is_exact(&value.data_type(), of) => {
                value.cast_to(of).ok().filter(|cast| cast.is_null() == value.is_null())
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether every value of a type is one of another, which is written as it is.
fn is_exact(from: &DataType, to: &DataType) -> bool {
    use DataType::{Decimal128, Int16, Int32, Int64, Null};
    match (from, to) {
        (Null, _) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (Int16 | Int32 | Int64, Decimal128(..)) => true,
        (Decimal128(_, from), Decimal128(_, to)) => from <= to,
        _ => false,
    }
}

/// A plan that gives the rows of a batch, with its columns' names alone.
fn table(batch: RecordBatch) -> PlanResult<LogicalPlan> {
    let schema = batch.schema();
    let table = MemTable::try_new(Arc::clone(&schema), vec![vec![batch]])?;
    let scan = LogicalPlanBuilder::scan(NAME, provider_as_source(Arc::new(table)), None)?;
    let columns = scan.schema().columns();
    let names = columns.into_iter().zip(schema.fields());
    scan.project(names.map(|(column, field)| Expr::Column(column).alias(field.name())))?.build()
}

#[cfg(test)]
mod tests;
