//! A session: statements of one caller, one after the other.
//!
//! Outside a transaction block each statement is a transaction, and one that changes something is
//! tried again where another transaction was first. Inside a block all statements share one, which
//! begins with the first of them; a statement that fails undoes itself and no more.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use datafusion::execution::SessionState;
use datafusion::logical_expr::ScalarUDF;
use datafusion::sql::sqlparser::ast;
use remanent_engine::{Isolation, Savepoint, TransactionOptions};
use tokio::runtime::Runtime;

use super::activity::Activity;
use super::answer::{Answer, Outcome};
use super::cancel::Cancel;
use super::changing::{Tries, WAIT};
use super::control::Block;
use super::defining::{Defining, Numbering};
use super::prepared::Named;
use super::settings::Settings;
use super::transaction::Transaction;
use crate::access::Actor;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::system;
use crate::database::SqlDatabase;
use crate::error::{Error, Result, SqlState};
use crate::point::TextCache;
use crate::query::binder::{Binder, SessionFunctions};
use crate::query::caller::Caller;
use crate::query::explain::Noted;
use crate::query::{backends, rights, sequences};
use crate::stack::WithRoom;
use crate::statement::{Kind, Statement, changed_by};
use crate::values::datum::Datum;

/// One caller's statements.
///
/// A session belongs to one task or thread at a time. What is asynchronous here waits for nothing
/// but its own work; the blocking calls do the same for programs without a runtime.
///
/// # Examples
/// ```
/// use remanent_sql::SqlDatabase;
/// let db = SqlDatabase::in_memory()?;
/// let mut session = db.session();
/// session.execute("create table t (a int primary key); insert into t values (1), (2)")?;
/// session.execute("begin")?;
/// session.execute("delete from t where a = 1")?;
/// session.execute("rollback")?;
/// assert_eq!(session.query("select count(*) from t", &[])?.rows[0][0].as_i64(), Some(2));
/// # Ok::<(), remanent_sql::Error>(())
/// ```
pub struct Session {
    pub(crate) database: Arc<SqlDatabase>,
    pub(crate) state: Arc<SessionState>,
    pub(crate) settings: Settings,
    pub(crate) block: Option<Block>,
    pub(crate) prepared: HashMap<String, Named>,
    /// On whose behalf it runs statements.
    pub(crate) actor: Actor,
    /// What it has defined and not committed.
    pub(crate) defining: Option<Defining>,
    /// Where the statement that runs in a block began, until it has ended.
    pub(crate) unfinished: Option<Savepoint>,
    /// The same as `defining`, for functions that it calls.
    pub(crate) numbering: Arc<Numbering>,
    /// Functions that know whose they are.
    pub(crate) functions: SessionFunctions,
    pub(crate) caller: Arc<Caller>,
    /// The number of the session, which no other has.
    pub(crate) id: u64,
    /// Plans of a change that is being analysed.
    pub(crate) noted_plans: Mutex<Noted>,
    /// What `pg_backend_pid` says.
    pub(crate) process: i32,
    /// What others are shown of it, if it has a client.
    pub(crate) activity: Option<Arc<Activity>>,
    pub(crate) texts: TextCache,
    pub(crate) texts_version: u64,
    cancel: Arc<Cancel>,
    runtime: Option<Arc<Runtime>>,
}

/// Whether a session is in a transaction block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TransactionStatus {
    /// In none.
    Idle,
    /// In one.
    Active,
    /// In one that can only be rolled back.
    Failed,
}

impl Session {
    pub(crate) fn new(database: Arc<SqlDatabase>) -> Self {
        let id = database.sessions.fetch_add(1, Ordering::Relaxed);
        let numbering: Arc<Numbering> = Arc::default();
        let caller = Arc::new(Caller {
            session: id,
            actor: Actor::Program,
            path: Settings::default().search_path,
            numbering: Arc::clone(&numbering),
            database: Arc::downgrade(&database),
        });
        let cancel = Cancel::of(&database.budget);
        Self {
            id,
            actor: Actor::Program,
            defining: None,
            unfinished: None,
            numbering,
            functions: functions_of(&caller),
            caller,
            state: Arc::new(database.state.clone()),
            database,
            settings: Settings::default(),
            block: None,
            prepared: HashMap::new(),
            noted_plans: Mutex::default(),
            process: 0,
            activity: None,
            texts: TextCache::default(),
            texts_version: 0,
            cancel,
            runtime: None,
        }
    }

    /// What stops the statement that runs, from any thread.
    pub fn cancel_handle(&self) -> Arc<Cancel> {
        Arc::clone(&self.cancel)
    }

    pub(crate) fn cancel(&self) -> &Arc<Cancel> {
        &self.cancel
    }

    /// The database.
    pub fn database(&self) -> &Arc<SqlDatabase> {
        &self.database
    }

    /// Whether it is in a transaction block.
    pub fn status(&self) -> TransactionStatus {
        match &self.block {
            None => TransactionStatus::Idle,
            Some(block) if block.failed => TransactionStatus::Failed,
            Some(_) => TransactionStatus::Active,
        }
    }

    /// Runs the statements of a text, one after the other, and reads all their rows.
    ///
    /// # Errors
    /// Of the first that fails; those before it have been done.
    pub fn execute(&mut self, text: &str) -> Result<Vec<Answer>> {
        if let Some(ran) = self.run_text(text) {
            let outcome = ran?;
            return Ok(vec![self.runtime()?.block_on(outcome.collect())?]);
        }
        let runtime = self.runtime()?;
        runtime.block_on(async {
            let mut answers = Vec::new();
            for statement in Statement::parse_all(text)? {
                answers.push(self.run(&statement, &[]).await?.collect().await?);
            }
            Ok(answers)
        })
    }

    /// Runs one statement with parameters and reads all its rows.
    ///
    /// # Errors
    /// Whatever it meets.
    pub fn query(&mut self, text: &str, parameters: &[Datum]) -> Result<Answer> {
        let statement = Statement::parse(text)?;
        let runtime = self.runtime()?;
        runtime.block_on(async { self.run(&statement, parameters).await?.collect().await })
    }

    /// A runtime for callers that have none.
    fn runtime(&mut self) -> Result<Arc<Runtime>> {
        if let Some(runtime) = &self.runtime {
            return Ok(Arc::clone(runtime));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let runtime = Arc::new(runtime);
        self.runtime = Some(Arc::clone(&runtime));
        Ok(runtime)
    }

    /// Runs a statement with parameters.
    ///
    /// # Errors
    /// Whatever it meets. In a transaction block, what the statement did before is undone; after a
    /// conflict with another transaction the block can only be rolled back.
    pub async fn run(&mut self, statement: &Statement, parameters: &[Datum]) -> Result<Outcome> {
        self.begin_statement();
        self.renew_rights();
        check_kind(&statement.ast)?;
        if let Some(done) = self.control(&statement.ast) {
            return done;
        }
        self.check_not_failed()?;
        self.mark_start();
        let cancel = Arc::clone(&self.cancel);
        // Whoever waits for this may give it up at any moment.
        let given = Given(self);
        let dispatched = given.0.dispatch(&statement.ast, parameters);
        let ran = cancel.within(WithRoom::new(statement.levels, dispatched)).await;
        if let Err(error) = &ran {
            given.0.failed_with(error);
        }
        ran
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
        self.cancel.begin(self.settings.statement_timeout, self.settings.lock_timeout);
    }

    /// A statement failed: a block that cannot go on is ended.
    pub(crate) fn failed_with(&mut self, error: &Error) {
        if let Some(block) = &mut self.block
            && error.ends_transaction()
        {
            block.fail();
            self.forget_definitions();
            self.settle_numbers();
        }
    }

    pub(crate) fn check_not_failed(&self) -> Result<()> {
        if self.status() == TransactionStatus::Failed {
            let text = "the transaction has failed; statements are ignored until it ends";
            return Err(Error::new(SqlState::IN_FAILED_TRANSACTION, text).hint("Roll back."));
        }
        Ok(())
    }

    /// Functions learn of another role or path of the session.
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
            database: Arc::downgrade(&self.database),
        });
        self.functions = functions_of(&self.caller);
    }

    /// Boxed, for EXECUTE and EXPLAIN run statements within statements.
    pub(crate) fn dispatch<'a>(
        &'a mut self,
        statement: &'a ast::Statement,
        parameters: &'a [Datum],
    ) -> futures::future::BoxFuture<'a, Result<Outcome>> {
        Box::pin(async move {
            use ast::Statement as S;
            check_kind(statement)?;
            match statement {
                S::Query(query) if changed_by(query).is_some() => {
                    self.change(statement, parameters).await
                }
                S::Query(query) => self.select(query, parameters).await,
                S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
                    self.change(statement, parameters).await
                }
                S::Set(set) => self.set(set),
                S::ShowVariable { variable } => self.show(variable),
                S::Reset(reset) => self.reset(&reset.reset),
                S::Prepare { .. } | S::Execute { .. } | S::Deallocate { .. } => {
                    self.by_name(statement, parameters).await
                }
                S::Discard { .. } => {
                    self.prepared.clear();
                    Ok(Outcome::verb("DISCARD ALL"))
                }
                S::Explain { .. } => self.explain(statement, parameters).await,
                S::Truncate(truncate) => self.truncate(truncate).await,
                S::Copy { target: ast::CopyTarget::File { .. }, .. } => {
                    self.copy_file(statement).await
                }
                S::Analyze(analyze) => self.analyze(analyze),
                S::Vacuum(vacuum) => self.vacuum(vacuum.table_name.as_ref(), vacuum.full),
                other => self.define_as_one(other, parameters).await,
            }
        })
    }

    /// What names mean to the next statement.
    pub(crate) fn binder<'s>(&'s self, catalog: &'s Arc<Snapshot>) -> Binder<'s> {
        Binder::new(&self.state, self.access(catalog), (&self.functions, self))
    }

    /// The schema in which new things without a schema are made.
    pub(crate) fn home(&self) -> &str {
        self.settings.search_path.first().map_or(crate::catalog::names::PUBLIC, String::as_str)
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
        if let Some(defining) = &self.defining {
            return Ok(Arc::clone(&defining.transaction));
        }
        if writes {
            self.check_writable()?;
        }
        let Some(block) = &mut self.block else {
            let options = self.options(self.settings.isolation.engine());
            return Transaction::begin(&engine, &options, (writes, &self.cancel));
        };
        if let Some(transaction) = &mut block.transaction {
            if block.isolation.refreshes() && block.savepoints.is_empty() {
                Transaction::refresh(transaction)?;
            }
            return Ok(Arc::clone(transaction));
        }
        let (isolation, writes) = (block.isolation, !block.read_only);
        let mut options = self.options(isolation.engine());
        if isolation.refreshes() {
            options = options.wait(WAIT);
        }
        let transaction = Transaction::begin(&engine, &options, (writes, &self.cancel))?;
        if let Some(block) = &mut self.block {
            block.transaction = Some(Arc::clone(&transaction));
        }
        Ok(transaction)
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
        Ok(())
    }

    /// Runs a change.
    async fn change(
        &mut self,
        statement: &ast::Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        let mut tries = Tries::default();
        loop {
            let changing = self.begin_change(&mut tries)?;
            let done = self.change_in(&changing.transaction, statement, parameters).await;
            if let Some(outcome) = self.end_change(changing, done, &mut tries)? {
                return Ok(outcome);
            }
            tokio::task::yield_now().await;
        }
    }

    /// Whoever runs it looks whether to stop.
    pub(crate) fn check_cancelled(&self) -> Result<()> {
        self.cancel.check()
    }
}

/// Checks that it is known what a statement is: whatever is not on that list cannot run.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED`.
fn check_kind(statement: &ast::Statement) -> Result<()> {
    match Kind::of_ast(statement) {
        Some(_) => Ok(()),
        None => {
            let text = statement.to_string();
            let words: Vec<&str> = text.split_whitespace().take(3).collect();
            Err(Error::unsupported(format!("the statement {}", words.join(" "))))
        }
    }
}

/// A session that runs a statement: if that ends early, it is taken back at once.
struct Given<'s>(&'s mut Session);

impl Drop for Given<'_> {
    fn drop(&mut self) {
        self.0.take_back_unfinished();
    }
}

fn functions_of(caller: &Arc<Caller>) -> SessionFunctions {
    let all = [
        sequences::functions(caller),
        rights::functions(caller),
        backends::functions(caller),
        system::functions(caller),
    ];
    let named = |function: Arc<ScalarUDF>| (function.name().to_owned(), function);
    all.into_iter().flatten().map(named).collect()
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.defining.is_some() {
            // The transaction is rolled back with the session's block; numbers are looked up anew.
            self.forget_definitions();
            if let Some(transaction) = self.block.as_ref().and_then(|b| b.transaction.as_ref()) {
                transaction.roll_back();
            }
            self.settle_numbers();
        }
        self.database.taken.forget(self.id);
        self.hide();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("status", &self.status()).finish_non_exhaustive()
    }
}
