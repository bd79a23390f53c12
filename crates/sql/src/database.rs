//! A database with its SQL catalog: what all sessions share.
//!
//! The catalog is read when the database is opened and after each definition; statements keep the
//! snapshot that they began with.

mod replica;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use datafusion::execution::SessionState;
use remanent_engine::{Database, Replica, TransactionOptions};

use crate::activity::Activities;
use crate::catalog::load::{self, EngineTable};
use crate::catalog::role::{Role, SECRET};
use crate::catalog::sequence_numbers::Taken;
use crate::catalog::snapshot::{SetAside, Snapshot};
use crate::catalog::statistics::Known;
use crate::catalog::store::{Kind, NewObject, Store};
use crate::error::{Error, Result};
use crate::group::Group;
use crate::limits::budget::BudgetPool;
use crate::limits::held::Held;
use crate::limits::spill::Spilling;
use crate::names::Name;
use crate::notifications::Channels;
use crate::plan_cache::PlanCache;
use crate::threads::spare::{CORES, THREADS_MAX};
use crate::transaction::full_segments::FullSegments;

/// How long whoever logs in first waits for somebody's definitions.
const PATIENCE: Duration = Duration::from_secs(1);
/// The number of no catalog: another one is just being committed.
pub(crate) const NO_VERSION: u64 = 0;

/// When a session makes columns of rows that were inserted in small pieces, by whomever.
///
/// # Examples
/// ```
/// use remanent_sql::Freezing;
/// assert_eq!(Freezing::of_word("on_commit"), Some(Freezing::OnCommit));
/// assert_eq!(Freezing::OnRead.word(), "on_read");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Freezing {
    /// When it is told to, by `VACUUM`.
    #[default]
    Off,
    /// After a query, of segments that it has read whole, in the time that it took.
    OnRead,
    /// Then, and after a commit: of segments that have become full.
    OnCommit,
}

impl Freezing {
    /// Each with the word for it.
    const WORDS: [(Self, &str); 3] =
        [(Self::Off, "off"), (Self::OnRead, "on_read"), (Self::OnCommit, "on_commit")];

    /// What a word says, in letters of any case.
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.trim().to_lowercase();
        Self::WORDS.into_iter().find_map(|(freezing, its)| (its == word).then_some(freezing))
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        Self::WORDS.into_iter().find_map(|(it, word)| (it == self).then_some(word)).unwrap_or("")
    }
}

/// What settings of sessions are where nobody sets them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Defaults {
    pub(crate) freezing: Freezing,
    pub(crate) query_threads: usize,
    pub(crate) query_memory: Option<usize>,
    /// Whether the database is a replica of a group.
    pub(crate) is_replica: bool,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { freezing: Freezing::Off, query_threads: 1, query_memory: None, is_replica: false }
    }
}

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
    /// What waits for sessions whose commits freeze.
    pub(crate) full_segments: FullSegments,
    pub(crate) statistics: Known,
    pub(crate) plans: Arc<PlanCache>,
    /// Who listens to what.
    pub(crate) channels: Arc<Channels>,
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
    /// The group that it is a replica of, and whether it has led there.
    pub(crate) group: OnceLock<Arc<dyn Group>>,
    pub(crate) has_led: AtomicBool,
    /// Whether the catalog could not be read when the group had changed it.
    pub(crate) is_stale: AtomicBool,
    /// Positions of the log between which nothing was committed, as a change feed has found out.
    pub(crate) nothing_between: Mutex<(u64, u64)>,
    /// When the leader of its group was asked last.
    asked: Mutex<replica::Asked>,
    /// What sessions begin with.
    freezing: Mutex<Freezing>,
    query_threads: AtomicUsize,
    /// 0 is no limit.
    query_memory: AtomicUsize,
}

impl SqlDatabase {
    /// An open database, with DataFusion's state for its statements and the pool that they take
    /// memory from.
    ///
    /// # Errors
    /// As the engine; a catalog that cannot be read.
    pub(crate) fn assemble(
        engine: Arc<Database>,
        budget: Arc<BudgetPool>,
        state: SessionState,
    ) -> Result<Self> {
        let store = Arc::new(Store::open(Arc::clone(&engine))?);
        let catalog = committed(&store, &Snapshot::default(), 1)?;
        let hold = |what: &str| Held::of(&state.runtime_env().memory_pool, what);
        let plans = Arc::new(PlanCache::new(hold, engine.memory().budget));
        let spared = Arc::downgrade(&plans);
        budget.spare_first(move || spared.upgrade().iter().for_each(|plans| plans.spare()));
        Ok(Self {
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
            plans,
            channels: Arc::default(),
            sessions: AtomicU64::new(1),
            activities: Activities::default(),
            refreshing: Mutex::new(()),
            rights: Mutex::new(()),
            full_segments: FullSegments::default(),
            group: OnceLock::new(),
            has_led: AtomicBool::new(false),
            is_stale: AtomicBool::new(false),
            nothing_between: Mutex::default(),
            asked: Mutex::default(),
            freezing: Mutex::default(),
            query_threads: AtomicUsize::new(1),
            query_memory: AtomicUsize::new(0),
        })
    }

    /// Nothing yet of the memory budget, for what these words name.
    pub fn hold(&self, what: &str) -> Held {
        Held::of(&self.state.runtime_env().memory_pool, what)
    }

    /// The engine's database.
    pub fn engine(&self) -> &Arc<Database> {
        &self.engine
    }

    /// The setting `freeze` of sessions that begin from now on: when they make columns of rows that
    /// came in small pieces; `Freezing::Off`, if nobody says so.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::{Freezing, SqlDatabase};
    /// let db = SqlDatabase::in_memory()?;
    /// db.freezing(Freezing::OnRead);
    /// let answer = db.session().query("show freeze", &[])?;
    /// assert_eq!(answer.rows[0][0].as_str(), Some("on_read"));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn freezing(&self, freezing: Freezing) {
        *self.freezing.lock().unwrap_or_else(PoisonError::into_inner) = freezing;
    }

    /// The setting `query_threads` of sessions that begin from now on: how many threads a query has
    /// that reads a large table, its own among them; 1, if nobody says another number. 0 is as many
    /// as the machine has cores.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.query_threads(4);
    /// let answer = db.session().query("show query_threads", &[])?;
    /// assert_eq!(answer.rows[0][0].as_str(), Some("4"));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn query_threads(&self, threads: usize) {
        let threads = if threads == 0 { *CORES } else { threads.min(THREADS_MAX) };
        self.query_threads.store(threads, Ordering::Relaxed);
    }

    /// The setting `query_memory` of sessions that begin from now on: how many bytes the operators
    /// of a query may hold together, beside which the budget of the database is a limit of all; 0,
    /// if nobody says another number, is no limit.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.query_memory(64 << 20);
    /// let answer = db.session().query("show query_memory", &[])?;
    /// assert_eq!(answer.rows[0][0].as_str(), Some("64MB"));
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn query_memory(&self, bytes: usize) {
        self.query_memory.store(bytes, Ordering::Relaxed);
    }

    /// From now on, rows of queries that have no room in memory are written to files in this
    /// folder, which have at most so many bytes together: what is to be sorted, and groups and
    /// joins that are DataFusion's. Files have no names, and are gone with their query or the
    /// process. Where nobody says a folder, such queries are refused (53200).
    ///
    /// # Errors
    /// A folder that is not there, or that no file can be made in.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.spill_to(std::env::temp_dir(), 10 << 30)?;
    /// assert!(db.spill_to("/no/such/folder", 10 << 30).is_err());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn spill_to(&self, folder: impl AsRef<Path>, limit: u64) -> Result<()> {
        let spilling = self.state.config().get_extension::<Spilling>();
        let spilling = spilling.ok_or_else(|| Error::internal("a state without spilling"))?;
        spilling.set(folder.as_ref(), limit)
    }

    /// What the settings of sessions begin with.
    pub(crate) fn defaults(&self) -> Defaults {
        Defaults {
            freezing: *self.freezing.lock().unwrap_or_else(PoisonError::into_inner),
            query_threads: self.query_threads.load(Ordering::Relaxed),
            query_memory: Some(self.query_memory.load(Ordering::Relaxed)).filter(|it| *it > 0),
            is_replica: Replica::of(&self.engine).is_ok(),
        }
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
        // They hold tables that may be gone.
        self.plans.clear();
    }

    /// Reads the catalog anew, after another interface may have defined something.
    ///
    /// # Errors
    /// As the engine.
    pub fn refresh_catalog(&self) -> Result<()> {
        let _refreshing = self.refreshing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.catalog();
        let next = committed(&self.store, &before, self.next_version())?;
        self.is_stale.store(false, Ordering::Release);
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

    /// Writes down what is to stay the same as long as the database is.
    ///
    /// # Errors
    /// As the engine; a database that can only be read.
    pub(crate) fn keep_secret(&self, secret: &str) -> Result<()> {
        let options = TransactionOptions::new().patience(PATIENCE);
        let tx = self.engine.begin_write_with(&options)?;
        let (kind, name) = (Kind::Secret, &Name::new("", SECRET));
        let new = NewObject { kind, name, owner: None, engine: None, definition: secret };
        self.store.add(&tx, new)?;
        tx.commit()?;
        self.refresh_catalog()
    }
}

impl SqlDatabase {
    /// The role of this name.
    pub fn role(&self, name: &str) -> Option<Role> {
        self.catalog().role(name).cloned()
    }

    /// Whether there is a role that may log in and has a password.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// db.session().execute("create role ben login")?;
    /// assert!(!db.has_login());
    /// db.session().execute("create role ann password 'secret'")?;
    /// assert!(db.has_login());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn has_login(&self) -> bool {
        let has = |role: &Role| role.may_log_in && role.verifier.is_some();
        self.catalog().roles.values().any(has)
    }

    /// Bytes that nobody outside knows and that stay the same as long as the database is: from
    /// them a server makes what a role that does not exist is asked, the same each time.
    ///
    /// # Examples
    /// ```
    /// use remanent_sql::SqlDatabase;
    /// let db = SqlDatabase::in_memory()?;
    /// assert_eq!(db.secret(), db.secret());
    /// assert_ne!(db.secret(), SqlDatabase::in_memory()?.secret());
    /// # Ok::<(), remanent_sql::Error>(())
    /// ```
    pub fn secret(&self) -> String {
        if let Some(secret) = self.catalog().secrets.get(SECRET) {
            return secret.clone();
        }
        let make = || {
            let secret = random_secret();
            // One that can only be read has it for as long as it is open.
            let _ = self.keep_secret(&secret);
            secret
        };
        self.own_secret.get_or_init(make).clone()
    }
}

/// The catalog as it is committed.
fn committed(store: &Store, before: &Snapshot, version: u64) -> Result<Snapshot> {
    let database = &store.database;
    let tx = database.begin_read()?;
    // A table dropped this moment is none.
    let names = database.table_names();
    let tables = names.iter().filter_map(|name| {
        let handle = database.table(name).ok()?;
        let indexes = handle.indexes().map(|(_, index)| index).collect();
        Some(EngineTable { handle, indexes })
    });
    let tables = tables.collect();
    load::load(store, &tx, tables, before, version)
}

/// Bytes that nobody can guess, as text.
pub(crate) fn random_secret() -> String {
    // What is stored of a password has a salt of bytes from the system.
    postgres_protocol::password::scram_sha_256(b"")
}
