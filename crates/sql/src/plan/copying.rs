//! Operators that make many rows of one, and copy its arrays for each.
//!
//! Texts lie outside of their columns, and rows that a join makes share them; arrays do not. A join
//! that gives on arrays makes few rows at a time, unnesting gets as few as make a batch, and so
//! does a projection that puts one array beside all rows.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::unnest::UnnestExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};
use futures::StreamExt;

use crate::rules::through::{Through, Way};
use crate::scan::BATCH_ROWS;

/// Rows that a join which copies arrays makes at a time.
const COPIED_ROWS: usize = 32;

/// What an operator knows of its inputs stays as it is.
const UNCHANGED: ReplaceChildrenOptions = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep);

/// The operator, one that copies arrays with its inputs so that it copies few at a time.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn in_parts(plan: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        if !repeats_array(projection)? {
            return Ok(plan);
        }
        let input = Arc::clone(projection.input());
        let input = Through::over(input, Parts::Elements(Vec::new()));
        return plan.replace_children(vec![input], UNCHANGED);
    }
    let Some(unnest) = plan.downcast_ref::<UnnestExec>() else { return Ok(plan) };
    let lists = unnest.list_column_indices().iter();
    let way = Parts::Elements(lists.map(|list| list.index_in_input_schema).collect());
    let input = Through::over(Arc::clone(unnest.input()), way);
    plan.replace_children(vec![input], UNCHANGED)
}

/// A join, if it copies arrays one that makes few rows at a time; what is below makes batches of
/// the size that they have.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn join_in_parts(join: Arc<dyn ExecutionPlan>) -> PlanResult<Arc<dyn ExecutionPlan>> {
    if !copies(&join.schema()) {
        return Ok(join);
    }
    // Each row of the one side with a whole batch of the other, however many rows it is to make.
    let is_product = join.is::<CrossJoinExec>() || join.is::<NestedLoopJoinExec>();
    let inputs = join.children().into_iter().enumerate().map(|(side, input)| {
        let way = Parts::Rows(BATCH_ROWS);
        let input = Through::over(Arc::clone(input), way);
        match is_product && side == 1 {
            true => Through::over(input, Parts::Elements(Vec::new())),
            false => input,
        }
    });
    let inputs: Vec<Arc<dyn ExecutionPlan>> = inputs.collect();
    let join = join.replace_children(inputs, UNCHANGED)?;
    Ok(Through::over(join, Parts::Rows(COPIED_ROWS)))
}

/// Whether each row gets an array that is the same for all.
fn repeats_array(projection: &ProjectionExec) -> PlanResult<bool> {
    let schema = projection.input().schema();
    let mut found = false;
    for item in projection.expr() {
        item.expr.apply(|expr| {
            let is_list = matches!(expr.data_type(&schema)?, DataType::List(_));
            found |= is_list && collect_columns(expr).is_empty();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
    }
    Ok(found)
}

fn copies(schema: &Schema) -> bool {
    schema.fields().iter().any(|field| match field.data_type() {
        DataType::Utf8View | DataType::BinaryView | DataType::Boolean | DataType::Null => false,
        other => other.primitive_width().is_none(),
    })
}

/// How a part is measured.
#[derive(Clone, Debug)]
enum Parts {
    /// The operator below makes so many rows at a time.
    Rows(usize),
    /// What it makes is cut so that these lists have about a batch of elements together; without
    /// lists, into few rows.
    Elements(Vec<usize>),
}

impl fmt::Display for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rows(rows) => write!(f, "Parts: {rows} rows"),
            Self::Elements(_) => f.write_str("Parts: of few elements"),
        }
    }
}

impl Way for Parts {
    const NAME: &'static str = "PartsExec";

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        match self {
            Self::Rows(rows) => {
                let config = context.session_config().clone().with_batch_size(*rows);
                let context = TaskContext::default()
                    .with_session_config(config)
                    .with_runtime(context.runtime_env());
                input.execute(partition, Arc::new(context))
            }
            Self::Elements(lists) => {
                let (input, lists) = (input.execute(partition, context)?, lists.clone());
                let schema = input.schema();
                let parts = input.flat_map(move |batch| {
                    let parts = match batch {
                        Ok(batch) => parts(&batch, &lists).into_iter().map(Ok).collect(),
                        Err(error) => vec![Err(error)],
                    };
                    futures::stream::iter(parts)
                });
                Ok(Box::pin(RecordBatchStreamAdapter::new(schema, parts)))
            }
        }
    }
}

/// The batch in parts whose lists have about a batch of elements, and one row at least.
fn parts(batch: &RecordBatch, lists: &[usize]) -> Vec<RecordBatch> {
    let (mut parts, mut first, mut elements) = (Vec::new(), 0, 0);
    let least = if lists.is_empty() { BATCH_ROWS / COPIED_ROWS } else { 1 };
    for row in 0..batch.num_rows() {
        let lengths = lists.iter().map(|list| length(batch.column(*list).as_ref(), row));
        let longest = lengths.max().unwrap_or(0).max(least);
        if row > first && elements + longest > BATCH_ROWS {
            parts.push(batch.slice(first, row - first));
            (first, elements) = (row, 0);
        }
        elements += longest;
    }
    parts.push(batch.slice(first, batch.num_rows() - first));
    parts
}

fn length(array: &dyn Array, row: usize) -> usize {
    match array.data_type() {
        DataType::List(_) => array.as_list::<i32>().value_length(row) as usize,
        DataType::LargeList(_) => array.as_list::<i64>().value_length(row) as usize,
        DataType::FixedSizeList(_, length) => *length as usize,
        _ => 1,
    }
}
