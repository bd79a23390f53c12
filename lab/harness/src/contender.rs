//! What a contender is: a name, a version, settings, and one way to open it per workload.
//!
//! A setting is one row of a comparison: a promise, a medium, and a note that says how the
//! engine was told to keep that promise. The promise is the same word for every contender, so
//! that like is compared with like. A contender that is not installed says so through
//! `missing`; the run then names it with the command that installs it, and goes on.

use std::error::Error;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::blocks::BlockStore;
use crate::burst::BurstStore;
use crate::pairs::{CommitStore, PairStore};
use crate::readers::SharedStore;
use crate::sensors::{RecordShape, SensorStore};
use crate::sets::{SetOrder, SetStore};

/// Why an operation of a contender failed; shown to the reader of the run.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The result of every fallible call in the laboratory.
pub type Outcome<T> = Result<T, Failure>;

/// An engine that takes part.
pub trait Contender: Sync {
    /// The word used in records and on the command line.
    fn name(&self) -> &'static str;

    /// The version that is linked, as the engine itself reports it.
    fn version(&self) -> String;

    /// Why the engine cannot run in this build; `None` when it can.
    fn missing(&self) -> Option<Missing> {
        None
    }

    /// Every configuration in which the engine takes part, owned by one thread.
    fn settings(&self) -> &'static [Setting];

    /// Opens an empty database with the schema of the sensor workload.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; the cell is then recorded as skipped with that reason.
    fn open_sensors(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        shape: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>>;

    /// Every configuration in which threads share the engine.
    fn shared_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Opens an empty database with the schema of the reader-writer workload, in one of the
    /// shared settings.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no shared setting.
    fn open_shared(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Err("threads cannot share it".into())
    }

    /// Every configuration in which the engine keeps network sets.
    fn set_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Whether those configurations have sets in this order.
    fn has_order(&self, _: SetOrder) -> bool {
        true
    }

    /// Opens an empty database with one set, in one of the settings for sets.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no such setting.
    fn open_set(&self, _: &Setting, _: &Place<'_>, _: SetOrder) -> Outcome<Box<dyn SetStore>> {
        Err("it has no network sets".into())
    }

    /// Every configuration in which the engine keeps small pairs, owned by one thread.
    fn pair_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Opens an empty database of pairs, in one of the settings for pairs.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no such setting.
    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Err("it has no pairs".into())
    }

    /// Whether threads may commit pairs together, in its settings for pairs with synced commits.
    fn threads_commit(&self) -> bool {
        false
    }

    /// Opens an empty database of pairs for threads that commit.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when threads cannot.
    fn open_commits(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        Err("threads cannot commit in it".into())
    }

    /// Every configuration in which the engine takes one large transaction.
    fn burst_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Opens an empty database for one large transaction, in one of those settings; so many
    /// snapshots will be open beside it.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no such setting, or none with snapshots.
    fn open_burst(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _snapshots: u64,
    ) -> Outcome<Box<dyn BurstStore>> {
        Err("it has no large transactions".into())
    }

    /// Every configuration in which it allocates blocks, and nothing else.
    fn block_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Makes an allocator of so many blocks of this size, a multiple of eight, in one of those
    /// settings.
    ///
    /// # Errors
    ///
    /// Whatever it reports; always, when it has no such setting.
    fn open_blocks(
        &self,
        _: &Setting,
        _count: u64,
        _block_bytes: usize,
    ) -> Outcome<Box<dyn BlockStore>> {
        Err("it is no allocator".into())
    }

    /// Every configuration in which a database of pairs comes back after its process is gone: from
    /// its log after a kill; in promise [`Promise::Memory`] from an image.
    fn return_settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Opens an empty database of pairs that is to come back, in one of those settings.
    ///
    /// # Errors
    ///
    /// As [`Contender::open_pairs`].
    fn open_to_return(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        self.open_pairs(setting, place)
    }

    /// Opens the database of pairs that [`Contender::open_to_return`] made in the same place.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it has no such setting.
    fn reopen_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Err("it does not come back".into())
    }

    /// Whether a file of the database is read when it comes back: its log, or its image.
    fn is_returned_from(&self, _file: &str) -> bool {
        true
    }
}

/// What is not there, and the one command that brings it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What was looked for and not found.
    pub reason: String,
    /// The command that installs it.
    pub install: &'static str,
}

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

/// Where a database is to be made, and how large it will become.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// An empty directory on the setting's medium; `None` for [`Medium::Memory`].
    pub directory: Option<&'a Path>,
    /// How many rows will be inserted; sizes caches and maps, not data structures.
    pub rows: u64,
    /// The sum of the field bytes of those rows.
    pub data_bytes: u64,
}

impl Place<'_> {
    /// The directory, for a setting that needs one.
    ///
    /// # Errors
    ///
    /// When the place is in memory.
    pub fn files(&self) -> Outcome<&Path> {
        self.directory.ok_or_else(|| "this setting needs a directory".into())
    }
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
