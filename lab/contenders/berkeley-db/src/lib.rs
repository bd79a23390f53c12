//! Berkeley DB 5.3 through its own C interface, where `libdb` is installed.
//!
//! Data Store (no transactions, no locks) and Transactional Data Store (transactions, locks, a
//! log), each in memory or in files, in a private environment whose cache holds everything. On
//! a machine without the library this crate compiles to a contender that names the command
//! that installs it. The C calls are in `database`, `pairs` and `burst`, which exist only with the
//! library.
//! Shared by threads it is a Transactional Data Store in memory with snapshot isolation for
//! readers.

#[cfg(berkeley_db)]
mod burst;
#[cfg(berkeley_db)]
mod database;
#[cfg(berkeley_db)]
mod pairs;
#[cfg(berkeley_db)]
mod threads;

use lab_harness::burst::BurstStore;
use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Medium, Missing, Outcome, Place, Promise, Setting, Tier};

/// The `berkeley-db` contender.
#[derive(Clone, Copy, Debug)]
pub struct BerkeleyDb;

const SETTINGS: &[Setting] = &[
    setting(Promise::None, Medium::Memory, Tier::Always, DATA_STORE),
    setting(Promise::Memory, Medium::Memory, Tier::Always, IN_MEMORY),
    setting(Promise::Buffered, Medium::Ramdisk, Tier::Always, NOSYNC),
    setting(Promise::Buffered, Medium::Disk, Tier::Always, NOSYNC),
    setting(Promise::Os, Medium::Ramdisk, Tier::OnRequest, WRITE_NOSYNC),
    setting(Promise::Os, Medium::Disk, Tier::OnRequest, WRITE_NOSYNC),
    setting(Promise::Disk, Medium::Ramdisk, Tier::Small, SYNC),
    setting(Promise::Disk, Medium::Disk, Tier::Small, SYNC),
];

const SHARED: &[Setting] = &[setting(Promise::Memory, Medium::Memory, Tier::Always, SNAPSHOTS)];

const SNAPSHOTS: &str = "TDS: btree in memory, 8 KiB pages, log in memory (8 MiB), DB_THREAD, \
    DB_MULTIVERSION, readers DB_TXN_SNAPSHOT, DB_LOCK_DEFAULT";
const DATA_STORE: &str = "DS: btree in memory, 8 KiB pages, no transactions, no locks";
const IN_MEMORY: &str = "TDS: btree in memory, 8 KiB pages, log in memory (8 MiB)";
const NOSYNC: &str = "TDS: file, 8 KiB pages, DB_TXN_NOSYNC, log buffer 8 MiB";
const WRITE_NOSYNC: &str = "TDS: file, 8 KiB pages, DB_TXN_WRITE_NOSYNC, log buffer 8 MiB";
const SYNC: &str = "TDS: file, 8 KiB pages, synced commits, log buffer 8 MiB";

const PAIRS: &[Setting] = &[
    pairs_in("", Promise::None, Medium::Memory, PAIRS_DATA_STORE),
    pairs_in("32mb", Promise::None, Medium::Ramdisk, PAIRS_DATA_STORE_32),
    pairs_in("", Promise::Memory, Medium::Memory, PAIRS_IN_MEMORY),
    pairs_in("", Promise::Buffered, Medium::Disk, PAIRS_NOSYNC),
    pairs_in("32mb", Promise::Buffered, Medium::Disk, PAIRS_NOSYNC_32),
    pairs_in("", Promise::Os, Medium::Disk, PAIRS_WRITE_NOSYNC),
    pairs_in("", Promise::Disk, Medium::Disk, PAIRS_SYNC),
];

const BURST: &[Setting] = &[
    pairs_in("", Promise::None, Medium::Memory, BURST_DATA_STORE),
    pairs_in("", Promise::Memory, Medium::Memory, BURST_IN_MEMORY),
    Setting {
        tier: Tier::OnRequest,
        ..pairs_in("", Promise::Buffered, Medium::Disk, BURST_NOSYNC)
    },
    Setting {
        tier: Tier::OnRequest,
        ..pairs_in("", Promise::Os, Medium::Disk, BURST_WRITE_NOSYNC)
    },
    pairs_in("", Promise::Disk, Medium::Disk, BURST_SYNC),
];

const BURST_DATA_STORE: &str = "DS: btree in memory, 32 KiB pages, no transactions, no locks";
const BURST_IN_MEMORY: &str = "btree in memory, 32 KiB pages, one transaction, no lock manager \
    (one thread), log in memory, which has to hold the transaction: 300 bytes a record";
const BURST_NOSYNC: &str = "file, 32 KiB pages, all in cache, one transaction, no lock manager \
    (one thread), DB_TXN_NOSYNC, log buffer 8 MiB";
const BURST_WRITE_NOSYNC: &str = "file, 32 KiB pages, all in cache, one transaction, no lock \
    manager (one thread), DB_TXN_WRITE_NOSYNC, log buffer 8 MiB";
const BURST_SYNC: &str = "file, 32 KiB pages, all in cache, one transaction, no lock manager (one \
    thread), synced commit, log buffer 8 MiB";

const RETURNS: &[Setting] = &[pairs_in("", Promise::Os, Medium::Disk, RECOVERED)];

const PAIRS_DATA_STORE: &str = "DS: btree in memory, 32 KiB pages, no transactions, no locks; bulk \
    reads by DB_MULTIPLE_KEY into 4 MiB";
const PAIRS_DATA_STORE_32: &str = "DS: btree in a file, 32 KiB pages, a cache of 32 MiB";
const PAIRS_IN_MEMORY: &str =
    "TDS: btree in memory, 32 KiB pages, log in memory (8 MiB), DB_AUTO_COMMIT";
const PAIRS_NOSYNC: &str =
    "TDS: file, 32 KiB pages, all in cache, DB_TXN_NOSYNC, log buffer 8 MiB, DB_AUTO_COMMIT";
const PAIRS_NOSYNC_32: &str =
    "TDS: file, 32 KiB pages, a cache of 32 MiB, DB_TXN_NOSYNC, log buffer 8 MiB, DB_AUTO_COMMIT";
const PAIRS_WRITE_NOSYNC: &str =
    "TDS: file, 32 KiB pages, all in cache, DB_TXN_WRITE_NOSYNC, log buffer 8 MiB, DB_AUTO_COMMIT";
const PAIRS_SYNC: &str = "TDS: file, 32 KiB pages, all in cache, synced commits, log buffer 8 MiB, \
    DB_AUTO_COMMIT; threads: DB_THREAD, DB_LOCK_DEFAULT, syncs by log_stat";
const RECOVERED: &str =
    "TDS: file, 32 KiB pages, all in cache, DB_TXN_WRITE_NOSYNC, no checkpoint; DB_RECOVER";

const fn pairs_in(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier: Tier::Always, note }
}

const fn setting(promise: Promise, medium: Medium, tier: Tier, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier, note }
}

impl Contender for BerkeleyDb {
    fn name(&self) -> &'static str {
        "berkeley-db"
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    #[cfg(berkeley_db)]
    fn version(&self) -> String {
        database::version()
    }

    #[cfg(berkeley_db)]
    fn open_sensors(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Ok(Box::new(database::Database::open(setting, place)?))
    }

    fn shared_settings(&self) -> &'static [Setting] {
        SHARED
    }

    #[cfg(berkeley_db)]
    fn open_shared(&self, _: &Setting, place: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Ok(Box::new(database::Shared::open(place)?))
    }

    fn pair_settings(&self) -> &'static [Setting] {
        PAIRS
    }

    #[cfg(berkeley_db)]
    fn open_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(pairs::open(setting, place, false)?))
    }

    fn threads_commit(&self) -> bool {
        true
    }

    #[cfg(berkeley_db)]
    fn open_commits(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        Ok(Box::new(pairs::open_commits(setting, place)?))
    }

    fn burst_settings(&self) -> &'static [Setting] {
        BURST
    }

    #[cfg(berkeley_db)]
    fn open_burst(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        snapshots: u64,
    ) -> Outcome<Box<dyn BurstStore>> {
        burst::open(setting, place, snapshots)
    }

    #[cfg(not(berkeley_db))]
    fn open_burst(&self, _: &Setting, _: &Place<'_>, _: u64) -> Outcome<Box<dyn BurstStore>> {
        Err(not_installed().reason.into())
    }

    fn return_settings(&self) -> &'static [Setting] {
        RETURNS
    }

    #[cfg(berkeley_db)]
    fn reopen_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(pairs::open(setting, place, true)?))
    }

    fn is_returned_from(&self, file: &str) -> bool {
        file.starts_with("log.")
    }

    #[cfg(not(berkeley_db))]
    fn open_shared(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Err(not_installed().reason.into())
    }

    #[cfg(not(berkeley_db))]
    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Err(not_installed().reason.into())
    }

    #[cfg(not(berkeley_db))]
    fn open_commits(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        Err(not_installed().reason.into())
    }

    #[cfg(not(berkeley_db))]
    fn version(&self) -> String {
        "not installed".to_owned()
    }

    #[cfg(not(berkeley_db))]
    fn missing(&self) -> Option<Missing> {
        Some(not_installed())
    }

    #[cfg(not(berkeley_db))]
    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Err(not_installed().reason.into())
    }
}

/// What to say on a machine without the library.
#[must_use]
pub fn not_installed() -> Missing {
    Missing {
        reason: "db.h or libdb-5.3 was not found when the lab was built".to_owned(),
        install: "apt-get install libdb5.3-dev",
    }
}
