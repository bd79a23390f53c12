//! Rows that are kept until the last of them has come: of a build side, or to be sorted.
//!
//! Memory is asked for before a batch is kept. In the end the batches of a column become one array,
//! column by column.

use std::sync::Arc;

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
        let Self { schema, used, batches, reservation, .. } = self;
        let batches = batches.into_iter().map(|(_, batch)| batch.columns().to_vec().into_iter());
        let mut batches: Vec<_> = batches.collect();
        let mut columns: Vec<Option<ArrayRef>> = vec![None; schema.fields().len()];
        for place in used.iter() {
            let data_type = schema.field(*place).data_type();
            let nulls = new_null_array(data_type, usize::from(with_nulls));
            // Each column's parts are gone when it has been copied.
            let parts = batches.iter_mut().filter_map(Iterator::next).chain([nulls]);
            let parts: Vec<ArrayRef> = parts.collect();
            let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
            let count: usize = parts.iter().map(|part| part.len()).sum();
            let copied = count * copied_bytes(data_type);
            reservation.try_grow(copied)?;
            columns[*place] = Some(match data_type {
                DataType::Utf8View => concat_texts(&parts)?,
                _ => concat(&parts)?,
            });
            reservation.shrink(copied);
        }
        drop(batches);
        let bytes = columns.iter().flatten().map(|column| column.get_array_memory_size());
        reservation.try_resize(bytes.sum())?;
        Relation::new(columns, Some(reservation))
    }
}

/// Bytes that are copied of a value: of a text its view, whose bytes stay where they are; of a list
/// a guess.
fn copied_bytes(data_type: &DataType) -> usize {
    data_type.primitive_width().unwrap_or(size_of::<u128>())
}
