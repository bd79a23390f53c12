//! What joins the fields of a class with the columns of a table.
//!
//! It is of a table as it was defined when the plan was made; once that has changed, the table says
//! so and another plan is made, or it turns out that they do not fit any more.

use std::cell::OnceCell;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use remanent_engine::schema::Value;
use remanent_engine::{ColumnHandle, IndexHandle, Row};
use remanent_sql::{Datum, RecordIndex, RecordTable, SqlType};

use super::field::{Field, Read};
use super::object::{self, RecordClass};
use crate::error::{DataError, ProgrammingError, of_sql};

/// The fields of a class, and the table of their values.
pub(crate) struct Plan {
    pub(crate) records: RecordTable,
    pub(crate) fields: Vec<Field>,
    pub(crate) primary: Key,
}

/// An index: the fields of which its keys are.
pub(crate) struct Key {
    pub(crate) handle: IndexHandle,
    /// Places of the fields.
    pub(crate) fields: Vec<usize>,
    pub(crate) ordered: bool,
}

/// Values that a program gave, of some fields.
pub(crate) struct Given<'p, 'py> {
    pub(super) plan: &'p Plan,
    objects: Vec<(usize, Bound<'py, PyAny>)>,
    /// Those that do not go straight to the engine, once they have been asked for.
    assigned: OnceCell<Box<[OnceCell<Datum>]>>,
}

impl Plan {
    /// Joins the fields of these names and types with the table's columns.
    ///
    /// # Errors
    /// `ProgrammingError` if they do not fit.
    pub(crate) fn new(
        py: Python<'_>,
        records: RecordTable,
        wanted: &[(String, String)],
    ) -> PyResult<Self> {
        let mut fields = Vec::with_capacity(wanted.len());
        for (name, sql_type) in wanted {
            let found = records.columns().enumerate().find(|(_, it)| it.name() == name);
            let Some((place, column)) = found else {
                return Err(unfit(format!("the table has no column {name}")));
            };
            if !column.is_of(sql_type).map_err(|error| of_sql(py, &error))? {
                let is = column.sql_type();
                return Err(unfit(format!("column {name} is {is}, and the field {sql_type}")));
            }
            if matches!(column.sql_type(), SqlType::Array(_) | SqlType::Interval) {
                let text = format!("column {name} is {}, which no field is", column.sql_type());
                return Err(unfit(text));
            }
            fields.push(Field::new(py, name, place, column));
        }
        let is_left = |name: &&str| wanted.iter().all(|(it, _)| it != name);
        if let Some(left) = records.columns().map(|it| it.name()).find(is_left) {
            return Err(unfit(format!("the class has no field {left}, which is a column")));
        }
        let Some(primary) = records.primary() else {
            return Err(unfit("the table has no primary key".to_owned()));
        };
        let primary = key(&fields, &primary);
        Ok(Self { records, fields, primary })
    }

    /// The index of this name.
    ///
    /// # Errors
    /// `ProgrammingError` if there is none.
    pub(crate) fn index(&self, name: &str) -> PyResult<Key> {
        match self.records.index(name) {
            Some(index) => Ok(key(&self.fields, &index)),
            None => Err(ProgrammingError::new_err(format!("there is no index {name}"))),
        }
    }

    /// The values of a record. Where there has to be one and is none, it is left out, if the
    /// columns may have defaults.
    ///
    /// # Errors
    /// `IntegrityError` where there has to be one and is none; as the record's attributes.
    pub(crate) fn record<'py>(
        &self,
        record: &Bound<'py, PyAny>,
        has_defaults: bool,
    ) -> PyResult<Given<'_, 'py>> {
        let py = record.py();
        let mut values = Vec::with_capacity(self.fields.len());
        for (place, field) in self.fields.iter().enumerate() {
            let value = record.getattr(field.name.bind(py))?;
            if value.is_none() && !self.nullable(field) {
                let Some(column) = self.records.column(field.column) else { continue };
                if has_defaults {
                    continue;
                }
                return Err(of_sql(py, &self.records.null_in(column)));
            }
            values.push((place, value));
        }
        Ok(Given::new(self, values))
    }

    fn nullable(&self, field: &Field) -> bool {
        self.records.column(field.column).is_none_or(|column| column.nullable())
    }

    /// Does something with the values of a whole key; `None` for one that no record can have.
    ///
    /// # Errors
    /// `TypeError` for values of other types, or for too few or too many; and as `work`.
    pub(crate) fn look_up<T>(
        &self,
        key: &Key,
        given: &Bound<'_, PyAny>,
        work: impl FnOnce(&[Value<'_>]) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        if let [place] = key.fields[..]
            && let Some(value) = self.fields[place].straight(given)?
            && !value.is_null()
        {
            return work(&[value]).map(Some);
        }
        let parts = parts(key, given, true)?;
        if parts.iter().any(|(_, value)| value.is_none()) {
            return Ok(None);
        }
        match Given::new(self, parts).values() {
            // No column can have it, and so no record has it.
            Err(error) if error.is_instance_of::<DataError>(given.py()) => Ok(None),
            values => work(&values?).map(Some),
        }
    }

    /// The values of a whole primary key; `None` for one that no record can have.
    ///
    /// # Errors
    /// As [`Plan::look_up`].
    pub(crate) fn whole_key<'py>(
        &self,
        given: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Given<'_, 'py>>> {
        let key = Given::new(self, parts(&self.primary, given, true)?);
        match key.values() {
            Err(error) if error.is_instance_of::<DataError>(given.py()) => Ok(None),
            Err(error) => Err(error),
            Ok(values) if values.iter().any(Value::is_null) => Ok(None),
            Ok(_) => Ok(Some(key)),
        }
    }

    /// The values of a key, or the first of them.
    ///
    /// # Errors
    /// As [`Plan::look_up`].
    pub(crate) fn bound<'py>(
        &self,
        key: &Key,
        given: &Bound<'py, PyAny>,
    ) -> PyResult<Given<'_, 'py>> {
        Ok(Given::new(self, parts(key, given, false)?))
    }

    /// The values of a row.
    pub(crate) fn read(&self, py: Python<'_>, row: &Row<'_>) -> PyResult<Vec<Read>> {
        let read = self.fields.iter().map(|field| match self.records.column(field.column) {
            Some(column) => field.read(py, column, row),
            None => Ok(Read::Ready(py.None())),
        });
        read.collect()
    }

    /// The record of these values.
    pub(crate) fn made<'py>(
        &self,
        py: Python<'py>,
        class: &RecordClass,
        values: impl IntoIterator<Item = Read>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let made = class.empty(py)?;
        for (field, value) in self.fields.iter().zip(values) {
            object::set(&made, field.name.bind(py), &field.ready(py, value)?)?;
        }
        Ok(made)
    }

    /// Whether [`Plan::fill`] can make records of the class, within a transaction: neither values
    /// nor setting them run Python's code.
    pub(crate) fn can_fill(&self, class: &RecordClass) -> bool {
        class.has_slots() && self.fields.iter().all(Field::is_straight)
    }

    /// Gives an empty record the values of a row.
    pub(crate) fn fill(
        &self,
        made: &Bound<'_, PyAny>,
        class: &RecordClass,
        row: &Row<'_>,
    ) -> PyResult<()> {
        for (place, field) in self.fields.iter().enumerate() {
            class.fill(made, place, &field.straight_of(made.py(), row)?)?;
        }
        Ok(())
    }
}

impl<'p, 'py> Given<'p, 'py> {
    fn new(plan: &'p Plan, objects: Vec<(usize, Bound<'py, PyAny>)>) -> Self {
        Self { plan, objects, assigned: OnceCell::new() }
    }

    /// They, in the order in which they were given.
    ///
    /// # Errors
    /// As [`Field::assigned`].
    pub(crate) fn values(&self) -> PyResult<Vec<Value<'_>>> {
        let objects = self.objects.iter().enumerate();
        objects.map(|(at, (place, object))| self.value(at, *place, object)).collect()
    }

    fn value<'v>(
        &'v self,
        at: usize,
        place: usize,
        object: &'v Bound<'py, PyAny>,
    ) -> PyResult<Value<'v>> {
        let field = &self.plan.fields[place];
        if let Some(value) = field.straight(object)? {
            return Ok(value);
        }
        let Some(column) = self.plan.records.column(field.column) else { return Ok(Value::Null) };
        let all =
            self.assigned.get_or_init(|| self.objects.iter().map(|_| OnceCell::new()).collect());
        let datum = match all[at].get() {
            Some(datum) => datum,
            None => {
                let datum = field.assigned(column, object)?;
                all[at].get_or_init(|| datum)
            }
        };
        Ok(column.value(datum))
    }

    /// The place of each one's field, the object, and the value that it was assigned as, if it did
    /// not go straight: once they have been asked for.
    pub(crate) fn parts(
        &self,
    ) -> impl ExactSizeIterator<Item = (usize, &Bound<'py, PyAny>, Option<&Datum>)> {
        self.objects.iter().enumerate().map(|(at, (place, object))| {
            let assigned = self.assigned.get().and_then(|all| all[at].get());
            (*place, object, assigned)
        })
    }
}

impl Plan {
    /// A row of a whole record's values, for the engine.
    pub(crate) fn row<'v>(&self, values: &[Value<'v>]) -> Vec<Option<Value<'v>>> {
        let mut row = vec![None; self.records.leaves()];
        for (field, value) in self.fields.iter().zip(values) {
            row[field.leaf()] = Some(*value);
        }
        row
    }

    /// Those of a whole record's values that are its key.
    pub(crate) fn key_of<'v>(&self, values: &[Value<'v>]) -> Vec<Value<'v>> {
        self.primary.fields.iter().map(|&place| values[place]).collect()
    }

    /// Changes that give a row all of a record's values but those of its key.
    pub(crate) fn changes<'v>(&self, values: &[Value<'v>]) -> Vec<(ColumnHandle, Value<'v>)> {
        let all = self.fields.iter().zip(values).enumerate();
        let rest = all.filter(|(place, _)| !self.primary.fields.contains(place));
        rest.map(|(_, (field, value))| (field.handle(), *value)).collect()
    }
}

/// The values of a key with the places of their fields.
fn parts<'py>(
    key: &Key,
    given: &Bound<'py, PyAny>,
    is_whole: bool,
) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
    let wanted = key.fields.len();
    let Ok(several) = given.cast::<PyTuple>() else {
        return match wanted == 1 || !is_whole {
            true => Ok(vec![(key.fields[0], given.clone())]),
            false => Err(PyTypeError::new_err(format!("the key is a tuple of {wanted} values"))),
        };
    };
    if several.len() > wanted || (is_whole && several.len() < wanted) {
        let text = format!("the key has {wanted} values, not {}", several.len());
        return Err(PyTypeError::new_err(text));
    }
    Ok(key.fields.iter().copied().zip(several.iter()).collect())
}

fn key(fields: &[Field], index: &RecordIndex<'_>) -> Key {
    let place = |column: &usize| fields.iter().position(|field| field.column == *column);
    Key {
        handle: index.handle,
        // All columns are fields.
        fields: index.columns.iter().filter_map(place).collect(),
        ordered: index.ordered,
    }
}

fn unfit(text: String) -> PyErr {
    ProgrammingError::new_err(format!("the class and the table do not fit: {text}"))
}
