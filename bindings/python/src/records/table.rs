//! A table of records, as a program has it.
//!
//! It is of a connection: in a transaction of that, its calls are part of it, together with
//! statements; without one each call is a transaction of its own.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::{PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple, PyType};
use remanent_engine::schema::Value;
use remanent_engine::{ErrorKind, ReadTransaction, Row, WriteTransaction};

use super::object::RecordClass;
use super::plan::{Given, Plan};
use super::scan::{Range, Scan};
use super::statements::{self, Write};
use crate::caller::Caller;
use crate::error::{NotSupportedError, closed, of_sql};
use crate::session::Session;

/// A table of records.
#[pyclass(frozen, generic, mapping, module = "remanent")]
pub(crate) struct Table {
    session: Py<Session>,
    caller: Arc<Caller>,
    #[pyo3(get)]
    name: String,
    class: Arc<RecordClass>,
    /// The name and the type of each of the class's fields.
    fields: Vec<(String, String)>,
    plan: Mutex<Arc<Plan>>,
}

#[pymethods]
impl Table {
    /// The table of this name, for records of a class with these fields, each a name and a type.
    /// `ProgrammingError` if there is none, or it does not fit.
    #[new]
    fn new(
        session: Py<Session>,
        name: String,
        record: Bound<'_, PyType>,
        fields: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let py = record.py();
        let caller = session.get().caller();
        let records = in_session(&caller, py, |session| session.record_table(&name))?;
        let plan = Mutex::new(Arc::new(Plan::new(py, records, &fields)?));
        let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
        let class = Arc::new(RecordClass::new(&record, &names)?);
        Ok(Self { session, caller, name, class, fields, plan })
    }

    /// The class of its records.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> Bound<'py, PyType> {
        self.class.class(py).clone()
    }

    /// The fields of the primary key.
    #[getter]
    fn primary_key<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let plan = self.plan();
        PyTuple::new(py, plan.primary.fields.iter().map(|&place| &self.fields[place].0))
    }

    /// The names of the indexes.
    #[getter]
    fn indexes(&self) -> Vec<String> {
        self.plan().records.index_names().map(str::to_owned).collect()
    }

    /// The record with this primary key, a tuple if it has several fields.
    fn __getitem__<'py>(&self, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.find_one(&key)? {
            Some(record) => Ok(record),
            None => Err(PyKeyError::new_err(key.unbind())),
        }
    }

    /// The record with this primary key; `default` if there is none.
    #[pyo3(signature = (key, default = None))]
    fn get<'py>(
        &self,
        key: Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(self.find_one(&key)?.or(default))
    }

    fn __contains__(&self, key: Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        self.read(py, |plan| {
            let found = plan.look_up(&plan.primary, &key, |key| {
                self.attempt(py, plan, |tx| found(tx, plan, key).map(|it| it.is_some()))
            });
            Ok(found?.unwrap_or(Some(false)))
        })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.read(py, |plan| {
            self.attempt(py, plan, |tx| {
                let mut count = 0;
                tx.each_row(plan.records.handle(), |_| {
                    count += 1;
                    Ok(())
                })?;
                Ok(count)
            })
        })
    }

    /// All records, in no order that means something.
    fn __iter__(&self, py: Python<'_>) -> PyResult<Scan> {
        self.scanned(py, |plan, kept| {
            Ok(Scan::of_rows(kept, Arc::clone(plan), Arc::clone(&self.class)))
        })
    }

    /// The records from the first key that is not less than `first`, up to before `end`, in the
    /// order of the primary key or of an index; backwards from the last one before `end`. Of a key
    /// of several fields the first ones are enough.
    #[pyo3(signature = (first = None, end = None, *, index = None, backwards = false))]
    fn range(
        &self,
        py: Python<'_>,
        first: Option<Bound<'_, PyAny>>,
        end: Option<Bound<'_, PyAny>>,
        index: Option<&str>,
        backwards: bool,
    ) -> PyResult<Scan> {
        self.scanned(py, |plan, kept| {
            let named = index.map(|name| plan.index(name)).transpose()?;
            let key = named.as_ref().unwrap_or(&plan.primary);
            if !key.ordered {
                return Err(NotSupportedError::new_err("the index has no order"));
            }
            let first = first.as_ref().map(|given| plan.bound(key, given)).transpose()?;
            let end = end.as_ref().map(|given| plan.bound(key, given)).transpose()?;
            let range = Range { key, first, end, backwards };
            Scan::of_keys(py, &kept, Arc::clone(plan), Arc::clone(&self.class), &range)
        })
    }

    /// All records with this key of an index.
    fn find<'py>(&self, index: &str, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let py = key.py();
        let list = PyList::empty(py);
        let read = self.read(py, |plan| {
            let index = plan.index(index)?;
            let rows = plan.look_up(&index, &key, |key| {
                self.attempt(py, plan, |tx| {
                    let mut rows = Vec::new();
                    tx.each(plan.records.handle(), index.handle, key, |row| {
                        rows.push(plan.read(py, &row));
                        Ok(())
                    })?;
                    Ok(rows)
                })
            });
            let Some(rows) = rows?.unwrap_or_else(|| Some(Vec::new())) else { return Ok(None) };
            for row in rows {
                list.append(plan.made(py, &self.class, row?)?)?;
            }
            Ok(Some(()))
        });
        read.map(|()| list)
    }

    /// Inserts a record.
    fn insert(&self, record: Bound<'_, PyAny>) -> PyResult<()> {
        let py = record.py();
        let inserted = self.write(py, &record, Write::Insert, |given| {
            let plan = given.plan;
            let row = plan.row(&given.values()?);
            self.change(py, plan, |tx| tx.insert_values(plan.records.handle(), &row).map(|_| 1))
        });
        inserted.map(drop)
    }

    /// Inserts records, all or none; how many.
    fn insert_all(&self, py: Python<'_>, records: Bound<'_, PyAny>) -> PyResult<usize> {
        let records = records.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        loop {
            let plan = self.plan();
            let given = records.iter().map(|record| self.given(&plan, record, Write::Insert));
            let given = given.collect::<PyResult<Vec<_>>>()?;
            if plan.records.written_by_statements().is_some() {
                return statements::whole(self.session.get(), py, || {
                    for given in &given {
                        self.by_statement(py, given, Write::Insert)?;
                    }
                    Ok(given.len())
                });
            }
            let rows = given.iter().map(|given| given.values().map(|values| plan.row(&values)));
            let rows = rows.collect::<PyResult<Vec<_>>>()?;
            let done = self.change(py, &plan, |tx| {
                tx.insert_all_values(plan.records.handle(), rows.iter().cloned()).map(drop)
            })?;
            match done {
                Some(()) => return Ok(rows.len()),
                None => self.renew(py)?,
            }
        }
    }

    /// Inserts a record, or gives the one with its key all of its values.
    fn put(&self, record: Bound<'_, PyAny>) -> PyResult<()> {
        let py = record.py();
        let put = self.write(py, &record, Write::Put, |given| {
            let (plan, values) = (given.plan, given.values()?);
            let (key, table) = (plan.key_of(&values), plan.records.handle());
            self.change(py, plan, |tx| match found(tx, plan, &key)? {
                Some(old) => tx.update_values(table, old.id(), &plan.changes(&values)).map(|()| 1),
                None => tx.insert_values(table, &plan.row(&values)).map(|_| 1),
            })
        });
        put.map(drop)
    }

    /// Gives the record with the key of this one all of its values; `KeyError` if there is none.
    fn update(&self, record: Bound<'_, PyAny>) -> PyResult<()> {
        let py = record.py();
        let updated = self.write(py, &record, Write::Update, |given| {
            let (plan, values) = (given.plan, given.values()?);
            let (key, changes) = (plan.key_of(&values), plan.changes(&values));
            self.change(py, plan, |tx| {
                let Some(old) = found(tx, plan, &key)? else { return Ok(0) };
                match tx.update_values(plan.records.handle(), old.id(), &changes) {
                    Err(error) if error.kind() == ErrorKind::RowNotFound => Ok(0),
                    updated => updated.map(|()| 1),
                }
            })
        })?;
        match updated {
            0 => Err(PyKeyError::new_err(record.unbind())),
            _ => Ok(()),
        }
    }

    /// Removes the record with this primary key; whether there was one.
    fn delete(&self, key: Bound<'_, PyAny>) -> PyResult<bool> {
        let py = key.py();
        loop {
            let plan = self.plan();
            if plan.records.written_by_statements().is_some() {
                let Some(given) = plan.whole_key(&key)? else { return Ok(false) };
                return self.by_statement(py, &given, Write::Delete).map(|rows| rows > 0);
            }
            let deleted = plan.look_up(&plan.primary, &key, |key| {
                self.change(py, &plan, |tx| {
                    let Some(old) = found(tx, &plan, key)? else { return Ok(false) };
                    tx.delete(plan.records.handle(), old.id()).map(|()| true)
                })
            });
            match deleted? {
                None => return Ok(false),
                Some(Some(deleted)) => return Ok(deleted),
                Some(None) => self.renew(py)?,
            }
        }
    }

    fn __delitem__(&self, key: Bound<'_, PyAny>) -> PyResult<()> {
        match self.delete(key.clone())? {
            true => Ok(()),
            false => Err(PyKeyError::new_err(key.unbind())),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<remanent.Table {:?} of {}>", self.name, self.class.class(py).name()?))
    }
}

/// The row with this primary key.
fn found<'t>(
    tx: &'t ReadTransaction<'_>,
    plan: &'t Plan,
    key: &[Value<'_>],
) -> remanent_engine::Result<Option<Row<'t>>> {
    tx.find(plan.records.handle(), plan.primary.handle, key)
}

impl Table {
    fn plan(&self) -> Arc<Plan> {
        Arc::clone(&self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the plan anew, for the table as it is defined now.
    fn renew(&self, py: Python<'_>) -> PyResult<()> {
        let records = in_session(&self.caller, py, |session| session.record_table(&self.name))?;
        let plan = Arc::new(Plan::new(py, records, &self.fields)?);
        *self.plan.lock().unwrap_or_else(PoisonError::into_inner) = plan;
        Ok(())
    }

    /// Reads by the plan, and by a new one each time that the definition has changed: `work` says
    /// `None` then.
    fn read<T>(&self, py: Python<'_>, work: impl Fn(&Plan) -> PyResult<Option<T>>) -> PyResult<T> {
        loop {
            match work(&self.plan())? {
                Some(read) => return Ok(read),
                None => self.renew(py)?,
            }
        }
    }

    /// Reads in the connection's transaction, or in one of its own; `None` if the definition has
    /// changed.
    fn attempt<T>(
        &self,
        py: Python<'_>,
        plan: &Plan,
        work: impl FnOnce(&ReadTransaction<'_>) -> remanent_engine::Result<T>,
    ) -> PyResult<Option<T>> {
        let records = &plan.records;
        let reading = in_session(&self.caller, py, |session| session.record_reading(records))?;
        let Some(reading) = reading else { return Ok(None) };
        records.read(&reading, work).map_err(|error| of_sql(py, &error))
    }

    fn find_one<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        self.read(py, |plan| {
            let found = plan.look_up(&plan.primary, key, |key| self.record_of(py, plan, key));
            Ok(found?.unwrap_or(Some(None)))
        })
    }

    /// The record with a key, if there is one; `None` if the definition has changed.
    fn record_of<'py>(
        &self,
        py: Python<'py>,
        plan: &Plan,
        key: &[Value<'_>],
    ) -> PyResult<Option<Option<Bound<'py, PyAny>>>> {
        if plan.can_fill(&self.class) {
            // Before the transaction: for an object the interpreter may clean up, and run code.
            let made = self.class.empty(py)?;
            let filled = self.attempt(py, plan, |tx| {
                let row = found(tx, plan, key)?;
                Ok(row.map(|row| plan.fill(&made, &self.class, &row)))
            })?;
            return match filled {
                Some(Some(filled)) => filled.map(|()| Some(Some(made))),
                Some(None) => Ok(Some(None)),
                None => Ok(None),
            };
        }
        let read =
            self.attempt(py, plan, |tx| Ok(found(tx, plan, key)?.map(|row| plan.read(py, &row))))?;
        match read {
            Some(Some(values)) => plan.made(py, &self.class, values?).map(|it| Some(Some(it))),
            Some(None) => Ok(Some(None)),
            None => Ok(None),
        }
    }

    /// Begins to read many.
    fn scanned(
        &self,
        py: Python<'_>,
        scan: impl Fn(&Arc<Plan>, remanent_engine::OwnedTransaction) -> PyResult<Scan>,
    ) -> PyResult<Scan> {
        loop {
            let plan = self.plan();
            let records = &plan.records;
            let reading = in_session(&self.caller, py, |session| session.record_reading(records))?;
            let kept = match reading {
                Some(reading) => records.kept(&reading).map_err(|error| of_sql(py, &error))?,
                None => None,
            };
            match kept {
                Some(kept) => return scan(&plan, kept),
                None => self.renew(py)?,
            }
        }
    }

    /// The values of a record of the class. For an INSERT, what has no value and needs one is left
    /// to the statement that knows a default, if one writes them.
    fn given<'p, 'py>(
        &self,
        plan: &'p Plan,
        record: &Bound<'py, PyAny>,
        write: Write,
    ) -> PyResult<Given<'p, 'py>> {
        let class = self.class.class(record.py());
        if !record.get_type().is(class) && !record.is_instance(class)? {
            let (wanted, given) = (class.name()?, record.get_type().name()?.to_string());
            return Err(PyTypeError::new_err(format!("a record is a {wanted}, not a {given}")));
        }
        let has_defaults = plan.records.written_by_statements().is_some();
        plan.record(record, has_defaults && write == Write::Insert)
    }

    /// Does something with a record; to how many rows. `work` says `None` if the definition has
    /// changed.
    fn write(
        &self,
        py: Python<'_>,
        record: &Bound<'_, PyAny>,
        write: Write,
        work: impl Fn(&Given<'_, '_>) -> PyResult<Option<u64>>,
    ) -> PyResult<u64> {
        loop {
            let plan = self.plan();
            let given = self.given(&plan, record, write)?;
            if plan.records.written_by_statements().is_some() {
                return self.by_statement(py, &given, write);
            }
            match work(&given)? {
                Some(rows) => return Ok(rows),
                None => self.renew(py)?,
            }
        }
    }

    fn by_statement(&self, py: Python<'_>, given: &Given<'_, '_>, write: Write) -> PyResult<u64> {
        statements::write(self.session.get(), py, &self.name, given, write)
    }

    /// Changes rows in the connection's transaction, or in one of its own; `None` if the definition
    /// has changed.
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        plan: &Plan,
        work: impl FnMut(&WriteTransaction<'_>) -> remanent_engine::Result<T> + Send,
    ) -> PyResult<Option<T>> {
        self.caller.session.check()?;
        let done = py.detach(|| {
            let mut session = self.caller.session.lock();
            session.as_mut().map(|session| session.write_records(&plan.records, work))
        });
        done.ok_or_else(|| closed("connection"))?.map_err(|error| of_sql(py, &error))
    }
}

/// Does what takes a moment with the session. Whoever waits for it has let go of the interpreter,
/// which a statement that has the session may need to end.
fn in_session<T>(
    caller: &Caller,
    py: Python<'_>,
    work: impl FnOnce(&mut remanent_sql::Session) -> remanent_sql::Result<T>,
) -> PyResult<T> {
    caller.session.check()?;
    let mut session = loop {
        match caller.session.try_lock() {
            Some(session) => break session,
            None => py.detach(|| drop(caller.session.lock())),
        }
    };
    let session = session.as_mut().ok_or_else(|| closed("connection"))?;
    work(session).map_err(|error| of_sql(py, &error))
}
