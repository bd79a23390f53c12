//! The operator: aggregates that run, over sorted rows.
//!
//! It stands for a window of DataFusion's. A batch goes out when the peers of its last row have all
//! come, unless no function waits for them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::window::WindowExpr;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::windows::BoundedWindowAggExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
};
use futures::StreamExt;

use super::function::{Said, Value, WindowFunction};
use super::peers::Sorted;
use crate::error::{Error, Result};
use crate::limits::cancel::Cancel;
use crate::pipeline::sorting::can_be_sorted;

/// The operator.
#[derive(Debug)]
pub(crate) struct WindowExec {
    input: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    window: Arc<dyn ExecutionPlan>,
    exprs: Vec<Arc<dyn WindowExpr>>,
    metrics: ExecutionPlanMetricsSet,
}

impl WindowExec {
    /// The operator for a window of DataFusion's, if all of its functions run over rows that are
    /// sorted by numbers or texts.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        let Some(window) = plan.downcast_ref::<BoundedWindowAggExec>() else { return Ok(None) };
        let (input, exprs) = (window.input(), window.window_expr());
        let schema = input.schema();
        let [first, others @ ..] = exprs else { return Ok(None) };
        let is_other = |it: &Arc<dyn WindowExpr>| {
            it.partition_by() != first.partition_by() || it.order_by() != first.order_by()
        };
        if window.input_order_mode != InputOrderMode::Sorted || others.iter().any(is_other) {
            return Ok(None);
        }
        for key in keys_of(first.as_ref()) {
            let data_type = key.data_type(&schema)?;
            // Floats that are equal may have different bits.
            if !can_be_sorted(&data_type) || data_type.is_floating() {
                return Ok(None);
            }
        }
        for expr in exprs {
            if first.order_by().is_empty() || WindowFunction::of(expr, &schema)?.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            input: Arc::clone(input),
            exprs: exprs.to_vec(),
            window: Arc::clone(plan),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

/// What rows are sorted by: first the partition.
fn keys_of(expr: &dyn WindowExpr) -> Vec<Arc<dyn PhysicalExpr>> {
    let order = expr.order_by().iter().map(|key| Arc::clone(&key.expr));
    expr.partition_by().iter().cloned().chain(order).collect()
}

impl DisplayAs for WindowExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.exprs.iter().map(|expr| expr.name()).collect();
        write!(f, "Window: running=[{}]", names.join(", "))
    }
}

impl ExecutionPlan for WindowExec {
    fn name(&self) -> &str {
        "WindowExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.window.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children)
            .map_err(|_| Error::internal("a window of several inputs"))?;
        Ok(Arc::new(Self {
            input,
            window: Arc::clone(&self.window),
            exprs: self.exprs.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        self.window.apply_expressions(f)
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
        let (input, schema) = (self.input.schema(), self.schema());
        let functions =
            self.exprs.iter().filter_map(|expr| WindowFunction::of(expr, &input).transpose());
        let functions = functions.collect::<PlanResult<Vec<_>>>()?;
        let first = self.exprs.first().filter(|_| functions.len() == self.exprs.len());
        let first = first.ok_or_else(|| Error::internal("a window of other functions"))?;
        let mut rows = WindowRows {
            input: Some(self.input.execute(partition, Arc::clone(&context))?),
            sorted: Sorted::new(keys_of(first.as_ref()), first.partition_by().len()),
            wait: functions.iter().any(WindowFunction::waits_for_peers),
            functions,
            waiting: Vec::new(),
            ready: VecDeque::new(),
            reservation: MemoryConsumer::new("rows of a window").register(context.memory_pool()),
            counter: RecordBatchMemoryCounter::new(),
            schema,
        };
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            let batch = ready!(rows.poll_next(waiting));
            Poll::Ready(batch.transpose().map(|batch| batch.record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// Rows on their way.
struct WindowRows {
    /// What gives rows, until all have come.
    input: Option<SendableRecordBatchStream>,
    sorted: Sorted,
    functions: Vec<WindowFunction>,
    /// Whether a function waits for the peers of a row.
    wait: bool,
    /// Batches, the last peers of all of which are peers of one another.
    waiting: Vec<Waiting>,
    /// Batches that can go out.
    ready: VecDeque<RecordBatch>,
    /// Of what waits beside the last batch, which is on its way in any case.
    reservation: MemoryReservation,
    counter: RecordBatchMemoryCounter,
    schema: SchemaRef,
}

/// A batch whose last peers may not all have come.
struct Waiting {
    batch: RecordBatch,
    said: Vec<Said>,
    /// Where the last peers begin.
    last: usize,
}

impl WindowRows {
    fn poll_next(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<Option<RecordBatch>>> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Poll::Ready(Ok(Some(batch)));
            }
            let Some(input) = &mut self.input else { return Poll::Ready(Ok(None)) };
            match ready!(input.poll_next_unpin(waiting)).transpose()? {
                Some(batch) if batch.num_rows() == 0 => {}
                Some(batch) => self.add(batch)?,
                None => {
                    self.input = None;
                    let last = self.waiting.last().map(|it| it.values(it.batch.num_rows() - 1));
                    last.map_or(Ok(()), |values| self.release(&values))?;
                }
            }
        }
    }

    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        // Of many peers no batch goes out for a long time.
        Cancel::check_current()?;
        let peers = self.sorted.next(&batch)?;
        let said = self.functions.iter_mut().map(|function| function.add(&batch, &peers));
        let said = said.collect::<Result<Vec<_>>>()?;
        let first = peers.groups.first().map_or(0, |(rows, _)| rows.end);
        let last = peers.groups.last().map_or(0, |(rows, _)| rows.start);
        let next = Waiting { batch, said, last };
        if !self.wait {
            let batch = self.finished(next)?;
            self.ready.push_back(batch);
            return Ok(());
        }
        if !peers.go_on {
            let before = self.waiting.last().map(|it| it.values(it.batch.num_rows() - 1));
            before.map_or(Ok(()), |values| self.release(&values))?;
        } else if peers.groups.len() > 1 {
            self.release(&next.values(first - 1))?;
        }
        if let Some(before) = self.waiting.last() {
            let said = before.said.iter().map(Said::bytes).sum::<usize>();
            self.reservation.try_grow(self.counter.count_batch(&before.batch) + said)?;
        }
        self.waiting.push(next);
        Ok(())
    }

    /// Lets all go that wait: of their last peers functions say this.
    fn release(&mut self, values: &[Value]) -> Result<()> {
        self.reservation.free();
        self.counter = RecordBatchMemoryCounter::new();
        for mut waiting in std::mem::take(&mut self.waiting) {
            for (function, (said, value)) in
                self.functions.iter().zip(waiting.said.iter_mut().zip(values))
            {
                if function.waits_for_peers() {
                    said.replace_from(waiting.last, *value);
                }
            }
            let batch = self.finished(waiting)?;
            self.ready.push_back(batch);
        }
        Ok(())
    }

    /// The rows with what functions say of them.
    fn finished(&self, rows: Waiting) -> Result<RecordBatch> {
        let mut arrays = rows.batch.columns().to_vec();
        for (function, said) in self.functions.iter().zip(rows.said) {
            arrays.push(function.array(said)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

impl Waiting {
    /// What functions say of a row.
    fn values(&self, row: usize) -> Vec<Value> {
        self.said.iter().map(|said| said.value(row)).collect()
    }
}
