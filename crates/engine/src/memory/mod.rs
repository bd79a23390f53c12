//! Memory: a database is one region.
//!
//! Everything the database holds lies in one reserved range of addresses and refers to itself by
//! offset ([`Ref`]), never by pointer. The files, bottom first: [`atomic`] (the words that threads
//! share), [`latch`], [`region`] (the range and the system calls), [`aligned`] (bytes as numbers),
//! [`class`] (size classes), [`account`] (budget and reserve), [`counts`] (what the holder of a
//! slot counts), [`pages`] (16 KiB pages and runs of them, and
//! what can leave memory and come back), [`allocator`] (blocks, and each slot's
//! cache), [`row_blocks`] (blocks of rows), [`retire`] (what waits for its last reader),
//! [`barrier`] (how a reclaimer finds out who reads), [`blocks`] (the allocator by itself, to be
//! measured), [`scratch`] (room to work in).
//!
//! The one contract of this module: a `Ref<T>` is only made by allocating a `T` here, and nobody
//! follows it after the grace period that follows its retirement. Under that contract the safe
//! functions of [`Memory`] are sound; transactions keep it (see `transaction/begin/clock.rs`).

pub(crate) mod account;
pub(crate) mod aligned;
pub(crate) mod allocator;
pub(crate) mod atomic;
pub(crate) mod barrier;
pub(crate) mod blocks;
pub(crate) mod class;
pub(crate) mod counts;
pub(crate) mod latch;
#[cfg(shuttle)]
pub(crate) mod modelled;
pub(crate) mod pages;
pub(crate) mod region;
pub(crate) mod retire;
pub(crate) mod row_blocks;
pub(crate) mod scratch;
pub(crate) mod succession;

pub use account::{MemoryUse, Purpose};
pub(crate) use allocator::{AllocationClass, Allocator, Cache, Memory};
pub use blocks::Blocks;
pub use pages::buffer_cache::ColumnReads;
pub use region::CallerMemory;
pub(crate) use region::Ref;
