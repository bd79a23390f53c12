//! The rules as a whole: results are the same with them and without, and the joins of TPC-H are in
//! the order that is expected of them.

mod equivalence;

mod placement;

mod provider;

pub(super) mod random;

mod shape;

pub(super) mod tpch;
