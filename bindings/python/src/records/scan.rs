//! Many records, one after the other: of one snapshot, whatever is written meanwhile.
//!
//! Rows are read some at a time. Within the transaction no value is made that would run Python's
//! code, which could use this very connection.

use std::collections::VecDeque;
use std::sync::Arc;

use pyo3::prelude::*;
use remanent_engine::{KeyBound, OwnedCursor, OwnedTransaction, Row, RowId};

use super::field::Read;
use super::object::RecordClass;
use super::plan::{Given, Key, Plan};
use crate::error::of_engine;
use crate::forked::Opened;

/// So many rows are read at once.
const AHEAD: usize = 128;

/// An iterator over records.
#[pyclass(frozen, generic, module = "remanent")]
pub(crate) struct Scan {
    state: Opened<State>,
    plan: Arc<Plan>,
    class: Arc<RecordClass>,
}

struct State {
    way: Way,
    ready: VecDeque<Vec<Read>>,
}

enum Way {
    /// In the order of the rows.
    Rows(OwnedTransaction, Option<RowId>),
    /// In the order of an index.
    Keys { cursor: Box<OwnedCursor>, backwards: bool, has_begun: bool },
}

#[pymethods]
impl Scan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.state.check()?;
        let next = {
            let mut state = self.state.lock();
            let Some(reading) = &mut *state else { return Ok(None) };
            if reading.ready.is_empty() {
                reading.read_ahead(py, &self.plan)?;
            }
            let next = reading.ready.pop_front();
            if next.is_none() {
                *state = None;
            }
            next
        };
        next.map(|values| self.plan.made(py, &self.class, values)).transpose()
    }

    /// Lets go of the snapshot.
    fn close(&self) {
        drop(self.state.take());
    }
}

impl Scan {
    /// All records, in the order of their rows.
    pub(crate) fn of_rows(
        kept: OwnedTransaction,
        plan: Arc<Plan>,
        class: Arc<RecordClass>,
    ) -> Self {
        Self::new(Way::Rows(kept, None), plan, class)
    }

    /// Those between two keys, the second of which is beyond the last, in the order of an index.
    pub(crate) fn of_keys(
        py: Python<'_>,
        kept: &OwnedTransaction,
        plan: Arc<Plan>,
        class: Arc<RecordClass>,
        range: &Range<'_, '_>,
    ) -> PyResult<Self> {
        let first = range.first.as_ref().map(Given::values).transpose()?;
        let end = range.end.as_ref().map(Given::values).transpose()?;
        let low = first.as_deref().map(KeyBound::included);
        let high = end.as_deref().map(KeyBound::excluded);
        let cursor = kept.cursor(plan.records.handle(), range.key.handle, low, high);
        let cursor = cursor.map_err(|error| of_engine(py, error))?;
        let way =
            Way::Keys { cursor: Box::new(cursor), backwards: range.backwards, has_begun: false };
        Ok(Self::new(way, Arc::clone(&plan), class))
    }

    fn new(way: Way, plan: Arc<Plan>, class: Arc<RecordClass>) -> Self {
        Self { state: Opened::new(State { way, ready: VecDeque::new() }), plan, class }
    }
}

/// A part of an index.
pub(crate) struct Range<'p, 'py> {
    pub(crate) key: &'p Key,
    pub(crate) first: Option<Given<'p, 'py>>,
    pub(crate) end: Option<Given<'p, 'py>>,
    pub(crate) backwards: bool,
}

impl State {
    fn read_ahead(&mut self, py: Python<'_>, plan: &Plan) -> PyResult<()> {
        let Self { way, ready } = self;
        let mut keep = |row: &Row<'_>| plan.read(py, row).map(|values| ready.push_back(values));
        match way {
            Way::Rows(kept, last) => {
                let reading = kept.read().map_err(|error| of_engine(py, error))?;
                for _ in 0..AHEAD {
                    let next = reading.row_after(plan.records.handle(), *last);
                    let Some(row) = next.map_err(|error| of_engine(py, error))? else { break };
                    *last = Some(row.id());
                    keep(&row)?;
                }
            }
            Way::Keys { cursor, backwards, has_begun } => {
                let read = cursor.with(|cursor| {
                    for _ in 0..AHEAD {
                        let next = match (std::mem::replace(has_begun, true), *backwards) {
                            (false, false) => cursor.first(),
                            (false, true) => cursor.last(),
                            (true, false) => cursor.next(),
                            (true, true) => cursor.previous(),
                        };
                        let Some(row) = next else { break };
                        keep(&row)?;
                    }
                    Ok::<_, PyErr>(())
                });
                read.map_err(|error| of_engine(py, error))??;
                cursor.status().map_err(|error| of_engine(py, error))?;
            }
        }
        Ok(())
    }
}
