//! Groups on their way out: batch by batch, of those that meet a condition.
//!
//! Several threads make batches, each of other groups; they come out in the order of the groups.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use super::having::Having;
use super::query::Query;
use super::result::{GivenPart, batch_of};
use crate::error::Result;
use crate::pipeline::flow::Columns;
use crate::scan::BATCH_ROWS;
use crate::threads::team::{Team, Worked, Worker};

/// How groups go out.
pub(crate) struct Out {
    pub(crate) query: Arc<Query>,
    /// Where the values of build sides are, if rows of them are keys.
    pub(crate) columns: Option<Columns>,
    /// Of what is said of the groups.
    pub(crate) schema: SchemaRef,
    pub(crate) having: Option<Having>,
}

/// All groups of an aggregate, which do not change any more.
struct Groups {
    out: Out,
    parts: Vec<GivenPart>,
}

/// What one thread does in giving groups out.
pub(crate) struct Giving {
    groups: Arc<Groups>,
    batches: Arc<Batches>,
    /// The number of the batch that it has made last.
    batch: usize,
}

/// Groups that make a batch, by its number.
struct Batches {
    /// The part of each, and its groups there.
    groups: Vec<(usize, Range<usize>)>,
    /// The next one that nobody has taken.
    next: AtomicUsize,
}

/// So many threads, at most, that give out groups of parts, of which no two have one in common.
pub(crate) fn giving(parts: Vec<GivenPart>, out: Out, threads: usize) -> Team<Giving> {
    let mut batches = Vec::new();
    for (at, GivenPart { part, .. }) in parts.iter().enumerate() {
        for first in (part.from..part.groups).step_by(BATCH_ROWS) {
            batches.push((at, first..part.groups.min(first + BATCH_ROWS)));
        }
    }
    let threads = threads.min(batches.len()).max(1);
    let groups = Arc::new(Groups { out, parts });
    let batches = Arc::new(Batches { groups: batches, next: AtomicUsize::new(0) });
    let worker =
        |_| Giving { groups: Arc::clone(&groups), batches: Arc::clone(&batches), batch: 0 };
    Team::new((0..threads).map(worker).collect(), true)
}

impl Worker for Giving {
    fn work(&mut self) -> Result<Worked> {
        // The number orders nothing: groups do not change.
        self.batch = self.batches.next.fetch_add(1, Ordering::Relaxed);
        let Some((part, range)) = self.batches.groups.get(self.batch) else {
            return Ok(Worked::Ended);
        };
        let Groups { out, parts } = self.groups.as_ref();
        let groups = out.batch(&parts[*part], range.clone())?;
        Ok(match groups.num_rows() {
            0 => Worked::Through,
            _ => Worked::Made(groups),
        })
    }

    fn piece(&self) -> u64 {
        self.batch as u64
    }
}

impl Out {
    /// Some groups of a part.
    ///
    /// # Errors
    /// `NUMBER_OUT_OF_RANGE`; whatever is met in evaluating the condition.
    pub(crate) fn batch(&self, part: &GivenPart, groups: Range<usize>) -> Result<RecordBatch> {
        let batch = batch_of(&self.query, part, self.columns.as_ref(), groups, &self.schema)?;
        match &self.having {
            Some(having) => having.kept(&batch),
            None => Ok(batch),
        }
    }
}
