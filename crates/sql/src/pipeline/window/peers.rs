//! Where partitions begin, and rows that no order tells from one another, in sorted rows.
//!
//! Rows come batch by batch: the first ones of a batch may be peers of the last ones before it.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{concat, partition};
use datafusion::physical_expr::PhysicalExpr;

use crate::error::Result;

/// What rows are sorted by, and the last row so far.
pub(super) struct Sorted {
    /// Those of the partition, then those of the order.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    /// How many of them are those of the partition.
    partition_keys: usize,
    /// The keys of the last row.
    last: Option<Vec<ArrayRef>>,
}

/// The peers in a batch.
pub(super) struct Peers {
    /// The rows of each group of them, and whether it is the first one of a partition.
    pub(super) groups: Vec<(Range<usize>, bool)>,
    /// Whether the first ones are peers of the last ones of the batch before.
    pub(super) go_on: bool,
}

impl Sorted {
    /// No rows yet; there is at least one key.
    pub(super) fn new(keys: Vec<Arc<dyn PhysicalExpr>>, partition_keys: usize) -> Self {
        Self { keys, partition_keys, last: None }
    }

    /// The peers in the next rows, of which there is at least one.
    ///
    /// # Errors
    /// Whatever is met in evaluating keys.
    pub(super) fn next(&mut self, batch: &RecordBatch) -> Result<Peers> {
        let rows = batch.num_rows();
        let keys = self.keys.iter().map(|key| Ok(key.evaluate(batch)?.into_array(rows)?));
        let keys = keys.collect::<Result<Vec<ArrayRef>>>()?;
        let of_partition = &keys[..self.partition_keys];
        let go_on = match &self.last {
            Some(last) => [are_equal(last, &keys)?, are_equal(last, of_partition)?],
            None => [false; 2],
        };
        let begins = match of_partition {
            [] => Vec::new(),
            keys => partition(keys)?.ranges().iter().map(|range| range.start).collect(),
        };
        let mut begins = begins.into_iter().skip_while(|row| *row == 0).peekable();
        let groups = partition(&keys)?.ranges().into_iter().map(|range| {
            let is_first = match range.start {
                0 => !go_on[1],
                row => begins.next_if_eq(&row).is_some(),
            };
            (range, is_first)
        });
        let peers = Peers { groups: groups.collect(), go_on: go_on[0] };
        self.last = Some(keys.iter().map(|key| key.slice(rows - 1, 1)).collect());
        Ok(peers)
    }
}

/// Whether keys of a row are those of the first one of others; there may be none of these.
fn are_equal(row: &[ArrayRef], others: &[ArrayRef]) -> Result<bool> {
    for (key, other) in row.iter().zip(others) {
        let both = concat(&[key.as_ref(), &other.slice(0, 1)])?;
        if partition(&[both])?.len() > 1 {
            return Ok(false);
        }
    }
    Ok(true)
}
