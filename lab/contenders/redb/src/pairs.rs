//! Small pairs in redb: keys and values of fixed width.
//!
//! A commit with `Durability::None` is in the engine's cache until a later `Immediate` one. Its
//! syncs are counted where they leave it: the backend passes everything on to the engine's own
//! backend for files and counts. A database left by a killed process is repaired as it is opened.

use std::fs::{File, OpenOptions};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use lab_harness::pairs::{CommitStore, Committer, Key, Pair, PairStore, Seen, Value};
use lab_harness::readers::Ended;
use lab_harness::{Location, Medium, Outcome, Promise, Setting};
use redb::backends::{FileBackend, InMemoryBackend};
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition,
};

const PAIRS: TableDefinition<'static, &'static Key, &'static Value> = TableDefinition::new("pair");

/// The file of a database.
pub(crate) const FILE: &str = "pairs.redb";

pub(crate) struct Pairs {
    database: Database,
    durability: Durability,
    syncs: Arc<AtomicU64>,
}

/// The engine's own backend for files, and how often it was told to sync.
#[derive(Debug)]
struct Counting {
    file: FileBackend,
    syncs: Arc<AtomicU64>,
}

/// Opens an empty database, or one that a process left behind.
pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Pairs> {
    let mut builder = Builder::new();
    builder.set_cache_size((location.data_bytes as usize * 3).max(1 << 30));
    let syncs = Arc::new(AtomicU64::new(0));
    let database = match setting.medium {
        Medium::Memory => builder.create_with_backend(InMemoryBackend::new())?,
        _ => {
            let file = FileBackend::new(file_of(location)?)?;
            builder.create_with_backend(Counting { file, syncs: Arc::clone(&syncs) })?
        }
    };
    let durability = match setting.promise {
        Promise::Disk => Durability::Immediate,
        _ => Durability::None,
    };
    let transaction = database.begin_write()?;
    transaction.open_table(PAIRS)?;
    transaction.commit()?;
    Ok(Pairs { database, durability, syncs })
}

fn file_of(location: &Location<'_>) -> Outcome<File> {
    let path = location.files()?.join(FILE);
    Ok(OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?)
}

impl Pairs {
    fn put(&self, pairs: &[(&Key, &Value)]) -> Outcome<()> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(self.durability)?;
        {
            let mut table = transaction.open_table(PAIRS)?;
            for (key, value) in pairs {
                table.insert(*key, *value)?;
            }
        }
        transaction.commit()?;
        Ok(())
    }

    fn get(&self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let table = self.database.begin_read()?.open_table(PAIRS)?;
        let found = table.get(key)?;
        if let Some(value) = &found {
            *out = *value.value();
        }
        Ok(found.is_some())
    }
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(&[(key, value)])
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(&[(key, value)])
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        self.put(&pairs.iter().map(|(key, value)| (key, value)).collect::<Vec<_>>())
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        let table = self.database.begin_read()?.open_table(PAIRS)?;
        for entry in table.iter()? {
            let (key, value) = entry?;
            seen.see(key.value(), value.value());
        }
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        // A new transaction is `Immediate`, and makes those before it durable.
        self.database.begin_write()?.commit()?;
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl CommitStore for Pairs {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        Ok(Box::new(self))
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        Ok(Some(self.syncs.load(Ordering::Relaxed)))
    }
}

impl Committer for &Pairs {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        self.put(&[(key, value)])?;
        Ok(Ended::Committed)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }
}

impl StorageBackend for Counting {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.file.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }
}
