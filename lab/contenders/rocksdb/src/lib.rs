//! RocksDB through its own C interface, where `librocksdb` is installed: a log-structured store.
//!
//! It takes part with small pairs. A write is one atomic put; without its log it promises memory,
//! with the log written when told to, at every put, or synced, what the rungs above promise. It
//! has no database without files, and no transaction that reads. On a machine without the library
//! this crate compiles to a contender that names the command that installs it. The C calls are in
//! `database`, which exists only with the library.

#[cfg(rocksdb)]
mod database;

use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Medium, Missing, Outcome, Place, Promise, Setting, Tier};

/// The `rocksdb` contender.
#[derive(Clone, Copy, Debug)]
pub struct RocksDb;

const PAIRS: &[Setting] = &[
    setting(Promise::Memory, Medium::Ramdisk, NO_LOG),
    setting(Promise::Buffered, Medium::Disk, MANUAL),
    setting(Promise::Os, Medium::Disk, WRITTEN),
    setting(Promise::Disk, Medium::Disk, SYNCED),
];

const RETURNS: &[Setting] = &[setting(Promise::Os, Medium::Disk, REPLAYED)];

const NO_LOG: &str = "WAL disabled; memtable 256 MiB, bloom 10 bits, no compression, pinned reads; \
    no database without files, hence on a RAM disk";
const MANUAL: &str = "WAL, manual_wal_flush; memtable 256 MiB, bloom 10 bits, no compression";
const WRITTEN: &str = "WAL, not synced; memtable 256 MiB, bloom 10 bits, no compression";
const SYNCED: &str = "WAL, sync=true; memtable 256 MiB, bloom 10 bits, no compression; threads: \
    syncs by the ticker rocksdb.wal.synced";
const REPLAYED: &str =
    "WAL, not synced; memtable 1 GiB, so that nothing leaves the log before the kill";

const fn setting(promise: Promise, medium: Medium, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier: Tier::Always, note }
}

impl Contender for RocksDb {
    fn name(&self) -> &'static str {
        "rocksdb"
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Err("it takes part with small pairs".into())
    }

    fn pair_settings(&self) -> &'static [Setting] {
        PAIRS
    }

    fn threads_commit(&self) -> bool {
        true
    }

    fn return_settings(&self) -> &'static [Setting] {
        RETURNS
    }

    fn is_returned_from(&self, file: &str) -> bool {
        file.ends_with(".log")
    }

    #[cfg(rocksdb)]
    fn version(&self) -> String {
        env!("LAB_ROCKSDB_VERSION").to_owned()
    }

    #[cfg(rocksdb)]
    fn open_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(database::Pairs::open(setting, place, database::Purpose::Ladder)?))
    }

    #[cfg(rocksdb)]
    fn open_commits(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        Ok(Box::new(database::Pairs::open(setting, place, database::Purpose::Commits)?))
    }

    #[cfg(rocksdb)]
    fn open_to_return(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(database::Pairs::open(setting, place, database::Purpose::Return)?))
    }

    #[cfg(rocksdb)]
    fn reopen_pairs(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(database::Pairs::open(setting, place, database::Purpose::Return)?))
    }

    #[cfg(not(rocksdb))]
    fn version(&self) -> String {
        "not installed".to_owned()
    }

    #[cfg(not(rocksdb))]
    fn missing(&self) -> Option<Missing> {
        Some(not_installed())
    }

    #[cfg(not(rocksdb))]
    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Err(not_installed().reason.into())
    }

    #[cfg(not(rocksdb))]
    fn open_commits(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
        Err(not_installed().reason.into())
    }
}

/// What to say on a machine without the library.
#[must_use]
pub fn not_installed() -> Missing {
    Missing {
        reason: "rocksdb/c.h or librocksdb was not found when the lab was built".to_owned(),
        install: "apt-get install librocksdb-dev",
    }
}
