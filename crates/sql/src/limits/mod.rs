//! What a statement may take: memory, time, and the patience of whoever waits for it.
//!
//! Everything above asks here before it grows, and looks here whether to stop.

pub(crate) mod heap;

pub(crate) mod budget;

pub(crate) mod held;

pub(crate) mod cancel;

pub(crate) mod spill;

pub(crate) mod query_memory;
