//! Keys of the build side of a hash join, as bits for the scans of its other side.
//!
//! The numbers of each key column are collected while the rows of the build side are on their way
//! into the join's hash table. After the last row they become a bit for each number between the
//! least and the greatest, column by column; so a join on several columns tells scans something,
//! too. The join compares whole keys as ever. (Semi-join reduction by bitmaps: Graefe, Query
//! Evaluation Techniques for Large Databases, ACM Computing Surveys 1993.)

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Poll, ready};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{self as dt, ArrowPrimitiveType, DataType};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::error::Result as PlanResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;
use remanent_exec::KeySet;

/// Keys of the build side of one join.
#[derive(Debug)]
pub(crate) struct BuildKeys {
    /// Which runtime filter says the same.
    filter: u64,
    /// For each pair of keys the place of the build side's column, if its numbers are collected.
    columns: Vec<Option<usize>>,
    found: Mutex<Option<Found>>,
}

/// What was found.
#[derive(Debug)]
struct Found {
    /// For each pair of keys the numbers, if there are not too many, nor too far apart.
    sets: Vec<Option<Arc<KeySet>>>,
    /// Memory that they take.
    _reservation: MemoryReservation,
}

impl BuildKeys {
    pub(crate) fn new(filter: u64, columns: Vec<Option<usize>>) -> Self {
        Self { filter, columns, found: Mutex::default() }
    }

    /// Whether a column of this type has numbers that are collected.
    pub(crate) fn can_be(data_type: &DataType) -> bool {
        use DataType as D;
        matches!(data_type, D::Int16 | D::Int32 | D::Int64 | D::Date32)
    }

    /// The number of the runtime filter that is about the same keys.
    pub(crate) fn filter(&self) -> u64 {
        self.filter
    }

    /// For each pair of keys the numbers, if they are known; `None` before the last row has passed.
    pub(crate) fn sets(&self) -> Option<Vec<Option<Arc<KeySet>>>> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.as_ref().map(|found| found.sets.clone())
    }

    fn set(&self, found: Option<Found>) {
        *self.found.lock().unwrap_or_else(PoisonError::into_inner) = found;
    }

    /// The rows of a build side, whose keys are collected as they pass.
    ///
    /// # Errors
    /// As the input.
    pub(crate) fn collect(
        self: &Arc<Self>,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> PlanResult<SendableRecordBatchStream> {
        // The plan may have run before.
        self.set(None);
        let reservation = MemoryConsumer::new("keys of a join").register(context.memory_pool());
        let mut stream = input.execute(partition, context)?;
        let numbers = self.columns.iter().map(|column| column.map(|_| Vec::new())).collect();
        let mut collecting = Some(Collecting { keys: Arc::clone(self), numbers, reservation });
        let schema = stream.schema();
        let collected = futures::stream::poll_fn(move |context| {
            let polled = ready!(stream.poll_next_unpin(context));
            match &polled {
                Some(Ok(batch)) => {
                    collecting.iter_mut().for_each(|collecting| collecting.add(batch));
                }
                Some(Err(_)) => collecting = None,
                None => collecting.take().into_iter().for_each(Collecting::finish),
            }
            Poll::Ready(polled)
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, collected)))
    }
}

impl fmt::Display for BuildKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BuildKeys")
    }
}

/// Numbers that are being collected.
struct Collecting {
    keys: Arc<BuildKeys>,
    /// For each pair of keys those that have come, as long as there is memory for them.
    numbers: Vec<Option<Vec<i64>>>,
    reservation: MemoryReservation,
}

impl Collecting {
    fn add(&mut self, batch: &RecordBatch) {
        let bytes = batch.num_rows() * size_of::<i64>();
        for (numbers, column) in self.numbers.iter_mut().zip(&self.keys.columns) {
            let (Some(to), Some(column)) = (numbers.as_mut(), column) else { continue };
            let is_full = self.reservation.try_grow(bytes).is_err();
            if is_full || !append(batch.column(*column), to) {
                // The join runs as well without them, only longer: what they took is for it.
                self.numbers.clear();
                self.reservation.free();
                return;
            }
        }
    }

    fn finish(self) {
        let sets = self.numbers.iter().map(|numbers| {
            let set = KeySet::of_numbers(numbers.as_ref()?)?;
            Some(Arc::new(set))
        });
        let sets: Vec<_> = sets.collect();
        drop(self.numbers);
        if sets.iter().all(Option::is_none) {
            return;
        }
        let bytes = sets.iter().flatten().map(|set| set.bytes()).sum();
        let reservation = self.reservation;
        if reservation.try_resize(bytes).is_ok() {
            self.keys.set(Some(Found { sets, _reservation: reservation }));
        }
    }
}

/// Appends the numbers of a column; false for other types.
fn append(column: &ArrayRef, to: &mut Vec<i64>) -> bool {
    match column.data_type() {
        DataType::Int16 => append_all(column.as_primitive::<dt::Int16Type>(), to),
        DataType::Int32 => append_all(column.as_primitive::<dt::Int32Type>(), to),
        DataType::Int64 => append_all(column.as_primitive::<dt::Int64Type>(), to),
        DataType::Date32 => append_all(column.as_primitive::<dt::Date32Type>(), to),
        _ => return false,
    }
    true
}

fn append_all<T>(column: &PrimitiveArray<T>, to: &mut Vec<i64>)
where
    T: ArrowPrimitiveType<Native: Into<i64>>,
{
    match column.null_count() {
        0 => to.extend(column.values().iter().map(|number| (*number).into())),
        // Nothing is equal to NULL.
        _ => to.extend(column.iter().flatten().map(Into::into)),
    }
}
