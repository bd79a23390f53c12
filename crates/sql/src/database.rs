//! A database with its SQL catalog: what all sessions share.
//!
//! The catalog is read when the database is opened and after each definition; statements keep the
//! snapshot that they began with.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use datafusion::execution::SessionState;
use remanent_engine::{Database, Options};

use crate::catalog::load;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::statistics::Known;
use crate::catalog::store::Store;
use crate::catalog::system;
use crate::error::Result;
use crate::memory::BudgetPool;
use crate::query::planner;
use crate::query::sequences::{self, Taken};
use crate::session::statements::Session;

/// A database that understands SQL.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use remanent_engine::{Database, Options, schema::*};
/// use remanent_sql::SqlDatabase;
/// // Rows of any interface: a table made here is there in SQL.
/// let engine = Arc::new(Database::open(Options::new())?);
/// let table = engine.create_table(TableSchema::new("measure").column("value", ColumnType::I32))?;
/// engine.write(|tx| tx.insert_values(&table, &[Some(42.into())]))?;
/// let db = SqlDatabase::new(engine)?;
/// let answer = db.session().query("select value + 1 from measure", &[])?;
/// assert_eq!(answer.rows[0][0].as_i64(), Some(43));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SqlDatabase {
    pub(crate) engine: Arc<Database>,
    pub(crate) store: Arc<Store>,
    catalog: RwLock<Arc<Snapshot>>,
    version: AtomicU64,
    pub(crate) state: SessionState,
    pub(crate) taken: Taken,
    pub(crate) statistics: Known,
    /// The number of the next session.
    pub(crate) sessions: AtomicU64,
    /// Held by whoever defines something.
    defining: Mutex<()>,
}

impl SqlDatabase {
    /// SQL over a database that is open.
    ///
    /// # Errors
    /// As the engine; a catalog that cannot be read.
    pub fn new(engine: Arc<Database>) -> Result<Arc<Self>> {
        let store = Arc::new(Store::open(Arc::clone(&engine))?);
        let catalog = load::load(&store, &Snapshot::default())?;
        let home = sequences::Home::default();
        let mut functions = sequences::functions(&home);
        functions.extend(system::functions(&home));
        let state = planner::state(Arc::new(BudgetPool::new(&engine)), functions)?;
        let database = Arc::new(Self {
            engine,
            store,
            version: AtomicU64::new(catalog.version),
            catalog: RwLock::new(Arc::new(catalog)),
            state,
            taken: Taken::default(),
            statistics: Known::default(),
            sessions: AtomicU64::new(1),
            defining: Mutex::new(()),
        });
        // Nobody else has it yet.
        let _ = home.set(Arc::downgrade(&database));
        Ok(database)
    }

    /// A database in memory alone, with the engine's default options.
    ///
    /// # Errors
    /// As the engine.
    pub fn in_memory() -> Result<Arc<Self>> {
        Self::new(Arc::new(Database::open(Options::new())?))
    }

    /// The database in this folder, which is created if there is none.
    ///
    /// # Errors
    /// As [`Database::open_at`].
    pub fn open_at(path: impl AsRef<Path>, options: Options) -> Result<Arc<Self>> {
        Self::new(Arc::new(Database::open_at(path, options)?))
    }

    /// The engine's database.
    pub fn engine(&self) -> &Arc<Database> {
        &self.engine
    }

    /// A new session.
    pub fn session(self: &Arc<Self>) -> Session {
        Session::new(Arc::clone(self))
    }

    /// The catalog as it is now.
    pub(crate) fn catalog(&self) -> Arc<Snapshot> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The number of the catalog as it is now.
    #[inline]
    pub(crate) fn catalog_version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// Keeps others from defining anything.
    pub(crate) fn define(&self) -> MutexGuard<'_, ()> {
        self.defining.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the catalog anew, after something was defined or another interface may have done so.
    ///
    /// # Errors
    /// As the engine.
    pub fn refresh_catalog(&self) -> Result<()> {
        let before = self.catalog();
        let next = load::load(&self.store, &before)?;
        let version = next.version;
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
        self.version.store(version, Ordering::Release);
        Ok(())
    }
}
