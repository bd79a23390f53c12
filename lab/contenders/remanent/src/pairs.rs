//! Small pairs, through the key/value interface: everything about them is in this file.
//!
//! A key/value database of the ordered or the hashed kind lies in memory alone, or in a folder with
//! a log at each level. Without transactions it is used through `auto_commit`, which keeps its
//! snapshot from one read to the next; otherwise each call is a transaction of its own. No
//! checkpoints are made while it is measured, as others make none by themselves.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use lab_harness::pairs::{CommitStore, Committer, Key, Pair, PairStore, Seen, Value};
use lab_harness::readers::Ended;
use lab_harness::{Location, Medium, Outcome, Promise, Setting, Tier};
use remanent::{Database, Options};
use remanent_kv::{AutoCommit, Environment, KvDatabase, KvOptions};

use crate::{database, level};

/// Settings of pairs that one thread owns.
pub(crate) const SETTINGS: &[Setting] = &[
    setting("", Promise::None, Medium::Memory, AUTO_COMMIT),
    setting("hash", Promise::None, Medium::Memory, AUTO_COMMIT_HASHED),
    setting("", Promise::Memory, Medium::Memory, ORDERED),
    setting("hash", Promise::Memory, Medium::Memory, HASHED),
    setting("", Promise::Buffered, Medium::Disk, LOGGED),
    setting("hash", Promise::Buffered, Medium::Disk, LOGGED_HASHED),
    setting("", Promise::Os, Medium::Disk, LOGGED),
    setting("", Promise::Disk, Medium::Disk, LOGGED),
];

/// Settings in which pairs come back.
pub(crate) const RETURNS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Disk, IMAGE),
    setting("", Promise::Os, Medium::Disk, REPLAY),
];

const AUTO_COMMIT: &str = "key/value, ordered; auto_commit: reads keep their snapshot until \
    somebody commits";
const AUTO_COMMIT_HASHED: &str = "key/value, hashed; auto_commit: reads keep their snapshot until \
    somebody commits";
const ORDERED: &str = "key/value, ordered; a transaction for each call";
const HASHED: &str = "key/value, hashed; a transaction for each call";
const LOGGED: &str =
    "key/value, ordered, in a folder; a transaction for each call; checkpoint_after(0)";
const LOGGED_HASHED: &str =
    "key/value, hashed, in a folder; a transaction for each call; checkpoint_after(0)";
const IMAGE: &str = "Database::save, Database::load, through a buffer of 1 MiB";
const REPLAY: &str =
    "key/value, ordered, in a folder; the whole log is repeated, checkpoint_after(0)";

const IMAGE_FILE: &str = "pairs.image";
const NAME: &str = "pairs";

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
pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    let pairs = Pairs::open(setting, location)?;
    Ok(match setting.promise {
        Promise::None => Box::new(AutoCommitted::over(pairs)),
        _ => Box::new(pairs),
    })
}

/// Opens an empty database in which threads commit.
pub(crate) fn open_commits(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn CommitStore>> {
    Ok(Box::new(Pairs::open(setting, location)?))
}

/// Whether a file is read when a database comes back.
pub(crate) fn is_returned_from(file: &str) -> bool {
    file == IMAGE_FILE || file.starts_with("log-") || file.starts_with("image-")
}

/// Opens the database that [`open`] made in the same place and saved or left behind.
pub(crate) fn reopen(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    let image = location.files()?.join(IMAGE_FILE);
    let database = match level(setting.promise) {
        Some(_) => database(setting, location, Options::new())?,
        None => {
            let file = File::open(&image)?;
            let mut stream = BufReader::with_capacity(IMAGE_BUFFER_BYTES, file);
            Database::load(Options::new(), &mut stream)?
        }
    };
    let environment = Environment::over(database);
    let database = environment.open_database(NAME)?;
    Ok(Box::new(Pairs { environment, database, image: Some(image) }))
}

struct Pairs {
    environment: Environment,
    database: KvDatabase,
    /// Where an image goes.
    image: Option<PathBuf>,
}

impl Pairs {
    fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Self> {
        let environment = Environment::over(database(setting, location, Options::new())?);
        let kind = match setting.variant {
            "hash" => KvOptions::hashed(),
            _ => KvOptions::ordered(),
        };
        let database = environment.create(NAME, kind)?;
        let image = location.directory.map(|directory: &Path| directory.join(IMAGE_FILE));
        Ok(Self { environment, database, image })
    }

    fn put(&self, key: &Key, value: &Value) -> Outcome<()> {
        Ok(self.environment.write(|tx| self.database.put(tx, key, value))?)
    }

    fn get(&self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let tx = self.environment.begin_read()?;
        Ok(copy(self.database.get(&tx, key)?, out))
    }
}

fn copy(found: Option<&[u8]>, out: &mut Value) -> bool {
    let found = found.and_then(|value| <&Value>::try_from(value).ok());
    found.map(|value| *out = *value).is_some()
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(key, value)
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.put(key, value)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let database = &self.database;
        Ok(self
            .environment
            .write(|tx| pairs.iter().try_for_each(|(key, value)| database.put(tx, key, value)))?)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }

    fn is_ordered(&self) -> bool {
        self.database.options() == KvOptions::ordered()
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        let tx = self.environment.begin_read()?;
        self.database.bulk(&tx)?.for_each(|(key, value)| seen.see_bytes(key, value));
        Ok(())
    }

    fn accounted_bytes(&self) -> Option<u64> {
        Some(self.environment.memory().held)
    }

    fn save(&mut self) -> Outcome<()> {
        let image = self.image.as_ref().ok_or("this setting has no directory")?;
        let mut stream = BufWriter::with_capacity(IMAGE_BUFFER_BYTES, File::create(image)?);
        self.environment.database().save(&mut stream)?;
        stream.flush()?;
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
        Ok(self.environment.database().log_statistics().map(|log| log.syncs))
    }
}

impl Committer for &Pairs {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        self.put(key, value)?;
        Ok(Ended::Committed)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        self.get(key, out)
    }
}

/// Pairs that are used without transactions. The database lives as long as the process, which
/// measures this setting and nothing else.
struct AutoCommitted {
    pairs: &'static Pairs,
    calls: AutoCommit<'static>,
}

impl AutoCommitted {
    fn over(pairs: Pairs) -> Self {
        let pairs: &'static Pairs = Box::leak(Box::new(pairs));
        Self { pairs, calls: pairs.database.auto_commit() }
    }
}

impl PairStore for AutoCommitted {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        Ok(self.calls.put(key, value)?)
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        Ok(self.calls.put(key, value)?)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        pairs.iter().try_for_each(|(key, value)| Ok(self.calls.put(key, value)?))
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        Ok(copy(self.calls.get(key)?, out))
    }

    fn is_ordered(&self) -> bool {
        self.pairs.is_ordered()
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        let tx = self.calls.newest()?;
        self.pairs.database.bulk(tx)?.for_each(|(key, value)| seen.see_bytes(key, value));
        Ok(())
    }

    fn accounted_bytes(&self) -> Option<u64> {
        self.pairs.accounted_bytes()
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
