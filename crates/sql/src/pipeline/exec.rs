//! The operator: joins, filters and projections that stand on one another, in one.
//!
//! It stands for what it was made of, of which it knows the schema and the order. Whoever can take
//! tuples takes them without this operator ([`super::running`]); for others it makes batches.

use std::fmt;
use std::sync::Arc;
use std::task::{Poll, ready};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use remanent_exec::{JoinKind, Tuples};

use super::builds::BuildSides;
use super::flow::{Columns, Stages};
use super::piece::Piece;
use super::plan::{Join, Pipeline, Stage};
use super::running::{Running, Sink, Taken, Through};
use super::texts::without_others;
use super::told::tell_pipeline;
use super::values::Computed;
use crate::error::Result;
use crate::scan::BATCH_ROWS;
use crate::scan::told::Told;

/// The operator.
#[derive(Clone, Debug)]
pub(crate) struct PipelineExec {
    pipeline: Arc<Pipeline>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PipelineExec {
    /// The operator for a plan that is this pipeline.
    pub(crate) fn new(pipeline: Pipeline, plan: &Arc<dyn ExecutionPlan>) -> Self {
        let metrics = ExecutionPlanMetricsSet::new();
        Self { pipeline: Arc::new(pipeline), properties: Arc::clone(plan.properties()), metrics }
    }

    /// What it does.
    pub(crate) fn pipeline(&self) -> &Arc<Pipeline> {
        &self.pipeline
    }

    /// The operator whose inputs were told keys of a column that goes out, if it comes from there.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn told(&self, told: &Told) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        let output = &self.pipeline.outputs[told.column];
        let Some(column) = output.downcast_ref::<Column>() else { return Ok(None) };
        self.told_of_column(column.index(), told)
    }

    /// The same of a column of all relations.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn told_of_column(
        &self,
        column: usize,
        told: &Told,
    ) -> PlanResult<Option<Arc<dyn ExecutionPlan>>> {
        let stages = self.pipeline.stages.len();
        let pipeline = tell_pipeline(&self.pipeline, stages, column, told)?;
        Ok(pipeline.map(|pipeline| {
            Arc::new(Self { pipeline: Arc::new(pipeline), ..self.clone() })
                as Arc<dyn ExecutionPlan>
        }))
    }

    /// Where the rows of a partition are counted that others take by themselves.
    pub(crate) fn counting(&self, partition: usize) -> BaselineMetrics {
        BaselineMetrics::new(&self.metrics, partition)
    }

    /// The operator over another source.
    pub(super) fn over_source(&self, source: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        let builds = self.pipeline.inputs().into_iter().skip(1).map(Arc::clone);
        Arc::new(self.over(std::iter::once(source).chain(builds).collect()))
    }

    fn over(&self, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Self {
        let pipeline = Arc::new(self.pipeline.with_inputs(inputs));
        let metrics = ExecutionPlanMetricsSet::new();
        Self { pipeline, properties: Arc::clone(&self.properties), metrics }
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            JoinKind::Pairs { tuples_without, rows_without } => {
                match (tuples_without, rows_without) {
                    (false, false) => "inner",
                    (true, false) => "right",
                    (false, true) => "left",
                    (true, true) => "full",
                }
            }
            JoinKind::Tuples { with: true } => "right semi",
            JoinKind::Tuples { with: false } => "right anti",
            JoinKind::MarkedTuples => "right mark",
            JoinKind::Rows { with: true } => "left semi",
            JoinKind::Rows { with: false } => "left anti",
            JoinKind::RowsNotIn => "not in",
            JoinKind::MarkedRows => "left mark",
        };
        write!(f, "{kind} join on ")?;
        for (at, (build, probe)) in self.build_keys.iter().zip(&self.probe_keys).enumerate() {
            let and = if at > 0 { " and " } else { "" };
            write!(f, "{and}{build} = {probe}")?;
        }
        self.filter.iter().try_for_each(|filter| write!(f, " where {filter}"))
    }
}

impl DisplayAs for PipelineExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pipeline: ")?;
        for (at, stage) in self.pipeline.stages.iter().enumerate() {
            f.write_str(if at > 0 { "; " } else { "" })?;
            match stage {
                Stage::Join(join) => write!(f, "{join}")?,
                Stage::Filter(condition) => write!(f, "filter {condition}")?,
            }
        }
        let outputs = self.pipeline.outputs.iter().map(ToString::to_string);
        write!(f, "; output=[{}]", outputs.collect::<Vec<_>>().join(", "))
    }
}

impl ExecutionPlan for PipelineExec {
    fn name(&self) -> &str {
        "PipelineExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.pipeline.inputs()
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(self.over(children)))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        let of_stages = self.pipeline.stages.iter().flat_map(|stage| match stage {
            Stage::Filter(expr) => vec![expr],
            Stage::Join(join) => {
                let keys = join.build_keys.iter().chain(&join.probe_keys);
                keys.chain(&join.filter).collect()
            }
        });
        for expr in of_stages.chain(&self.pipeline.outputs) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let outputs = self.pipeline.outputs.clone();
        let mut sides = BuildSides::new(&self.pipeline, outputs, partition, context);
        let mut running: Option<Running<BatchMaker>> = None;
        let schema = self.schema();
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            let running = match &mut running {
                Some(running) => running,
                none => {
                    let ready = ready!(sides.poll_ready(waiting))?;
                    let pipeline = Arc::clone(&ready.pipeline);
                    let maker = || Ok(BatchMaker::new(&pipeline, &schema)?.for_others());
                    none.insert(Running::begin(ready, maker)?)
                }
            };
            let batch = ready!(running.poll_next(waiting));
            Poll::Ready(batch.transpose().map(|batch| batch.record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// Makes batches of tuples.
pub(crate) struct BatchMaker {
    computed: Vec<Computed>,
    schema: SchemaRef,
    /// Whether they go to operators that count what each batch shares with others.
    is_for_others: bool,
}

impl BatchMaker {
    /// One that makes a pipeline's rows.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn new(pipeline: &Pipeline, schema: &SchemaRef) -> Result<Self> {
        let outputs = pipeline.outputs.iter();
        let computed = outputs.map(|expr| Computed::new(expr, &pipeline.columns));
        let computed = computed.collect::<PlanResult<_>>()?;
        Ok(Self { computed, schema: Arc::clone(schema), is_for_others: false })
    }

    /// The same for operators that count what each batch shares with others.
    fn for_others(self) -> Self {
        Self { is_for_others: true, ..self }
    }
}

impl Sink for BatchMaker {
    const MAKES_ROWS: bool = true;

    fn take(
        &mut self,
        columns: &Columns,
        stages: &mut Stages<'_>,
        through: Through<'_, '_>,
    ) -> Result<Taken> {
        let mut gathered: Option<Tuples> = None;
        let mut is_through = false;
        while gathered.as_ref().is_none_or(|gathered| gathered.len() < BATCH_ROWS / 2) {
            let Some(tuples) = stages.next(through.piece, through.at)? else {
                is_through = true;
                break;
            };
            match &mut gathered {
                Some(gathered) => gathered.append(&tuples),
                none => *none = Some(tuples),
            }
        }
        let gathered = gathered.filter(|tuples| !tuples.is_empty());
        let made = gathered.map(|tuples| {
            let piece = through.piece.piece();
            let batch = batch_of(columns, piece, &tuples, &self.computed, &self.schema)?;
            if self.is_for_others { without_others(batch) } else { Ok(batch) }
        });
        Ok(Taken { is_through, made: made.transpose()? })
    }

    fn absorb(&mut self, _: Vec<Self>) -> Result<()> {
        Ok(())
    }
}

/// Some tuples as a batch.
fn batch_of(
    columns: &Columns,
    piece: &Piece<'_>,
    tuples: &Tuples,
    computed: &[Computed],
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let array = |column| columns.array(piece, tuples, column);
    let arrays = computed.iter().map(|computed| computed.array(tuples.len(), array));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(tuples.len()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}
