//! Segments that have become full of rows since somebody asked for their columns (`freeze =
//! on_commit`), until they are frozen.
//!
//! Rows come into a table one after the other, so a segment is full when the next one is begun. The
//! engine counts segments that are begun, in all tables; after a commit that number is read, and
//! all tables are inspected when it has grown, once for 65,536 rows. No thread is kept for it: the
//! next commit of a session that has the setting freezes them, whoever's rows those are.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, TryLockError};

use remanent_engine::{Database, SEGMENT_ROWS};

use super::freezing::{Freeze, Pace, Segment};
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::Table;
use crate::error::Result;

/// Segments at most that wait; others wait for a query that reads them.
const WAITING_MAX: usize = 4096;

/// Of these, a commit takes so many into its hands.
const TRIES_MAX: usize = 64;

/// Nobody has asked yet.
const NEVER: u64 = u64::MAX;

/// Full segments of all tables.
pub(crate) struct FullSegments {
    /// How many segments had been begun when tables were inspected last.
    begun: AtomicU64,
    /// How many wait.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many segments of each table were full, by its number.
    full: HashMap<u32, u64>,
    waiting: VecDeque<Segment>,
}

impl Default for FullSegments {
    fn default() -> Self {
        let (begun, count) = (AtomicU64::new(NEVER), AtomicUsize::new(0));
        Self { begun, count, state: Mutex::default() }
    }
}

impl FullSegments {
    /// Segments count that become full from now on, if nobody has said so before.
    pub(crate) fn watch(&self, engine: &Database, catalog: impl FnOnce() -> Arc<Snapshot>) {
        if self.begun.load(Ordering::Relaxed) != NEVER {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if self.begun.load(Ordering::Relaxed) == NEVER {
            self.look(&mut state, engine, &catalog());
            state.waiting.clear();
            self.count.store(0, Ordering::Relaxed);
        }
    }

    /// After a commit: freezes those that wait and that somebody owns, one and as many others as
    /// there is time for. If another session is at it, nothing is done.
    pub(crate) fn freeze(
        &self,
        engine: &Database,
        catalog: &Snapshot,
        owns: impl Fn(&Table) -> bool,
        mut pace: Pace<'_>,
    ) {
        let has_grown = self.begun.load(Ordering::Relaxed) != engine.segments_begun();
        if !has_grown && self.count.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        if has_grown {
            self.look(&mut state, engine, catalog);
        }
        for _ in 0..state.waiting.len().min(TRIES_MAX) {
            let Some(segment) = state.waiting.pop_front() else { break };
            if !owns(&segment.table) {
                state.waiting.push_back(segment);
                continue;
            }
            let frozen = if pace.goes_on() { segment.freeze(engine) } else { Freeze::NotNow };
            match frozen {
                Freeze::Done => {}
                Freeze::Busy => state.waiting.push_back(segment),
                Freeze::NotNow => {
                    state.waiting.push_front(segment);
                    break;
                }
            }
        }
        self.count.store(state.waiting.len(), Ordering::Relaxed);
    }

    /// Looks which segments have become full.
    fn look(&self, state: &mut State, engine: &Database, catalog: &Snapshot) {
        let begun = engine.segments_begun();
        if state.add(engine, catalog).is_ok() {
            self.begun.store(begun, Ordering::Relaxed);
        }
    }
}

impl State {
    /// Adds segments that have become full since the last time.
    ///
    /// # Errors
    /// As a transaction that begins.
    fn add(&mut self, engine: &Database, catalog: &Snapshot) -> Result<()> {
        let reading = engine.begin_read()?;
        let mut full = HashMap::with_capacity(self.full.len());
        for table in catalog.tables.values() {
            // A table may have been dropped, or was defined by somebody else and is not seen yet.
            let Ok(rows) = reading.rows_max(&table.handle) else { continue };
            let (number, now) = (table.handle.number(), rows / SEGMENT_ROWS as u64);
            let before = self.full.get(&number).copied().unwrap_or_default();
            full.insert(number, now);
            for number in (before..now).filter_map(|number| u32::try_from(number).ok()) {
                if self.waiting.len() < WAITING_MAX {
                    self.waiting.push_back(Segment { table: Arc::clone(table), number });
                }
            }
        }
        self.full = full;
        Ok(())
    }
}
