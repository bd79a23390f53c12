//! What statements of one caller run in: settings, role, transaction block, definitions under way.
//!
//! Below everything that runs a statement. Plans, changes and definitions are functions over a
//! [`StatementContext`]; the session that holds it stands above them all. What is tried again after
//! a conflict, and what a failed statement takes back, is decided in [`runner`] for all of them.

pub(crate) mod settings;

pub(crate) mod caller;

pub(crate) mod block;

pub(crate) mod defining;

pub(crate) mod runner;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use datafusion::common::Statistics;
use datafusion::execution::SessionState;
use datafusion::logical_expr::ScalarUDF;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::ObjectName;
use remanent_engine::{Isolation, Savepoint, TransactionOptions};

use self::block::Block;
use self::caller::Caller;
use self::defining::{Defining, Numbering};
use self::runner::WAIT;
use self::settings::Settings;
use crate::activity::Activity;
use crate::catalog::role::Actor;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::table::Table;
use crate::database::{Freezing, SqlDatabase};
use crate::error::{Error, Result, SqlState};
use crate::limits::cancel::Cancel;
use crate::names::{Name, PUBLIC};
use crate::notifications::Notifying;
use crate::privileges::Access;
use crate::transaction::freezing::Pace;
use crate::transaction::{Transaction, TransactionStatus};

/// Functions that know for which caller they are called, by name.
pub(crate) type SessionFunctions = HashMap<String, Arc<ScalarUDF>>;

/// Plans that are noted as they are made; `None` if nobody asks for them.
pub(crate) type Noted = Option<Vec<Arc<dyn ExecutionPlan>>>;

/// What the statements of one caller share.
pub(crate) struct StatementContext {
    pub(crate) database: Arc<SqlDatabase>,
    pub(crate) state: Arc<SessionState>,
    pub(crate) settings: Settings,
    pub(crate) block: Option<Block>,
    /// On whose behalf statements run.
    pub(crate) actor: Actor,
    /// What was defined and not committed.
    pub(crate) defining: Option<Defining>,
    /// Where the statement that runs in a block began, until it has ended.
    pub(crate) unfinished: Option<Savepoint>,
    /// The same as `defining`, for functions that are called.
    pub(crate) numbering: Arc<Numbering>,
    /// What its transaction asks for, and what it is told.
    pub(crate) notifying: Arc<Notifying>,
    /// How much was asked for when the statement that runs began.
    pub(crate) asked_before: usize,
    /// For whom functions are called.
    pub(crate) caller: Arc<Caller>,
    /// Functions that know it, made when the first statement after a change is bound.
    pub(crate) functions: OnceLock<SessionFunctions>,
    /// Whether what was rewritten has the session's own constants in it, since it was asked last.
    pub(crate) has_own_constants: AtomicBool,
    /// The number of the session, which no other has.
    pub(crate) id: u64,
    /// Plans of a change that is being analysed.
    noted_plans: Mutex<Noted>,
    /// What `pg_backend_pid` says.
    pub(crate) process: i32,
    /// What others are shown, if there is a client.
    pub(crate) activity: Option<Arc<Activity>>,
    cancel: Arc<Cancel>,
}

impl StatementContext {
    /// That of a new session.
    pub(crate) fn new(database: Arc<SqlDatabase>) -> Self {
        let id = database.sessions.fetch_add(1, Ordering::Relaxed);
        let numbering: Arc<Numbering> = Arc::default();
        let notifying = Arc::new(Notifying::over(&database.channels));
        let caller = Arc::new(Caller {
            session: id,
            actor: Actor::Program,
            path: Settings::default().search_path,
            numbering: Arc::clone(&numbering),
            notifying: Arc::clone(&notifying),
            database: Arc::downgrade(&database),
        });
        let cancel = Cancel::of(&database.budget);
        let settings = Settings::beginning_with(database.defaults());
        Self {
            id,
            actor: Actor::Program,
            defining: None,
            unfinished: None,
            numbering,
            notifying,
            asked_before: 0,
            caller,
            functions: OnceLock::new(),
            has_own_constants: AtomicBool::new(false),
            state: Arc::new(database.state.clone()),
            database,
            settings,
            block: None,
            noted_plans: Mutex::default(),
            process: 0,
            activity: None,
            cancel,
        }
    }

    pub(crate) fn cancel(&self) -> &Arc<Cancel> {
        &self.cancel
    }

    /// Looks whether the statement is to stop.
    ///
    /// # Errors
    /// As [`Cancel::check`].
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }

    /// Whether it is in a transaction block.
    pub(crate) fn status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::Active,
        }
    }

    /// What now() says: when the transaction began. Whoever still reads an earlier statement keeps
    /// what that one began with.
    pub(crate) fn mark_start(&mut self) {
        let state = Arc::make_mut(&mut self.state);
        let begun = state.execution_props().query_execution_start_time;
        state.mark_start_execution();
        if self.block.is_some() {
            state.execution_props_mut().query_execution_start_time = begun;
        }
    }

    /// The clock of the statement starts.
    pub(crate) fn begin_statement(&mut self) {
        self.take_back_unfinished();
        self.asked_before = self.notifying.len();
        self.cancel.begin(self.settings.limits());
        if self.settings.freezing == Freezing::OnCommit {
            let database = &self.database;
            database.full_segments.watch(&database.engine, || database.catalog());
        }
    }

    /// A transaction that took so long has committed rows: segments that are full by now become
    /// columns, where the setting says so, in no more time, or one of them.
    pub(crate) fn after_commit(&self, worked: Duration) {
        if self.settings.freezing != Freezing::OnCommit {
            return;
        }
        let Self { database, cancel, .. } = self;
        let catalog = database.catalog();
        // As VACUUM, it is for those who own the table.
        let access = self.access(&catalog);
        let owns = |table: &Table| access.owns(table.owner);
        let pace = Pace::within(worked, cancel);
        database.full_segments.freeze(&database.engine, &catalog, owns, pace);
    }

    /// A statement failed: a block that cannot go on is ended.
    pub(crate) fn failed_with(&mut self, error: &Error) {
        self.forget_asked();
        if let Some(block) = &mut self.block
            && error.ends_transaction()
        {
            block.fail();
            self.forget_definitions();
            self.finish_sequence_numbers();
        }
    }

    /// Checks that the block, if there is one, can go on.
    ///
    /// # Errors
    /// `IN_FAILED_TRANSACTION`.
    pub(crate) fn check_not_failed(&self) -> Result<()> {
        if self.status() == TransactionStatus::Failed {
            let text = "the transaction has failed; statements are ignored until it ends";
            return Err(Error::new(SqlState::IN_FAILED_TRANSACTION, text).hint("Roll back."));
        }
        Ok(())
    }

    /// Functions learn of another role or path.
    pub(crate) fn renew_functions(&mut self) {
        let path = &self.settings.search_path;
        if self.caller.actor == self.actor && self.caller.path == *path {
            return;
        }
        self.caller = Arc::new(Caller {
            session: self.id,
            actor: self.actor,
            path: path.clone(),
            numbering: Arc::clone(&self.numbering),
            notifying: Arc::clone(&self.notifying),
            database: Arc::downgrade(&self.database),
        });
        self.functions = OnceLock::new();
    }

    /// Whether statements may do everything.
    pub(crate) fn is_superuser(&self) -> bool {
        self.actor.is_superuser(&self.catalog())
    }

    /// What statements may do in a catalog.
    pub(crate) fn access<'c>(&'c self, catalog: &'c Snapshot) -> Access<'c> {
        Access { catalog, actor: self.actor, path: &self.settings.search_path }
    }

    /// The schema in which new things without a schema are made.
    pub(crate) fn current_schema(&self) -> &str {
        self.settings.search_path.first().map_or(PUBLIC, String::as_str)
    }

    /// What a name may mean, in the order in which schemas are searched.
    pub(crate) fn names_in_path(&self, name: &ObjectName) -> Result<Vec<Name>> {
        let path = self.settings.search_path.iter().map(String::as_str);
        path.chain([self.current_schema()]).map(|schema| Name::from_ast(name, schema)).collect()
    }

    /// The options of a transaction that begins now.
    pub(crate) fn options(&self, isolation: Isolation) -> TransactionOptions {
        let mut options = TransactionOptions::new().isolation(isolation);
        if let Some(durability) = self.settings.durability {
            options = options.durability(durability);
        }
        options
    }

    /// The transaction in which the next statement runs: the block's, or one of its own.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn transaction(&mut self, writes: bool) -> Result<Arc<Transaction>> {
        let engine = Arc::clone(&self.database.engine);
        let threads = self.settings.query_threads;
        if let Some(defining) = &self.defining {
            return Ok(Arc::clone(&defining.transaction));
        }
        match writes {
            true => self.check_writable()?,
            false => self.wait_until_fresh()?,
        }
        let Some(block) = &mut self.block else {
            let options = self.options(self.settings.isolation.engine());
            if !writes && self.settings.freezing != Freezing::Off && !self.settings.read_only {
                return Transaction::begin_noting(&engine, &options, &self.cancel, threads);
            }
            return Transaction::begin(&engine, &options, writes, &self.cancel, threads);
        };
        if let Some(transaction) = &mut block.transaction {
            if block.isolation.refreshes() && block.savepoints.is_empty() {
                Transaction::refresh(transaction)?;
            }
            return Ok(Arc::clone(transaction));
        }
        let writes = !block.read_only && self.database.takes_changes();
        let isolation = block.isolation;
        let mut options = self.options(isolation.engine());
        if isolation.refreshes() {
            options = options.wait(WAIT);
        }
        let cancel = &self.cancel;
        let transaction = Transaction::begin(&engine, &options, writes, cancel, threads)?;
        if let Some(block) = &mut self.block {
            block.transaction = Some(Arc::clone(&transaction));
        }
        Ok(transaction)
    }

    /// Sees to it that a snapshot that is taken now is no older than the session lets it be.
    ///
    /// # Errors
    /// As [`SqlDatabase::wait_until_fresh`].
    pub(crate) fn wait_until_fresh(&self) -> Result<()> {
        let Some(staleness) = self.settings.max_staleness else { return Ok(()) };
        let keeps = |block: &Block| block.transaction.is_some() && !block.isolation.refreshes();
        match self.block.as_ref().is_some_and(keeps) {
            true => Ok(()),
            false => self.database.wait_until_fresh(staleness, &self.cancel),
        }
    }

    /// Checks that the next statement may change something.
    ///
    /// # Errors
    /// `READ_ONLY`.
    pub(crate) fn check_writable(&self) -> Result<()> {
        let read_only = match &self.block {
            Some(block) => block.read_only,
            None => self.settings.read_only,
        };
        if read_only {
            let text = "cannot change anything in a read-only transaction";
            return Err(Error::new(SqlState::READ_ONLY, text));
        }
        self.database.check_takes_changes()
    }

    /// In a transaction that keeps the catalog of its snapshot, too, roles and rights are those
    /// that there are now.
    pub(crate) fn renew_rights(&mut self) {
        let Some(block) = &mut self.block else { return };
        let Some(kept) = &mut block.catalog else { return };
        if block.rights != self.database.catalog_version() {
            let newest = self.database.catalog();
            block.rights = newest.version;
            *kept = Arc::new(kept.with_rights_of(&newest, self.database.next_version()));
        }
    }

    /// What is known of a table's rows.
    pub(crate) fn statistics(&self, table: &Table) -> Option<Arc<Statistics>> {
        self.database.statistics.of(&self.database.engine, table)
    }

    /// Notes a plan that is about to run, if somebody asks for it.
    pub(crate) fn note_plan(&self, plan: &Arc<dyn ExecutionPlan>) {
        let mut noted = self.noted_plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plans) = noted.as_mut() {
            plans.push(Arc::clone(plan));
        }
    }

    /// What was noted until now; from now on, this.
    pub(crate) fn exchange_noted(&self, noted: Noted) -> Noted {
        let mut plans = self.noted_plans.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut plans, noted)
    }

    /// Others are shown nothing any more.
    fn hide(&mut self) {
        if let Some(activity) = self.activity.take() {
            self.database.activities.remove(&activity);
        }
    }
}

impl Drop for StatementContext {
    fn drop(&mut self) {
        if self.defining.is_some() {
            // The transaction is rolled back with the block; numbers are looked up anew.
            self.forget_definitions();
            if let Some(transaction) = self.block.as_ref().and_then(|b| b.transaction.as_ref()) {
                transaction.roll_back();
            }
            self.finish_sequence_numbers();
        }
        self.database.taken.forget(self.id);
        if self.notifying.has_listened() {
            self.database.channels.unlisten(None, &self.notifying.inbox);
        }
        self.hide();
    }
}
