//! A pipeline that runs: build sides first, from the last join to the first, then the source.
//!
//! The keys of each build side are told to whatever is read after it. Where a build side without
//! rows keeps everything away, the source is not read at all.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{DataType, Schema, SchemaRef};
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_plan::metrics::{BaselineMetrics, RecordOutput};
use futures::StreamExt;

use super::flow::{Built, Columns, Flow, Prepared, Stages};
use super::piece::{BatchPiece, Piece};
use super::plan::{Expr, Join, Pipeline, Stage};
use super::relation::Collecting;
use super::told::{keys_of, tell_others, tell_pipeline};
use crate::error::{Error, Result};
use crate::scan::exec::{Current, Reading, ScanExec};
use crate::scan::scan_rows::Held;

/// A pipeline that runs.
pub(crate) struct Running {
    /// Its inputs are told keys while it runs.
    pipeline: Arc<Pipeline>,
    /// What somebody asks for.
    outputs: Vec<Expr>,
    context: Arc<TaskContext>,
    partition: usize,
    /// Those of all joins, from the last on.
    builds: Vec<Built>,
    reservations: Vec<MemoryReservation>,
    building: Option<Building>,
    source: Option<RowSource>,
    flow: Option<Flow>,
    held: Option<HeldPiece>,
    /// The next row of the piece that is held.
    at: usize,
}

/// A build side that is being read.
struct Building {
    rows: SendableRecordBatchStream,
    collecting: Collecting,
}

enum RowSource {
    Scan {
        reading: Box<Reading>,
        scanned: BaselineMetrics,
    },
    Batches(SendableRecordBatchStream),
    /// No rows are left.
    Ended,
}

enum HeldPiece {
    /// The segment that the scan holds.
    Frozen,
    Batch(BatchPiece),
}

impl Running {
    /// A pipeline that has read nothing; these are the expressions that somebody asks for.
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
            source: None,
            flow: None,
            held: None,
            at: 0,
        }
    }

    /// Reads all build sides.
    ///
    /// # Errors
    /// Whatever they meet; `OUT_OF_MEMORY`.
    pub(crate) fn poll_start(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<()>> {
        while self.flow.is_none() {
            let joins = self.pipeline.joins().count();
            let Some(at) = joins.checked_sub(self.builds.len() + 1) else {
                self.flow = Some(self.start_flow()?);
                break;
            };
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
        Poll::Ready(Ok(()))
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

    fn start_flow(&mut self) -> Result<Flow> {
        let builds: Vec<Built> = self.builds.iter().rev().cloned().collect();
        let config = self.context.session_config();
        let current = config.get_extension::<Current>();
        let current = current.ok_or_else(|| Error::internal("a pipeline without a transaction"))?;
        let cancel = &current.transaction.cancel;
        let mut flow = Flow::new(&self.pipeline, &builds, &self.outputs, cancel)?;
        let mut tables = builds.iter();
        let keeps_all_away = |stage: &Stage| match stage {
            Stage::Join(join) => {
                let is_empty = tables.next().is_some_and(|built| built.table.rows() == 0);
                is_empty && join.drops_tuples_without()
            }
            Stage::Filter(_) => false,
        };
        let stages: Vec<bool> = self.pipeline.stages.iter().map(keeps_all_away).collect();
        if let Some(last) = stages.iter().rposition(|keeps| *keeps) {
            self.source = Some(RowSource::Ended);
            flow.end(last + 1);
            self.held = Some(HeldPiece::Batch(no_row(&self.pipeline.source.schema())?));
        }
        Ok(flow)
    }

    /// The build sides, one for each join; none before all were read.
    pub(crate) fn builds(&self) -> impl Iterator<Item = &Built> {
        self.builds.iter().rev()
    }

    /// The pipeline.
    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// Where the values of build sides are, once these were read.
    pub(crate) fn columns(&self) -> Option<&Columns> {
        self.flow.as_ref().map(Flow::columns)
    }

    /// Holds the next piece, if none is held; false if there are no more.
    ///
    /// # Errors
    /// Whatever the source meets.
    pub(crate) fn poll_piece(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<bool>> {
        ready!(self.poll_start(waiting))?;
        if self.held.is_some() {
            return Poll::Ready(Ok(true));
        }
        self.at = 0;
        let source = match &mut self.source {
            Some(source) => source,
            none => none.insert(RowSource::of(&self.pipeline, self.partition, &self.context)?),
        };
        let next = match source {
            RowSource::Ended => return Poll::Ready(Ok(false)),
            RowSource::Scan { reading, .. } => match reading.batches()?.hold_next()? {
                Some(Held::Frozen) => Some(HeldPiece::Frozen),
                Some(Held::Batch(batch)) => Some(HeldPiece::Batch(BatchPiece::new(batch)?)),
                None => None,
            },
            RowSource::Batches(stream) => match ready!(stream.poll_next_unpin(waiting)) {
                Some(batch) => Some(HeldPiece::Batch(BatchPiece::new(batch?)?)),
                None => None,
            },
        };
        self.held = match (next, &mut self.flow) {
            (Some(next), _) => Some(next),
            (None, flow) => {
                self.source = Some(RowSource::Ended);
                flow.iter_mut().for_each(|flow| flow.end(0));
                Some(HeldPiece::Batch(no_row(&self.pipeline.source.schema())?))
            }
        };
        Poll::Ready(Ok(true))
    }

    /// Works on the piece that is held, which `work` says whether it is through.
    ///
    /// # Errors
    /// Those of `work`; `CANCELLED`.
    pub(crate) fn with_piece(
        &mut self,
        work: impl FnOnce(&Columns, &mut Stages<'_>, Through<'_, '_>) -> Result<bool>,
    ) -> Result<()> {
        let (Some(flow), Some(held)) = (&mut self.flow, &self.held) else { return Ok(()) };
        let (columns, mut stages) = flow.parts();
        let piece = match (held, &mut self.source) {
            (HeldPiece::Batch(batch), _) => Piece::Batch(batch),
            (HeldPiece::Frozen, Some(RowSource::Scan { reading, .. })) => {
                let held = reading.batches()?.held();
                Piece::Frozen(held.ok_or_else(|| Error::internal("a segment that is not held"))?)
            }
            (HeldPiece::Frozen, _) => return Err(Error::internal("a segment of no scan")),
        };
        let mut prepared = stages.prepared(piece)?;
        let through = Through { piece: &mut prepared, at: &mut self.at };
        if work(columns, &mut stages, through)? {
            self.held = None;
        }
        Ok(())
    }

    /// Counts rows that came out of the scan.
    pub(crate) fn note_scanned(&self, rows: usize) {
        if let Some(RowSource::Scan { scanned, .. }) = &self.source {
            rows.record_output(scanned);
        }
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

/// A piece, and the next of its rows.
pub(crate) struct Through<'t, 'p> {
    pub(crate) piece: &'t mut Prepared<'p>,
    pub(crate) at: &'t mut usize,
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

impl RowSource {
    fn of(pipeline: &Pipeline, partition: usize, context: &Arc<TaskContext>) -> PlanResult<Self> {
        Ok(match pipeline.source.downcast_ref::<ScanExec>().filter(|scan| scan.is_whole()) {
            Some(scan) => Self::Scan {
                reading: Box::new(scan.reading(partition, context)?),
                scanned: scan.counting(partition),
            },
            None => Self::Batches(pipeline.source.execute(partition, Arc::clone(context))?),
        })
    }
}

/// One row of nulls, for tuples of which no row of the source is part.
fn no_row(schema: &SchemaRef) -> Result<BatchPiece> {
    let nulls = schema.fields().iter().map(|field| new_null_array(field.data_type(), 1));
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let batch = RecordBatch::try_new_with_options(Arc::new(schema), nulls.collect(), &options)?;
    BatchPiece::new(batch)
}
