//! A session: statements of one caller, one after the other.
//!
//! Outside a transaction block each statement is a transaction, and one that changes something is
//! tried again where another transaction was first. Inside a block all statements share one, which
//! begins with the first of them; a statement that fails undoes itself and no more.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast;
use tokio::runtime::Runtime;

use super::listening;
use super::prepared::Named;
use crate::change;
use crate::change::copy_file;
use crate::change::truncate;
use crate::context::StatementContext;
use crate::database::SqlDatabase;
use crate::define;
use crate::error::{Error, Result};
use crate::limits::cancel::Cancel;
use crate::notifications::Wish;
use crate::point::{TextCache, run};
use crate::query::select;
use crate::result::answer::{Answer, Outcome};
use crate::stack::WithRoom;
use crate::statement::{Kind, Statement, changed_by};
use crate::transaction::TransactionStatus;
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
    pub(crate) context: StatementContext,
    pub(crate) prepared: HashMap<String, Named>,
    /// Plans of statements about one key, by their texts.
    pub(crate) texts: TextCache,
    runtime: Option<Arc<Runtime>>,
}

impl Session {
    pub(crate) fn new(database: Arc<SqlDatabase>) -> Self {
        Self {
            context: StatementContext::new(database),
            prepared: HashMap::new(),
            texts: TextCache::default(),
            runtime: None,
        }
    }

    /// What stops the statement that runs, from any thread.
    pub fn cancel_handle(&self) -> Arc<Cancel> {
        Arc::clone(self.context.cancel())
    }

    /// The database.
    pub fn database(&self) -> &Arc<SqlDatabase> {
        &self.context.database
    }

    /// Whether it is in a transaction block.
    pub fn status(&self) -> TransactionStatus {
        self.context.status()
    }

    /// Whether its block has made or changed tables: until it ends, others wait who would.
    pub fn is_defining(&self) -> bool {
        self.context.defining.is_some()
    }

    /// Runs the statements of a text, one after the other, and reads all their rows.
    ///
    /// # Errors
    /// Of the first that fails; those before it have been done.
    pub fn execute(&mut self, text: &str) -> Result<Vec<Answer>> {
        if let Some(ran) = self.run_text(text) {
            let outcome = ran?;
            return Ok(vec![self.runtime()?.block_on(self.whole(outcome))?]);
        }
        let runtime = self.runtime()?;
        runtime.block_on(async {
            let mut answers = Vec::new();
            for statement in self.parse_all(text)? {
                let outcome = self.run(&statement, &[]).await?;
                answers.push(self.whole(outcome).await?);
            }
            Ok(answers)
        })
    }

    /// Runs one statement with parameters and reads all its rows.
    ///
    /// # Errors
    /// Whatever it meets.
    pub fn query(&mut self, text: &str, parameters: &[Datum]) -> Result<Answer> {
        let statement = self.parse(text)?;
        let runtime = self.runtime()?;
        runtime.block_on(async {
            let outcome = self.run(&statement, parameters).await?;
            self.whole(outcome).await
        })
    }

    /// Reads all rows of a statement, which has ended then.
    async fn whole(&mut self, outcome: Outcome) -> Result<Answer> {
        match outcome.collect().await {
            Ok(answer) => self.end_statement().map(|()| answer),
            Err(error) => {
                self.forget_statement();
                Err(error)
            }
        }
    }

    /// The statements of a text, as [`Statement::parse_all`] has them: quicker where a session of
    /// the database has parsed it before, and it is a query.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`.
    pub fn parse_all(&self, text: &str) -> Result<Vec<Statement>> {
        self.context.database.plans.parse_all(text)
    }

    /// The one statement of a text, as [`Statement::parse`] has it.
    ///
    /// # Errors
    /// `SYNTAX_ERROR`, also for several.
    pub fn parse(&self, text: &str) -> Result<Statement> {
        Statement::only(self.parse_all(text)?)
    }

    /// Runs a text that has the shape of a statement about one key; `None` if it has not.
    ///
    /// What it would answer is what [`Session::run`] answers, without a parser or a planner.
    pub fn run_text(&mut self, text: &str) -> Option<Result<Outcome>> {
        run::run_text(&mut self.context, &mut self.texts, text)
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
        self.context.begin_statement();
        self.context.renew_rights();
        check_kind(&statement.ast)?;
        if let Some(done) = self.context.control(&statement.ast) {
            return done;
        }
        self.context.check_not_failed()?;
        self.context.mark_start();
        let cancel = Arc::clone(self.context.cancel());
        // Whoever waits for this may give it up at any moment.
        let given = Given(self);
        let dispatched = given.0.dispatch(&statement.ast, parameters);
        let ran = cancel.within(WithRoom::new(statement.levels, dispatched)).await;
        let ran = ran.and_then(|outcome| match outcome.rows {
            // What reads rows has not ended yet.
            Some(_) => Ok(outcome),
            None => given.0.context.end_statement().map(|()| outcome),
        });
        if let Err(error) = &ran {
            given.0.context.failed_with(error);
        }
        ran
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
            let context = &mut self.context;
            match statement {
                S::Query(query) if changed_by(query).is_some() => {
                    change::run(context, statement, parameters).await
                }
                S::Query(query) => select::select(context, query, parameters).await,
                S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_) => {
                    change::run(context, statement, parameters).await
                }
                S::Set(set) => context.set(set),
                S::ShowVariable { variable } => context.show(variable),
                S::Reset(reset) => context.reset(&reset.reset),
                S::Prepare { .. } | S::Execute { .. } | S::Deallocate { .. } => {
                    self.by_name(statement, parameters).await
                }
                S::Discard { .. } => {
                    self.prepared.clear();
                    context.notifying.ask(Wish::Unlisten(None));
                    Ok(Outcome::verb("DISCARD ALL"))
                }
                S::LISTEN { channel } => listening::listen(context, channel),
                S::UNLISTEN { channel } => Ok(listening::unlisten(context, channel)),
                S::NOTIFY { channel, payload } => {
                    listening::notify(context, channel, payload.as_deref())
                }
                S::Explain { .. } => self.explain(statement, parameters).await,
                S::Truncate(truncate) => truncate::truncate(context, truncate).await,
                S::Copy { target: ast::CopyTarget::File { .. }, .. } => {
                    copy_file::copy_file(context, statement).await
                }
                S::Analyze(analyze) => define::analyze(context, analyze),
                S::Vacuum(vacuum) => {
                    define::vacuum(context, vacuum.table_name.as_ref(), vacuum.full)
                }
                other => define::transaction::define_as_one(context, other, parameters).await,
            }
        })
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
        self.0.context.take_back_unfinished();
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("status", &self.status()).finish_non_exhaustive()
    }
}
