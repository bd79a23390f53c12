//! Types of columns and the values that they hold.
//!
//! Types and values are made of each other: a struct has fields with types, a default is a value.

pub(crate) mod column_type;

pub(crate) mod default_value;

pub(crate) mod scalar;

pub(crate) mod value;

pub(crate) mod fixed_value;

pub(crate) mod elements;
