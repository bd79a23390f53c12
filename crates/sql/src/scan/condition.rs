//! A condition on the rows of a table, over some of its columns.
//!
//! Conditions of a query's text are known when it is planned, and a row that does not meet them all
//! is not given out. What a join above expects of its other side's keys is known when it runs: such
//! a condition is checked as long as it keeps rows away.

pub(crate) mod of_task;
pub(crate) mod parameters;

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions,
};
use datafusion::arrow::compute::prep_null_mask_filter;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{ColumnarValue, Expr};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column, Literal, lit};
use datafusion::physical_expr::scalar_subquery::ScalarSubqueryExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use remanent_exec::{Matches, NumberRanges, TextList, TextPattern};

use super::constant::{ComparedColumns, compared_columns, ranges_beside, ranges_of, texts_of};
use super::pattern::{bound_beside, bound_of, pattern_of, prefixes_of};
use crate::catalog::table::Table;
use crate::error::{Error, Result};

/// A condition on the rows of a table.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    /// Places among the table's columns: those of the batches that it is evaluated on.
    pub(crate) columns: Vec<usize>,
    schema: SchemaRef,
    expr: Arc<dyn PhysicalExpr>,
    /// The whole numbers, or unscaled decimals, that meet it, if it says no more than that.
    pub(crate) ranges: Option<NumberRanges>,
    /// The pattern of its LIKE, or the beginnings that it asks for, if it says no more than that.
    pub(crate) pattern: Option<Arc<dyn TextPattern>>,
    /// The texts that it compares a column with, if it says no more than that.
    pub(crate) texts: Option<TextList>,
    /// The columns that it compares, if it does no more than that.
    pub(crate) compared: Option<ComparedColumns>,
}

/// What a condition says of some rows.
pub(crate) enum FilterResult {
    All,
    None,
    /// True for those that meet it; never NULL.
    Some(BooleanArray),
}

impl FilterResult {
    /// The same as bits.
    pub(crate) fn to_matches(&self) -> Matches {
        match self {
            Self::All => Matches::All,
            Self::None => Matches::None,
            Self::Some(truths) => {
                let words = truths.values().bit_chunks().iter_padded();
                Matches::Some(words.take(truths.len().div_ceil(64)).collect())
            }
        }
    }
}

impl Condition {
    /// Whether a scan can check a filter of a query.
    pub(crate) fn can_be(table: &Table, filter: &Expr) -> bool {
        let has_query = |expr: &Expr| {
            use Expr as E;
            let query = matches!(
                expr,
                E::ScalarSubquery(_) | E::InSubquery(_) | E::Exists(_) | E::SetComparison(_)
            );
            Ok(query || matches!(expr, E::OuterReferenceColumn(..)))
        };
        !filter.is_volatile()
            && !filter.exists(has_query).unwrap_or(true)
            && filter.column_refs().iter().all(|column| table.column(&column.name).is_some())
    }

    /// A filter of a query.
    ///
    /// # Errors
    /// What cannot be planned.
    pub(crate) fn of_filter(
        table: &Table,
        filter: &Expr,
        session: &dyn Session,
    ) -> PlanResult<Self> {
        let used = filter.column_refs();
        let mut columns: Vec<usize> =
            used.iter().filter_map(|column| table.column(&column.name)).collect();
        columns.sort_unstable();
        let schema = Arc::new(table.arrow.project(&columns)?);
        let relation = used.iter().find_map(|column| column.relation.clone());
        let names = match relation {
            Some(relation) => DFSchema::try_from_qualified_schema(relation, &schema)?,
            None => DFSchema::try_from(Schema::clone(&schema))?,
        };
        let expr = session.create_physical_expr(filter.clone(), &names)?;
        let ranges = match columns.as_slice() {
            [column] => ranges_of(filter, &table.columns[*column].sql_type),
            _ => None,
        };
        let like = pattern_of(filter).map(|pattern| Arc::new(pattern) as Arc<dyn TextPattern>);
        let beginnings = || prefixes_of(filter).map(|it| Arc::new(it) as Arc<dyn TextPattern>);
        let bound = || bound_of(filter).map(|it| Arc::new(it) as Arc<dyn TextPattern>);
        let pattern = like.or_else(beginnings).or_else(bound);
        let texts = texts_of(filter);
        let compared = compared_columns(filter, table);
        Ok(Self { columns, schema, expr, ranges, pattern, texts, compared })
    }

    /// An expression over the output of a scan of these columns; `None` if it is about no column of
    /// the table.
    ///
    /// # Errors
    /// A fault in the expression.
    pub(crate) fn of_output(
        table: &Table,
        output: &[usize],
        expr: &Arc<dyn PhysicalExpr>,
    ) -> PlanResult<Option<Self>> {
        let used = collect_columns(expr);
        let mut columns: Vec<usize> = used.iter().map(|column| output[column.index()]).collect();
        columns.sort_unstable();
        if columns.iter().any(|&column| column >= table.columns.len()) {
            return Ok(None);
        }
        let moved = Arc::clone(expr).transform_up(|expr| {
            let Some(column) = expr.downcast_ref::<Column>() else {
                return Ok(Transformed::no(expr));
            };
            let place = columns.binary_search(&output[column.index()]).unwrap_or_default();
            Ok(Transformed::yes(Arc::new(Column::new(column.name(), place))))
        })?;
        let schema = Arc::new(table.arrow.project(&columns)?);
        let (expr, ranges, pattern) = (moved.data, None, None);
        let (texts, compared) = (None, None);
        Ok(Some(Self { columns, schema, expr, ranges, pattern, texts, compared }))
    }

    /// The condition as it is when the plan runs, which does not change any more: keys that a join
    /// has found by now, and the value of a subquery, are constants.
    ///
    /// # Errors
    /// A fault in the expression.
    pub(crate) fn as_it_is_now(&self) -> PlanResult<Self> {
        let known = snapshot_physical_expr(Arc::clone(&self.expr))?;
        let known = known.transform_up(|expr| {
            if !expr.is::<ScalarSubqueryExpr>() {
                return Ok(Transformed::no(expr));
            }
            let no_rows = RecordBatch::new_empty(Arc::clone(&self.schema));
            Ok(match expr.evaluate(&no_rows)? {
                ColumnarValue::Scalar(value) => Transformed::yes(lit(value)),
                ColumnarValue::Array(_) => Transformed::no(expr),
            })
        })?;
        Ok(Self { expr: known.data, ..self.clone() })
    }

    /// The condition as it is now, if encoded values can be compared with what it says: it compares
    /// one column with a constant.
    ///
    /// # Errors
    /// A fault in the expression.
    pub(crate) fn for_encoded_values(&self, table: &Table) -> PlanResult<Option<Self>> {
        let now = self.as_it_is_now()?;
        let Some(compared) = now.expr.downcast_ref::<BinaryExpr>() else { return Ok(None) };
        let column = compared.left().downcast_ref::<Column>();
        let constant = compared.right().downcast_ref::<Literal>();
        let Some((of, constant)) = column.zip(constant) else { return Ok(None) };
        // It may have been about others, before it was known.
        let columns = vec![self.columns[of.index()]];
        let (op, constant) = (*compared.op(), constant.value());
        let ranges = ranges_beside(op, constant, &table.columns[columns[0]].sql_type);
        let bound = constant.try_as_str().flatten().and_then(|text| bound_beside(op, text));
        let pattern = bound.map(|bound| Arc::new(bound) as Arc<dyn TextPattern>);
        if ranges.is_none() && pattern.is_none() {
            return Ok(None);
        }
        let schema = Arc::new(self.schema.project(&[of.index()])?);
        let column = Arc::new(Column::new(of.name(), 0));
        let expr = Arc::new(BinaryExpr::new(column, op, Arc::clone(compared.right())));
        let (texts, compared) = (None, None);
        Ok(Some(Self { columns, schema, expr, ranges, pattern, texts, compared }))
    }

    /// The expression.
    pub(crate) fn expr(&self) -> &Arc<dyn PhysicalExpr> {
        &self.expr
    }

    /// Which of some rows meet it: NULL does not.
    ///
    /// # Errors
    /// Whatever it meets in evaluating.
    pub(crate) fn kept(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<FilterResult> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options)?;
        let truths = match self.expr.evaluate(&batch)? {
            ColumnarValue::Array(array) => array,
            ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))) => {
                return Ok(FilterResult::All);
            }
            ColumnarValue::Scalar(_) => return Ok(FilterResult::None),
        };
        let truths = truths.as_boolean_opt();
        let truths = truths.ok_or_else(|| Error::internal("a condition that is no truth"))?;
        let truths = match truths.nulls() {
            Some(_) => prep_null_mask_filter(truths),
            None => truths.clone(),
        };
        Ok(match truths.true_count() {
            0 => FilterResult::None,
            count if count == rows => FilterResult::All,
            _ => FilterResult::Some(truths),
        })
    }
}

/// Rows after which it is decided whether a condition of a join is worth its time.
const TRIED_ROWS: usize = 32 * 1024;

/// Batches for which a condition that was not is left out.
const LEFT_OUT: u32 = 64;

/// A condition that a join above has, which checks it again.
#[derive(Debug)]
pub(crate) struct RuntimeFilter {
    pub(crate) condition: Condition,
    seen: usize,
    kept: usize,
    left_out: u32,
}

impl RuntimeFilter {
    pub(crate) fn new(condition: Condition) -> Self {
        Self { condition, seen: 0, kept: 0, left_out: 0 }
    }

    /// Whether to look at it for the next batch.
    pub(crate) fn is_worth_it(&mut self) -> bool {
        self.left_out = self.left_out.saturating_sub(1);
        self.left_out == 0
    }

    /// It kept so many of these rows.
    pub(crate) fn note(&mut self, rows: usize, kept: usize) {
        self.seen += rows;
        self.kept += kept;
        if self.seen >= TRIED_ROWS {
            if self.kept * 4 > self.seen * 3 {
                self.left_out = LEFT_OUT;
            }
            (self.seen, self.kept) = (0, 0);
        }
    }
}
