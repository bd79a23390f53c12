//! What the tasks of a process share of an open database: the engine's, locks, and its files.
//!
//! The first task to open a database opens its files (`kept.rs`), the last one to close it closes
//! them; meanwhile they are locked, so another process finds that the database is in use.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::{ColumnHandle, Database, Durability, Set, Table};

use crate::dictionary::{Dictionary, Record, SetType};
use crate::kept::Kept;
use crate::locks::RecordLock;
use crate::status::{Outcome, Status};

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
    /// Whether it has changed since it was opened.
    pub(crate) is_changed: AtomicBool,
    /// Its files, unless it was attached.
    kept: Option<Kept>,
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
        let key = match attached {
            Some(_) => PathBuf::from(name),
            None => fs::canonicalize(folder)
                .map_err(|error| Status::NO_FILE.because(format!("{folder}: {error}")))?
                .join(base),
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
        let (kept, db, is_new) = match attached {
            Some(db) => (None, db, false),
            None => {
                let (kept, db, is_new) = Kept::open(&key, dictionary.storage)?;
                (Some(kept), db, is_new)
            }
        };
        let mut shared = Self::over(db, dictionary, key.clone(), is_new)?;
        shared.kept = kept;
        let shared = Arc::new(shared);
        let ids = vec![user.to_owned()];
        open.insert(key, Users { shared: Arc::clone(&shared), mode, ids });
        Ok(shared)
    }

    /// Closes it for one task; the last one closes the files.
    ///
    /// # Errors
    /// `NOT_CLOSED` if files cannot be written; the database is closed all the same.
    pub(crate) fn close(this: Arc<Self>, user: &str) -> Outcome {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        let open = open.get_or_insert_default();
        let Some(users) = open.get_mut(&this.key) else { return Ok(()) };
        users.ids.retain(|id| id != user);
        if !users.ids.is_empty() {
            return Ok(());
        }
        let closed = match &this.kept {
            Some(kept) => kept.close(&this.db, this.is_changed.load(Relaxed)),
            None => Ok(()),
        };
        open.remove(&this.key);
        // Its files are unlocked before anybody else may open it.
        drop(this);
        closed
    }

    /// How durable a commit is: what a program has said of syncing, or else `rdm.ini`; without a
    /// transaction of the program's it is handed to the system. `None` is what the database does.
    pub(crate) fn durability(
        &self,
        says: Option<bool>,
        in_transaction: bool,
    ) -> Option<Durability> {
        let kept = self.kept.as_ref()?;
        let syncs = in_transaction && says.unwrap_or(kept.syncs);
        Some(if syncs { Durability::Disk } else { Durability::Os })
    }

    /// The database as the schema sees it; what it lacks is created.
    fn over(
        db: Arc<Database>,
        dictionary: Arc<Dictionary>,
        key: PathBuf,
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
            kept: None,
            key,
        })
    }
}

fn attached(name: &str) -> Option<Arc<Database>> {
    let mut attached = ATTACHED.lock().unwrap_or_else(PoisonError::into_inner);
    attached.get_or_insert_default().get(name).cloned()
}
