//! Segments that a statement's scans have met and that are worth freezing: of rows that nobody
//! seems to change, and frozen ones of which many rows were changed or deleted.
//!
//! Of one with rows the statement has seen a row under each row id: none is free, and none was
//! inserted since its snapshot. Whether all other snapshots see them, too, and nobody is changing
//! one, is found out by whoever freezes it; that costs no more than looking at its rows again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::{FrozenRows, Row, SEGMENT_ROWS};

use super::freezing::Segment;
use crate::catalog::table::Table;

/// Segments at most that a statement notes.
const NOTED_MAX: usize = 4096;

/// Segments by table and number.
#[derive(Default)]
pub(crate) struct HotSegments(Mutex<Vec<Segment>>);

/// The hot rows of a table that one scan goes through, in the order of their ids.
pub(crate) struct HotRun {
    hot: Arc<HotSegments>,
    table: Arc<Table>,
    /// The segment that it is in, and how many rows of it were seen.
    number: u64,
    seen: usize,
}

impl HotSegments {
    /// Those that were noted, which are forgotten.
    pub(crate) fn take(&self) -> Vec<Segment> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, table: &Arc<Table>, number: u32) {
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |it: &Segment| it.number == number && it.table.name == table.name;
        if noted.len() < NOTED_MAX && !noted.iter().any(is_it) {
            noted.push(Segment { table: Arc::clone(table), number });
        }
    }
}

impl fmt::Debug for HotSegments {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HotSegments").finish_non_exhaustive()
    }
}

impl HotRun {
    /// Nothing yet.
    pub(crate) fn new(hot: &Arc<HotSegments>, table: &Arc<Table>) -> Self {
        Self { hot: Arc::clone(hot), table: Arc::clone(table), number: 0, seen: 0 }
    }

    /// Notes a frozen segment that was met, if it is worth freezing again.
    pub(super) fn note_frozen(&mut self, rows: &FrozenRows<'_>) {
        if rows.is_worn()
            && let Ok(number) = u32::try_from(rows.first_row() / SEGMENT_ROWS as u64)
        {
            self.hot.add(&self.table, number);
        }
    }

    /// Notes rows that were met, all of one segment.
    pub(super) fn note(&mut self, rows: &[Row<'_>]) {
        let Some(first) = rows.first() else { return };
        let number = first.id().number() / SEGMENT_ROWS as u64;
        if number != self.number {
            (self.number, self.seen) = (number, 0);
        }
        self.seen += rows.len();
        if self.seen == SEGMENT_ROWS
            && let Ok(number) = u32::try_from(number)
        {
            self.hot.add(&self.table, number);
        }
    }
}
