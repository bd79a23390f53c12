//! What a statement answered: what it did, and its rows, which come when they are asked for.
//!
//! They are read in pieces in the session's thread, so that Ctrl-C is heard in between; those of a
//! statement about one key are there at once.

use std::collections::VecDeque;
use std::ops::Range;
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

/// What is left of the rows.
struct State {
    /// `None` once all have been read.
    rows: Option<remanent_sql::Rows>,
    /// Rows that are ready as values, of a statement about one key.
    ready: VecDeque<Vec<Datum>>,
    /// The batch that was read last, and how many of its rows were given out.
    begun: Option<(RecordBatch, usize)>,
}

/// Rows that were read, until the interpreter makes values of them.
enum Read {
    Values(Vec<Vec<Datum>>),
    Batch(RecordBatch, Range<usize>),
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
    pub(crate) fn changed(&self) -> i64 {
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
            let Some(read) = self.read(py, left)? else { break };
            self.each(py, &read, |row| list.append(row))?;
        }
        Ok(list)
    }

    /// The next row; `None` after the last.
    fn fetch_one<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Some(read) = self.read(py, 1)? else { return Ok(None) };
        let mut found = None;
        self.each(py, &read, |row| {
            found = Some(row);
            Ok(())
        })?;
        Ok(found)
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
            match state.as_mut().map(|state| (state.is_untouched(), &state.rows)) {
                Some((true, Some(rows))) => rows.schema(),
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
        let state = State { rows: outcome.rows, ready: VecDeque::new(), begun: None };
        let state = Arc::new(Opened::new(state));
        let verb = outcome.tag.verb.to_owned();
        Self { state, columns, converters, verb, changed, notice, caller }
    }

    /// Reads all rows, and keeps none.
    pub(crate) fn drain(&self, py: Python<'_>) -> PyResult<()> {
        while self.read(py, usize::MAX)?.is_some() {}
        Ok(())
    }

    /// The next rows, so many at most; `None` after the last.
    fn read(&self, py: Python<'_>, count: usize) -> PyResult<Option<Read>> {
        self.state.check()?;
        let is_left = match &mut *self.state.lock() {
            None => false,
            Some(state) => match state.take(count) {
                Some(read) => return Ok(Some(read)),
                None => state.rows.is_some(),
            },
        };
        if !is_left {
            return Ok(None);
        }
        let (state, caller) = (Arc::clone(&self.state), Arc::clone(&self.caller));
        let job = move |runtime: &Runtime| begin_batch(runtime, &state, &caller);
        let begun = self.caller.working.run(py, &self.caller.cancel, job)?;
        begun.map_err(|error| of_sql(py, &error))?;
        Ok(self.state.lock().as_mut().and_then(|state| state.take(count)))
    }

    /// Does something with each of these rows, as a tuple.
    fn each<'py>(
        &self,
        py: Python<'py>,
        read: &Read,
        mut work: impl FnMut(Bound<'py, PyTuple>) -> PyResult<()>,
    ) -> PyResult<()> {
        match read {
            Read::Values(rows) => rows.iter().try_for_each(|row| {
                let values = row.iter().zip(&self.converters);
                let values = values.map(|(datum, converter)| converter.value(py, datum));
                work(PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?)
            }),
            Read::Batch(batch, rows) => {
                let columns = batch.columns().iter().zip(&self.converters);
                let columns = columns
                    .map(|(array, converter)| converter.column(py, array, rows.clone()))
                    .collect::<PyResult<Vec<_>>>()?;
                (0..rows.len()).try_for_each(|row| {
                    work(PyTuple::new(py, columns.iter().map(|column| &column[row]))?)
                })
            }
        }
    }
}

impl State {
    /// So many of the rows that are there; `None` if there are none.
    fn take(&mut self, count: usize) -> Option<Read> {
        if let Some(rows) = &mut self.rows
            && self.ready.is_empty()
            && self.begun.is_none()
        {
            self.ready.extend(std::iter::from_fn(|| rows.next_ready()));
        }
        if !self.ready.is_empty() {
            let taken = count.min(self.ready.len());
            return Some(Read::Values(self.ready.drain(..taken).collect()));
        }
        let (batch, given) = self.begun.take()?;
        let end = batch.num_rows().min(given.saturating_add(count));
        if end < batch.num_rows() {
            self.begun = Some((batch.clone(), end));
        }
        Some(Read::Batch(batch, given..end))
    }

    fn is_untouched(&self) -> bool {
        self.ready.is_empty() && self.begun.is_none()
    }
}

/// Reads a batch.
fn begin_batch(
    runtime: &Runtime,
    state: &Opened<State>,
    caller: &Caller,
) -> remanent_sql::Result<()> {
    let mut state = state.lock();
    let Some(State { rows, begun, .. }) = &mut *state else { return Ok(()) };
    let Some(reading) = rows else { return Ok(()) };
    match runtime.block_on(reading.next_batch()) {
        Ok(Some(batch)) => {
            *begun = Some((batch, 0));
            Ok(())
        }
        Ok(None) => {
            *rows = None;
            caller.session.lock().as_mut().map_or(Ok(()), |session| session.end_statement())
        }
        Err(error) => {
            *rows = None;
            if let Some(session) = &mut *caller.session.lock() {
                session.forget_statement();
            }
            Err(error)
        }
    }
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
