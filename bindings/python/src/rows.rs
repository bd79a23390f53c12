//! What a statement answered: what it did, and its rows, which come when they are asked for.
//!
//! They are read in pieces in the session's thread, so that Ctrl-C is heard in between; those of a
//! statement about one key are there at once.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use remanent_sql::{Datum, Outcome, ResultColumn};
use tokio::runtime::Runtime;

use crate::arrow;
use crate::caller::Caller;
use crate::error::{InterfaceError, of_sql};
use crate::forked::Opened;
use crate::values::to_python::{Converter, converters};

/// So many rows are read at once for who asks for one.
const AHEAD: usize = 256;
/// And for who asks for all, so that Ctrl-C is heard in between.
const TOGETHER: usize = 16 << 10;

/// What is left of the rows.
struct State {
    /// `None` once all have been read.
    rows: Option<remanent_sql::Rows>,
    ready: VecDeque<Vec<Datum>>,
}

/// What a statement answered.
#[pyclass(frozen, module = "remanent")]
pub(crate) struct Rows {
    state: Arc<Opened<State>>,
    columns: Option<Arc<[ResultColumn]>>,
    converters: Vec<Converter>,
    verb: String,
    changed: i64,
    notice: Option<(String, String)>,
    caller: Arc<Caller>,
}

#[pymethods]
impl Rows {
    /// The name and the type of each column; `None` of a statement without rows.
    #[getter]
    fn columns(&self) -> Option<Vec<(String, String)>> {
        let columns = self.columns.as_ref()?;
        Some(columns.iter().map(|it| (it.name.clone(), it.sql_type.to_string())).collect())
    }

    /// What was done, as PostgreSQL says it.
    #[getter]
    fn verb(&self) -> &str {
        &self.verb
    }

    /// How many rows were changed; -1 where that says nothing.
    #[getter]
    fn changed(&self) -> i64 {
        self.changed
    }

    /// How much a notice matters, and the notice, if there is one.
    #[getter]
    fn notice(&self) -> Option<(String, String)> {
        self.notice.clone()
    }

    /// The next rows, so many at most, as tuples.
    fn fetch<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        while list.len() < count {
            let left = count - list.len();
            let ready = self.ready(py, left)?;
            if ready.is_empty() {
                break;
            }
            for row in ready {
                list.append(self.tuple(py, &row)?)?;
            }
        }
        Ok(list)
    }

    /// The next row; `None` after the last.
    fn fetch_one<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let row = self.ready(py, 1)?.pop();
        row.map(|row| self.tuple(py, &row)).transpose()
    }

    /// The rows that are left, as Arrow's C stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let schema = {
            let mut state = self.state.lock();
            match state.as_mut().map(|state| (&state.rows, state.ready.is_empty())) {
                Some((Some(rows), true)) => rows.schema(),
                _ => {
                    return Err(InterfaceError::new_err(
                        "there are no rows, or some have been fetched: run the statement again",
                    ));
                }
            }
        };
        let state = Arc::clone(&self.state);
        let reader = arrow::reader(schema, move |runtime| next_batch(runtime, &state))?;
        Bound::new(py, reader)?.call_method1("__arrow_c_stream__", (requested_schema,))
    }

    /// Lets go of the rows that are left.
    fn close(&self) {
        drop(self.state.take());
    }
}

impl Rows {
    pub(crate) fn new(outcome: Outcome, caller: Arc<Caller>) -> Self {
        let columns = outcome.rows.as_ref().map(|rows| Arc::clone(rows.columns()));
        let changed = match (&columns, outcome.tag.rows) {
            (_, Some(rows)) if outcome.tag.verb != "SELECT" => i64::try_from(rows).unwrap_or(-1),
            _ => -1,
        };
        let converters = columns.as_ref().map_or_else(Vec::new, |columns| converters(columns));
        let notice = outcome.notice.map(|it| (it.severity.word().to_owned(), it.text));
        let state = State { rows: outcome.rows, ready: VecDeque::new() };
        let state = Arc::new(Opened::new(state));
        let verb = outcome.tag.verb.to_owned();
        Self { state, columns, converters, verb, changed, notice, caller }
    }

    /// Reads all rows, and keeps none.
    pub(crate) fn drain(&self, py: Python<'_>) -> PyResult<()> {
        while !self.ready(py, TOGETHER)?.is_empty() {}
        Ok(())
    }

    /// The next rows, so many at most; none after the last.
    fn ready(&self, py: Python<'_>, count: usize) -> PyResult<Vec<Vec<Datum>>> {
        self.state.check()?;
        if let Some(ready) =
            self.state.lock().as_mut().map_or(Some(Vec::new()), |state| state.take(count))
        {
            return Ok(ready);
        }
        let (state, caller) = (Arc::clone(&self.state), Arc::clone(&self.caller));
        let ahead = count.clamp(AHEAD, TOGETHER);
        let job = move |runtime: &Runtime| read_ahead(runtime, &state, &caller, ahead);
        let read = self.caller.working.run(py, &self.caller.cancel, job)?;
        read.map_err(|error| of_sql(py, &error))?;
        Ok(self.state.lock().as_mut().and_then(|state| state.take(count)).unwrap_or_default())
    }

    fn tuple<'py>(&self, py: Python<'py>, row: &[Datum]) -> PyResult<Bound<'py, PyTuple>> {
        let values = row.iter().zip(&self.converters);
        let values = values.map(|(datum, converter)| converter.value(py, datum));
        PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)
    }
}

impl State {
    /// So many of the ready rows, none after the last; `None` if some are to be read before.
    fn take(&mut self, count: usize) -> Option<Vec<Vec<Datum>>> {
        if let Some(rows) = &mut self.rows
            && self.ready.is_empty()
        {
            // Those of a statement about one key are there.
            self.ready.extend(std::iter::from_fn(|| rows.next_ready()));
        }
        let taken = count.min(self.ready.len());
        let is_there = taken > 0 || self.rows.is_none();
        is_there.then(|| self.ready.drain(..taken).collect())
    }
}

/// Reads rows until so many are ready, or all.
fn read_ahead(
    runtime: &Runtime,
    state: &Opened<State>,
    caller: &Caller,
    count: usize,
) -> remanent_sql::Result<()> {
    let mut state = state.lock();
    let Some(State { rows, ready }) = &mut *state else { return Ok(()) };
    let Some(reading) = rows else { return Ok(()) };
    while ready.len() < count {
        match runtime.block_on(reading.next_row()) {
            Ok(Some(row)) => ready.push_back(row),
            Ok(None) => {
                *rows = None;
                return caller
                    .session
                    .lock()
                    .as_mut()
                    .map_or(Ok(()), |session| session.end_statement());
            }
            Err(error) => {
                *rows = None;
                if let Some(session) = &mut *caller.session.lock() {
                    session.forget_statement();
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

/// The next batch of those that are left.
fn next_batch(
    runtime: &Runtime,
    state: &Opened<State>,
) -> remanent_sql::Result<Option<RecordBatch>> {
    let mut state = state.lock();
    let Some(state) = &mut *state else { return Ok(None) };
    let Some(rows) = &mut state.rows else { return Ok(None) };
    let next = runtime.block_on(rows.next_batch());
    if !matches!(next, Ok(Some(_))) {
        state.rows = None;
    }
    next
}
