//! Plans: the rules in their order, subqueries, and operators that stop when they are told to.
//!
//! A logical plan comes in, and a physical one goes out that can be started.

pub(crate) mod planner;

pub(crate) mod shared_parts;
pub(crate) mod stages;

pub(crate) mod subquery;

pub(crate) mod template;

pub(crate) mod general;
pub(crate) mod parameter;

pub(crate) mod size;

pub(crate) mod cancel_check;
pub(crate) mod copying;
