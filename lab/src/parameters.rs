//! Parameters of cases that tables read back from records.
//!
//! A parameter goes with the request to the measured process and is part of its records. Those that
//! only one workload knows stand with that workload.

use std::collections::BTreeMap;

use serde_json::Value;

/// How many threads commit.
pub(crate) const THREADS: &str = "threads";

/// Bytes of a block, and of all of them.
pub(crate) const BLOCK_BYTES: &str = "block_bytes";
pub(crate) const TOTAL_BYTES: &str = "total_bytes";

/// Whether blocks come from memory that was touched before.
pub(crate) const PREFAULTED: &str = "warm";

/// Bytes of a block, as a request or a record has them.
pub(crate) fn block_bytes(parameters: &BTreeMap<String, Value>) -> Option<u64> {
    parameters.get(BLOCK_BYTES)?.as_u64()
}

/// Bytes of all blocks; none where memory was touched before.
pub(crate) fn total_bytes(parameters: &BTreeMap<String, Value>) -> Option<u64> {
    parameters.get(TOTAL_BYTES)?.as_u64()
}
