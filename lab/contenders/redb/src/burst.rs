//! One large transaction in redb: one write transaction, its table opened for each slice of pairs.
//!
//! A table borrows its transaction, so that it is opened again for every slice, which costs less
//! than one insert. `Durability::None` keeps what is committed in the engine's cache until a later
//! `Immediate` commit. Snapshots are its ordinary read transactions.

use lab_harness::burst::{Burst, BurstSnapshot, BurstStore};
use lab_harness::pairs::{Key, Pair, Seen, Value};
use lab_harness::{Location, Medium, Outcome, Promise, Setting, Tier};
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, Durability, ReadOnlyTable, ReadableDatabase, ReadableTable,
    ReadableTableMetadata, TableDefinition, WriteTransaction,
};

pub(crate) const SETTINGS: &[Setting] = &[
    setting(Promise::Memory, Medium::Memory, IN_MEMORY),
    setting(Promise::Buffered, Medium::Disk, UNSYNCED),
    setting(Promise::Disk, Medium::Disk, SYNCED),
];

const IN_MEMORY: &str =
    "InMemoryBackend, one transaction, Durability::None, u64 keys, cache holds everything";
const UNSYNCED: &str = "file, one transaction, Durability::None, u64 keys, cache holds everything";
const SYNCED: &str =
    "file, one transaction, Durability::Immediate, u64 keys, cache holds everything";

const fn setting(promise: Promise, medium: Medium, note: &'static str) -> Setting {
    Setting { variant: "", promise, medium, tier: Tier::Always, note }
}

const BURST: TableDefinition<'static, u64, &'static Value> = TableDefinition::new("burst");

struct Store {
    database: Database,
    durability: Durability,
}

struct Inserts(WriteTransaction);

struct Open(ReadOnlyTable<u64, &'static Value>);

/// Opens an empty database.
pub(crate) fn open(
    setting: &Setting,
    location: &Location<'_>,
    _snapshots: u64,
) -> Outcome<Box<dyn BurstStore>> {
    let mut builder = Builder::new();
    builder.set_cache_size((location.data_bytes as usize * 4).max(1 << 30));
    let database = match setting.medium {
        Medium::Memory => builder.create_with_backend(InMemoryBackend::new())?,
        _ => builder.create(location.files()?.join("burst.redb"))?,
    };
    let durability = match setting.promise {
        Promise::Disk => Durability::Immediate,
        _ => Durability::None,
    };
    let transaction = database.begin_write()?;
    transaction.open_table(BURST)?;
    transaction.commit()?;
    Ok(Box::new(Store { database, durability }))
}

impl BurstStore for Store {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        Ok(Box::new(Inserts(transaction)))
    }

    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        Ok(Box::new(Open(self.database.begin_read()?.open_table(BURST)?)))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        let table = self.database.begin_read()?.open_table(BURST)?;
        for entry in table.iter()? {
            let (key, value) = entry?;
            seen.see(&key.value().to_be_bytes(), value.value());
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Inserts {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let mut table = self.0.open_table(BURST)?;
        for (key, value) in pairs {
            table.insert(u64::from_be_bytes(*key), value)?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        Ok(self.0.commit()?)
    }

    fn roll_back(self: Box<Self>) -> Outcome<()> {
        Ok(self.0.abort()?)
    }
}

impl BurstSnapshot for Open {
    fn sees(&mut self, key: &Key) -> Outcome<bool> {
        Ok(self.0.get(u64::from_be_bytes(*key))?.is_some())
    }

    fn count(&mut self) -> Outcome<u64> {
        Ok(self.0.len()?)
    }
}
