//! What writers do for memory when they end, and what a program may ask for.
//!
//! In the order in which a writer that ends meets them: [`snapshots`] are those that are held,
//! which may expire; [`reclaim`] frees what none of them needs, [`compact`] moves rows together
//! where pages are fragmented. [`freeze`] makes columns of rows, on request. How a table does each
//! of these is in `table/cleanup/` and `table/columns/`.

pub(crate) mod compact;
pub(crate) mod freeze;
pub(crate) mod reclaim;
pub(crate) mod snapshots;
