//! Values of SQL and of Python.
//!
//! `of_python` and `to_python` are each other's inverse for every type that both have; what one of
//! them has not is an error, never another value.

pub(crate) mod parameters;
pub(crate) mod to_python;

mod classes;
mod of_python;
