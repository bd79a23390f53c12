//! What the tasks of a process share of an open database: the engine's, locks, and its file.
//!
//! The first task to open a database reads its file, the last to close it writes it; meanwhile the
//! file is locked, so another process finds that the database is in use. The file is an image
//! (`crates/engine/src/image/FORMAT.md`), replaced as a whole: whoever reads it finds the old state
//! or the new one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::{ColumnHandle, Database, Options, Set, Table};

use crate::dictionary::{Dictionary, Record, SetType};
use crate::locks::RecordLock;
use crate::status::{Fault, Outcome, Status};

/// Open databases by file; attached ones by their name.
static OPEN: Mutex<Option<HashMap<PathBuf, Users>>> = Mutex::new(None);
/// Databases that the program opened by other means.
static ATTACHED: Mutex<Option<HashMap<String, Arc<Database>>>> = Mutex::new(None);

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
    shared: Arc<Opened>,
    mode: Mode,
    ids: Vec<String>,
    /// Locked as long as it is open.
    _lock: Option<File>,
}

/// An open database.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) db: Arc<Database>,
    pub(crate) dictionary: Arc<Dictionary>,
    pub(crate) tables: Vec<Table>,
    /// Of each table its columns by leaf.
    pub(crate) columns: Vec<Vec<ColumnHandle>>,
    pub(crate) sets: Vec<Set>,
    pub(crate) locks: Vec<RecordLock>,
    /// Whether the file is older than the database.
    pub(crate) is_changed: AtomicBool,
    /// The file that it is saved to, unless it was attached.
    file: Option<PathBuf>,
    key: PathBuf,
}

/// Lets tasks open a database under a name that the program has opened by other means: the same
/// rows, through this interface too. It has no file, and lives as long as somebody holds it; open
/// it after this. Tables and sets of the schema that it lacks are created when it is opened; those
/// that it has must have the same columns, whatever the limits of their text.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use remanent_engine::{Database, Options};
/// use remanent_navigation::{CURR_DB, Declared, Task, attach, detach, register};
/// let text = "database both { record R { unique key long id; } }".to_owned();
/// register(Declared { name: "both".to_owned(), text, records: Vec::new() });
/// let db = Arc::new(Database::open(Options::new())?);
/// attach("both", Arc::clone(&db));
/// let mut task = Task::new();
/// task.open("both", "o")?;
/// task.fill_new(10000, &7_i64.to_le_bytes(), CURR_DB)?;
/// let (table, tx) = (db.table("R")?, db.begin_read()?);
/// let id = table.column("id")?;
/// assert_eq!(tx.scan(&table)?.next().and_then(|row| row.get::<i64>(id)), Some(7));
/// drop(tx);
/// task.close()?;
/// detach("both");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn attach(name: &str, db: Arc<Database>) {
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    attached.get_or_insert_default().insert(name.to_owned(), db);
}

/// Ends what [`attach`] began, for tasks that open the name from now on.
///
/// # Examples
/// See [`attach`].
pub fn detach(name: &str) {
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    attached.get_or_insert_default().remove(name);
}

impl Opened {
    /// Opens a database for one more task. `name` may have a folder before it.
    ///
    /// # Errors
    /// `INVALID_DATABASE`, `UNAVAILABLE` if somebody has it open and one of them alone,
    /// `DUPLICATE_USER_ID`, `NO_FILE`, `DAMAGED`, `NO_SPACE`.
    pub(crate) fn open(name: &str, mode: Mode, user: &str) -> Outcome<Arc<Opened>> {
        let (folder, base) = name.rsplit_once('/').unwrap_or((".", name));
        let dictionary = Dictionary::of(base)?;
        let attached = attached(name);
        let (key, file) = match attached {
            Some(_) => (PathBuf::from(name), None),
            None => {
                let folder = fs::canonicalize(folder)
                    .map_err(|error| Status::NO_FILE.because(format!("{folder}: {error}")))?;
                let file = folder.join(format!("{base}.image"));
                (file.clone(), Some(file))
            }
        };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        if let Some(users) = open.get_mut(&key) {
            if users.ids.iter().any(|id| id == user) {
                return Err(Status::DUPLICATE_USER_ID.because(format!("`{user}`")));
            }
            if mode == Mode::Exclusive || users.mode == Mode::Exclusive {
                return Err(Status::UNAVAILABLE.because(format!("`{name}` is open")));
            }
            users.ids.push(user.to_owned());
            return Ok(Arc::clone(&users.shared));
        }
        let lock = file.as_deref().map(lock_file).transpose()?;
        let (db, is_new) = match (attached, &file) {
            (Some(db), _) => (db, false),
            (None, Some(file)) => load(file)?,
            (None, None) => return Err(Status::INTERNAL.because("a database is nowhere")),
        };
        let shared = Arc::new(Self::over(db, dictionary, key.clone(), file, is_new)?);
        let ids = vec![user.to_owned()];
        open.insert(key, Users { shared: Arc::clone(&shared), mode, ids, _lock: lock });
        Ok(shared)
    }

    /// Closes it for one task; the last one writes the file.
    ///
    /// # Errors
    /// `NOT_CLOSED` if the file cannot be written; the database is closed all the same.
    pub(crate) fn close(&self, user: &str) -> Outcome {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let Some(users) = open.get_mut(&self.key) else { return Ok(()) };
        users.ids.retain(|id| id != user);
        if !users.ids.is_empty() {
            return Ok(());
        }
        let saved = match &self.file {
            Some(file) if self.is_changed.load(Relaxed) => self.save(file),
            _ => Ok(()),
        };
        // The file is unlocked behind this.
        open.remove(&self.key);
        saved
    }

    /// The database as the schema sees it; what it lacks is created.
    fn over(
        db: Arc<Database>,
        dictionary: Arc<Dictionary>,
        key: PathBuf,
        file: Option<PathBuf>,
        is_new: bool,
    ) -> Outcome<Self> {
        let other = || Status::DAMAGED.because(format!("{} is of another schema", key.display()));
        let fits = |record: &Record| {
            db.table(&record.table.name).map_or(true, |table| table.schema().serves(&record.table))
        };
        let set_fits = |set: &SetType| {
            db.set(&set.schema.name).map_or(true, |known| *known.schema() == set.schema)
        };
        if !dictionary.records.iter().all(fits) || !dictionary.sets.iter().all(set_fits) {
            return Err(other());
        }
        let mut is_changed = is_new;
        let mut tables = Vec::with_capacity(dictionary.records.len());
        for record in &dictionary.records {
            tables.push(match db.table(&record.table.name) {
                Ok(table) => table,
                Err(_) => {
                    is_changed = true;
                    db.create_table(record.table.clone())?
                }
            });
        }
        let mut sets = Vec::with_capacity(dictionary.sets.len());
        for set in &dictionary.sets {
            sets.push(match db.set(&set.schema.name) {
                Ok(set) => set,
                Err(_) => {
                    is_changed = true;
                    db.create_set(set.schema.clone())?
                }
            });
        }
        if let Some(table) = dictionary.system.map(|system| &tables[system]) {
            db.write(|tx| match tx.row_after(table, None)? {
                Some(_) => Ok(()),
                None => tx.insert_draft(&table.draft()).map(|_| ()),
            })?;
        }
        let columns = |table: &Table| {
            let leaves = 0..table.layout().leaves().len();
            leaves.map(|leaf| table.column_at(leaf)).collect::<Result<Vec<_>, _>>()
        };
        Ok(Self {
            columns: tables.iter().map(columns).collect::<Result<_, _>>()?,
            locks: tables.iter().map(|_| RecordLock::default()).collect(),
            is_changed: AtomicBool::new(is_changed),
            db,
            dictionary,
            tables,
            sets,
            file,
            key,
        })
    }

    fn save(&self, file: &Path) -> Outcome {
        let failed = |error: &dyn std::fmt::Display| {
            Status::NOT_CLOSED.because(format!("{}: {error}", file.display()))
        };
        let new = file.with_extension("image.new");
        // What is in a database is its owner's.
        let mut options = File::options();
        options.write(true).create(true).truncate(true).mode(0o600);
        let stream = options.open(&new).map_err(|error| failed(&error))?;
        let mut stream = BufWriter::with_capacity(1 << 20, stream);
        self.db.save(&mut stream).map_err(|error| failed(&error))?;
        let synced = stream.flush().and_then(|()| stream.get_ref().sync_all());
        synced.map_err(|error| failed(&error))?;
        fs::rename(&new, file).map_err(|error| failed(&error))?;
        // The rename itself lasts once the folder has been synced.
        let folder = file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all());
        folder.map_err(|error| failed(&error))
    }
}

fn attached(name: &str) -> Option<Arc<Database>> {
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    attached.get_or_insert_default().get(name).cloned()
}

/// The database in a file, or an empty one if there is none; whether it is new.
fn load(file: &Path) -> Outcome<(Arc<Database>, bool)> {
    let (db, is_new) = match File::open(file) {
        Ok(stream) => {
            let mut stream = BufReader::with_capacity(1 << 20, stream);
            (Database::load(Options::new(), &mut stream)?, false)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            (Database::open(Options::new())?, true)
        }
        Err(error) => return Err(no_file(file, &error)),
    };
    Ok((Arc::new(db), is_new))
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
