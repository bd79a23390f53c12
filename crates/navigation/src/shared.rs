//! What the tasks of a process share of an open database: the engine's, locks, and its file.
//!
//! The first task to open a database reads its file, the last to close it writes it; meanwhile the
//! file is locked, so another process is told that the database is in use. The file is an image
//! (`crates/engine/src/image/FORMAT.md`), replaced as a whole: whoever reads it finds the old state
//! or the new one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::{ColumnHandle, Database, Options, Set, Table};

use crate::dictionary::Dictionary;
use crate::locks::RecordLock;
use crate::status::{Fault, Outcome, Status};

/// Open databases by file.
static OPEN: Mutex<Option<HashMap<PathBuf, Users>>> = Mutex::new(None);

/// How a task opens a database.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// With others, under locks and in transactions.
    Shared,
    /// Alone.
    Exclusive,
}

/// Who has a database open.
struct Users {
    shared: Arc<Shared>,
    mode: Mode,
    ids: Vec<String>,
    /// Locked as long as it is open.
    _lock: File,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) db: Database,
    pub(crate) dictionary: Arc<Dictionary>,
    pub(crate) tables: Vec<Table>,
    /// Of each table its columns by leaf.
    pub(crate) columns: Vec<Vec<ColumnHandle>>,
    pub(crate) sets: Vec<Set>,
    pub(crate) locks: Vec<RecordLock>,
    /// Whether the file is older than the database.
    pub(crate) is_changed: AtomicBool,
    file: PathBuf,
}

impl Shared {
    /// Opens a database for one more task. `name` may have a folder before it.
    ///
    /// # Errors
    /// `INVALID_DATABASE`, `UNAVAILABLE` if somebody has it open and one of them alone,
    /// `DUPLICATE_USER_ID`, `NO_FILE`, `DAMAGED`, `NO_SPACE`.
    pub(crate) fn open(name: &str, mode: Mode, user: &str) -> Outcome<Arc<Shared>> {
        let (folder, base) = name.rsplit_once('/').unwrap_or((".", name));
        let dictionary = Dictionary::of(base)?;
        let folder = fs::canonicalize(folder)
            .map_err(|error| Status::NO_FILE.because(format!("{folder}: {error}")))?;
        let file = folder.join(format!("{base}.image"));
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(users) = open.get_mut(&file) {
            if users.ids.iter().any(|id| id == user) {
                return Err(Status::DUPLICATE_USER_ID.because(format!("`{user}`")));
            }
            if mode == Mode::Exclusive || users.mode == Mode::Exclusive {
                return Err(Status::UNAVAILABLE.because(format!("`{name}` is open")));
            }
            users.ids.push(user.to_owned());
            return Ok(Arc::clone(&users.shared));
        }
        let lock = lock_file(&file)?;
        let shared = Arc::new(Self::load(file.clone(), dictionary)?);
        let ids = vec![user.to_owned()];
        open.insert(file, Users { shared: Arc::clone(&shared), mode, ids, _lock: lock });
        Ok(shared)
    }

    /// Closes it for one task; the last one writes the file.
    ///
    /// # Errors
    /// `NOT_CLOSED` if the file cannot be written; the database is closed all the same.
    pub(crate) fn close(&self, user: &str) -> Outcome {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let Some(users) = open.get_mut(&self.file) else { return Ok(()) };
        users.ids.retain(|id| id != user);
        if !users.ids.is_empty() {
            return Ok(());
        }
        let saved = if self.is_changed.load(Relaxed) { self.save() } else { Ok(()) };
        // The file is unlocked behind this.
        open.remove(&self.file);
        saved
    }

    fn load(file: PathBuf, dictionary: Arc<Dictionary>) -> Outcome<Self> {
        let (db, is_new) = match File::open(&file) {
            Ok(stream) => {
                let mut stream = BufReader::with_capacity(1 << 20, stream);
                (Database::load(Options::new(), &mut stream)?, false)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                (create(&dictionary)?, true)
            }
            Err(error) => return Err(no_file(&file, &error)),
        };
        let mut tables = Vec::with_capacity(dictionary.records.len());
        for record in &dictionary.records {
            tables.push(db.table(&record.table.name).map_err(|_| other_schema(&file))?);
        }
        let mut sets = Vec::with_capacity(dictionary.sets.len());
        for set in &dictionary.sets {
            sets.push(db.set(&set.schema.name).map_err(|_| other_schema(&file))?);
        }
        let same = tables
            .iter()
            .zip(&dictionary.records)
            .all(|(table, record)| *table.schema() == record.table)
            && sets.iter().zip(&dictionary.sets).all(|(set, known)| *set.schema() == known.schema);
        if !same {
            return Err(other_schema(&file));
        }
        let columns = |table: &Table| {
            let leaves = 0..table.layout().leaves().len();
            leaves.map(|leaf| table.column_at(leaf)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            columns: tables.iter().map(columns).collect::<Result<_, _>>()?,
            locks: tables.iter().map(|_| RecordLock::default()).collect(),
            is_changed: AtomicBool::new(is_new),
            db,
            dictionary,
            tables,
            sets,
            file,
        })
    }

    fn save(&self) -> Outcome {
        let failed = |error: &dyn std::fmt::Display| {
            Status::NOT_CLOSED.because(format!("{}: {error}", self.file.display()))
        };
        let new = self.file.with_extension("image.new");
        let stream = File::create(&new).map_err(|error| failed(&error))?;
        let mut stream = BufWriter::with_capacity(1 << 20, stream);
        self.db.save(&mut stream).map_err(|error| failed(&error))?;
        let synced = stream.flush().and_then(|()| stream.get_ref().sync_all());
        synced.map_err(|error| failed(&error))?;
        fs::rename(&new, &self.file).map_err(|error| failed(&error))?;
        // The rename itself lasts once the folder has been synced.
        let folder = self.file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all());
        folder.map_err(|error| failed(&error))
    }
}

fn create(dictionary: &Dictionary) -> Outcome<Database> {
    let db = Database::open(Options::new())?;
    for record in &dictionary.records {
        db.create_table(record.table.clone())?;
    }
    for set in &dictionary.sets {
        db.create_set(set.schema.clone())?;
    }
    if let Some(system) = dictionary.system {
        let table = db.table(&dictionary.records[system].table.name)?;
        db.write(|tx| tx.insert_draft(&table.draft()))?;
    }
    Ok(db)
}

/// Keeps other processes out.
fn lock_file(file: &Path) -> Outcome<File> {
    let path = file.with_extension("lock");
    let lock = File::options().create(true).truncate(false).write(true).open(&path);
    let lock = lock.map_err(|error| no_file(&path, &error))?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => {
            Err(Status::UNAVAILABLE.because(format!("another process has {} open", file.display())))
        }
        Err(fs::TryLockError::Error(error)) => Err(no_file(&path, &error)),
    }
}

fn no_file(path: &Path, error: &std::io::Error) -> Fault {
    Status::NO_FILE.because(format!("{}: {error}", path.display()))
}

fn other_schema(file: &Path) -> Fault {
    Status::DAMAGED.because(format!("{} is of another schema", file.display()))
}
