//! Pairs of bytes, without SQL: each call is a transaction, `update` one for all its pairs.
//!
//! An iterator sees one snapshot, whatever is written meanwhile; it keeps it until it has ended or
//! is closed.

use std::collections::VecDeque;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use remanent_engine::{OwnedTransaction, Result, TransactionOptions};
use remanent_kv::{Environment, KvDatabase};

use crate::error::{closed, of_engine};
use crate::forked::Opened;

/// So many pairs are read at once.
const AHEAD: usize = 128;

type Bytes = Box<[u8]>;
type Pair = (Bytes, Bytes);

/// A key/value database.
#[pyclass(frozen, module = "remanent")]
pub(crate) struct KeyValue {
    open: Opened<(Environment, KvDatabase)>,
}

#[pymethods]
impl KeyValue {
    /// The value of a key, the first one if there are several; `None` if there is none.
    fn get<'py>(&self, py: Python<'py>, key: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        self.with(py, |environment, pairs| {
            environment.read(|tx| Ok(pairs.get(tx, key)?.map(|value| PyBytes::new(py, value))))
        })
    }

    /// All values of a key.
    fn get_all<'py>(&self, py: Python<'py>, key: &[u8]) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        self.with(py, |environment, pairs| {
            environment.read(|tx| {
                let mut cursor = pairs.cursor(tx)?;
                let mut values = Vec::new();
                let mut found = cursor.set(key)?;
                while let Some((_, value)) = found {
                    values.push(PyBytes::new(py, value));
                    found = cursor.next_duplicate()?;
                }
                Ok(values)
            })
        })
    }

    fn contains(&self, py: Python<'_>, key: &[u8]) -> PyResult<bool> {
        self.with(py, |environment, pairs| environment.read(|tx| pairs.exists(tx, key)))
    }

    /// Gives a key a value: where there are duplicates, one more.
    fn put(&self, py: Python<'_>, key: &[u8], value: &[u8]) -> PyResult<()> {
        self.detached(py, |environment, pairs| environment.write(|tx| pairs.put(tx, key, value)))
    }

    /// The same for many, in one transaction.
    fn put_all(&self, py: Python<'_>, given: Vec<(Vec<u8>, Vec<u8>)>) -> PyResult<()> {
        self.detached(py, |environment, pairs| {
            environment
                .write(|tx| given.iter().try_for_each(|(key, value)| pairs.put(tx, key, value)))
        })
    }

    /// Removes a key with all its values; how many there were.
    fn delete(&self, py: Python<'_>, key: &[u8]) -> PyResult<u64> {
        self.detached(py, |environment, pairs| environment.write(|tx| pairs.delete(tx, key)))
    }

    /// Removes a key; the value that it had, the first one if there were several.
    fn pop<'py>(&self, py: Python<'py>, key: &[u8]) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let value = self.detached(py, |environment, pairs| {
            environment.write(|tx| {
                let value = pairs.get(tx, key)?.map(Bytes::from);
                if value.is_some() {
                    pairs.delete(tx, key)?;
                }
                Ok(value)
            })
        })?;
        Ok(value.map(|value| PyBytes::new(py, &value)))
    }

    /// Gives a key a value unless it has one; the value that it has then.
    fn put_default<'py>(
        &self,
        py: Python<'py>,
        key: &[u8],
        value: &[u8],
    ) -> PyResult<Bound<'py, PyBytes>> {
        let found = self.detached(py, |environment, pairs| {
            environment.write(|tx| match pairs.get(tx, key)? {
                Some(value) => Ok(Bytes::from(value)),
                None => pairs.put(tx, key, value).map(|()| Bytes::from(value)),
            })
        })?;
        Ok(PyBytes::new(py, &found))
    }

    /// Removes all.
    fn clear(&self, py: Python<'_>) -> PyResult<u64> {
        self.detached(py, |environment, pairs| environment.write(|tx| pairs.truncate(tx)))
    }

    /// How many pairs there are, by going through all of them.
    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.detached(py, |environment, pairs| {
            environment.read(|tx| Ok(pairs.statistics(tx)?.records))
        })
    }

    /// The pairs from the first key that is not less than `first`, up to before `end`; backwards
    /// from the last one before `end`. In no order if the database has none.
    #[pyo3(signature = (first = None, end = None, backwards = false))]
    fn range(
        &self,
        py: Python<'_>,
        first: Option<Vec<u8>>,
        end: Option<Vec<u8>>,
        backwards: bool,
    ) -> PyResult<Pairs> {
        let (transaction, pairs) = self.with(py, |environment, pairs| {
            let options = TransactionOptions::new();
            Ok((OwnedTransaction::begin_read(environment.database(), &options)?, pairs.clone()))
        })?;
        let state = Reading {
            transaction,
            pairs,
            first: first.map(Bytes::from),
            end: end.map(Bytes::from),
            backwards,
            before: None,
            ready: VecDeque::new(),
        };
        Ok(Pairs(Opened::new(state)))
    }

    /// Lets go of it.
    fn close(&self) {
        drop(self.open.take());
    }
}

impl KeyValue {
    pub(crate) fn new(environment: Environment, pairs: KvDatabase) -> Self {
        Self { open: Opened::new((environment, pairs)) }
    }

    /// Does what takes a moment.
    fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Environment, &KvDatabase) -> Result<T>,
    ) -> PyResult<T> {
        self.open.check()?;
        let open = self.open.lock();
        let (environment, pairs) = open.as_ref().ok_or_else(|| closed("key/value database"))?;
        work(environment, pairs).map_err(|error| of_engine(py, error))
    }

    /// Does what may wait for a disk or for others, without the interpreter.
    fn detached<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&Environment, &KvDatabase) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.open.check()?;
        let done = py.detach(|| {
            let open = self.open.lock().clone();
            open.map(|(environment, pairs)| work(&environment, &pairs))
        });
        done.ok_or_else(|| closed("key/value database"))?.map_err(|error| of_engine(py, error))
    }
}

/// An iterator over pairs.
#[pyclass(frozen, module = "remanent")]
pub(crate) struct Pairs(Opened<Reading>);

struct Reading {
    transaction: OwnedTransaction,
    pairs: KvDatabase,
    first: Option<Bytes>,
    end: Option<Bytes>,
    backwards: bool,
    /// The pair that was read last.
    before: Option<Pair>,
    ready: VecDeque<Pair>,
}

#[pymethods]
impl Pairs {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        self.0.check()?;
        let mut state = self.0.lock();
        let Some(reading) = &mut *state else { return Ok(None) };
        if reading.ready.is_empty() {
            reading.read_ahead().map_err(|error| of_engine(py, error))?;
        }
        match reading.ready.pop_front() {
            Some((key, value)) => {
                let pair = [PyBytes::new(py, &key), PyBytes::new(py, &value)];
                PyTuple::new(py, pair).map(Some)
            }
            None => {
                *state = None;
                Ok(None)
            }
        }
    }

    /// Lets go of the snapshot.
    fn close(&self) {
        drop(self.0.take());
    }
}

impl Reading {
    fn read_ahead(&mut self) -> Result<()> {
        let transaction = self.transaction.read()?;
        let mut cursor = self.pairs.cursor(&transaction)?;
        let mut found = match (&self.before, self.backwards) {
            (Some((key, value)), backwards) => {
                // It is where it was, in the same snapshot.
                cursor.get_both(key, value)?;
                if backwards { cursor.previous()? } else { cursor.next()? }
            }
            (None, false) => match &self.first {
                Some(first) => cursor.set_range(first)?,
                None => cursor.first()?,
            },
            (None, true) => match &self.end {
                Some(end) => match cursor.set_range(end)? {
                    Some(_) => cursor.previous()?,
                    None => cursor.last()?,
                },
                None => cursor.last()?,
            },
        };
        while let Some((key, value)) = found {
            let is_over = match self.backwards {
                false => self.end.as_deref().is_some_and(|end| key >= end),
                true => self.first.as_deref().is_some_and(|first| key < first),
            };
            if is_over {
                break;
            }
            self.ready.push_back((key.into(), value.into()));
            if self.ready.len() >= AHEAD {
                break;
            }
            found = if self.backwards { cursor.previous()? } else { cursor.next()? };
        }
        self.before = self.ready.back().cloned();
        Ok(())
    }
}
