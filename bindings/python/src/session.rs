//! A session: statements of one caller, one after the other, from whatever thread.
//!
//! Statements are kept as they were prepared, by their text. Those about one key are done at once;
//! others in the session's thread, which Ctrl-C can stop. A text without parameters may have
//! several statements, of which the last one answers.

mod prepared;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyAny;
use remanent_sql::{Outcome, SqlDatabase, Statement, TransactionStatus};
use tokio::runtime::Runtime;

use crate::arrow;
use crate::caller::Caller;
use crate::error::{closed, of_sql};
use crate::rows::Rows;
use crate::values::parameters::Parameters;

use prepared::Kept;

/// How often Python is asked for signals while a statement is run for many parameters.
const SIGNALS_EVERY: usize = 256;

/// One caller's statements.
#[pyclass(frozen, module = "remanent")]
pub(crate) struct Session {
    caller: Arc<Caller>,
    kept: Mutex<Kept>,
}

#[pymethods]
impl Session {
    /// Runs a statement. `begins` has a transaction begin before it, unless there is one.
    #[pyo3(signature = (text, parameters = None, begins = false))]
    pub(crate) fn execute(
        &self,
        py: Python<'_>,
        text: &str,
        parameters: Option<&Bound<'_, PyAny>>,
        begins: bool,
    ) -> PyResult<Rows> {
        self.caller.session.check()?;
        if begins {
            self.begin_unless_begun(py, text)?;
        }
        let outcome = match parameters {
            None => self.run_text(py, text),
            Some(given) => self.run_with(py, text, given),
        };
        Ok(Rows::new(outcome?, Arc::clone(&self.caller)))
    }

    /// Runs a statement once for each of these parameters; how many rows that were about.
    #[pyo3(signature = (text, all_parameters, begins = false))]
    fn execute_many(
        &self,
        py: Python<'_>,
        text: &str,
        all_parameters: &Bound<'_, PyAny>,
        begins: bool,
    ) -> PyResult<i64> {
        self.caller.session.check()?;
        if begins {
            self.begin_unless_begun(py, text)?;
        }
        let mut rows = 0;
        for (done, parameters) in all_parameters.try_iter()?.enumerate() {
            // Statements about one key wait for nothing, and so do not ask.
            if done % SIGNALS_EVERY == 0 {
                py.check_signals()?;
            }
            let outcome = self.run_with(py, text, &parameters?)?;
            rows += outcome.tag.rows.unwrap_or(0);
            Rows::new(outcome, Arc::clone(&self.caller)).drain(py)?;
        }
        Ok(i64::try_from(rows).unwrap_or(i64::MAX))
    }

    /// Inserts the rows of what has Arrow's stream into a table that has columns of these names,
    /// made for them if it is not there; how many.
    #[pyo3(signature = (table, data, creates, begins = false))]
    fn insert_arrow(
        &self,
        py: Python<'_>,
        table: &str,
        data: &Bound<'_, PyAny>,
        creates: bool,
        begins: bool,
    ) -> PyResult<u64> {
        self.caller.session.check()?;
        if begins {
            self.begin_unless_begun(py, "insert")?;
        }
        let batches = arrow::batches_of(data)?;
        let table = arrow::table_name(table).map_err(|error| of_sql(py, &error))?;
        let caller = Arc::clone(&self.caller);
        self.in_thread(py, move |session, runtime| {
            let schema = batches.schema();
            if creates {
                let made = session.parse(&arrow::create_table(&table, &schema))?;
                read_all(session, runtime, &made)?;
            }
            let all = session.parse(&format!("select * from {}", arrow::quoted(&table)))?;
            let places = arrow::places_of(&schema, &session.prepare(&all, &[])?.columns)?;
            let mut rows = 0;
            for batch in batches {
                caller.working.check()?;
                rows += session.insert_batch(&table, &batch?.project(&places)?)?;
            }
            Ok(rows)
        })
    }

    /// Whether a transaction is open, whether it has made or changed tables, and whether it can
    /// only be rolled back: `"idle"`, `"open"`, `"defining"` or `"failed"`.
    pub(crate) fn transaction_status(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.directly(py, |session| {
            Ok(match session.status() {
                TransactionStatus::Idle => "idle",
                TransactionStatus::Active if session.is_defining() => "defining",
                TransactionStatus::Active => "open",
                TransactionStatus::Failed => "failed",
            })
        })
    }

    /// Stops the statement that runs, from another thread.
    fn cancel(&self) {
        self.caller.working.stop();
        self.caller.cancel.cancel();
    }

    /// Ends it: a transaction that is open is rolled back.
    fn close(&self, py: Python<'_>) {
        let caller = &self.caller;
        if caller.session.check().is_ok() {
            caller.cancel.cancel();
            py.detach(|| drop(caller.session.take()));
        }
    }
}

impl Session {
    pub(crate) fn new(database: &Arc<SqlDatabase>) -> Self {
        Self { caller: Arc::new(Caller::new(database)), kept: Mutex::default() }
    }

    pub(crate) fn caller(&self) -> Arc<Caller> {
        Arc::clone(&self.caller)
    }

    /// Runs a text without parameters.
    fn run_text(&self, py: Python<'_>, text: &str) -> PyResult<Outcome> {
        let about_key = self.directly(py, |session| session.run_text(text).transpose())?;
        if let Some(outcome) = about_key {
            return Ok(outcome);
        }
        let (text, caller) = (text.to_owned(), Arc::clone(&self.caller));
        self.in_thread(py, move |session, runtime| {
            let statements = session.parse_all(&text)?;
            let Some((last, before)) = statements.split_last() else {
                return Ok(Outcome { tag: prepared::NOTHING, rows: None, notice: None });
            };
            for statement in before {
                read_all(session, runtime, statement)?;
                caller.working.check()?;
            }
            let outcome = runtime.block_on(session.run(last, &[]))?;
            begun(session, runtime, outcome)
        })
    }

    /// Runs a statement with parameters.
    fn run_with(&self, py: Python<'_>, text: &str, given: &Bound<'_, PyAny>) -> PyResult<Outcome> {
        let parameters = Parameters::of(given)?;
        let key = parameters.key(text);
        let kept = self.kept().get(&key);
        let prepared = match kept {
            Some(kept) => kept,
            None => {
                let text = parameters.rewritten(text)?;
                let values = parameters.values(&text.names)?;
                let made =
                    self.in_thread(py, move |session, _| prepared::prepare(session, text, &values));
                let made = Arc::new(made?);
                self.kept().keep(key, Arc::clone(&made));
                made
            }
        };
        let values = parameters.values(&prepared.names)?;
        let at_once = self.directly(py, |session| {
            session.run_prepared_point(&prepared.statement, &values).transpose()
        })?;
        match at_once {
            Some(outcome) => Ok(outcome),
            None => self.in_thread(py, move |session, runtime| {
                let run = session.run_prepared(&prepared.statement, &values);
                let outcome = runtime.block_on(run)?;
                begun(session, runtime, outcome)
            }),
        }
    }

    /// Has a transaction begin, unless there is one, or the statement says itself what becomes of
    /// transactions, or must be one of its own.
    fn begin_unless_begun(&self, py: Python<'_>, text: &str) -> PyResult<()> {
        if prepared::stands_alone(text) {
            return Ok(());
        }
        self.directly(py, |session| match session.status() {
            TransactionStatus::Idle => session.execute("begin").map(drop),
            _ => Ok(()),
        })
    }

    /// Does what takes a moment in the caller's thread.
    fn directly<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut remanent_sql::Session) -> remanent_sql::Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.caller.session.lock().as_mut().map(work));
        done.ok_or_else(|| closed("connection"))?.map_err(|error| of_sql(py, &error))
    }

    /// Does what may take long in the session's.
    fn in_thread<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut remanent_sql::Session, &Runtime) -> remanent_sql::Result<T>
        + Send
        + 'static,
    ) -> PyResult<T> {
        let caller = Arc::clone(&self.caller);
        let job =
            move |runtime: &Runtime| caller.session.lock().as_mut().map(|it| work(it, runtime));
        let done = self.caller.working.run(py, &self.caller.cancel, job)?;
        done.ok_or_else(|| closed("connection"))?.map_err(|error| of_sql(py, &error))
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the first rows of a statement: what is wrong with it, `execute` says where it can.
fn begun(
    session: &mut remanent_sql::Session,
    runtime: &Runtime,
    mut outcome: Outcome,
) -> remanent_sql::Result<Outcome> {
    if let Some(rows) = &mut outcome.rows
        && let Err(error) = runtime.block_on(rows.read_ahead())
    {
        session.forget_statement();
        return Err(error);
    }
    Ok(outcome)
}

/// Runs a statement whose rows nobody reads.
fn read_all(
    session: &mut remanent_sql::Session,
    runtime: &Runtime,
    statement: &Statement,
) -> remanent_sql::Result<()> {
    runtime.block_on(async {
        let outcome = session.run(statement, &[]).await?;
        let mut rows = outcome.rows;
        while let Some(rows) = &mut rows
            && rows.next_batch().await?.is_some()
        {}
        session.end_statement()
    })
}
