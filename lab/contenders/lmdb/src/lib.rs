//! LMDB through its own C interface: a copy-on-write B-tree over a memory map.
//!
//! Its two ends are compared: NOSYNC with WRITEMAP, the fastest documented way, which on a RAM
//! disk promises what memory does and on a disk what the operating system does; and the
//! default, synced at every commit. A plain NOSYNC is there on request. Keys are native
//! integers (INTEGERKEY), values are written in place (RESERVE), read transactions are reset
//! and renewed, all as its documentation advises. Small pairs have keys of bytes. LMDB has no
//! database without files.

mod burst;
mod environment;
mod pairs;
mod threads;

use environment::Environment;
use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{
    Measure, MeasureBuffer, RecordShape, SensorKey, SensorStore, pack, packed_len, unpack,
};
use lab_harness::{
    Contender, Driver, Location, Medium, Outcome, Promise, RecoveryDriver, Setting, Tier,
};
use lmdb_master_sys::{MDB_NOSYNC, MDB_WRITEMAP};

/// The `lmdb` contender.
pub static LMDB: Contender = Contender {
    sensors: Some(Driver { settings: SETTINGS, open: open_sensors }),
    shared: Some(Driver { settings: SHARED, open: open_shared }),
    pairs: Some(Driver { settings: PAIRS, open: open_pairs }),
    commits: Some(open_commits),
    burst: Some(Driver { settings: burst::SETTINGS, open: burst::open }),
    recovery: Some(RecoveryDriver {
        settings: RETURNS,
        create: open_pairs,
        reopen: open_pairs,
        reads: |file| file == "data.mdb",
    }),
    ..Contender::named("lmdb", environment::version)
};

const SETTINGS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Ramdisk, Tier::Always, WRITEMAP),
    setting("", Promise::Os, Medium::Ramdisk, Tier::OnRequest, WRITEMAP),
    setting("", Promise::Os, Medium::Disk, Tier::Always, WRITEMAP),
    setting("nowritemap", Promise::Memory, Medium::Ramdisk, Tier::OnRequest, NOSYNC),
    setting("nowritemap", Promise::Os, Medium::Disk, Tier::OnRequest, NOSYNC),
    setting("", Promise::Disk, Medium::Ramdisk, Tier::Small, SYNCED),
    setting("", Promise::Disk, Medium::Disk, Tier::Small, SYNCED),
];

const SHARED: &[Setting] = &[
    setting("", Promise::Memory, Medium::Ramdisk, Tier::Always, ONE_READING_EACH),
    setting("", Promise::Os, Medium::Disk, Tier::OnRequest, ONE_READING_EACH),
    setting("", Promise::Disk, Medium::Disk, Tier::OnRequest, ONE_READING_EACH_SYNCED),
];

const PAIRS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Ramdisk, Tier::Always, PAIRS_WRITEMAP),
    setting("", Promise::Os, Medium::Disk, Tier::Always, PAIRS_NOSYNC),
    setting("", Promise::Disk, Medium::Disk, Tier::Always, PAIRS_SYNCED),
];

const RETURNS: &[Setting] = &[setting("", Promise::Os, Medium::Disk, Tier::Always, RETURNS_NOSYNC)];

const PAIRS_WRITEMAP: &str = "NOSYNC|WRITEMAP|NOTLS, keys as bytes, RESERVE; no database without \
    files, hence on a RAM disk";
const PAIRS_NOSYNC: &str = "NOSYNC|NOTLS, keys as bytes, RESERVE: pages go to the operating system \
    at commit, in no order, so that a crash of the machine may corrupt it";
const PAIRS_SYNCED: &str = "default flags (synced commits) and NOTLS, keys as bytes, RESERVE; \
    commits wait for each other, and it does not count its syncs";
const RETURNS_NOSYNC: &str = "NOSYNC|NOTLS; nothing to replay: the file is the database, whose \
    last committed root is looked up; GB are of that file";

const WRITEMAP: &str =
    "NOSYNC|WRITEMAP|NOTLS, INTEGERKEY, RESERVE; a crash of the machine may corrupt it";
const ONE_READING_EACH: &str =
    "NOSYNC|WRITEMAP|NOTLS, INTEGERKEY, RESERVE; one renewed read transaction a thread";
const ONE_READING_EACH_SYNCED: &str = "default flags (synced commits) and NOTLS, INTEGERKEY, \
    RESERVE; one renewed read transaction a thread";
const NOSYNC: &str = "NOSYNC|NOTLS, INTEGERKEY, RESERVE";
const SYNCED: &str = "default flags (synced commits) and NOTLS, INTEGERKEY, RESERVE";

const fn setting(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    tier: Tier,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier, note }
}

struct Store {
    environment: Environment,
}

fn open_sensors(
    setting: &Setting,
    location: &Location<'_>,
    _: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    let flags = match (setting.promise, setting.variant) {
        (Promise::Disk, _) => 0,
        (_, "nowritemap") => MDB_NOSYNC,
        _ => MDB_NOSYNC | MDB_WRITEMAP,
    };
    let map_bytes = location.data_bytes as usize * 3 + (64 << 20);
    let environment = Environment::open(location.files()?, flags, map_bytes)?;
    Ok(Box::new(Store { environment }))
}

fn open_shared(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    let flags = if setting.promise == Promise::Disk { 0 } else { MDB_NOSYNC | MDB_WRITEMAP };
    // Pages that a snapshot keeps are not reused meanwhile.
    let map_bytes = location.data_bytes as usize * 8 + (1 << 30);
    Ok(Box::new(threads::Shared(Environment::open(location.files()?, flags, map_bytes)?)))
}

fn open_pairs(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(pairs::open(setting, location)?))
}

fn open_commits(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    Ok(Box::new(pairs::open(setting, location)?))
}

impl SensorStore for Store {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let key = measure.key().packed();
        self.environment.put(key, packed_len(measure), |value| pack(measure, value))
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let found = self.environment.get(key.packed(), |value| unpack(key, value, out))?;
        Ok(found.unwrap_or(false))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
