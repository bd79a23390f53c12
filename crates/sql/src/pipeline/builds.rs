//! The build sides of a pipeline, read before its source: from the last join to the first.
//!
//! The keys of each build side are told to whatever is read after it.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::StreamExt;

use super::collecting::{BuildRows, Collecting};
use super::exec::{BatchMaker, PipelineExec};
use super::flow::Built;
use super::plan::{Expr, Join, Pipeline, Stage};
use super::running::Running;
use super::told::{keys_of, tell_others, tell_pipeline};
use crate::error::{Error, Result};
use crate::scan::exec::ScanExec;

/// The build sides of a pipeline that are being read.
pub(crate) struct BuildSides {
    /// Its inputs are told keys meanwhile.
    pipeline: Arc<Pipeline>,
    /// What somebody asks for.
    outputs: Vec<Expr>,
    context: Arc<TaskContext>,
    partition: usize,
    /// Those of the last joins, from the last on.
    builds: Vec<Built>,
    reservations: Vec<MemoryReservation>,
    building: Option<Building>,
}

/// A pipeline whose build sides were read.
pub(crate) struct ReadyPipeline {
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) outputs: Vec<Expr>,
    pub(crate) context: Arc<TaskContext>,
    pub(crate) partition: usize,
    /// One for each join.
    pub(crate) builds: Vec<Built>,
    /// Of the tables of keys.
    _reservations: Vec<MemoryReservation>,
}

/// A build side that is being read.
enum Building {
    /// What an operator gives.
    Batches(SendableRecordBatchStream, Box<Collecting>),
    /// A pipeline, whose own build sides are read first.
    Sides {
        sides: Box<BuildSides>,
        schema: SchemaRef,
        /// Where its rows are counted, if they are not where they come from.
        metrics: Option<BaselineMetrics>,
        collecting: Box<Collecting>,
    },
    Pipeline(Box<Running<BuildRows>>),
    /// It has been read.
    None,
}

impl BuildSides {
    /// Those of a pipeline of which nothing has been read; `outputs` are the expressions that
    /// somebody asks for.
    pub(crate) fn new(
        pipeline: &Arc<Pipeline>,
        outputs: Vec<Expr>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Self {
        Self {
            pipeline: Arc::clone(pipeline),
            outputs,
            context,
            partition,
            builds: Vec::new(),
            reservations: Vec::new(),
            building: None,
        }
    }

    /// Reads all of them.
    ///
    /// # Errors
    /// Whatever they meet; `OUT_OF_MEMORY`.
    pub(crate) fn poll_ready(
        &mut self,
        waiting: &mut Context<'_>,
    ) -> Poll<PlanResult<ReadyPipeline>> {
        let joins = self.pipeline.joins().count();
        while let Some(at) = joins.checked_sub(self.builds.len() + 1) {
            let pipeline = Arc::clone(&self.pipeline);
            let Some(join) = pipeline.joins().nth(at) else { break };
            let building = match &mut self.building {
                Some(building) => building,
                none => {
                    let asked = Asked { pipeline: &pipeline, join, outputs: &self.outputs };
                    none.insert(Building::start(self.partition, &self.context, &asked)?)
                }
            };
            let collecting = ready!(building.poll_all(waiting))?;
            self.building = None;
            self.built(join, collecting)?;
        }
        Poll::Ready(Ok(ReadyPipeline {
            pipeline: Arc::clone(&self.pipeline),
            outputs: std::mem::take(&mut self.outputs),
            context: Arc::clone(&self.context),
            partition: self.partition,
            builds: std::mem::take(&mut self.builds).into_iter().rev().collect(),
            _reservations: std::mem::take(&mut self.reservations),
        }))
    }

    /// A build side has been read: tells others its keys.
    fn built(&mut self, join: &Join, collecting: Collecting) -> Result<()> {
        // Where nulls are equal, a row without a value may be wanted, too.
        let tells = join.drops_tuples_without() && !join.nulls_are_equal;
        let wanted = join
            .probe_keys
            .iter()
            .map(|key| tells && told_column(key, &self.pipeline.columns).is_some());
        let wanted: Vec<_> = wanted.collect();
        let (relation, table, reservation) = collecting.finish(&wanted)?;
        let (relation, table) = (Arc::new(relation), Arc::new(table));
        let pipeline = Arc::clone(&self.pipeline);
        let stage = pipeline.stages.iter().position(|stage| match stage {
            Stage::Join(other) => other.relation == join.relation,
            Stage::Filter(_) => false,
        });
        for (key, probe_key) in join.probe_keys.iter().enumerate().filter(|_| tells) {
            if let (Some(stage), Some(column)) = (stage, told_column(probe_key, &pipeline.columns))
            {
                let told = keys_of(&table, key, column, &pipeline.columns)?;
                for tell in [tell_pipeline, tell_others] {
                    let changed = tell(&self.pipeline, stage, column, &told)?;
                    changed.into_iter().for_each(|changed| self.pipeline = Arc::new(changed));
                }
            }
        }
        self.builds.push(Built { relation, table });
        self.reservations.push(reservation);
        Ok(())
    }
}

/// The column that has the numbers of a key: the key itself, or what it is the same number as.
fn told_column(key: &Expr, columns: &Schema) -> Option<usize> {
    let Some(cast) = key.downcast_ref::<CastExpr>() else {
        return key.downcast_ref::<Column>().map(Column::index);
    };
    let column = cast.expr().downcast_ref::<Column>()?.index();
    let types = [columns.field(column).data_type(), cast.cast_type()];
    let [from, to] = types.map(DataType::primitive_width);
    // A cast to less bytes fails where there is no room, which is not to be passed over.
    let is_wider = types.iter().all(|it| it.is_signed_integer()) && from <= to;
    is_wider.then_some(column)
}

/// What is asked of a build side.
struct Asked<'a> {
    pipeline: &'a Pipeline,
    join: &'a Join,
    outputs: &'a [Expr],
}

impl Building {
    fn start(
        partition: usize,
        context: &Arc<TaskContext>,
        Asked { pipeline, join, outputs }: &Asked<'_>,
    ) -> PlanResult<Self> {
        let used = pipeline.columns_used(outputs).into_iter().zip(&pipeline.places);
        let used = used.filter(|(_, (relation, _))| *relation == join.relation);
        let used: Vec<bool> = used.map(|(used, _)| used).collect();
        let collecting = Box::new(Collecting::new(join, &used, context)?);
        let Some((inner, metrics)) = pipeline_of(&join.build, partition) else {
            let rows = join.build.execute(partition, Arc::clone(context))?;
            return Ok(Self::Batches(rows, collecting));
        };
        let (outputs, schema) = (inner.outputs.clone(), join.build.schema());
        let sides = BuildSides::new(&inner, outputs, partition, Arc::clone(context));
        Ok(Self::Sides { sides: Box::new(sides), metrics, schema, collecting })
    }

    /// Reads all of it.
    fn poll_all(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<Collecting>> {
        loop {
            *self = match std::mem::replace(self, Self::None) {
                Self::Batches(mut rows, mut collecting) => loop {
                    match rows.poll_next_unpin(waiting) {
                        Poll::Ready(Some(batch)) => collecting.add(0, &batch?)?,
                        Poll::Ready(None) => return Poll::Ready(Ok(*collecting)),
                        Poll::Pending => {
                            *self = Self::Batches(rows, collecting);
                            return Poll::Pending;
                        }
                    }
                },
                Self::Sides { mut sides, schema, metrics, collecting } => {
                    let Poll::Ready(ready) = sides.poll_ready(waiting) else {
                        *self = Self::Sides { sides, schema, metrics, collecting };
                        return Poll::Pending;
                    };
                    let ready = ready?;
                    let pipeline = Arc::clone(&ready.pipeline);
                    let rows = || {
                        let maker = BatchMaker::new(&pipeline, &schema)?;
                        Ok(BuildRows::new(maker, collecting.beside(), metrics.clone()))
                    };
                    Self::Pipeline(Box::new(Running::begin(ready, rows)?))
                }
                Self::Pipeline(mut running) => {
                    let Poll::Ready(made) = running.poll_next(waiting) else {
                        *self = Self::Pipeline(running);
                        return Poll::Pending;
                    };
                    match made? {
                        Some(_) => Self::Pipeline(running),
                        None => return Poll::Ready(Ok(running.into_sink()?.0.collecting)),
                    }
                }
                Self::None => {
                    return Poll::Ready(Err(Error::internal("a build side is read once").into()));
                }
            };
        }
    }
}

/// A plan as a pipeline, whose rows can be taken by several threads, and where they are counted;
/// `None` if it gives batches alone.
fn pipeline_of(
    plan: &Arc<dyn ExecutionPlan>,
    partition: usize,
) -> Option<(Arc<Pipeline>, Option<BaselineMetrics>)> {
    if let Some(exec) = plan.downcast_ref::<PipelineExec>() {
        return Some((Arc::clone(exec.pipeline()), Some(exec.counting(partition))));
    }
    let plan = match plan.downcast_ref::<CooperativeExec>() {
        Some(cooperative) => cooperative.input(),
        None => plan,
    };
    // The source counts by itself.
    let is_whole = plan.downcast_ref::<ScanExec>().is_some_and(ScanExec::is_whole);
    is_whole.then(|| (Arc::new(Pipeline::of_source(plan)), None))
}
