//! Errors as DB-API 2.0 names them (PEP 249), from the SQLSTATE that each has.
//!
//! The classes of SQLSTATE go to the exceptions to which psycopg gives them. An exception has what
//! the error says beside its message as attributes.

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyWarning};
use pyo3::prelude::*;

create_exception!(remanent, Warning, PyWarning, "Something that may not be what was meant.");
create_exception!(remanent, Error, PyException, "What all errors of remanent are.");
create_exception!(remanent, InterfaceError, Error, "The package was not used as it can be.");
create_exception!(remanent, DatabaseError, Error, "The database refused something.");
create_exception!(remanent, DataError, DatabaseError, "A value cannot be had.");
create_exception!(remanent, OperationalError, DatabaseError, "Memory, disk, time, or others.");
create_exception!(
    remanent,
    ConflictError,
    OperationalError,
    "Another transaction was first: run this one again."
);
create_exception!(remanent, IntegrityError, DatabaseError, "A constraint would not hold.");
create_exception!(remanent, InternalError, DatabaseError, "The state does not allow it.");
create_exception!(remanent, ProgrammingError, DatabaseError, "A statement that means nothing.");
create_exception!(remanent, NotSupportedError, DatabaseError, "It is not there.");

/// Adds the exceptions to the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Warning", py.get_type::<Warning>())?;
    module.add("Error", py.get_type::<Error>())?;
    module.add("InterfaceError", py.get_type::<InterfaceError>())?;
    module.add("DatabaseError", py.get_type::<DatabaseError>())?;
    module.add("DataError", py.get_type::<DataError>())?;
    module.add("OperationalError", py.get_type::<OperationalError>())?;
    module.add("ConflictError", py.get_type::<ConflictError>())?;
    module.add("IntegrityError", py.get_type::<IntegrityError>())?;
    module.add("InternalError", py.get_type::<InternalError>())?;
    module.add("ProgrammingError", py.get_type::<ProgrammingError>())?;
    module.add("NotSupportedError", py.get_type::<NotSupportedError>())
}

/// An error of SQL as an exception.
pub(crate) fn of_sql(py: Python<'_>, error: &remanent_sql::Error) -> PyErr {
    let state = error.state().as_str();
    let mut text = error.message().to_owned();
    for (name, more) in [("detail", error.detail_text()), ("hint", error.hint_text())] {
        if let Some(more) = more {
            text.push_str(&format!("\n{name}: {more}"));
        }
    }
    let raised = of_state(state, text);
    let subject = error.subject();
    let value = raised.value(py);
    let attributes = [
        ("sqlstate", Some(state)),
        ("message", Some(error.message())),
        ("detail", error.detail_text()),
        ("hint", error.hint_text()),
        ("schema_name", subject.schema.as_deref()),
        ("table_name", subject.table.as_deref()),
        ("column_name", subject.column.as_deref()),
        ("constraint_name", subject.constraint.as_deref()),
    ];
    for (name, attribute) in attributes {
        if let Err(failed) = value.setattr(name, attribute) {
            return failed;
        }
    }
    match value.setattr("position", error.position()) {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}

/// An error of the engine, which SQL's errors know how to name.
pub(crate) fn of_engine(py: Python<'_>, error: remanent_engine::Error) -> PyErr {
    of_sql(py, &remanent_sql::Error::from(error))
}

fn of_state(state: &str, text: String) -> PyErr {
    match (&state[..2], state) {
        (_, "40001" | "40P01") => ConflictError::new_err(text),
        (_, "57014") => OperationalError::new_err(text),
        ("0A", _) => NotSupportedError::new_err(text),
        ("20" | "21" | "26" | "2F" | "34" | "38" | "39" | "3D" | "3F" | "42" | "44", _) => {
            ProgrammingError::new_err(text)
        }
        ("22", _) => DataError::new_err(text),
        ("23", _) => IntegrityError::new_err(text),
        ("24" | "25" | "2B" | "2D" | "3B" | "XX", _) => InternalError::new_err(text),
        _ => OperationalError::new_err(text),
    }
}

/// What was closed is used.
pub(crate) fn closed(what: &str) -> PyErr {
    InterfaceError::new_err(format!("the {what} is closed"))
}
