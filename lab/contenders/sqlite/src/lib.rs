//! SQLite through its own C interface, configured as its documentation advises for speed.
//!
//! Single-thread mode, no memory statistics, persistent prepared statements, static binds;
//! files in WAL mode with exclusive locking and a memory map. One operation per transaction is
//! autocommit. The table is an ordinary rowid table with a primary key on both columns, which
//! the documentation prefers for rows of this size; the `packed` variant makes the key one
//! integer primary key instead, as an application would that wants the last bit of speed. Shared
//! by threads it is in multi-thread mode, with a connection for each thread.

mod connection;
mod store;
mod threads;

use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Medium, Outcome, Place, Promise, Setting, Tier};

/// The `sqlite` contender.
#[derive(Clone, Copy, Debug)]
pub struct Sqlite;

const SETTINGS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Memory, Tier::Always, IN_MEMORY),
    setting("packed", Promise::Memory, Medium::Memory, Tier::Always, PACKED),
    setting("", Promise::Os, Medium::Ramdisk, Tier::Always, OFF),
    setting("", Promise::Os, Medium::Disk, Tier::Always, OFF),
    setting("normal", Promise::Os, Medium::Ramdisk, Tier::Small, NORMAL),
    setting("normal", Promise::Os, Medium::Disk, Tier::Small, NORMAL),
    setting("", Promise::Disk, Medium::Ramdisk, Tier::Small, FULL),
    setting("", Promise::Disk, Medium::Disk, Tier::Small, FULL),
];

const SHARED: &[Setting] =
    &[setting("", Promise::Memory, Medium::Ramdisk, Tier::Always, CONNECTION_EACH)];

const CONNECTION_EACH: &str =
    "WAL, synchronous=OFF, mmap, one connection a thread, integer primary key, default checkpoints";
const IN_MEMORY: &str = ":memory:, rowid table, primary key on two columns";
const PACKED: &str = ":memory:, both key columns packed into one integer primary key";
const OFF: &str = "WAL, synchronous=OFF, mmap, exclusive locking, primary key on two columns";
const NORMAL: &str = "WAL, synchronous=NORMAL, mmap, exclusive locking, primary key on two columns";
const FULL: &str = "WAL, synchronous=FULL, mmap, exclusive locking, primary key on two columns";

const fn setting(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    tier: Tier,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier, note }
}

impl Contender for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn version(&self) -> String {
        connection::version()
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn open_sensors(
        &self,
        setting: &Setting,
        place: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        store::open(setting, place)
    }

    fn shared_settings(&self) -> &'static [Setting] {
        SHARED
    }

    fn open_shared(&self, _: &Setting, place: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Ok(Box::new(threads::Shared::create(place)?))
    }
}
