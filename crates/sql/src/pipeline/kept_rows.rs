//! Rows that are kept until the last of them has come: of a build side, or to be sorted.
//!
//! Memory is asked for before a batch is kept. In the end the batches of a column become one array,
//! column by column.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::execution::memory_pool::MemoryReservation;

use super::relation::Relation;
use super::texts::concat_texts;
use crate::error::Result;

/// Rows, of which some columns are kept.
pub(crate) struct KeptRows {
    /// Of the rows as they come.
    schema: SchemaRef,
    /// Places of the columns that are kept.
    used: Arc<[usize]>,
    /// Rows, with the number of the segment that they are of.
    pub(super) batches: Vec<(u64, RecordBatch)>,
    counter: RecordBatchMemoryCounter,
    pub(super) reservation: MemoryReservation,
}

impl KeptRows {
    /// No rows yet.
    pub(crate) fn new(
        schema: SchemaRef,
        used: Arc<[usize]>,
        reservation: MemoryReservation,
    ) -> Self {
        let counter = RecordBatchMemoryCounter::new();
        Self { schema, used, batches: Vec::new(), counter, reservation }
    }

    /// The same for another thread.
    pub(crate) fn beside(&self) -> Self {
        let (schema, used) = (Arc::clone(&self.schema), Arc::clone(&self.used));
        Self::new(schema, used, self.reservation.new_empty())
    }

    /// How many there are.
    pub(crate) fn rows(&self) -> usize {
        self.batches.iter().map(|(_, batch)| batch.num_rows()).sum()
    }

    /// Bytes that are there twice, at most, while columns become arrays.
    pub(crate) fn copied_bytes(&self) -> usize {
        let types = self.used.iter().map(|place| self.schema.field(*place).data_type());
        let width = types.map(copied_bytes).max().unwrap_or_default();
        self.rows() * width
    }

    /// Keeps rows of a segment.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn add(&mut self, segment: u64, batch: &RecordBatch) -> Result<()> {
        let kept = batch.project(&self.used)?;
        self.reservation.try_grow(self.counter.count_batch(&kept))?;
        self.batches.push((segment, kept));
        Ok(())
    }

    /// The rows; behind them one of nulls, if there is to be one.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn finish(self, with_nulls: bool) -> Result<Relation> {
        let columns = self.into_columns(with_nulls);
        columns.put_together()?;
        columns.finish()
    }

    /// The columns of the rows, to be put together; the same of the nulls.
    pub(crate) fn into_columns(self, with_nulls: bool) -> KeptColumns {
        let Self { schema, used, batches, reservation, .. } = self;
        let nulls = usize::from(with_nulls);
        let mut batches: Vec<_> =
            batches.into_iter().map(|(_, batch)| batch.columns().to_vec().into_iter()).collect();
        let columns = used.iter().map(|place| {
            let nulls = new_null_array(schema.field(*place).data_type(), nulls);
            let parts = batches.iter_mut().filter_map(Iterator::next).chain([nulls]);
            Mutex::new(parts.collect())
        });
        let parts = columns.collect();
        KeptColumns { schema, used, parts, next: AtomicUsize::new(0), reservation }
    }
}

/// Columns of kept rows, which several threads put together, each one after the other.
pub(crate) struct KeptColumns {
    schema: SchemaRef,
    used: Arc<[usize]>,
    /// The parts of each column that is used; when they have been put together, it is one.
    parts: Vec<Mutex<Vec<ArrayRef>>>,
    /// The next column that nobody has taken.
    next: AtomicUsize,
    reservation: MemoryReservation,
}

impl KeptColumns {
    /// Puts columns together that nobody else does, until none is left.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn put_together(&self) -> Result<()> {
        // The number orders nothing: the parts were there before.
        while let Some(column) = self.parts.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let mut column = column.lock().unwrap_or_else(PoisonError::into_inner);
            let parts: Vec<&dyn Array> = column.iter().map(AsRef::as_ref).collect();
            let Some(first) = parts.first() else { continue };
            let count: usize = parts.iter().map(|part| part.len()).sum();
            let copied = count * copied_bytes(first.data_type());
            self.reservation.try_grow(copied)?;
            // Each column's parts are gone when it has been copied.
            *column = vec![match first.data_type() {
                DataType::Utf8View => concat_texts(&parts)?,
                _ => concat(&parts)?,
            }];
            self.reservation.shrink(copied);
        }
        Ok(())
    }

    /// The rows, once all columns have been put together.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY`.
    pub(crate) fn finish(self) -> Result<Relation> {
        let Self { schema, used, parts, reservation, .. } = self;
        let mut columns: Vec<Option<ArrayRef>> = vec![None; schema.fields().len()];
        for (place, parts) in used.iter().zip(parts) {
            columns[*place] = parts.into_inner().unwrap_or_else(PoisonError::into_inner).pop();
        }
        let bytes = columns.iter().flatten().map(|column| column.get_array_memory_size());
        reservation.try_resize(bytes.sum())?;
        Relation::new(columns, Some(reservation))
    }
}

/// Bytes that are copied of a value: of a text its view, whose bytes stay where they are; of a list
/// a guess.
pub(super) fn copied_bytes(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(size_of::<u128>())
}
