//! Rows of a part of a plan that stands in it several times, and is run once.
//!
//! Whoever reads it first has each batch made, and it is kept for the others until the query has
//! ended. What always holds: all read the same batches in the same order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::error::Result as PlanResult;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::memory_pool::MemoryReservation;
use futures::StreamExt;

use crate::error::Error;

/// Those of one run of a query, by the number of the part.
#[derive(Default)]
pub(crate) struct SharedParts {
    parts: Mutex<HashMap<usize, Arc<SharedRows>>>,
}

/// The rows of one part.
pub(crate) struct SharedRows {
    state: Mutex<State>,
}

struct State {
    source: Source,
    /// Those that were made.
    batches: Vec<RecordBatch>,
    /// Their memory.
    reservation: MemoryReservation,
}

/// Where further batches come from.
enum Source {
    Stream(SendableRecordBatchStream),
    Ended,
    /// Somebody was told why.
    Failed,
}

impl SharedParts {
    /// The rows of a part, which `start` begins if nobody has.
    ///
    /// # Errors
    /// Those of `start`.
    pub(crate) fn rows(
        &self,
        part: usize,
        start: impl FnOnce() -> PlanResult<(SendableRecordBatchStream, MemoryReservation)>,
    ) -> PlanResult<Arc<SharedRows>> {
        Ok(match locked(&self.parts).entry(part) {
            Entry::Occupied(begun) => Arc::clone(begun.get()),
            Entry::Vacant(none) => {
                let (stream, reservation) = start()?;
                let source = Source::Stream(stream);
                let state = Mutex::new(State { source, batches: Vec::new(), reservation });
                Arc::clone(none.insert(Arc::new(SharedRows { state })))
            }
        })
    }
}

impl SharedRows {
    /// The batch of this place, counted from 0; none behind the last. A reader asks for one after
    /// the other.
    pub(crate) fn poll_batch(
        &self,
        place: usize,
        waiting: &mut Context<'_>,
    ) -> Poll<Option<PlanResult<RecordBatch>>> {
        let mut state = locked(&self.state);
        let State { source, batches, reservation } = &mut *state;
        if let Some(batch) = batches.get(place) {
            return Poll::Ready(Some(Ok(batch.clone())));
        }
        let stream = match source {
            Source::Stream(stream) => stream,
            Source::Ended => return Poll::Ready(None),
            Source::Failed => {
                let failed = Error::internal("a part of the query has failed for another reader");
                return Poll::Ready(Some(Err(failed.into())));
            }
        };
        let made = match ready!(stream.poll_next_unpin(waiting)) {
            Some(Ok(batch)) => {
                let grown = reservation.try_grow(get_record_batch_memory_size(&batch));
                grown.map(|()| batches.push(batch.clone())).map(|()| Some(batch))
            }
            Some(Err(error)) => Err(error),
            None => Ok(None),
        };
        match &made {
            Ok(Some(_)) => {}
            Ok(None) => *source = Source::Ended,
            Err(_) => *source = Source::Failed,
        }
        Poll::Ready(made.transpose())
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
