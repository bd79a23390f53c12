//! Arithmetic, casts and rounding with the types and the errors that PostgreSQL has.
//!
//! Operators are bound as functions where DataFusion has none for their types, and replaced by
//! functions that fail instead of wrapping before constants are folded. A numeric keeps as many
//! digits as PostgreSQL gives it at least.

pub(crate) mod any_numeric;
pub(crate) mod checked;
pub(crate) mod converted;
mod decimal;
pub(crate) mod division;
pub(crate) mod linked;
pub(crate) mod logarithms;
pub(crate) mod operators;
pub(crate) mod rounding;

/// What stands on both sides of an operator, or what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Operands<T> {
    pub(crate) left: T,
    pub(crate) right: T,
}
