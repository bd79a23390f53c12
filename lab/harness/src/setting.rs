//! A setting of a contender: what is promised, where the bytes are, and how it is opened.
//!
//! A setting is one row of a comparison: a promise, a medium, and a note that says how the
//! engine was told to keep that promise. The promise is the same word for every contender, so
//! that like is compared with like. A driver is the settings in which an engine takes part in one
//! workload, with the function that opens it; each workload's module says the function's type.

use std::error::Error;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Why an operation of a contender failed; shown to the reader of the run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The result of every fallible call in the laboratory.
pub type Outcome<T> = Result<T, Failure>;

/// How durable a commit is, by the same word for every contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Promise {
    /// No transactions.
    None,
    /// Transactions; nothing survives the process.
    Memory,
    /// The log of a commit is in the engine's own buffer.
    Buffered,
    /// A commit is handed to the operating system: it survives the process.
    Os,
    /// A commit is synced: it survives the machine.
    Disk,
}

/// Where the bytes of a database are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Medium {
    /// In the process.
    Memory,
    /// In files on a RAM disk.
    Ramdisk,
    /// In files on a disk.
    Disk,
}

/// Which runs a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// In every run, at every size.
    Always,
    /// In the ordinary run only at the small sizes, because it takes long.
    Small,
    /// Only when everything is asked for.
    OnRequest,
}

/// One configuration of a contender.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Empty, or what follows the contender's name after a dash.
    pub variant: &'static str,
    /// The promise that is compared.
    pub promise: Promise,
    /// Where the database lies.
    pub medium: Medium,
    /// Which runs it belongs to.
    pub tier: Tier,
    /// How the engine was configured to keep the promise.
    pub note: &'static str,
}

impl Setting {
    /// The contender's word in the records: its name, and the variant after a dash.
    #[must_use]
    pub fn label(&self, contender: &str) -> String {
        if self.variant.is_empty() {
            contender.to_owned()
        } else {
            format!("{contender}-{}", self.variant)
        }
    }
}

/// How an engine takes part in one workload.
#[derive(Clone, Copy, Debug)]
pub struct Driver<Open> {
    /// Every configuration in which it takes part.
    pub settings: &'static [Setting],
    /// Opens it, empty, in one of them.
    pub open: Open,
}

impl<Open> Driver<Open> {
    /// The settings of a driver; none where there is no driver.
    pub fn settings_of(driver: Option<&Self>) -> &'static [Setting] {
        driver.map_or(&[], |driver| driver.settings)
    }
}

/// Where a database is to be made, and how large it will become.
#[derive(Clone, Copy, Debug)]
pub struct Location<'a> {
    /// An empty directory on the setting's medium; `None` for [`Medium::Memory`].
    pub directory: Option<&'a Path>,
    /// How many rows will be inserted; sizes caches and maps, not data structures.
    pub rows: u64,
    /// The sum of the field bytes of those rows.
    pub data_bytes: u64,
}

impl Location<'_> {
    /// The directory, for a setting that needs one.
    ///
    /// # Errors
    ///
    /// When the location is in memory.
    pub fn files(&self) -> Outcome<&Path> {
        self.directory.ok_or_else(|| "this setting needs a directory".into())
    }
}

impl Promise {
    /// Every level, the least promise first.
    pub const ALL: [Self; 5] = [Self::None, Self::Memory, Self::Buffered, Self::Os, Self::Disk];
}

impl Medium {
    /// Every medium, the nearest first.
    pub const ALL: [Self; 3] = [Self::Memory, Self::Ramdisk, Self::Disk];
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::None => "none",
            Self::Memory => "memory",
            Self::Buffered => "buffered",
            Self::Os => "os",
            Self::Disk => "disk",
        })
    }
}

impl fmt::Display for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Memory => "memory",
            Self::Ramdisk => "ramdisk",
            Self::Disk => "disk",
        })
    }
}
