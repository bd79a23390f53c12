//! The operator: an aggregate of the rows of a scan.
//!
//! It stands for an aggregate of DataFusion's, of which it knows the schema and the order, and
//! reads the scan's rows by itself: they never become batches, but for hot ones.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use datafusion::common::tree_node::TreeNodeRecursion;
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
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use remanent_exec::Aggregation;

use super::feed::Fed;
use super::query::{Query, query_of};
use super::result::batch_of;
use crate::error::{Error, Result};
use crate::scan::BATCH_ROWS;
use crate::scan::exec::{Reading, ScanExec};

/// The operator.
#[derive(Debug)]
pub(crate) struct EncodedAggregateExec {
    /// A [`ScanExec`].
    scan: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    aggregate: Arc<dyn ExecutionPlan>,
    query: Arc<Query>,
    metrics: ExecutionPlanMetricsSet,
}

impl EncodedAggregateExec {
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
            && aggregate.filter_expr().iter().all(Option::is_none);
        let mut input = aggregate.input();
        let projection = input.downcast_ref::<ProjectionExec>();
        if let Some(projection) = projection {
            input = projection.input();
        }
        if let Some(cooperative) = input.downcast_ref::<CooperativeExec>() {
            input = cooperative.input();
        }
        let Some(scan) = input.downcast_ref::<ScanExec>() else { return Ok(None) };
        if !is_plain || !scan.is_whole() {
            return Ok(None);
        }
        let query = query_of(aggregate, projection, &scan.schema())?;
        let query = query.filter(|query| Aggregation::new(query.plan.clone()).is_some());
        Ok(query.map(|query| Self {
            scan: Arc::clone(input),
            aggregate: Arc::clone(plan),
            query: Arc::new(query),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

impl DisplayAs for EncodedAggregateExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(aggregate) = self.aggregate.downcast_ref::<AggregateExec>() else { return Ok(()) };
        let keys = aggregate.group_expr().expr().iter().map(|(expr, _)| expr.to_string());
        let functions = aggregate.aggr_expr().iter().map(|function| function.name());
        write!(
            f,
            "EncodedAggregate: gby=[{}], aggr=[{}]",
            keys.collect::<Vec<_>>().join(", "),
            functions.collect::<Vec<_>>().join(", ")
        )
    }
}

impl ExecutionPlan for EncodedAggregateExec {
    fn name(&self) -> &str {
        "EncodedAggregateExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let Some(scan) = children.into_iter().next().filter(|child| child.is::<ScanExec>()) else {
            return Err(Error::internal("an aggregate of something else than a scan").into());
        };
        let (aggregate, query) = (Arc::clone(&self.aggregate), Arc::clone(&self.query));
        let metrics = ExecutionPlanMetricsSet::new();
        Ok(Arc::new(Self { scan, aggregate, query, metrics }))
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
        let scan = self.scan.downcast_ref::<ScanExec>();
        let scan = scan.ok_or_else(|| Error::internal("an aggregate of no scan"))?;
        let aggregation = Aggregation::new(self.query.plan.clone());
        let aggregation = aggregation.ok_or_else(|| Error::internal("an aggregate of nothing"))?;
        let consumer = MemoryConsumer::new("groups of an aggregate");
        let reservation = consumer.register(context.memory_pool());
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut running = Running {
            reading: Some(scan.reading(partition, &context)?),
            scanned: scan.counting(partition),
            fed: Fed { query: Arc::clone(&self.query), aggregation, reservation },
            groups: 0,
            given: 0,
        };
        let schema = self.schema();
        let result_schema = self.schema();
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            // Between two pieces of the table, others may look whether to stop.
            match running.next_piece() {
                Ok(true) => {
                    waiting.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Ok(false) => {}
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
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

/// An aggregate that is being computed.
struct Running {
    /// `None` when all rows have been read.
    reading: Option<Reading>,
    scanned: BaselineMetrics,
    fed: Fed,
    groups: usize,
    /// How many groups were given out.
    given: usize,
}

impl Running {
    /// Adds the next piece of the table; whether there was one.
    fn next_piece(&mut self) -> Result<bool> {
        let Some(reading) = &mut self.reading else { return Ok(false) };
        let (fed, scanned) = (&mut self.fed, &self.scanned);
        let has_read = reading.batches()?.next_piece(|rows| {
            scanned.record_output(fed.add(rows)?);
            Ok(())
        })?;
        if !has_read {
            self.reading = None;
            self.groups = self.fed.finish()?;
        }
        Ok(has_read)
    }
}
