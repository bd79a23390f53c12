//! The build sides of a pipeline, read before its source: from the last join to the first.
//!
//! The keys of each build side are told to whatever is read after it.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use futures::StreamExt;

use super::flow::Built;
use super::plan::{Expr, Join, Pipeline, Stage};
use super::relation::Collecting;
use super::told::{keys_of, tell_others, tell_pipeline};
use crate::error::Result;

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
struct Building {
    rows: SendableRecordBatchStream,
    collecting: Collecting,
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
            while let Some(batch) = ready!(building.rows.poll_next_unpin(waiting)) {
                building.collecting.add(&batch?)?;
            }
            let Some(Building { collecting, .. }) = self.building.take() else { break };
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
        let collecting = Collecting::new(join, &used, context)?;
        let rows = join.build.execute(partition, Arc::clone(context))?;
        Ok(Self { rows, collecting })
    }
}
