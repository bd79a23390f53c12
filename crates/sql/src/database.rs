//! A database with its SQL catalog: what all sessions share.
//!
//! The catalog is read when the database is opened and after each definition; statements keep the
//! snapshot that they began with.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use datafusion::execution::SessionState;
use datafusion::execution::memory_pool::MemoryPool;
use remanent_engine::{Database, Options, TransactionOptions};

use crate::access::SECRET;
use crate::catalog::load;
use crate::catalog::names::Name;
use crate::catalog::snapshot::{SetAside, Snapshot};
use crate::catalog::statistics::Known;
use crate::catalog::store::{Kind, Store};
use crate::error::Result;
use crate::memory::BudgetPool;
use crate::query::planner;
use crate::query::sequences::Taken;
use crate::session::activity::Activities;
use crate::session::statements::Session;

/// How long whoever logs in first waits for somebody's definitions.
const PATIENCE: Duration = Duration::from_secs(1);
/// The number of no catalog: another one is just being committed.
pub(crate) const NO_VERSION: u64 = 0;

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
    pub(crate) budget: Arc<BudgetPool>,
    pub(crate) store: Arc<Store>,
    catalog: RwLock<Arc<Snapshot>>,
    version: AtomicU64,
    pub(crate) state: SessionState,
    pub(crate) taken: Taken,
    pub(crate) statistics: Known,
    /// The number of the next session.
    pub(crate) sessions: AtomicU64,
    /// Those of them that have clients.
    pub(crate) activities: Activities,
    /// The last number that a catalog got.
    versions: AtomicU64,
    /// A secret for as long as this is open, where none can be written down.
    pub(crate) own_secret: OnceLock<String>,
    /// Held by whoever puts another catalog up.
    refreshing: Mutex<()>,
    /// Held by whoever changes roles and rights, beside what else is done.
    pub(crate) rights: Mutex<()>,
}

impl SqlDatabase {
    /// SQL over a database that is open.
    ///
    /// # Errors
    /// As the engine; a catalog that cannot be read.
    pub fn new(engine: Arc<Database>) -> Result<Arc<Self>> {
        let store = Arc::new(Store::open(Arc::clone(&engine))?);
        let catalog = committed(&store, (&Snapshot::default(), 1))?;
        let budget = Arc::new(BudgetPool::new(&engine));
        let pool: Arc<dyn MemoryPool> = Arc::clone(&budget) as _;
        let state = planner::state(pool, Vec::new())?;
        let database = Arc::new(Self {
            engine,
            budget,
            store,
            version: AtomicU64::new(catalog.version),
            versions: AtomicU64::new(catalog.version),
            own_secret: OnceLock::new(),
            catalog: RwLock::new(Arc::new(catalog)),
            state,
            taken: Taken::default(),
            statistics: Known::default(),
            sessions: AtomicU64::new(1),
            activities: Activities::default(),
            refreshing: Mutex::new(()),
            rights: Mutex::new(()),
        });
        database.take_over_views()?;
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

    /// The functions that a statement may call, by name: those of rows, of groups and of windows.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let [scalar, aggregate, window] = SqlDatabase::in_memory()?.functions();
    /// assert!(scalar.iter().any(|name| name == "upper"));
    /// assert!(scalar.iter().any(|name| name == "pg_terminate_backend"));
    /// assert!(aggregate.iter().any(|name| name == "sum"));
    /// assert!(window.iter().any(|name| name == "row_number"));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn functions(self: &Arc<Self>) -> [Vec<String>; 3] {
        let own = std::mem::take(&mut self.session().functions).into_keys();
        let scalar = self.state.scalar_functions().keys().cloned().chain(own);
        let aggregate = self.state.aggregate_functions().keys().cloned();
        let window = self.state.window_functions().keys().cloned();
        let sorted = |names: BTreeSet<String>| names.into_iter().collect();
        [sorted(scalar.collect()), sorted(aggregate.collect()), sorted(window.collect())]
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

    /// A number that no catalog has had.
    pub(crate) fn next_version(&self) -> u64 {
        self.versions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Puts up a catalog that was committed this moment, before anybody else may write.
    pub(crate) fn put_up(&self, catalog: Arc<Snapshot>) {
        let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        self.exchange(catalog);
    }

    /// Before definitions are committed: who has read nothing yet waits for the next catalog.
    pub(crate) fn expect_another(&self) {
        self.version.store(NO_VERSION, Ordering::SeqCst);
    }

    /// They were not.
    pub(crate) fn expect_none(&self) {
        let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        self.version.store(self.catalog().version, Ordering::Release);
    }

    fn exchange(&self, catalog: Arc<Snapshot>) {
        let version = catalog.version;
        *self.catalog.write().unwrap_or_else(PoisonError::into_inner) = catalog;
        self.version.store(version, Ordering::Release);
    }

    /// Reads the catalog anew, after another interface may have defined something.
    ///
    /// # Errors
    /// As the engine.
    pub fn refresh_catalog(&self) -> Result<()> {
        let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.catalog();
        let next = committed(&self.store, (&before, self.next_version()))?;
        self.exchange(Arc::new(next));
        Ok(())
    }

    /// Definitions that cannot be read, each with the reason. The rest of the database works as
    /// ever; what is named here can be dropped.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// assert!(SqlDatabase::in_memory()?.set_aside().is_empty());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn set_aside(&self) -> Vec<SetAside> {
        self.catalog().set_aside.clone()
    }

    /// Binds the views that an older version has written down as statements. One that cannot be
    /// bound stays set aside.
    fn take_over_views(self: &Arc<Self>) -> Result<()> {
        let catalog = self.catalog();
        let is_view = |set_aside: &&SetAside| set_aside.kind == Kind::View.word();
        if !catalog.set_aside.iter().any(|set_aside| is_view(&set_aside)) {
            return Ok(());
        }
        self.session().take_over_views()
    }

    /// Writes down what is to stay the same as long as the database is.
    ///
    /// # Errors
    /// As the engine; a database that can only be read.
    pub(crate) fn keep_secret(&self, secret: &str) -> Result<()> {
        let options = TransactionOptions::new().patience(PATIENCE);
        let tx = self.engine.begin_write_with(&options)?;
        let what = (Kind::Secret, &Name::new("", SECRET));
        self.store.add(&tx, what, None, None, secret)?;
        tx.commit()?;
        self.refresh_catalog()
    }
}

/// The catalog as it is committed.
fn committed(store: &Store, before: (&Snapshot, u64)) -> Result<Snapshot> {
    let database = &store.database;
    let tx = database.begin_read()?;
    // A table dropped this moment is none.
    let names = database.table_names();
    let tables = names.iter().filter_map(|name| {
        let table = database.table(name).ok()?;
        let indexes = table.indexes().map(|(_, index)| index).collect();
        Some((table, indexes))
    });
    let tables = tables.collect();
    load::load(store, (&tx, tables), before)
}

/// Bytes that nobody can guess, as text.
pub(crate) fn random_secret() -> String {
    // What is stored of a password has a salt of bytes from the system.
    postgres_protocol::password::scram_sha_256(b"")
}
