//! Berkeley DB 5.3 through its own C interface, where `libdb` is installed.
//!
//! Data Store (no transactions, no locks) and Transactional Data Store (transactions, locks, a
//! log), each in memory or in files, in a private environment whose cache holds everything. On
//! a machine without the library this crate compiles to a contender that names the command
//! that installs it. The C calls are in `database`, which exists only with the library.

#[cfg(berkeley_db)]
mod database;

use lab_harness::sensors::SensorStore;
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

const DATA_STORE: &str = "DS: btree in memory, 8 KiB pages, no transactions, no locks";
const IN_MEMORY: &str = "TDS: btree in memory, 8 KiB pages, log in memory (8 MiB)";
const NOSYNC: &str = "TDS: file, 8 KiB pages, DB_TXN_NOSYNC, log buffer 8 MiB";
const WRITE_NOSYNC: &str = "TDS: file, 8 KiB pages, DB_TXN_WRITE_NOSYNC, log buffer 8 MiB";
const SYNC: &str = "TDS: file, 8 KiB pages, synced commits, log buffer 8 MiB";

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
    fn open_sensors(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn SensorStore>> {
        Ok(Box::new(database::Database::open(setting, place)?))
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
    fn open_sensors(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SensorStore>> {
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
