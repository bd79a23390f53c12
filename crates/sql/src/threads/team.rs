//! Several threads that work on one query, piece by piece of a table.
//!
//! They work in rounds: in each poll of a stream they are begun, go on for a while, and have ended
//! when the poll returns. So nothing of a query runs while nobody asks for it, and it can be
//! dropped at any time. Rows come out in the order of the pieces, whichever thread made them.

use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread::{self, Builder, Scope as Threads, ScopedJoinHandle};
use std::time::{Duration, Instant};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::utils::memory::get_record_batch_memory_size;

use super::spare::Spare;
use crate::error::Result;
use crate::limits::heap::CountingAllocator;
use crate::stack::with_room;
use crate::transaction::scope::Scope;

/// How long a round takes, about: so often others may look whether to stop. Some threads wait at
/// its end for the last one's piece.
const ROUND_TIME: Duration = Duration::from_millis(20);

/// Bytes of rows that all threads of a query together make in a round, about.
const ROUND_BYTES: usize = 16 << 20;

/// What one thread does of a query.
pub(crate) trait Worker: Send {
    /// Goes on with the piece that it is in, or begins the next.
    ///
    /// # Errors
    /// Whatever is met in reading.
    fn work(&mut self) -> Result<Worked>;

    /// The number of the piece that it is in: one that is begun later has a higher one.
    fn piece(&self) -> u64;
}

/// What a worker has done.
pub(crate) enum Worked {
    /// Rows have come out of the piece.
    Made(RecordBatch),
    /// None have come out, but there is more of the piece.
    GoesOn,
    /// The piece is through.
    Through,
    /// There was none to begin.
    Ended,
}

/// Threads that work on one query.
pub(crate) struct Team<W> {
    members: Vec<Member<W>>,
    /// Whether some rows have been made, or none are given out.
    has_begun: bool,
}

struct Member<W> {
    worker: W,
    /// Rows that have not been given out, each with the number of its piece.
    made: VecDeque<(u64, RecordBatch)>,
    bytes: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Between two pieces.
    Between,
    Within,
    Ended,
}

impl<W: Worker> Team<W> {
    /// Workers, of which there is at least one.
    ///
    /// What makes rows begins with one thread: whoever wants a few is not to wait for many.
    pub(crate) fn new(workers: Vec<W>, makes_rows: bool) -> Self {
        let members = workers.into_iter().map(|worker| Member {
            worker,
            made: VecDeque::new(),
            bytes: 0,
            state: State::Between,
        });
        Self { members: members.collect(), has_begun: !makes_rows }
    }

    /// The next rows; `None` after the last. After a round without any, others may go on.
    ///
    /// # Errors
    /// Whatever a worker meets.
    pub(crate) fn poll_next(
        &mut self,
        waiting: &mut Context<'_>,
    ) -> Poll<Result<Option<RecordBatch>>> {
        let mut has_worked = false;
        loop {
            let next = self.members.iter_mut().min_by_key(|member| member.next_piece());
            if let Some(next) = next
                && let Some((_, batch)) = next.made.pop_front()
            {
                next.bytes -= get_record_batch_memory_size(&batch).min(next.bytes);
                return Poll::Ready(Ok(Some(batch)));
            }
            if std::mem::replace(&mut has_worked, true) {
                waiting.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !self.round()? && self.members.iter().all(|member| member.made.is_empty()) {
                return Poll::Ready(Ok(None));
            }
        }
    }

    /// Works for a round; whether there is more to do. Whoever wants no rows calls this alone.
    ///
    /// # Errors
    /// Whatever a worker meets.
    pub(crate) fn round(&mut self) -> Result<bool> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let (threads, bytes_max) = match self.members.len() {
            // Of one thread each batch is taken while it is in the cache.
            _ if is_first => (1, 1),
            1 => (1, 1),
            threads => (threads, ROUND_BYTES / threads),
        };
        let mut ready: Vec<&mut Member<W>> =
            self.members.iter_mut().filter(|member| member.can_work(bytes_max)).collect();
        // The one whose rows are waited for works in any case: by this thread.
        ready.sort_by_key(|member| member.next_piece());
        let mut ready = ready.into_iter();
        let Some(first) = ready.next() else { return Ok(false) };
        let spare = Spare::take(ready.len().min(threads - 1), threads);
        let others: Vec<_> = ready.take(spare.threads()).collect();
        let scope = Scope::current();
        thread::scope(|threads| {
            // Without a thread, a member goes on when others have ended.
            let others = others.into_iter();
            let begun = others.filter_map(|member| {
                spawn(threads, scope.as_ref(), move || member.round(bytes_max))
            });
            let begun: Vec<_> = begun.collect();
            let mut done = first.round(bytes_max);
            for thread in begun {
                let other = thread.join().unwrap_or_else(|fault| resume_unwind(fault));
                done = done.and(other);
            }
            done
        })?;
        Ok(self.members.iter().any(|member| member.state != State::Ended))
    }

    /// The workers, of which the first is the one that there would be alone.
    pub(crate) fn into_workers(self) -> Vec<W> {
        self.members.into_iter().map(|member| member.worker).collect()
    }
}

/// Begins a thread that does a part of a query, if there can be one.
pub(super) fn spawn<'t, T: Send + 't>(
    threads: &'t Threads<'t, '_>,
    scope: Option<&'t Arc<Scope>>,
    work: impl FnOnce() -> T + Send + 't,
) -> Option<ScopedJoinHandle<'t, T>> {
    let work = move || {
        let _entered = scope.map(Scope::enter);
        let levels = scope.map_or(0, |scope| scope.levels);
        let done = with_room(levels, work);
        CountingAllocator::<()>::thread_ends();
        done
    };
    Builder::new().name("remanent query".to_owned()).spawn_scoped(threads, work).ok()
}

impl<W: Worker> Member<W> {
    /// The lowest number of a piece of which it has rows, or may make some; those of pieces that
    /// nobody has begun are higher.
    fn next_piece(&self) -> u64 {
        match (self.made.front(), self.state) {
            (Some((piece, _)), _) => *piece,
            (None, State::Within) => self.worker.piece(),
            (None, State::Between | State::Ended) => u64::MAX,
        }
    }

    fn can_work(&self, bytes_max: usize) -> bool {
        self.state != State::Ended && self.bytes < bytes_max
    }

    fn round(&mut self, bytes_max: usize) -> Result<()> {
        let begun = Instant::now();
        while self.can_work(bytes_max) && begun.elapsed() < ROUND_TIME {
            self.state = match self.worker.work()? {
                Worked::Made(batch) => {
                    self.bytes += get_record_batch_memory_size(&batch);
                    self.made.push_back((self.worker.piece(), batch));
                    State::Within
                }
                Worked::GoesOn => State::Within,
                Worked::Through => State::Between,
                Worked::Ended => State::Ended,
            };
        }
        Ok(())
    }
}
