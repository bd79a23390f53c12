//! The native half of the Python package `remanent`: what has to be fast, or near the engine.
//!
//! A `Database` is open or closed; a `Session` of it runs statements, whose rows a `Rows` reads; a
//! `KeyValue` has pairs of bytes, and a `Table` the rows
//! of a table as records. The other half, `remanent/*.py`, makes of them what Python's
//! programs expect: DB-API 2.0, context managers, mappings.
//!
//! The interpreter is let go while the engine works. What may take long works in a thread of the
//! session (`working`), so that Ctrl-C stops it; statements about one key are done at once.

mod arrow;
mod caller;
mod database;
mod error;
mod forked;
mod key_value;
mod options;
mod records;
mod rows;
mod session;
mod values;
mod working;

use std::ffi::OsString;

use pyo3::prelude::*;

/// What the program `remanent` does with these words; the code to end with.
#[pyfunction]
fn main(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| remanent_cli::main(words))
}

/// The native half of `remanent`.
#[pymodule]
fn _remanent(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<database::Database>()?;
    module.add_class::<session::Session>()?;
    module.add_class::<rows::Rows>()?;
    module.add_class::<records::Table>()?;
    module.add_class::<records::Scan>()?;
    module.add_class::<key_value::KeyValue>()?;
    module.add_class::<key_value::Pairs>()?;
    module.add_function(wrap_pyfunction!(forked::after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)?;
    error::add_to(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
