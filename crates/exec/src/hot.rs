//! Hot rows: predicates on their bytes, and vectors of their columns.
//!
//! What a query asks of them is compiled once for a scan ([`filter`]) and evaluated on a tile of
//! rows at a time, one predicate after the other, so that bytes are still in the processor's cache
//! when those of the rows that are left become vectors ([`gather`]), column by column.

pub(crate) mod filter;
pub(crate) mod gather;
mod predicates;
