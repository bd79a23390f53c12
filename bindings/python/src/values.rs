//! Values of SQL and of Python.
//!
//! `of_python` and `to_python` are each other's inverse for every type that both have; what one of
//! them has not is an error, never another value.

pub(crate) mod classes;
pub(crate) mod of_python;
pub(crate) mod parameters;
pub(crate) mod to_python;
