//! Databases that understand SQL: opened, with the catalog read, and sessions of them.
//!
//! Here the parts meet that know nothing of each other: the engine, its catalog, and DataFusion's
//! state with our functions and rules.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Weak};

use datafusion::execution::memory_pool::MemoryPool;
use remanent_engine::{Database, Options, Replica};

use super::Session;
use crate::catalog::snapshot::SetAside;
use crate::catalog::store::Kind;
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::define::view;
use crate::error::Result;
use crate::limits::budget::BudgetPool;
use crate::plan::planner;
use crate::query::binder::functions_of;

impl SqlDatabase {
    /// SQL over a database that is open. One that follows in a group of replicas needs the tables
    /// of the catalog, which SQL over its leader makes first.
    ///
    /// # Errors
    /// As the engine; a catalog that cannot be read; `READ_ONLY` while a follower has none.
    pub fn new(engine: Arc<Database>) -> Result<Arc<Self>> {
        let budget = Arc::new(BudgetPool::new(&engine));
        let pool: Arc<dyn MemoryPool> = Arc::clone(&budget) as _;
        let state = planner::state(pool, Vec::new())?;
        let database = Arc::new(Self::assemble(engine, budget, state)?);
        if let Ok(replica) = Replica::of(&database.engine) {
            let watch: Weak<Self> = Arc::downgrade(&database);
            replica.watch_definitions(watch);
            // What was defined since it was read.
            database.refresh_catalog()?;
        }
        if database.takes_changes() {
            database.take_over_views()?;
        }
        Ok(database)
    }

    /// A database in memory alone, with the engine's default options.
    ///
    /// # Errors
    /// As the engine.
    pub fn in_memory() -> Result<Arc<Self>> {
        Self::new(Arc::new(Database::open(Options::new())?))
    }

    /// The database in this folder, which is created if there is none. Columns in its files are
    /// compressed.
    ///
    /// # Errors
    /// As [`Database::open_at`].
    pub fn open_at(path: impl AsRef<Path>, options: Options) -> Result<Arc<Self>> {
        Self::new(Arc::new(remanent_compression::open_at(path, options)?))
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
        let context = StatementContext::new(Arc::clone(self));
        let own = functions_of(&context).keys().cloned();
        let scalar = self.state.scalar_functions().keys().cloned().chain(own);
        let aggregate = self.state.aggregate_functions().keys().cloned();
        let window = self.state.window_functions().keys().cloned();
        let sorted = |names: BTreeSet<String>| names.into_iter().collect();
        [sorted(scalar.collect()), sorted(aggregate.collect()), sorted(window.collect())]
    }

    /// Binds the views that an older version has written down as statements. One that cannot be
    /// bound stays set aside.
    fn take_over_views(self: &Arc<Self>) -> Result<()> {
        let catalog = self.catalog();
        let is_view = |set_aside: &&SetAside| set_aside.kind == Kind::View.word();
        if !catalog.set_aside.iter().any(|set_aside| is_view(&set_aside)) {
            return Ok(());
        }
        view::take_over_views(&mut StatementContext::new(Arc::clone(self)))
    }
}
