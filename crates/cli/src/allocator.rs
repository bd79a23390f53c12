//! The allocator of the program: mimalloc, whose memory counts in the memory budget.
//!
//! Batches and tables of queries come and go, and their figures were made under it. What a query
//! gives back is kept for the next one for ten seconds, as jemalloc does, rather than one: memory
//! that the kernel has taken back costs a fault for each page when it is asked for again.

#[cfg(test)]
mod tests;

use std::ffi::c_long;

use libmimalloc_sys::{mi_option_set_default, mi_option_t};
use mimalloc::MiMalloc;
use remanent_sql::CountingAllocator;

#[global_allocator]
static ALLOCATOR: CountingAllocator<MiMalloc> = CountingAllocator::new(MiMalloc);

/// The option by which mimalloc knows for how long freed memory is kept, in milliseconds. Its
/// bindings have no name for it; the test below sees whether it still is this one.
const PURGE_DELAY: mi_option_t = 15;
const PURGE_DELAY_MS: c_long = 10_000;

/// Keeps freed memory for as long as is said above, or as `MIMALLOC_PURGE_DELAY` says.
pub(crate) fn keep_freed_memory() {
    // SAFETY: options are numbers that can be set at any time, from any thread.
    unsafe { mi_option_set_default(PURGE_DELAY, PURGE_DELAY_MS) };
}
