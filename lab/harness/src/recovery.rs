//! The interface of the workload of recovery: pairs that come back after their process is gone.
//!
//! From its log after a kill; in promise `Memory` from an image. The pairs themselves are read and
//! written as in `pairs`.

use crate::pairs::OpenPairs;
use crate::setting::Setting;

/// How an engine takes part.
#[derive(Clone, Copy, Debug)]
pub struct RecoveryDriver {
    /// Every configuration in which a database of pairs comes back.
    pub settings: &'static [Setting],
    /// Opens an empty database of pairs that is to come back.
    pub create: OpenPairs,
    /// Opens the database of pairs that `create` made in the same place.
    pub reopen: OpenPairs,
    /// Whether a file of the database is read when it comes back: its log, or its image.
    pub reads: fn(&str) -> bool,
}
