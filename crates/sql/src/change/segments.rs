//! New rows on their way into a table, as many together as fill a segment of columns.
//!
//! Whoever inserts rows gets them in batches of any size. Gathered to segments they become columns
//! at once. That takes memory for a while: where there is no room for it, or rows are wide, batches
//! go on as they came, and their rows are rows.

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::DataType;
use remanent_engine::SEGMENT_ROWS;

use crate::context::StatementContext;
use crate::error::Result;
use crate::limits::held::Held;

/// Bytes of the rows of a segment that are gathered, at most; and at least, where they may be such
/// a part of what the budget has left.
const GATHERED_BYTES_MAX: u64 = 64 << 20;
const GATHERED_BYTES_MIN: u64 = 4 << 20;
const GATHERED_PART: u64 = 8;

/// Gathered rows are there so often for a moment: as they came, behind one another, encoded as
/// rows and as columns.
const COPIES: usize = 4;

/// Batches that are gathered.
pub(crate) struct Segments {
    batches: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    bytes_max: usize,
    held: Held,
}

impl Segments {
    /// None yet.
    pub(crate) fn new(context: &StatementContext) -> Self {
        Self {
            batches: Vec::new(),
            rows: 0,
            bytes: 0,
            bytes_max: bytes_max(context),
            held: context.database.hold("rows that become columns"),
        }
    }

    /// Adds a batch; those that are to be inserted now, in order. Those with as many rows as a
    /// segment are columns then.
    ///
    /// # Errors
    /// A fault in the batches.
    pub(crate) fn push(&mut self, batch: RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut ready = Vec::new();
        let mut from = 0;
        while from < batch.num_rows() {
            let count = (SEGMENT_ROWS - self.rows).min(batch.num_rows() - from);
            let part = batch.slice(from, count);
            from += count;
            self.bytes += bytes_of(&part);
            self.rows += count;
            self.batches.push(part);
            let is_wide = self.bytes > self.bytes_max;
            if is_wide || self.held.resize(COPIES * self.bytes).is_err() {
                ready.append(&mut self.take());
            } else if self.rows == SEGMENT_ROWS {
                let schema = batch.schema();
                ready.push(concat_batches(&schema, &self.take())?);
            }
        }
        Ok(ready)
    }

    /// The batches that are left, which fill no segment.
    pub(crate) fn take(&mut self) -> Vec<RecordBatch> {
        (self.rows, self.bytes) = (0, 0);
        std::mem::take(&mut self.batches)
    }
}

/// How many bytes of rows may be gathered now.
pub(super) fn bytes_max(context: &StatementContext) -> usize {
    let left = context.database.engine().memory_left();
    (left / GATHERED_PART).clamp(GATHERED_BYTES_MIN, GATHERED_BYTES_MAX) as usize
}

/// What the rows of a batch take, without those that it shares buffers with.
fn bytes_of(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    columns.map(|array| fixed_bytes(array.as_ref()) + viewed_bytes(array.as_ref())).sum()
}

fn fixed_bytes(array: &dyn Array) -> usize {
    // What cannot be told is taken to be all that there is.
    array.to_data().get_slice_memory_size().unwrap_or_else(|_| array.get_array_memory_size())
}

/// Text that views lead to.
fn viewed_bytes(array: &dyn Array) -> usize {
    match array.data_type() {
        DataType::Utf8View => array.as_string_view().total_buffer_bytes_used(),
        DataType::BinaryView => array.as_binary_view().total_buffer_bytes_used(),
        _ => 0,
    }
}
