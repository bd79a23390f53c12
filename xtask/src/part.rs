//! What a run has of what would take too long every time: a tenth of it, or all.
//!
//! Whose turn it is says `ci/turn.rs`; how its work is divided says whoever does it.

use std::fmt;

/// How many parts there are.
pub(crate) const PARTS: u64 = 10;

/// What a run has of what is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    All,
    /// Below [`PARTS`].
    Tenth(u64),
}

impl Part {
    pub(crate) fn of(turn: u64) -> Self {
        Self::Tenth(turn % PARTS)
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all parts of what is not run every time"),
            Self::Tenth(part) => {
                write!(f, "part {} of {PARTS} of what is not run every time", part + 1)
            }
        }
    }
}
