//! A pipeline that runs, once its build sides were read: the source's rows go through its stages.
//!
//! Rows of a table go through in several threads, if it is large: each has stages of its own, over
//! the same build sides, and takes what comes out of them. What the stages of all threads have
//! found of the build sides is put together in the end. Where a build side without rows keeps
//! everything away, the source is not read at all.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, RecordOutput};
use futures::StreamExt;

use super::builds::ReadyPipeline;
use super::flow::{Columns, Flow, Prepared, Stages};
use super::piece::{BatchPiece, Piece};
use super::plan::{Expr, Pipeline, Stage};
use crate::error::{Error, Result};
use crate::scan::exec::ScanExec;
use crate::scan::scan_rows::{Batches, Held, PieceNumber};
use crate::scan::shares::Sharing;
use crate::threads::team::{Team, Worked, Worker};
use crate::transaction::scope::Current;

/// What takes the tuples that come out of a pipeline, of those that one thread makes.
pub(crate) trait Sink: Send + Sized {
    /// Takes tuples of a piece.
    ///
    /// # Errors
    /// Whatever is met in evaluating expressions; `CANCELLED`.
    fn take(
        &mut self,
        columns: &Columns,
        stages: &mut Stages<'_>,
        through: Through<'_, '_>,
    ) -> Result<Taken>;

    /// Takes over what others have taken.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    fn absorb(&mut self, others: Vec<Self>) -> Result<()>;

    /// Whether it makes rows of what it takes at once.
    const MAKES_ROWS: bool;
}

/// What a sink has done.
pub(crate) struct Taken {
    /// Whether the piece is through.
    pub(crate) is_through: bool,
    /// Rows that it has made.
    pub(crate) made: Option<RecordBatch>,
}

/// A piece, and the next of its rows.
pub(crate) struct Through<'t, 'p> {
    pub(crate) piece: &'t mut Prepared<'p>,
    pub(crate) at: &'t mut usize,
    /// Where it lies.
    pub(crate) place: PieceNumber,
}

/// A pipeline that runs.
pub(crate) struct Running<S> {
    ready: ReadyPipeline,
    source: RowSource<S>,
    threads: usize,
}

enum RowSource<S> {
    Scan(Team<Lane<S>>),
    Batches(SendableRecordBatchStream, Lane<S>),
    /// No rows of it are left: those of build sides come.
    Ended(Lane<S>),
    /// While it becomes another one.
    None,
}

/// What one thread does of a pipeline.
struct Lane<S> {
    flow: Flow,
    sink: S,
    /// Where its pieces come from, if that is a scan.
    reader: Option<Batches>,
    held: Option<HeldPiece>,
    /// The next row of the piece that is held.
    at: usize,
    /// Whether what is held stands behind all pieces of the source.
    has_ended: bool,
    scanned: Option<BaselineMetrics>,
}

enum HeldPiece {
    /// The segment that the reader holds.
    Frozen,
    Batch(BatchPiece),
}

impl<S: Sink> Running<S> {
    /// Begins; each thread gets a sink of its own.
    ///
    /// # Errors
    /// Whatever is met before the first row of the source.
    pub(crate) fn begin(
        ready: ReadyPipeline,
        mut sink: impl FnMut() -> Result<S>,
    ) -> PlanResult<Self> {
        let pipeline = &ready.pipeline;
        let mut lane = |reader, scanned| {
            let flow = flow_of(&ready)?;
            Ok::<_, Error>(Lane {
                flow,
                sink: sink()?,
                reader,
                held: None,
                at: 0,
                has_ended: false,
                scanned,
            })
        };
        if let Some(first) = first_stage(&ready) {
            let source = RowSource::Ended(lane(None, None)?.ended(first, pipeline)?);
            return Ok(Self { ready, source, threads: 1 });
        }
        let (partition, context) = (ready.partition, &ready.context);
        let mut threads = 1;
        let scan = pipeline.source.downcast_ref::<ScanExec>().filter(|scan| scan.is_whole());
        let source = match scan {
            Some(scan) => {
                let reading = scan.reading(partition, context)?;
                let readers = reading.begin(match is_volatile(pipeline, &ready.outputs)? {
                    true => Sharing::Alone,
                    false if S::MAKES_ROWS => Sharing::ByTurns,
                    false => Sharing::ByStretches,
                })?;
                threads = readers.len();
                let lanes = readers.into_iter();
                let lanes = lanes.map(|reader| lane(Some(reader), Some(scan.counting(partition))));
                RowSource::Scan(Team::new(lanes.collect::<Result<_>>()?, S::MAKES_ROWS))
            }
            None => {
                let rows = pipeline.source.execute(partition, Arc::clone(context))?;
                RowSource::Batches(rows, lane(None, None)?)
            }
        };
        Ok(Self { ready, source, threads })
    }

    /// The next rows that a sink makes; `None` when all tuples have been taken.
    ///
    /// # Errors
    /// Whatever is met in reading the source, and by sinks.
    pub(crate) fn poll_next(
        &mut self,
        waiting: &mut Context<'_>,
    ) -> Poll<PlanResult<Option<RecordBatch>>> {
        loop {
            match &mut self.source {
                RowSource::Scan(team) => {
                    if let Some(batch) = ready!(team.poll_next(waiting))? {
                        return Poll::Ready(Ok(Some(batch)));
                    }
                }
                RowSource::Batches(stream, lane) => {
                    if lane.held.is_none() {
                        match ready!(stream.poll_next_unpin(waiting)) {
                            Some(batch) => lane.hold(HeldPiece::Batch(BatchPiece::new(batch?)?)),
                            None => {
                                self.end()?;
                                continue;
                            }
                        }
                    }
                    match lane.take()? {
                        Some(batch) => return Poll::Ready(Ok(Some(batch))),
                        None => continue,
                    }
                }
                RowSource::Ended(lane) => {
                    while lane.held.is_some() {
                        if let Some(batch) = lane.take()? {
                            return Poll::Ready(Ok(Some(batch)));
                        }
                    }
                    return Poll::Ready(Ok(None));
                }
                RowSource::None => return Poll::Ready(Ok(None)),
            }
            self.end()?;
        }
    }

    /// The source has come to its end: puts together what all threads have found.
    fn end(&mut self) -> Result<()> {
        let lanes = match std::mem::replace(&mut self.source, RowSource::None) {
            RowSource::Scan(team) => team.into_workers(),
            RowSource::Batches(_, lane) | RowSource::Ended(lane) => vec![lane],
            RowSource::None => Vec::new(),
        };
        let mut lanes = lanes.into_iter();
        let first = lanes.next().ok_or_else(|| Error::internal("a pipeline of no thread"))?;
        let mut first = first;
        let mut sinks = Vec::new();
        for lane in lanes {
            first.flow.absorb(&lane.flow);
            sinks.push(lane.sink);
        }
        first.sink.absorb(sinks)?;
        self.source = RowSource::Ended(first.ended(0, &self.ready.pipeline)?);
        Ok(())
    }
}

impl<S> Running<S> {
    /// The only sink that is left, when all tuples have been taken, and where the values of build
    /// sides are.
    ///
    /// # Errors
    /// It is asked for too early.
    pub(crate) fn into_sink(self) -> Result<(S, Columns)> {
        match self.source {
            RowSource::Ended(lane) => Ok((lane.sink, lane.flow.into_columns())),
            _ => Err(Error::internal("a pipeline that has not ended")),
        }
    }

    /// How many threads have taken tuples.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }
}

impl<S: Sink> Lane<S> {
    fn hold(&mut self, piece: HeldPiece) {
        (self.held, self.at) = (Some(piece), 0);
    }

    /// The lane when the source has come to its end; rows of build sides come from this stage on.
    fn ended(mut self, first: usize, pipeline: &Pipeline) -> Result<Self> {
        self.flow.end(first);
        self.has_ended = true;
        self.hold(HeldPiece::Batch(no_row(&pipeline.source.schema())?));
        Ok(self)
    }

    /// Lets the sink take tuples of the piece that is held.
    fn take(&mut self) -> Result<Option<RecordBatch>> {
        let place = match (&self.reader, self.has_ended) {
            (_, true) => PieceNumber::END,
            (Some(reader), false) => reader.place(),
            (None, false) => PieceNumber::default(),
        };
        let piece = match (&self.held, &mut self.reader) {
            (Some(HeldPiece::Batch(batch)), _) => Piece::Batch(batch),
            (Some(HeldPiece::Frozen), Some(reader)) => {
                let held = reader.held();
                Piece::Frozen(held.ok_or_else(|| Error::internal("a segment that is not held"))?)
            }
            (Some(HeldPiece::Frozen), None) => {
                return Err(Error::internal("a segment of no scan"));
            }
            (None, _) => return Ok(None),
        };
        let (columns, mut stages) = self.flow.parts();
        let mut prepared = stages.prepared(piece)?;
        let through = Through { piece: &mut prepared, at: &mut self.at, place };
        let Taken { is_through, made } = self.sink.take(columns, &mut stages, through)?;
        let scanned = stages.take_scanned();
        if let Some(metrics) = &self.scanned {
            scanned.record_output(metrics);
        }
        if is_through {
            self.held = None;
        }
        Ok(made)
    }
}

impl<S: Sink> Worker for Lane<S> {
    fn work(&mut self) -> Result<Worked> {
        if self.held.is_none() {
            let reader = self.reader.as_mut();
            let reader = reader.ok_or_else(|| Error::internal("a thread that reads nothing"))?;
            let piece = match reader.hold_next()? {
                None => return Ok(Worked::Ended),
                Some(Held::Nothing) => return Ok(Worked::Through),
                Some(Held::Frozen) => HeldPiece::Frozen,
                Some(Held::Batch(batch)) => HeldPiece::Batch(BatchPiece::new(batch)?),
            };
            self.hold(piece);
        }
        Ok(self.take()?.map_or(Worked::GoesOn, Worked::Made))
    }

    fn piece(&self) -> u64 {
        self.reader.as_ref().map_or(0, |reader| reader.place().segment)
    }
}

fn flow_of(ready: &ReadyPipeline) -> Result<Flow> {
    let current = Current::of(&ready.context)?;
    Flow::new(&ready.pipeline, &ready.builds, &ready.outputs, &current.transaction.cancel)
}

/// The stage from which rows come, if a build side without rows keeps away what comes before it.
fn first_stage(ready: &ReadyPipeline) -> Option<usize> {
    let mut builds = ready.builds.iter();
    let keeps_all_away = |stage: &Stage| match stage {
        Stage::Join(join) => {
            let is_empty = builds.next().is_some_and(|built| built.table.rows() == 0);
            is_empty && join.drops_tuples_without()
        }
        Stage::Filter(_) => false,
    };
    let stages: Vec<bool> = ready.pipeline.stages.iter().map(keeps_all_away).collect();
    stages.iter().rposition(|keeps| *keeps).map(|last| last + 1)
}

/// Whether a function in it answers otherwise each time: its calls come one after the other.
fn is_volatile(pipeline: &Pipeline, outputs: &[Expr]) -> PlanResult<bool> {
    let of_stages = pipeline.stages.iter().flat_map(|stage| match stage {
        Stage::Filter(expr) => vec![expr],
        Stage::Join(join) => join.probe_keys.iter().chain(&join.filter).collect(),
    });
    are_volatile(of_stages.chain(outputs))
}

/// Whether a function in some expressions answers otherwise each time.
pub(crate) fn are_volatile<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> PlanResult<bool> {
    let mut found = false;
    for expr in exprs {
        expr.apply(|part| {
            found |= part.is_volatile_node();
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
    }
    Ok(found)
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
