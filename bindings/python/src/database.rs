//! A database that is open.
//!
//! All who open the same folder in this process share it, and it is closed when the last of them
//! has let go of it. Checkpoints are made in a thread of its own, when they are due.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use remanent_engine::{Database as Engine, Durability};
use remanent_kv::{Environment, KvOptions};
use remanent_sql::SqlDatabase;

use crate::error::{closed, of_engine, of_sql};
use crate::forked::{Opened, Process};
use crate::key_value::KeyValue;
use crate::options;
use crate::session::Session;

/// The path of a database in memory alone.
const MEMORY: &str = ":memory:";
/// How often it is asked whether a checkpoint is due.
const CHECKPOINTS_EVERY: Duration = Duration::from_secs(1);

/// The engine is there longer than SQL over it, as long as pairs are read or a checkpoint is made.
type ByFolder = HashMap<PathBuf, (Weak<SqlDatabase>, Weak<Engine>)>;

/// The folders that are open, and the process in which they were opened.
static OPEN: Mutex<Option<(Process, ByFolder)>> = Mutex::new(None);

/// A database that is open.
#[pyclass(frozen, module = "remanent")]
pub(crate) struct Database {
    database: Opened<Arc<SqlDatabase>>,
    #[pyo3(get)]
    path: String,
}

#[pymethods]
impl Database {
    /// Opens the database in a folder, which is made if there is none; `:memory:` is one in memory
    /// alone.
    #[new]
    #[pyo3(signature = (path, *, budget = None, durability = None))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        budget: Option<&Bound<'_, PyAny>>,
        durability: Option<&str>,
    ) -> PyResult<Self> {
        let options = options::options(budget, durability)?;
        let is_memory = path == Path::new(MEMORY);
        let has_options = budget.is_some() || durability.is_some();
        let opened = py.detach(|| match is_memory {
            true => Engine::open(options)
                .map_err(remanent_sql::Error::from)
                .and_then(|engine| SqlDatabase::new(Arc::new(engine))),
            false => shared(&path, options, has_options),
        });
        Ok(Self {
            database: Opened::new(opened.map_err(|error| of_sql(py, &error))?),
            path: path.to_string_lossy().into_owned(),
        })
    }

    /// The same database once more, to be closed by itself.
    fn again(&self) -> PyResult<Self> {
        Ok(Self { database: Opened::new(self.database()?), path: self.path.clone() })
    }

    /// A new session, which has one transaction at a time.
    fn session(&self) -> PyResult<Session> {
        Ok(Session::new(&self.database()?))
    }

    /// The key/value database of this name, which is made if there is none.
    #[pyo3(signature = (name, *, ordered = true, duplicates = false))]
    fn key_value(
        &self,
        py: Python<'_>,
        name: &str,
        ordered: bool,
        duplicates: bool,
    ) -> PyResult<KeyValue> {
        let database = self.database()?;
        let kind = if ordered { KvOptions::ordered() } else { KvOptions::hashed() };
        let options = if duplicates { kind.with_duplicates() } else { kind };
        let made = py.detach(|| {
            let environment = Environment::over(Arc::clone(database.engine()));
            let is_new = !environment.names().iter().any(|known| known == name);
            let found = environment.open_or_create(name, options)?;
            if is_new {
                // Its pairs are rows of a table of this name.
                database.refresh_catalog()?;
            }
            Ok((environment, found))
        });
        let (environment, found) = made.map_err(|error| of_sql(py, &error))?;
        Ok(KeyValue::new(environment, found))
    }

    /// The names of the key/value databases.
    fn key_value_names(&self) -> PyResult<Vec<String>> {
        Ok(Environment::over(Arc::clone(self.database()?.engine())).names())
    }

    /// How much memory there is for it, and how much it takes, in bytes.
    fn memory<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let memory = self.database()?.engine().memory();
        let shown = PyDict::new(py);
        let parts = [
            ("budget", memory.budget),
            ("reserve", memory.reserve),
            ("held", memory.held),
            ("committed", memory.committed),
            ("rows", memory.rows),
            ("segments", memory.segments),
            ("indexes", memory.indexes),
            ("internal", memory.internal),
            ("columns", memory.columns),
            ("evicted", memory.evicted),
            ("cached", memory.cached),
            ("read_back", memory.read_back),
            ("log", memory.log),
            ("overhead", memory.overhead),
            ("free", memory.free),
            ("reclaimable", memory.reclaimable),
            ("reserved", memory.reserved),
        ];
        for (part, bytes) in parts {
            shown.set_item(part, bytes)?;
        }
        Ok(shown)
    }

    /// Waits until all commits have this durability.
    fn flush(&self, py: Python<'_>, durability: &str) -> PyResult<()> {
        let (database, level) = (self.database()?, options::level(durability)?);
        py.detach(|| database.engine().flush(level)).map_err(|error| of_engine(py, error))
    }

    /// Writes an image, from which the next opening is quick.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let database = self.database()?;
        py.detach(|| database.engine().checkpoint().map(drop)).map_err(|error| of_engine(py, error))
    }

    /// Closes it here: what was made of it goes on until it is closed, too.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let Some(database) = self.database.take() else { return Ok(()) };
        let has_log = self.path != MEMORY;
        let flushed = py.detach(|| {
            let flushed = match has_log {
                true => database.engine().flush(Durability::Os),
                false => Ok(()),
            };
            drop(database);
            flushed
        });
        flushed.map_err(|error| of_engine(py, error))
    }

    /// Whether it was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.database.lock().is_none()
    }
}

impl Database {
    /// The database, if it is open and this is the process that opened it.
    fn database(&self) -> PyResult<Arc<SqlDatabase>> {
        self.database.check()?;
        self.database.lock().clone().ok_or_else(|| closed("database"))
    }
}

/// The database of a folder, opened unless it is open.
fn shared(
    path: &Path,
    options: remanent_engine::Options,
    has_options: bool,
) -> remanent_sql::Result<Arc<SqlDatabase>> {
    std::fs::create_dir_all(path)?;
    let path = path.canonicalize()?;
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = match &mut *open {
        Some((process, known)) if process.is_current() => known,
        other => &mut other.insert((Process::current(), HashMap::new())).1,
    };
    known.retain(|_, (_, engine)| engine.strong_count() > 0);
    let open = known.get(&path).map(|(database, engine)| (database.upgrade(), engine.upgrade()));
    let in_use = || {
        let text = "the database is open in this process already, with the options of then";
        remanent_sql::Error::new(remanent_sql::SqlState::OBJECT_IN_USE, text)
    };
    match open {
        Some((_, Some(_))) if has_options => return Err(in_use()),
        Some((Some(database), _)) => return Ok(database),
        Some((None, Some(engine))) => {
            let database = SqlDatabase::new(engine)?;
            known.insert(path, weakly(&database));
            return Ok(database);
        }
        _ => {}
    }
    let database = SqlDatabase::open_at(&path, options)?;
    known.insert(path, weakly(&database));
    let watched = Arc::downgrade(database.engine());
    let thread = std::thread::Builder::new().name("checkpoints".to_owned());
    thread.spawn(move || make_checkpoints(&watched))?;
    Ok(database)
}

fn weakly(database: &Arc<SqlDatabase>) -> (Weak<SqlDatabase>, Weak<Engine>) {
    (Arc::downgrade(database), Arc::downgrade(database.engine()))
}

/// Makes checkpoints when they are due, as long as the database is open.
fn make_checkpoints(database: &Weak<Engine>) {
    loop {
        std::thread::sleep(CHECKPOINTS_EVERY);
        let Some(database) = database.upgrade() else { return };
        // What fails here, a commit will meet, too.
        let _ = database.checkpoint_if_due();
    }
}
