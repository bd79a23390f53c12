//! What of a workload is to be run: how much time it may take, at which sizes, and who takes part.
//!
//! `command` makes it of the flags; a workload makes its plan of it.

use std::path::PathBuf;

use lab_harness::{Contender, Tier};

/// What of a workload is to be run.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) scale: Scale,
    /// The sizes that take long as well.
    pub(crate) large: bool,
    /// Only this size.
    pub(crate) rows: Option<u64>,
    pub(crate) rounds: u32,
    /// How long a workload that can be paced is to take.
    pub(crate) minutes: Option<u32>,
    /// Every contender that takes part, whether it is installed or not.
    pub(crate) contenders: Vec<&'static Contender>,
    pub(crate) out: PathBuf,
}

/// How much time a run may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scale {
    /// Half a minute: for tests.
    Quick,
    /// At most five minutes: for visitors.
    Ordinary,
    /// For records.
    Full,
    /// As [`Self::Full`], with every setting and without limits.
    All,
}

impl Scale {
    /// How often everything is measured unless `--rounds` says otherwise.
    pub(crate) fn rounds(self) -> u32 {
        match self {
            Self::Quick => 2,
            Self::Ordinary => 3,
            Self::Full | Self::All => 5,
        }
    }

    /// The settings that take part, at small sizes and at others.
    pub(crate) fn tier(self, small: bool) -> Tier {
        match (self, small) {
            (Self::All, _) => Tier::OnRequest,
            (_, true) => Tier::Small,
            (_, false) => Tier::Always,
        }
    }
}
