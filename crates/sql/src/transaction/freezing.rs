//! Making columns of segments in the time that somebody has for it.
//!
//! Nothing of it is ever an error: what is refused for memory, or because somebody else is at it,
//! stays as it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::{Database, ErrorKind};

use crate::catalog::table::Table;
use crate::limits::cancel::Cancel;

/// A segment of a table's rows.
#[derive(Clone)]
pub(crate) struct Segment {
    pub(crate) table: Arc<Table>,
    pub(crate) number: u32,
}

/// What became of one that was to be frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Freeze {
    /// There is nothing more to be done.
    Done,
    /// Somebody changes a row in it, or does not see one.
    Busy,
    /// Somebody else freezes or defines something, or there is no memory.
    NotNow,
}

impl Segment {
    /// Makes columns of it if that can be done now.
    pub(crate) fn freeze(&self, engine: &Database) -> Freeze {
        let mut is_asked = false;
        let asked = || {
            is_asked = true;
            true
        };
        let report = engine.freeze_segments(&self.table.handle, &[self.number], asked);
        match report {
            Ok(report) if report.skipped > 0 => Freeze::Busy,
            Ok(_) if is_asked => Freeze::Done,
            Err(error) if error.kind() == ErrorKind::UnknownTable => Freeze::Done,
            Ok(_) | Err(_) => Freeze::NotNow,
        }
    }
}

/// Something is done once, and again as long as all of it takes no longer than a given time.
pub(crate) struct Pace<'c> {
    cancel: &'c Cancel,
    time: Duration,
    begun: Instant,
    last: Option<Instant>,
    longest: Duration,
}

impl<'c> Pace<'c> {
    /// Begins now, and ends early when somebody says so.
    pub(crate) fn within(time: Duration, cancel: &'c Cancel) -> Self {
        Self { cancel, time, begun: Instant::now(), last: None, longest: Duration::ZERO }
    }

    /// Whether it is done once more.
    pub(crate) fn goes_on(&mut self) -> bool {
        let now = Instant::now();
        let before = self.last.replace(now);
        self.longest = before.map_or(self.longest, |before| self.longest.max(now - before));
        let fits = before.is_none() || now - self.begun + self.longest <= self.time;
        fits && self.cancel.check().is_ok()
    }
}
