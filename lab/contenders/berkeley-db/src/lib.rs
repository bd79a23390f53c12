//! Berkeley DB 5.3 through its own C interface, where `libdb` is installed.
//!
//! Data Store (no transactions, no locks) and Transactional Data Store (transactions, locks, a
//! log), each in memory or in files, in a private environment whose cache holds everything. On
//! a machine without the library this crate compiles to a contender that names the command
//! that installs it. The C calls are in `database`, `pairs` and `burst`, which exist only with the
//! library; `opened` has the functions that open it, which fail without (`absent`).
//! Shared by threads it is a Transactional Data Store with snapshot isolation for readers.

#[cfg(berkeley_db)]
mod burst;
#[cfg(berkeley_db)]
mod database;
#[cfg(berkeley_db)]
mod pairs;
#[cfg(berkeley_db)]
mod threads;

#[cfg(berkeley_db)]
pub mod replica;
#[cfg(not(berkeley_db))]
#[path = "absent_replica.rs"]
pub mod replica;

#[cfg(berkeley_db)]
mod opened;
#[cfg(not(berkeley_db))]
#[path = "absent.rs"]
mod opened;

use lab_harness::{Contender, Driver, Medium, Missing, Promise, RecoveryDriver, Setting, Tier};

/// The `berkeley-db` contender.
pub static BERKELEY_DB: Contender = Contender {
    missing: if cfg!(berkeley_db) { None } else { Some(NOT_INSTALLED) },
    sensors: Some(Driver { settings: SETTINGS, open: opened::sensors }),
    shared: Some(Driver { settings: SHARED, open: opened::shared }),
    pairs: Some(Driver { settings: PAIRS, open: opened::pairs }),
    commits: Some(opened::commits),
    burst: Some(Driver { settings: BURST, open: opened::burst }),
    recovery: Some(RecoveryDriver {
        settings: RETURNS,
        create: opened::pairs,
        reopen: opened::recovered_pairs,
        reads: |file| file.starts_with("log."),
    }),
    ..Contender::named("berkeley-db", opened::version)
};

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

const SHARED: &[Setting] = &[
    setting(Promise::Memory, Medium::Memory, Tier::Always, SNAPSHOTS),
    setting(Promise::Os, Medium::Disk, Tier::OnRequest, SNAPSHOTS_NOSYNC),
    setting(Promise::Disk, Medium::Disk, Tier::OnRequest, SNAPSHOTS_SYNC),
];

const SNAPSHOTS: &str = "TDS: btree in memory, 8 KiB pages, log in memory (8 MiB), DB_THREAD, \
    DB_MULTIVERSION, readers DB_TXN_SNAPSHOT, DB_LOCK_DEFAULT";
const SNAPSHOTS_NOSYNC: &str = "TDS: file, 8 KiB pages, DB_TXN_WRITE_NOSYNC, log buffer 8 MiB, \
    DB_THREAD, DB_MULTIVERSION, readers DB_TXN_SNAPSHOT, DB_LOCK_DEFAULT";
const SNAPSHOTS_SYNC: &str = "TDS: file, 8 KiB pages, synced commits, log buffer 8 MiB, \
    DB_THREAD, DB_MULTIVERSION, readers DB_TXN_SNAPSHOT, DB_LOCK_DEFAULT";
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

/// What to say on a machine without the library.
pub const NOT_INSTALLED: Missing = Missing {
    reason: "db.h or libdb-5.3 was not found when the lab was built",
    install: "apt-get install libdb5.3-dev",
};
