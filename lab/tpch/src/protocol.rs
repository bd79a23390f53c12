//! What a run and a measured process say to each other, one JSON object a line.
//!
//! The process speaks first, with its version. Then every line to it is one request, answered by
//! one reply; it ends when nothing more comes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::answer::Answer;

/// The first line of a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: String,
}

/// A line to a process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Request {
    /// Create these tables, by name, and load them.
    Load { load: BTreeMap<String, String> },
    /// Answer a query, and say the rows too if asked to.
    Query { query: String, rows: bool },
}

/// Nanoseconds for which columns were read meanwhile: that threads waited for them, that they
/// checked and decompressed them, and that a device of a given speed took.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct ReadingNs {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waiting_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) unpacking_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device_ns: Option<u64>,
}

/// A line from a process.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Reply {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default)]
    pub(crate) wall_ns: u64,
    #[serde(default)]
    pub(crate) cpu_ns: u64,
    /// Bytes that the loaded tables hold, in memory and files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) held_bytes: Option<u64>,
    /// Bytes of its files, if it has any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) disk_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<Answer>,
    /// Bytes that came from the device meanwhile, and of columns that came back to memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) device_bytes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) column_bytes: Option<u64>,
    #[serde(flatten)]
    pub(crate) reading: ReadingNs,
    /// Which part of the query's operators are the engine's own, where the others are a library's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) native: Option<f64>,
}
