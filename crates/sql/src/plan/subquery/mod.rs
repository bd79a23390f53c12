//! Subqueries within expressions: which of them become joins, and how the others are run.
//!
//! The planner makes joins of most: of those that are simple conditions of a WHERE clause, and of
//! values that an aggregate gives for each row. [`Subqueries`] leaves these to it. What it would
//! refuse, or answer wrongly where there are NULLs, becomes a call of a function, [`Subplan`], that
//! runs the subquery once for all rows that ask it the same.

mod factors;
mod lateral;
mod rule;
mod shape;
mod subplan;

pub(crate) use rule::Subqueries;
