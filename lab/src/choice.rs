//! What of a workload is to be run: how much time it may take, at which sizes, and who takes part.
//!
//! `command` makes it of the flags; a workload makes its plan of it.

use std::path::PathBuf;

use lab_harness::{Contender, Medium, Promise, Setting, Tier};

/// What of a workload is to be run.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) scale: Scale,
    /// The sizes that take long as well.
    pub(crate) large: bool,
    /// Only this size.
    pub(crate) rows: Option<u64>,
    pub(crate) rounds: u32,
    /// Only settings of these promises and on these media, whichever runs they belong to; where
    /// nothing is named, the run's own.
    pub(crate) promises: Vec<Promise>,
    pub(crate) media: Vec<Medium>,
    /// How long a workload that can be paced is to take.
    pub(crate) minutes: Option<u32>,
    /// Every contender that takes part, whether it is installed or not.
    pub(crate) contenders: Vec<&'static Contender>,
    pub(crate) out: PathBuf,
}

impl Choice {
    /// Whether a setting takes part in a run that has those of a tier.
    pub(crate) fn takes(&self, setting: &Setting, tier: Tier) -> bool {
        if self.promises.is_empty() && self.media.is_empty() {
            return setting.tier <= tier;
        }
        is_named(&self.promises, setting.promise) && is_named(&self.media, setting.medium)
    }
}

fn is_named<T: PartialEq>(named: &[T], one: T) -> bool {
    named.is_empty() || named.contains(&one)
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
