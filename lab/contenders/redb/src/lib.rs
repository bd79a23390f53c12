//! redb: a copy-on-write B-tree in Rust, one writer, snapshot readers.
//!
//! In memory through its own `InMemoryBackend`, or in a file. `Durability::None` commits stay in
//! the engine's cache until a later `Immediate` one, so their promise is `buffered` on a file.
//! The key is a native `u64` that orders as (sensor_id, timestamp); values are written in place
//! with `insert_reserve`.

mod burst;
mod pairs;
mod threads;

use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{
    Measure, MeasureBuffer, RecordShape, SensorKey, SensorStore, pack, packed_len, unpack,
};
use lab_harness::{
    Contender, Driver, Location, Medium, Outcome, Promise, RecoveryDriver, Setting, Tier,
};
use redb::backends::InMemoryBackend;
use redb::{Builder, Database, Durability, ReadableDatabase, TableDefinition};

/// The `redb` contender.
pub static REDB: Contender = Contender {
    sensors: Some(Driver { settings: SETTINGS, open: open_sensors }),
    shared: Some(Driver { settings: SHARED, open: open_shared }),
    pairs: Some(Driver { settings: PAIRS, open: open_pairs }),
    commits: Some(open_commits),
    burst: Some(Driver { settings: burst::SETTINGS, open: burst::open }),
    recovery: Some(RecoveryDriver {
        settings: RETURNS,
        create: open_pairs,
        reopen: open_pairs,
        reads: |file| file == pairs::FILE,
    }),
    ..Contender::named("redb", || VERSION.to_owned())
};

const MEASURES: TableDefinition<'static, u64, &'static [u8]> = TableDefinition::new("measure");

/// As pinned in Cargo.toml.
const VERSION: &str = "4.6.0";

const SETTINGS: &[Setting] = &[
    setting(Promise::Memory, Medium::Memory, Tier::Always, IN_MEMORY),
    setting(Promise::Buffered, Medium::Ramdisk, Tier::Small, UNSYNCED),
    setting(Promise::Buffered, Medium::Disk, Tier::Small, UNSYNCED),
    setting(Promise::Disk, Medium::Ramdisk, Tier::Small, SYNCED),
    setting(Promise::Disk, Medium::Disk, Tier::Small, SYNCED),
];

const SHARED: &[Setting] = &[setting(Promise::Memory, Medium::Memory, Tier::Always, IN_MEMORY)];

const PAIRS: &[Setting] = &[
    setting(Promise::Memory, Medium::Memory, Tier::Always, IN_MEMORY),
    setting(Promise::Buffered, Medium::Disk, Tier::Always, UNSYNCED),
    setting(Promise::Disk, Medium::Disk, Tier::Always, SYNCED),
];

const RETURNS: &[Setting] = &[setting(Promise::Os, Medium::Disk, Tier::Always, REPAIRED)];

const REPAIRED: &str = "Durability::None, one Immediate commit at the end, since it has no promise \
    of that kind; no log: the file is repaired, and GB are of that file";
const IN_MEMORY: &str = "InMemoryBackend, Durability::None, cache holds everything";
const UNSYNCED: &str = "file, Durability::None, cache holds everything";
const SYNCED: &str = "file, Durability::Immediate, cache holds everything";

const fn setting(promise: Promise, medium: Medium, tier: Tier, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier, note }
}

struct Store {
    database: Database,
    durability: Durability,
}

fn open_sensors(
    setting: &Setting,
    location: &Location<'_>,
    _: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    let mut builder = Builder::new();
    builder.set_cache_size((location.data_bytes as usize * 3).max(1 << 30));
    let database = match setting.medium {
        Medium::Memory => builder.create_with_backend(InMemoryBackend::new())?,
        _ => builder.create(location.files()?.join("measures.redb"))?,
    };
    let durability = match setting.promise {
        Promise::Disk => Durability::Immediate,
        _ => Durability::None,
    };
    let transaction = database.begin_write()?;
    transaction.open_table(MEASURES)?;
    transaction.commit()?;
    Ok(Box::new(Store { database, durability }))
}

fn open_shared(_: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    Ok(Box::new(threads::Shared::open(location)?))
}

fn open_pairs(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(pairs::open(setting, location)?))
}

fn open_commits(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    Ok(Box::new(pairs::open(setting, location)?))
}

impl SensorStore for Store {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut table = transaction.open_table(MEASURES)?;
            let mut value = table.insert_reserve(measure.key().packed(), packed_len(measure))?;
            pack(measure, value.as_mut());
        }
        transaction.commit()?;
        Ok(())
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let transaction = self.database.begin_read()?;
        let table = transaction.open_table(MEASURES)?;
        let value = table.get(key.packed())?;
        Ok(value.is_some_and(|value| unpack(key, value.value(), out)))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
