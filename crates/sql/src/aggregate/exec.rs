//! The operator: an aggregate of the rows of a scan, or of what other operators give.
//!
//! It stands for an aggregate of DataFusion's, of which it knows the schema and the order. Rows of
//! a scan it reads by itself: they never become batches, but for hot ones.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
};
use futures::StreamExt;
use remanent_exec::Aggregation;

use super::feed::Fed;
use super::query::{Query, query_of};
use super::result::batch_of;
use crate::error::Error;
use crate::scan::BATCH_ROWS;
use crate::scan::exec::{Reading, ScanExec};
use crate::scan::scan_rows::TakenRows;

/// The operator.
#[derive(Debug)]
pub(crate) struct GroupsExec {
    /// A [`ScanExec`], or what gives rows as batches.
    input: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    aggregate: Arc<dyn ExecutionPlan>,
    query: Arc<Query>,
    metrics: ExecutionPlanMetricsSet,
}

impl GroupsExec {
    /// The operator for an aggregate of DataFusion's, if it is one of a scan's rows that can be
    /// computed so.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        let Some(aggregate) = plan.downcast_ref::<AggregateExec>() else { return Ok(None) };
        let is_plain = *aggregate.mode() == AggregateMode::Single
            && !aggregate.group_expr().has_grouping_set()
            && aggregate.limit_options().is_none()
            // Of rows in the order of the keys, it gives groups out before all have come.
            && *aggregate.input_order_mode() == InputOrderMode::Linear
            && aggregate.filter_expr().iter().all(Option::is_none);
        if !is_plain {
            return Ok(None);
        }
        let mut input = aggregate.input();
        let mut projection = input.downcast_ref::<ProjectionExec>();
        if let Some(projection) = projection {
            input = projection.input();
        }
        if let Some(cooperative) = input.downcast_ref::<CooperativeExec>() {
            input = cooperative.input();
        }
        let is_whole = input.downcast_ref::<ScanExec>().is_some_and(ScanExec::is_whole);
        if !is_whole || projection.map(makes_arrays).transpose()?.unwrap_or_default() {
            (input, projection) = (aggregate.input(), None);
        }
        let query = query_of(aggregate, projection, &input.schema())?;
        let query = query.filter(|query| Aggregation::new(query.plan.clone()).is_some());
        Ok(query.map(|query| Self {
            input: Arc::clone(input),
            aggregate: Arc::clone(plan),
            query: Arc::new(query),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// The rows that are aggregated.
    fn rows(&self, partition: usize, context: Arc<TaskContext>) -> PlanResult<RowSource> {
        Ok(match self.input.downcast_ref::<ScanExec>().filter(|scan| scan.is_whole()) {
            Some(scan) => RowSource::Scan {
                reading: Box::new(scan.reading(partition, &context)?),
                scanned: scan.counting(partition),
            },
            None => RowSource::Batches(self.input.execute(partition, context)?),
        })
    }
}

/// Whether a projection makes arrays, which are large: as an operator by itself it makes them of
/// few rows at a time.
fn makes_arrays(projection: &ProjectionExec) -> PlanResult<bool> {
    let schema = projection.input().schema();
    let mut found = false;
    for item in projection.expr() {
        item.expr.apply(|expr| {
            found |= expr.data_type(&schema)?.is_nested();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
    }
    Ok(found)
}

impl DisplayAs for GroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(aggregate) = self.aggregate.downcast_ref::<AggregateExec>() else { return Ok(()) };
        let keys = aggregate.group_expr().expr().iter().map(|(expr, _)| expr.to_string());
        let functions = aggregate.aggr_expr().iter().map(|function| function.name());
        write!(
            f,
            "Aggregate: gby=[{}], aggr=[{}]",
            keys.collect::<Vec<_>>().join(", "),
            functions.collect::<Vec<_>>().join(", ")
        )
    }
}

impl ExecutionPlan for GroupsExec {
    fn name(&self) -> &str {
        "GroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let [input] = <[_; 1]>::try_from(children)
            .map_err(|_| Error::internal("an aggregate of several inputs"))?;
        let (aggregate, query) = (Arc::clone(&self.aggregate), Arc::clone(&self.query));
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { input, aggregate, query, metrics }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        self.aggregate.apply_expressions(f)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let aggregation = Aggregation::new(self.query.plan.clone());
        let aggregation = aggregation.ok_or_else(|| Error::internal("an aggregate of nothing"))?;
        let consumer = MemoryConsumer::new("groups of an aggregate");
        let reservation = consumer.register(context.memory_pool());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut running = Running {
            fed: Fed { query: Arc::clone(&self.query), aggregation, reservation },
            source: Some(self.rows(partition, context)?),
            groups: 0,
            given: 0,
        };
        let schema = self.schema();
        let result_schema = self.schema();
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            if let Err(error) = ready!(running.add_all(waiting)) {
                return Poll::Ready(Some(Err(error)));
            }
            let groups = running.given..running.groups.min(running.given + BATCH_ROWS);
            if groups.is_empty() {
                return Poll::Ready(None);
            }
            running.given = groups.end;
            let fed = &running.fed;
            let batch = batch_of(&fed.query, &fed.aggregation, groups, &result_schema);
            Poll::Ready(Some(batch.map_err(Into::into).record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}

/// Where rows come from.
enum RowSource {
    Scan { reading: Box<Reading>, scanned: BaselineMetrics },
    Batches(SendableRecordBatchStream),
}

/// An aggregate that is being computed.
struct Running {
    fed: Fed,
    /// `None` when all rows have come.
    source: Option<RowSource>,
    groups: usize,
    /// How many groups were given out.
    given: usize,
}

impl Running {
    /// Adds rows until all have come. Between two pieces of a table others may look whether to
    /// stop; what gives batches looks itself.
    fn add_all(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<()>> {
        let fed = &mut self.fed;
        match &mut self.source {
            None => return Poll::Ready(Ok(())),
            Some(RowSource::Scan { reading, scanned }) => {
                let has_come = reading.batches()?.next_piece(|rows| {
                    scanned.record_output(fed.add(rows)?);
                    Ok(())
                })?;
                if has_come {
                    waiting.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
            Some(RowSource::Batches(stream)) => {
                while let Some(batch) = ready!(stream.poll_next_unpin(waiting)) {
                    fed.add(TakenRows::Batch(batch?))?;
                }
            }
        }
        self.source = None;
        self.groups = self.fed.finish()?;
        Poll::Ready(Ok(()))
    }
}
