//! Small pairs, through the typed interface: everything about them is in this file.
//!
//! A record is a key of 8 bytes and a value of 32, with the ordered or the hash index on the key.
//! Each call is a transaction of its own, the smallest there is; no cheaper way is offered, so
//! that the settings without transactions and in memory are the same. What has a log or takes
//! plain keys will have its stores here, and its settings in the lists below.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lab_harness::pairs::{CommitStore, Key, Pair, PairStore, Seen, VALUE_LEN, Value};
use lab_harness::{Medium, Outcome, Place, Promise, Setting, Tier};
use remanent::schema::BinaryArray;
use remanent::{Database, Options, Record, TypedTable};

/// Settings of pairs that one thread owns.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("", Promise::None, Medium::Memory, SMALLEST),
    setting("hash", Promise::None, Medium::Memory, SMALLEST_HASHED),
    setting("", Promise::Memory, Medium::Memory, ORDERED),
    setting("hash", Promise::Memory, Medium::Memory, HASHED),
];

/// Settings in which pairs come back.
pub(crate) const RETURNS: &[Setting] = &[setting("", Promise::Memory, Medium::Disk, IMAGE)];

/// Whether threads commit to a disk.
pub(crate) const THREADS_COMMIT: bool = false;

const SMALLEST: &str =
    "as in memory, since nothing is cheaper than its smallest transaction; unique ordered index";
const SMALLEST_HASHED: &str =
    "as in memory, since nothing is cheaper than its smallest transaction; unique hash index";
const ORDERED: &str = "defaults; record of two binary columns, unique ordered index on the key";
const HASHED: &str = "defaults; record of two binary columns, unique hash index on the key";
const IMAGE: &str = "Database::save, Database::load, through a buffer of 1 MiB";

const IMAGE_FILE: &str = "pairs.image";

const IMAGE_BUFFER_BYTES: usize = 1 << 20;

const fn setting(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier: Tier::Always, note }
}

/// Opens an empty database for a setting.
pub(crate) fn open(setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
    let db = Database::open(Options::new())?;
    Ok(match setting.variant {
        "hash" => Box::new(Hashed { table: db.create_table_of()?, db }),
        _ => {
            let table = db.create_table_of()?;
            let image = place.directory.map(image_of);
            Box::new(Ordered { db, table, image })
        }
    })
}

/// Opens an empty database in which threads commit.
pub(crate) fn open_commits(_: &Setting, _: &Place<'_>) -> Outcome<Box<dyn CommitStore>> {
    Err("it has no log yet".into())
}

/// Whether a file is read when a database comes back.
pub(crate) fn is_returned_from(file: &str) -> bool {
    file == IMAGE_FILE
}

/// Opens the database that [`open`] made in the same place and saved or left behind.
pub(crate) fn reopen(_: &Setting, place: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
    let image = image_of(place.files()?);
    let mut stream = BufReader::with_capacity(IMAGE_BUFFER_BYTES, File::open(&image)?);
    let db = Database::load(Options::new(), &mut stream)?;
    let table = db.table_of::<OrderedPair>()?;
    Ok(Box::new(Ordered { db, table, image: Some(image) }))
}

fn image_of(directory: &Path) -> PathBuf {
    directory.join(IMAGE_FILE)
}

#[derive(Record)]
#[record(name = "Pair", primary_key(key))]
struct OrderedPair {
    key: BinaryArray<8>,
    value: BinaryArray<VALUE_LEN>,
}

#[derive(Record)]
#[record(name = "Pair", unique_hash_index(keys(key)))]
struct HashedPair {
    key: BinaryArray<8>,
    value: BinaryArray<VALUE_LEN>,
}

struct Ordered {
    db: Database,
    table: TypedTable<OrderedPair>,
    /// Where an image goes.
    image: Option<PathBuf>,
}

struct Hashed {
    db: Database,
    table: TypedTable<HashedPair>,
}

macro_rules! changes_and_reads {
    ($record:ident, $key:ident) => {
        fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
            let record = $record { key: BinaryArray(*key), value: BinaryArray(*value) };
            self.db.write(|tx| tx.insert(&self.table, &record))?;
            Ok(())
        }

        fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
            let record = $record { key: BinaryArray(*key), value: BinaryArray(*value) };
            let key = $key { key: BinaryArray(*key) };
            let found = self.db.write(|tx| {
                let Some(row) = tx.get_row(&self.table, &key)? else { return Ok(false) };
                tx.update(&self.table, row.id(), &record)?;
                Ok(true)
            })?;
            if found { Ok(()) } else { Err("a key is not there".into()) }
        }

        fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
            self.db.write(|tx| {
                for (key, value) in pairs {
                    let record = $record { key: BinaryArray(*key), value: BinaryArray(*value) };
                    tx.insert(&self.table, &record)?;
                }
                Ok(())
            })?;
            Ok(())
        }

        fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
            let key = $key { key: BinaryArray(*key) };
            let found = self.db.read(|tx| {
                let Some(record) = tx.get(&self.table, &key)? else { return Ok(false) };
                *out = record.value.0;
                Ok(true)
            })?;
            Ok(found)
        }

        fn accounted_bytes(&self) -> Option<u64> {
            Some(self.db.memory().held)
        }

        fn close(self: Box<Self>) -> Outcome<()> {
            Ok(())
        }
    };
}

impl PairStore for Ordered {
    changes_and_reads!(OrderedPair, OrderedPairPrimary);

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        self.db.read(|tx| {
            let mut cursor = tx.cursor_by::<_, OrderedPairPrimary>(&self.table)?;
            let mut record = cursor.first();
            while let Some(pair) = record {
                seen.see(&pair.key.0, &pair.value.0);
                record = cursor.next();
            }
            Ok(())
        })?;
        Ok(())
    }

    fn save(&mut self) -> Outcome<()> {
        let image = self.image.as_ref().ok_or("this setting has no directory")?;
        let mut stream = BufWriter::with_capacity(IMAGE_BUFFER_BYTES, File::create(image)?);
        self.db.save(&mut stream)?;
        stream.flush()?;
        Ok(())
    }
}

impl PairStore for Hashed {
    changes_and_reads!(HashedPair, HashedPairKeys);

    fn is_ordered(&self) -> bool {
        false
    }
}
