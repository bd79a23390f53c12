//! What a scan is told, while it is read, of the rows that are still wanted.
//!
//! Each thread has a last row of its own, and each is behind the last one of all: the scan is told
//! the first of them. Of rows that are told by floats it is not told, since it orders NaN and the
//! zeros otherwise.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterPhysicalExpr, IsNullExpr, lit,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use remanent_exec::SortBound;

use crate::error::{Error, Result};
use crate::pipeline::exec::PipelineExec;
use crate::pipeline::plan::{Expr, Join};
use crate::scan::exec::ScanExec;

/// What is told.
#[derive(Debug)]
pub(super) struct Told {
    /// A [`DynamicFilterPhysicalExpr`], which the scan has.
    filter: Expr,
    /// The first key, over the columns of the filter.
    key: Expr,
    descending: bool,
    nulls_first: bool,
    /// The last value of the first key that is wanted, as far as it is known.
    bound: Mutex<Option<SortBound>>,
}

impl Told {
    /// What the scan below a sort of DataFusion's is told, with the plan that is told it; `None` if
    /// nobody is.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(super) fn of(sort: &SortExec) -> PlanResult<Option<(Self, Arc<dyn ExecutionPlan>)>> {
        let first = sort.expr().first();
        let input = sort.input();
        if first.expr.data_type(&input.schema())? == DataType::Float64 {
            return Ok(None);
        }
        let (filter, key, input) = match input.downcast_ref::<PipelineExec>() {
            Some(pipeline) => {
                let Some(of) = of_source(pipeline, &first.expr)? else { return Ok(None) };
                (of.filter, of.key, of.input)
            }
            None => {
                // Whatever is below was told of it when the plan was made, if it can be.
                let Some(filter) = sort.dynamic_expressions_produced().pop() else {
                    return Ok(None);
                };
                (filter, Arc::clone(&first.expr), Arc::clone(input))
            }
        };
        let (descending, nulls_first) = (first.options.descending, first.options.nulls_first);
        let told = Self { filter, key, descending, nulls_first, bound: Mutex::default() };
        Ok(Some((told, input)))
    }

    /// Nothing is wanted yet: a plan may run again.
    ///
    /// # Errors
    /// A fault of DataFusion's.
    pub(super) fn begin(&self) -> Result<()> {
        *self.bound.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.update(lit(true))
    }

    /// Says the last value of the first key that a thread wants still.
    ///
    /// # Errors
    /// A fault of DataFusion's.
    pub(super) fn tell(&self, bound: &SortBound, value: ScalarValue) -> Result<()> {
        let mut known = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_some_and(|known| bound.compare(known).is_ge()) {
            return Ok(());
        }
        *known = Some(bound.clone());
        let key = || Arc::clone(&self.key);
        let is_null = || Arc::new(IsNullExpr::new(key())) as Expr;
        let wanted = match (bound.is_null(), self.nulls_first) {
            // All others come before it.
            (true, false) => return Ok(()),
            (true, true) => is_null(),
            (false, nulls_first) => {
                let operator = if self.descending { Operator::GtEq } else { Operator::LtEq };
                let compared = Arc::new(BinaryExpr::new(key(), operator, lit(value))) as Expr;
                match nulls_first {
                    true => Arc::new(BinaryExpr::new(compared, Operator::Or, is_null())),
                    false => compared,
                }
            }
        };
        self.update(wanted)
    }

    fn update(&self, wanted: Expr) -> Result<()> {
        let filter = self.filter.downcast_ref::<DynamicFilterPhysicalExpr>();
        let filter = filter.ok_or_else(|| Error::internal("a filter that never changes"))?;
        Ok(filter.update(wanted)?)
    }
}

/// What the scan of a pipeline is told.
struct OfSource {
    filter: Expr,
    /// The column of the scan that is the key.
    key: Expr,
    /// The pipeline over that scan.
    input: Arc<dyn ExecutionPlan>,
}

/// What the scan that a pipeline reads is told, if a key is one of its columns.
fn of_source(exec: &PipelineExec, key: &Expr) -> PlanResult<Option<OfSource>> {
    let pipeline = exec.pipeline();
    // Rows of build sides that had no partner come in the end: each row of the source matters.
    if pipeline.joins().any(Join::gives_rows) {
        return Ok(None);
    }
    let output = key.downcast_ref::<Column>().map(|column| &pipeline.outputs[column.index()]);
    let Some(column) = output.and_then(|output| output.downcast_ref::<Column>()) else {
        return Ok(None);
    };
    let (relation, place) = pipeline.places[column.index()];
    let scan = pipeline.source.downcast_ref::<ScanExec>();
    let Some(scan) = scan.filter(|_| relation == 0) else { return Ok(None) };
    let key = Arc::new(Column::new(column.name(), place)) as Expr;
    let filter = DynamicFilterPhysicalExpr::new(vec![Arc::clone(&key)], lit(true));
    let filter = Arc::new(filter) as Expr;
    let Some(scan) = scan.told_while_read(&filter)? else { return Ok(None) };
    let input = exec.over_source(Arc::new(scan));
    Ok(Some(OfSource { filter, key, input }))
}
