//! SQLite through its own C interface, configured as its documentation advises for speed.
//!
//! Single-thread mode, no memory statistics, persistent prepared statements, static binds;
//! files in WAL mode with exclusive locking and a memory map. One operation per transaction is
//! autocommit. The table is an ordinary rowid table with a primary key on both columns, which
//! the documentation prefers for rows of this size; the `packed` variant makes the key one
//! integer primary key instead, as an application would that wants the last bit of speed. Small
//! pairs have that as well. Shared by threads it is in multi-thread mode, with a connection for
//! each thread.

mod burst;
mod connection;
mod pairs;
mod points;
mod store;
mod threads;

pub use points::Points;

use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{
    Contender, Driver, Location, Medium, Outcome, Promise, RecoveryDriver, Setting, Tier,
};

/// The `sqlite` contender.
pub static SQLITE: Contender = Contender {
    sensors: Some(Driver { settings: SETTINGS, open: open_sensors }),
    shared: Some(Driver { settings: SHARED, open: open_shared }),
    pairs: Some(Driver { settings: PAIRS, open: pairs::open }),
    commits: Some(pairs::open_commits),
    burst: Some(Driver { settings: burst::SETTINGS, open: burst::open }),
    recovery: Some(RecoveryDriver {
        settings: RETURNS,
        create: pairs::open_to_return,
        reopen: pairs::open,
        reads: |file| file == pairs::LOG,
    }),
    ..Contender::named("sqlite", connection::version)
};

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

const SHARED: &[Setting] = &[
    setting("", Promise::Memory, Medium::Ramdisk, Tier::Always, CONNECTION_EACH),
    setting("", Promise::Os, Medium::Disk, Tier::OnRequest, CONNECTION_EACH),
    setting("", Promise::Disk, Medium::Disk, Tier::OnRequest, CONNECTION_EACH_SYNCED),
];

const PAIRS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Memory, Tier::Always, PAIRS_IN_MEMORY),
    setting("", Promise::Os, Medium::Disk, Tier::Always, PAIRS_OFF),
    setting("", Promise::Disk, Medium::Disk, Tier::Always, PAIRS_FULL),
];

const RETURNS: &[Setting] = &[setting("", Promise::Os, Medium::Disk, Tier::Always, PAIRS_LOGGED)];

const PAIRS_IN_MEMORY: &str = ":memory:, the key an integer primary key";
const PAIRS_OFF: &str = "WAL, synchronous=OFF, mmap, exclusive locking, integer primary key";
const PAIRS_FULL: &str = "WAL, synchronous=FULL, mmap, integer primary key; exclusive locking, or \
    a connection for each thread; it does not count its syncs, which are one for each commit";
const PAIRS_LOGGED: &str =
    "WAL, synchronous=OFF, no checkpoint before the kill; the log is indexed, not replayed";
const CONNECTION_EACH: &str =
    "WAL, synchronous=OFF, mmap, one connection a thread, integer primary key, default checkpoints";
const CONNECTION_EACH_SYNCED: &str =
    "WAL, synchronous=FULL, mmap, one connection a thread, integer primary key, its checkpoints";
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

fn open_sensors(
    setting: &Setting,
    location: &Location<'_>,
    _: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    store::open(setting, location)
}

fn open_shared(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    Ok(Box::new(threads::Shared::create(setting, location)?))
}
