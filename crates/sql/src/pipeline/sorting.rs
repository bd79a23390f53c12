//! The operator: rows in the order of keys.
//!
//! It stands for a sort of DataFusion's. All rows are kept, with what keys are computed of them;
//! then numbers of rows are sorted (`remanent-exec`), and values are found in that order, a batch
//! at a time. Where memory is refused and there are files for rows without room, the sort that it
//! stands for takes over what has come.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet, RecordOutput,
};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::{EmptyRecordBatchStream, RecordBatchStreamAdapter};
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use remanent_exec::{Rows, SortKey, Source, sort_rows};

use super::kept_rows::KeptRows;
use super::relation::Relation;
use super::texts::without_others;
use super::told::UNCHANGED;
use super::values::{is_whole, with_memory};
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;
use crate::scan::BATCH_ROWS;

/// Fewer rows that are wanted are kept alone, and others are not sorted.
pub(super) const FETCH_MIN: usize = 10_000;

/// Bytes that sorting takes for each row, at most, beside the row itself.
const SORTING_BYTES: usize = 40;

/// The operator.
#[derive(Debug)]
pub(crate) struct SortedExec {
    input: Arc<dyn ExecutionPlan>,
    /// What it stands for.
    sort: Arc<SortExec>,
    /// The same as it runs, if memory was refused.
    spilling: Arc<OnceLock<Arc<dyn ExecutionPlan>>>,
    metrics: ExecutionPlanMetricsSet,
}

impl SortedExec {
    /// The operator for a sort of DataFusion's of all rows, by keys that are numbers or texts.
    ///
    /// # Errors
    /// A fault in an expression.
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> PlanResult<Option<Self>> {
        let Some(sort) = plan.downcast_ref::<SortExec>() else { return Ok(None) };
        let is_of_few = sort.fetch().is_some_and(|fetch| fetch < FETCH_MIN);
        if is_of_few || sort.preserve_partitioning() {
            return Ok(None);
        }
        let schema = sort.input().schema();
        for key in sort.expr() {
            if !can_be_sorted(&key.expr.data_type(&schema)?) {
                return Ok(None);
            }
        }
        Ok(Some(Self {
            input: Arc::clone(sort.input()),
            sort: Arc::new(sort.clone()),
            spilling: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }
}

/// Whether values of a type are numbers or texts.
pub(crate) fn can_be_sorted(data_type: &DataType) -> bool {
    use DataType as D;
    let is_other = matches!(data_type, D::Boolean | D::Float64 | D::Decimal128(..));
    is_other || is_whole(data_type) || matches!(data_type, D::Utf8 | D::LargeUtf8 | D::Utf8View)
}

/// Visits what rows are sorted by.
///
/// # Errors
/// Those of the visitor.
pub(super) fn apply_to_keys(
    sort: &SortExec,
    f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
) -> PlanResult<TreeNodeRecursion> {
    for key in sort.expr() {
        if f(&key.expr)? == TreeNodeRecursion::Stop {
            return Ok(TreeNodeRecursion::Stop);
        }
    }
    Ok(TreeNodeRecursion::Continue)
}

impl DisplayAs for SortedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sort: expr=[{}]", self.sort.expr())?;
        self.sort.fetch().iter().try_for_each(|fetch| write!(f, ", fetch={fetch}"))
    }
}

impl ExecutionPlan for SortedExec {
    fn name(&self) -> &str {
        "SortedExec"
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
        Ok(Arc::new(Self {
            input,
            sort: Arc::clone(&self.sort),
            spilling: Arc::default(),
            metrics: ExecutionPlanMetricsSet::new(),
        }))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> PlanResult<TreeNodeRecursion>,
    ) -> PlanResult<TreeNodeRecursion> {
        apply_to_keys(&self.sort, f)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        let mut metrics = self.metrics.clone_inner();
        let spilling = self.spilling.get().and_then(|sort| sort.metrics());
        let counts = spilling.iter().flat_map(MetricsSet::iter);
        let counts = counts.filter(|it| it.value().name().starts_with("spill"));
        counts.for_each(|count| metrics.push(Arc::clone(count)));
        Some(metrics)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let keys = SortKeys::new(&self.sort, &self.input.schema())?;
        let register = |name: &str| MemoryConsumer::new(name).register(context.memory_pool());
        let places = (0..keys.schema.fields().len()).collect();
        let rows = register("rows of a sort");
        let mut sorting = Sorting {
            kept: Some(KeptRows::new(Arc::clone(&keys.schema), places, rows)),
            input: Some(self.input.execute(partition, Arc::clone(&context))?),
            keys,
            memory: register("order of a sort"),
            context: Arc::clone(&context),
            sort: Arc::clone(&self.sort),
            spilling: Arc::clone(&self.spilling),
            partition,
            schema: self.schema(),
            sorted: Sorted::None,
        };
        let stream = futures::stream::poll_fn(move |waiting| {
            let _timer = metrics.elapsed_compute().timer();
            let batch = ready!(sorting.poll_next(waiting));
            Poll::Ready(batch.transpose().map(|batch| batch.record_output(&metrics)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }
}

/// What rows are sorted by.
struct SortKeys {
    /// Keys that are computed, whose values stand behind the columns of a row.
    computed: Vec<Arc<dyn PhysicalExpr>>,
    /// Of the rows with these.
    schema: SchemaRef,
    /// The place of each key in that, whether the greatest comes first, and whether null does.
    keys: Vec<(usize, bool, bool)>,
}

impl SortKeys {
    fn new(sort: &SortExec, input: &SchemaRef) -> PlanResult<Self> {
        let (mut computed, mut keys) = (Vec::new(), Vec::new());
        let mut fields: Vec<Arc<Field>> = input.fields().iter().cloned().collect();
        for PhysicalSortExpr { expr, options } in sort.expr() {
            let place = match expr.downcast_ref::<Column>() {
                Some(column) => column.index(),
                None => {
                    let data_type = expr.data_type(input)?;
                    fields.push(Arc::new(Field::new("key", data_type, expr.nullable(input)?)));
                    computed.push(Arc::clone(expr));
                    fields.len() - 1
                }
            };
            keys.push((place, options.descending, options.nulls_first));
        }
        Ok(Self { computed, schema: Arc::new(Schema::new(fields)), keys })
    }

    /// Rows with what is computed of them.
    fn with_computed(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let mut arrays = batch.columns().to_vec();
        for expr in &self.computed {
            arrays.push(expr.evaluate(batch)?.into_array(batch.num_rows())?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)?)
    }
}

/// A sort on its way.
struct Sorting {
    keys: SortKeys,
    /// What gives rows, until all have come.
    input: Option<SendableRecordBatchStream>,
    kept: Option<KeptRows>,
    /// Of the order.
    memory: MemoryReservation,
    context: Arc<TaskContext>,
    partition: usize,
    sort: Arc<SortExec>,
    spilling: Arc<OnceLock<Arc<dyn ExecutionPlan>>>,
    schema: SchemaRef,
    sorted: Sorted,
}

enum Sorted {
    /// Rows, and their order, of which so many have been given.
    Rows { relation: Box<Relation>, order: Vec<u32>, given: usize },
    /// By DataFusion's sort.
    Spilled(SendableRecordBatchStream),
    /// Not yet.
    None,
}

impl Sorting {
    fn poll_next(&mut self, waiting: &mut Context<'_>) -> Poll<PlanResult<Option<RecordBatch>>> {
        while let Some(input) = &mut self.input {
            match ready!(input.poll_next_unpin(waiting)) {
                Some(batch) => self.add(batch?)?,
                None => {
                    self.input = None;
                    self.all_have_come()?;
                }
            }
        }
        match &mut self.sorted {
            Sorted::Spilled(rows) => rows.poll_next_unpin(waiting).map(Option::transpose),
            Sorted::None => Poll::Ready(Ok(None)),
            Sorted::Rows { relation, order, given } => {
                let count = (order.len() - *given).min(BATCH_ROWS);
                if count == 0 {
                    self.sorted = Sorted::None;
                    return Poll::Ready(Ok(None));
                }
                Cancel::check_current()?;
                let rows = Rows::List(&order[*given..*given + count]);
                *given += count;
                let columns = 0..self.schema.fields().len();
                let arrays = columns.map(|place| relation.array(place, rows));
                let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
                let options = RecordBatchOptions::new().with_row_count(Some(count));
                let schema = Arc::clone(&self.schema);
                let batch = RecordBatch::try_new_with_options(schema, arrays, &options)?;
                Poll::Ready(Ok(Some(without_others(batch)?)))
            }
        }
    }

    /// Keeps rows.
    fn add(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let with_computed = self.keys.with_computed(&batch)?;
        match kept.add(0, &with_computed) {
            Err(refused) if self.spills(&refused) => self.spill(Some(batch)),
            kept => kept,
        }
    }

    /// Finds the order.
    fn all_have_come(&mut self) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let rows = kept.rows();
        let needed = kept.copied_bytes() + rows * SORTING_BYTES;
        if let Err(refused) = self.memory.try_resize(needed).map_err(Error::from) {
            return if self.spills(&refused) { self.spill(None) } else { Err(refused) };
        }
        self.memory.free();
        let Some(kept) = self.kept.take() else { return Ok(()) };
        let relation = Box::new(kept.finish(false)?);
        let mut keys = Vec::with_capacity(self.keys.keys.len());
        for (place, descending, nulls_first) in self.keys.keys.iter().copied() {
            let Source::Given(values) = relation.source(place) else {
                return Err(Error::internal("a key that was not kept"));
            };
            keys.push(SortKey { values, descending, nulls_first });
        }
        let stop = &mut || Cancel::check_current().is_err();
        let order = with_memory(&mut self.memory, |memory| sort_rows(&keys, rows, memory, stop));
        // Whoever was told to stop says why.
        Cancel::check_current()?;
        let mut order = order?.ok_or_else(|| Error::internal("a key that cannot be sorted"))?;
        order.truncate(self.sort.fetch().unwrap_or(usize::MAX));
        self.memory.try_resize(order.capacity() * size_of::<u32>())?;
        self.sorted = Sorted::Rows { relation, order, given: 0 };
        Ok(())
    }

    /// Whether DataFusion's sort has files for what was refused memory.
    fn spills(&self, refused: &Error) -> bool {
        let has_files = self.context.runtime_env().disk_manager.tmp_files_enabled();
        has_files && refused.state() == SqlState::OUT_OF_MEMORY
    }

    /// Gives all to DataFusion's sort: what has come, this batch, and what comes.
    fn spill(&mut self, batch: Option<RecordBatch>) -> Result<()> {
        let schema = self.sort.input().schema();
        let columns: Vec<usize> = (0..schema.fields().len()).collect();
        self.memory.free();
        let kept = self.kept.take().map(|kept| kept.batches).unwrap_or_default();
        let kept = kept.into_iter().map(move |(_, batch)| Ok(batch.project(&columns)?));
        let rest = self.input.take();
        let rest =
            rest.unwrap_or_else(|| Box::pin(EmptyRecordBatchStream::new(Arc::clone(&schema))));
        let rows = futures::stream::iter(kept).chain(futures::stream::iter(batch.map(Ok)));
        let rows = RecordBatchStreamAdapter::new(Arc::clone(&schema), rows.chain(rest));
        let rows = Mutex::new(Some(Box::pin(rows) as SendableRecordBatchStream));
        let given: Arc<dyn PartitionStream> = Arc::new(GivenRows { schema, rows });
        let schema = Arc::clone(given.schema());
        let given = StreamingTableExec::try_new(schema, vec![given], None, [], false, None)?;
        let sort = Arc::clone(&self.sort) as Arc<dyn ExecutionPlan>;
        let sort = sort.replace_children(vec![Arc::new(given)], UNCHANGED)?;
        let sorted = sort.execute(self.partition, Arc::clone(&self.context))?;
        self.sorted = Sorted::Spilled(sorted);
        // Of several runs the first one is told of.
        let _ = self.spilling.set(sort);
        Ok(())
    }
}

/// Rows that are given once, as the input of another operator.
struct GivenRows {
    schema: SchemaRef,
    rows: Mutex<Option<SendableRecordBatchStream>>,
}

impl fmt::Debug for GivenRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GivenRows")
    }
}

impl PartitionStream for GivenRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner).take();
        rows.unwrap_or_else(|| Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema))))
    }
}
