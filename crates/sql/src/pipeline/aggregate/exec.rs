//! The operator: an aggregate of the rows of a scan, or of what other operators give.
//!
//! It stands for an aggregate of DataFusion's, of which it knows the schema and the order. Rows of
//! a scan it reads by itself: they never become batches, but for hot ones.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
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
use super::given_batches::GivenBatches;
use super::giving::{Giving, Out, giving};
use super::having::Having;
use super::merging::{Merging, merging};
use super::parts::{Ended, Part};
use super::query::{Query, query_of};
use super::result::given_parts;
use super::room::Room;
use super::row_keys;
use crate::error::{Error, Result};
use crate::pipeline::builds::BuildSides;
use crate::pipeline::exec::PipelineExec;
use crate::pipeline::flow::{Built, Columns};
use crate::pipeline::running::Running;
use crate::pipeline::told::{moved, tell};
use crate::scan::exec::{Reading, ScanExec};
use crate::scan::scan_rows::Batches;
use crate::scan::shares::Sharing;
use crate::scan::told::Told;
use crate::threads::team::{Team, Worked, Worker};
use crate::transaction::scope::Current;

/// The operator.
#[derive(Debug)]
pub(crate) struct GroupsExec {
    /// A [`ScanExec`], or what gives rows as batches.
    input: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    aggregate: Arc<dyn ExecutionPlan>,
    query: Arc<Query>,
    having: Option<Having>,
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
        let Some((input, query)) = input_of(aggregate)? else { return Ok(None) };
        let query = Some(query);
        let query = query.filter(|query| Aggregation::new(query.plan.clone()).is_some());
        Ok(query.map(|query| Self {
            input,
            aggregate: Arc::clone(plan),
            query: Arc::new(query),
            having: None,
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    /// The operator together with a filter of DataFusion's above it, if a plan is one.
    pub(crate) fn filtered(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let [input] = plan.children()[..] else { return None };
        let groups = input.downcast_ref::<Self>().filter(|groups| groups.having.is_none())?;
        let having = Some(Having::of(plan)?);
        Some(Self { having, ..groups.over(&groups.input) })
    }

    /// The same of other rows.
    fn over(&self, input: &Arc<dyn ExecutionPlan>) -> Self {
        Self {
            input: Arc::clone(input),
            aggregate: Arc::clone(&self.aggregate),
            query: Arc::clone(&self.query),
            having: self.having.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The operator whose input was told keys of a column, if that is one of its own keys.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn told(&self, told: &Told) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        let place = self.having.as_ref().map_or(told.column, |it| it.column(told.column));
        let key = self.query.exprs.get(place).filter(|_| place < self.query.keys.len());
        let Some(column) = key.and_then(|key| key.downcast_ref::<Column>()) else {
            return Ok(None);
        };
        let input = match self.input.downcast_ref::<PipelineExec>() {
            Some(pipeline) => pipeline.told_of_column(column.index(), told)?,
            None => tell(&self.input, &moved(told, column.index(), &self.input.schema())?)?,
        };
        let Some(input) = input else { return Ok(None) };
        Ok(Some(Arc::new(Self { metrics: self.metrics.clone(), ..self.over(&input) })))
    }

    /// The rows that are aggregated.
    fn rows(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
        room: &Room,
    ) -> PlanResult<RowSource> {
        if let Some(pipeline) = self.input.downcast_ref::<PipelineExec>() {
            let exprs = self.query.exprs.clone();
            let sides = BuildSides::new(pipeline.pipeline(), exprs, partition, context);
            return Ok(RowSource::BuildSides(Box::new(sides)));
        }
        Ok(match self.input.downcast_ref::<ScanExec>().filter(|scan| scan.is_whole()) {
            Some(scan) => {
                RowSource::Reading(scan.reading(partition, &context)?, scan.counting(partition))
            }
            None => {
                let threads = Current::of(&context)?.transaction.threads;
                let given = GivenBatches::new(&self.query, room, threads)?;
                RowSource::Batches(self.input.execute(partition, context)?, Box::new(given))
            }
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
        )?;
        self.having.iter().try_for_each(|having| write!(f, ", having {having}"))
    }
}

impl ExecutionPlan for GroupsExec {
    fn name(&self) -> &str {
        "GroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.having.as_ref().map_or(&self.aggregate, |having| &having.filter).properties()
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
        Ok(Arc::new(self.over(&input)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        match &self.having {
            Some(having) => having
                .filter
                .apply_expressions(f)?
                .visit_sibling(|| self.aggregate.apply_expressions(f)),
            None => self.aggregate.apply_expressions(f),
        }
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let threads = Current::of(&context)?.transaction.threads;
        let room = Room::new(&context, threads, &self.metrics, partition);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let mut grouping = Grouping {
            query: Arc::clone(&self.query),
            source: self.rows(partition, context, &room)?,
            room,
            schema: self.aggregate.schema(),
            having: self.having.clone(),
        };
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            let batch = ready!(grouping.poll_next(waiting));
            Poll::Ready(batch.transpose().map(|batch| batch.record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// Where rows come from.
enum RowSource {
    /// A scan that has not begun.
    Reading(Reading, BaselineMetrics),
    Scan(Team<ScanGroups>),
    /// A pipeline that has not begun.
    BuildSides(Box<BuildSides>),
    Pipeline(Box<Running<Fed>>),
    /// Other operators, with the groups of what they have given.
    Batches(SendableRecordBatchStream, Box<GivenBatches>),
    /// All rows have come: groups go out.
    Giving(Team<Giving>),
    /// All rows have come: groups are put together partition by partition, and go out.
    Merging(Team<Merging>),
    /// While it becomes another one.
    None,
}

/// What one thread does of an aggregate of a scan.
struct ScanGroups {
    reader: Batches,
    fed: Fed,
    scanned: BaselineMetrics,
}

impl Worker for ScanGroups {
    fn work(&mut self) -> Result<Worked> {
        let (fed, scanned) = (&mut self.fed, &self.scanned);
        let has_come = self.reader.next_piece(|place, rows| {
            fed.begin(place)?;
            fed.add(rows)?.record_output(scanned);
            Ok(())
        })?;
        Ok(if has_come { Worked::GoesOn } else { Worked::Ended })
    }

    fn piece(&self) -> u64 {
        self.reader.place().segment
    }
}

/// An aggregate that is being computed.
struct Grouping {
    query: Arc<Query>,
    room: Room,
    source: RowSource,
    /// Of groups, before any are dropped.
    schema: SchemaRef,
    having: Option<Having>,
}

impl Grouping {
    fn poll_next(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<Option<RecordBatch>>> {
        loop {
            match &mut self.source {
                RowSource::Giving(team) => {
                    return team.poll_next(waiting).map_err(DataFusionError::from);
                }
                RowSource::Merging(team) => {
                    return team.poll_next(waiting).map_err(DataFusionError::from);
                }
                RowSource::None => return Poll::Ready(Ok(None)),
                _ => ready!(self.poll_all(waiting))?,
            }
        }
    }

    /// All rows have come, by so many threads.
    fn end(&mut self, fed: Fed, columns: Option<Columns>, threads: usize) -> Result<RowSource> {
        let parts = fed.into_parts();
        let out = Out {
            query: Arc::clone(&self.query),
            columns,
            schema: Arc::clone(&self.schema),
            having: self.having.take(),
        };
        let bytes = parts.iter().map(Part::bytes).sum();
        let are_many = parts.len() > 1 && !self.query.plan.keys.is_empty();
        let are_large = are_many && self.room.is_too_little_for(bytes);
        let parts = match are_large || parts.iter().any(Part::is_partitioned) {
            true => parts,
            false => match Ended::new(parts)? {
                many if threads > 1 && many.are_many() => many.into_parts(),
                ended => {
                    let parts = given_parts(&self.query, ended.put_together()?)?;
                    return Ok(RowSource::Giving(giving(parts, out, threads)));
                }
            },
        };
        Ok(RowSource::Merging(merging(parts, out, threads)?))
    }

    /// Adds all rows. Between two rounds others may look whether to stop; what gives batches looks
    /// itself.
    fn poll_all(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<()>> {
        loop {
            self.source = match std::mem::replace(&mut self.source, RowSource::None) {
                RowSource::Reading(reading, scanned) => {
                    let workers = reading.begin(Sharing::ByStretches)?.into_iter().map(|reader| {
                        let fed = Fed::new(&self.query, &self.room)?;
                        Ok(ScanGroups { reader, fed, scanned: scanned.clone() })
                    });
                    RowSource::Scan(Team::new(workers.collect::<Result<_>>()?, false))
                }
                RowSource::Scan(mut team) => {
                    if team.round()? {
                        self.source = RowSource::Scan(team);
                        waiting.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                    let mut all = team.into_workers().into_iter().map(|worker| worker.fed);
                    let threads = all.len();
                    let first = all.next();
                    let mut first = first.ok_or_else(|| Error::internal("a scan of no thread"))?;
                    first.absorb(all.collect());
                    self.end(first, None, threads)?
                }
                RowSource::BuildSides(mut sides) => {
                    let Poll::Ready(ready) = sides.poll_ready(waiting) else {
                        self.source = RowSource::BuildSides(sides);
                        return Poll::Pending;
                    };
                    let ready = ready?;
                    let builds: Vec<&Built> = ready.builds.iter().collect();
                    if let Some(query) = row_keys::by_rows(&self.query, &ready.pipeline, &builds) {
                        self.query = Arc::new(query);
                    }
                    let fed = || Fed::new(&self.query, &self.room);
                    RowSource::Pipeline(Box::new(Running::begin(ready, fed)?))
                }
                RowSource::Pipeline(mut running) => {
                    if running.poll_next(waiting)?.is_pending() {
                        self.source = RowSource::Pipeline(running);
                        return Poll::Pending;
                    }
                    let threads = running.threads();
                    let (fed, columns) = running.into_sink()?;
                    self.end(fed, Some(columns), threads)?
                }
                RowSource::Batches(mut stream, mut given) => {
                    if add_all(&mut stream, &mut given, waiting)?.is_pending() {
                        self.source = RowSource::Batches(stream, given);
                        return Poll::Pending;
                    }
                    let (fed, threads) = given.finish()?;
                    self.end(fed, None, threads)?
                }
                ended => {
                    self.source = ended;
                    return Poll::Ready(Ok(()));
                }
            }
        }
    }
}

/// Adds all batches that an operator gives.
fn add_all(
    stream: &mut SendableRecordBatchStream,
    given: &mut GivenBatches,
    waiting: &mut Context<'_>,
) -> PlanResult<Poll<()>> {
    loop {
        match stream.poll_next_unpin(waiting) {
            Poll::Ready(Some(batch)) => given.add(batch?)?,
            Poll::Ready(None) => return Ok(Poll::Ready(())),
            Poll::Pending => return Ok(Poll::Pending),
        }
    }
}

/// What an aggregate reads, and what it asks of that: a scan with the projection above it, a
/// pipeline, or its input as it is. `None` if it cannot be computed so.
fn input_of(aggregate: &AggregateExec) -> PlanResult<Option<(Arc<dyn ExecutionPlan>, Query)>> {
    if let Some(pipeline) = aggregate.input().downcast_ref::<PipelineExec>() {
        let pipeline = pipeline.pipeline();
        let query = query_of(aggregate, Some(&pipeline.outputs), &pipeline.columns)?;
        let query = query.map(|mut query| {
            query.plan.relations = pipeline.places.iter().map(|place| place.0).collect();
            row_keys::ask_for_keys(&mut query, pipeline);
            (Arc::clone(aggregate.input()), query)
        });
        return Ok(query);
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
    let outputs = projection.map(|projection| {
        let items = projection.expr().iter();
        items.map(|item| Arc::clone(&item.expr)).collect::<Vec<_>>()
    });
    let query = query_of(aggregate, outputs.as_deref(), &input.schema())?;
    Ok(query.map(|query| (Arc::clone(input), query)))
}
