//! The operator: the first rows in the order of keys.
//!
//! It stands for a sort of DataFusion's that keeps few rows, of which it knows the schema and the
//! order. Its input is a pipeline, or whatever gives batches.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use super::first_rows::{FirstRows, Wanted};
use super::told::Told;
use crate::error::{Error, Result};
use crate::pipeline::builds::BuildSides;
use crate::pipeline::exec::PipelineExec;
use crate::pipeline::plan::{Expr, Pipeline, over};
use crate::pipeline::running::{Running, are_volatile};
use crate::pipeline::sorting::{FETCH_MIN, apply_to_keys, can_be_sorted};
use crate::scan::BATCH_ROWS;
use crate::scan::exec::ScanExec;

/// The operator.
#[derive(Debug)]
pub(crate) struct TopKExec {
    input: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    sort: Arc<SortExec>,
    rows: usize,
    /// What a projection makes of the input's columns, if one stood between.
    outputs: Option<Vec<Expr>>,
    told: Option<Arc<Told>>,
    metrics: ExecutionPlanMetricsSet,
}

impl TopKExec {
    /// The operator for a sort of DataFusion's that keeps few rows, by keys that are numbers or
    /// texts. If its input is in some order, DataFusion's need not read all of it.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
        let rows = sort.fetch().filter(|fetch| (1..FETCH_MIN).contains(fetch));
        let is_plain =
            !sort.preserve_partitioning() && sort.input().properties().output_ordering().is_none();
        let Some(rows) = rows.filter(|_| is_plain) else { return Ok(None) };
        let schema = sort.input().schema();
        for key in sort.expr() {
            if !can_be_sorted(&key.expr.data_type(&schema)?) {
                return Ok(None);
            }
        }
        let (told, input) = match Told::of(sort)? {
            Some((told, input)) => (Some(Arc::new(told)), input),
            None => (None, Arc::clone(sort.input())),
        };
        let (input, outputs) = match scan_of(&input)? {
            Some(ScanBelow { scan, outputs }) => (scan, outputs),
            None => (input, None),
        };
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Some(Self { input, sort: Arc::new(sort.clone()), rows, outputs, told, metrics }))
    }

    fn pipeline(&self) -> Arc<Pipeline> {
        match self.input.downcast_ref::<PipelineExec>() {
            Some(exec) => Arc::clone(exec.pipeline()),
            None => {
                let mut pipeline = Pipeline::of_source(&self.input);
                self.outputs.iter().for_each(|outputs| pipeline.outputs.clone_from(outputs));
                Arc::new(pipeline)
            }
        }
    }
}

/// A whole scan, which is read by all threads.
struct ScanBelow {
    scan: Arc<dyn ExecutionPlan>,
    /// What a projection above it makes of its columns.
    outputs: Option<Vec<Expr>>,
}

/// The whole scan that a plan is.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<ScanBelow>> {
    let projection = plan.downcast_ref::<ProjectionExec>();
    let outputs = projection.map(|projection| {
        let items = projection.expr().iter();
        items.map(|item| Arc::clone(&item.expr)).collect::<Vec<_>>()
    });
    // What answers otherwise each time is computed once.
    if are_volatile(outputs.iter().flatten())? {
        return Ok(None);
    }
    let plan = projection.map_or(plan, ProjectionExec::input);
    let plan = plan.downcast_ref::<CooperativeExec>().map_or(plan, CooperativeExec::input);
    let is_whole = plan.downcast_ref::<ScanExec>().is_some_and(ScanExec::is_whole);
    Ok(is_whole.then(|| ScanBelow { scan: Arc::clone(plan), outputs }))
}

impl DisplayAs for TopKExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TopK: expr=[{}], fetch={}", self.sort.expr(), self.rows)
    }
}

impl ExecutionPlan for TopKExec {
    fn name(&self) -> &str {
        "TopKExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.sort.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children)
            .map_err(|_| Error::internal("a sort of several inputs"))?;
        let (sort, outputs) = (Arc::clone(&self.sort), self.outputs.clone());
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self {
            input,
            sort,
            rows: self.rows,
            outputs,
            told: self.told.clone(),
            metrics,
        }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        apply_to_keys(&self.sort, f)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let pipeline = self.pipeline();
        let (schema, keys) = (self.schema(), self.sort.expr());
        let told = self.told.clone();
        told.iter().try_for_each(|told| told.begin())?;
        let wanted = Arc::new(Wanted::new(&pipeline, &schema, keys, self.rows, told)?);
        let mut outputs = pipeline.outputs.clone();
        for key in keys {
            outputs.push(over(&key.expr, &pipeline.outputs)?);
        }
        let memory = MemoryConsumer::new("first rows").register(context.memory_pool());
        let sides = Box::new(BuildSides::new(&pipeline, outputs, partition, context));
        let mut finding = Finding::Sides { sides, wanted, memory };
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            let batch = ready!(finding.poll_next(waiting));
            Poll::Ready(batch.transpose().map(|batch| batch.record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// First rows on their way.
enum Finding {
    Sides {
        sides: Box<BuildSides>,
        wanted: Arc<Wanted>,
        memory: MemoryReservation,
    },
    Pipeline(Box<Running<FirstRows>>),
    /// They have been found, and so many have been given.
    Found {
        rows: RecordBatch,
        given: usize,
        _memory: MemoryReservation,
    },
    None,
}

impl Finding {
    fn poll_next(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<Option<RecordBatch>>> {
        loop {
            *self = match std::mem::replace(self, Self::None) {
                Self::Sides { mut sides, wanted, memory } => {
                    let Poll::Ready(ready) = sides.poll_ready(waiting) else {
                        *self = Self::Sides { sides, wanted, memory };
                        return Poll::Pending;
                    };
                    let rows = || Ok(FirstRows::new(&wanted, memory.new_empty()));
                    Self::Pipeline(Box::new(Running::begin(ready?, rows)?))
                }
                Self::Pipeline(mut running) => {
                    if running.poll_next(waiting)?.is_pending() {
                        *self = Self::Pipeline(running);
                        return Poll::Pending;
                    }
                    Self::found(*running)?
                }
                Self::Found { rows, given, _memory } => {
                    let count = (rows.num_rows() - given).min(BATCH_ROWS);
                    if count == 0 {
                        return Poll::Ready(Ok(None));
                    }
                    let batch = rows.slice(given, count);
                    *self = Self::Found { rows, given: given + count, _memory };
                    return Poll::Ready(Ok(Some(batch)));
                }
                Self::None => return Poll::Ready(Ok(None)),
            }
        }
    }

    /// All rows have come.
    fn found(running: Running<FirstRows>) -> Result<Self> {
        let (rows, memory) = running.into_sink()?.0.finish()?;
        Ok(rows.map_or(Self::None, |rows| Self::Found { rows, given: 0, _memory: memory }))
    }
}
