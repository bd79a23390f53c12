//! RocksDB through its own C interface, where `librocksdb` is installed: a log-structured store.
//!
//! It takes part with small pairs. A write is one atomic put; without its log it promises memory,
//! with the log written when told to, at every put, or synced, what the levels above promise. It
//! has no database without files, and no transaction that reads. On a machine without the library
//! this crate compiles to a contender that names the command that installs it. The C calls are in
//! `database`, for which `absent` stands without the library.

#[cfg(rocksdb)]
mod database;
#[cfg(not(rocksdb))]
#[path = "absent.rs"]
mod database;

use lab_harness::{Contender, Driver, Medium, Missing, Promise, RecoveryDriver, Setting, Tier};

/// The `rocksdb` contender.
pub static ROCKSDB: Contender = Contender {
    missing: if cfg!(rocksdb) { None } else { Some(NOT_INSTALLED) },
    pairs: Some(Driver { settings: PAIRS, open: database::open_pairs }),
    commits: Some(database::open_commits),
    recovery: Some(RecoveryDriver {
        settings: RETURNS,
        create: database::open_to_return,
        reopen: database::open_to_return,
        reads: |file| file.ends_with(".log"),
    }),
    ..Contender::named("rocksdb", database::version)
};

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

/// What to say on a machine without the library.
pub const NOT_INSTALLED: Missing = Missing {
    reason: "rocksdb/c.h or librocksdb was not found when the lab was built",
    install: "apt-get install librocksdb-dev",
};
