//! Definitions: one transaction of the engine each, or parts of a block's.
//!
//! A definition keeps all other writers out from its beginning until its transaction ends, so what
//! it reads and rewrites is whole. What it makes is in the transaction: rows, tables, indexes and
//! the catalog's own rows are there together once it has committed, and never were otherwise.
//! Others go on reading the state before, by the catalog that they have; the next one is put up
//! before any writer is let in.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::sql::sqlparser::ast::Statement;
use remanent_engine::{Isolation, Savepoint};

use super::answer::Outcome;
use super::control::Level;
use super::statements::Session;
use super::transaction::Transaction;
use crate::catalog::load;
use crate::catalog::sequence::Sequence;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::Store;
use crate::database::SqlDatabase;
use crate::error::{Error, Result};
use crate::statement::Kind;
use crate::values::datum::Datum;

/// Definitions that have not been committed.
pub(crate) struct Defining {
    pub(crate) transaction: Arc<Transaction>,
    /// The catalog with them.
    pub(crate) catalog: Arc<Snapshot>,
}

/// What functions of a session need to know of its definitions: in which transaction numbers of
/// sequences are reserved, and of which sequences they were.
#[derive(Default)]
pub(crate) struct Numbering {
    state: Mutex<NumberingState>,
}

#[derive(Default)]
struct NumberingState {
    transaction: Option<Arc<Transaction>>,
    catalog: Option<Arc<Snapshot>>,
    taken: Vec<Arc<Sequence>>,
}

impl Numbering {
    fn lock(&self) -> std::sync::MutexGuard<'_, NumberingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The transaction in which numbers are to be reserved.
    pub(crate) fn transaction(&self) -> Option<Arc<Transaction>> {
        self.lock().transaction.clone()
    }

    /// The catalog that the session sees alone.
    pub(crate) fn catalog(&self) -> Option<Arc<Snapshot>> {
        self.lock().catalog.clone()
    }

    /// Notes a sequence of which numbers were reserved in the transaction.
    pub(crate) fn note(&self, sequence: &Arc<Sequence>) {
        let mut state = self.lock();
        if !state.taken.iter().any(|other| other.is_same(sequence)) {
            state.taken.push(Arc::clone(sequence));
        }
    }

    /// A part of the transaction was taken back. Numbers that it gave out are not given out again;
    /// sequences that went with it are nobody's.
    fn keep_numbers(&self, store: &Store, defining: &Defining) -> Result<()> {
        let taken = std::mem::take(&mut self.lock().taken);
        let is_left =
            |sequence: &Arc<Sequence>| defining.catalog.sequence_of(sequence.id).is_some();
        let (left, gone): (Vec<_>, Vec<_>) = taken.into_iter().partition(is_left);
        gone.iter().for_each(|sequence| sequence.forget());
        let writing = defining.transaction.writing()?;
        let kept = left.iter().try_for_each(|sequence| sequence.keep(store, writing));
        self.lock().taken = left;
        kept
    }

    fn see(&self, defining: Option<&Defining>) {
        let mut state = self.lock();
        state.transaction = defining.map(|defining| Arc::clone(&defining.transaction));
        state.catalog = defining.map(|defining| Arc::clone(&defining.catalog));
    }

    fn end(&self, database: &SqlDatabase, committed: bool) {
        self.see(None);
        let taken = std::mem::take(&mut self.lock().taken);
        let catalog = database.catalog();
        // One that was made in what was rolled back is gone.
        let stays = |sequence: &&Arc<Sequence>| catalog.sequence_of(sequence.id).is_some();
        for sequence in taken.iter().filter(stays) {
            sequence.settle(&database.store, committed);
        }
    }
}

impl Session {
    /// The catalog for the next statement: the one of the session's own definitions, the one that
    /// fits its transaction, or the newest.
    pub(crate) fn catalog(&self) -> Arc<Snapshot> {
        if let Some(defining) = &self.defining {
            return Arc::clone(&defining.catalog);
        }
        let pinned = self.block.as_ref().and_then(|block| block.catalog.clone());
        pinned.unwrap_or_else(|| self.database.catalog())
    }

    /// The number of that catalog.
    pub(crate) fn catalog_version(&self) -> u64 {
        if self.defining.is_none() && self.block.as_ref().is_none_or(|b| b.catalog.is_none()) {
            return self.database.catalog_version();
        }
        self.catalog().version
    }

    /// Runs a definition: in the block's transaction with a savepoint around it, or in one of its
    /// own.
    ///
    /// # Errors
    /// As the statement; what failed has changed nothing. `OBJECT_IN_USE` while others write for
    /// too long.
    pub(crate) async fn define_as_one(
        &mut self,
        statement: &Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        self.check_writable()?;
        if self.block.is_some() {
            return self.define_in_block(statement, parameters).await;
        }
        if Kind::of_ast(statement).is_some_and(Kind::is_of_rights) {
            return self.define_right_alone(statement);
        }
        let options = self.options(Isolation::Snapshot);
        let engine = Arc::clone(&self.database.engine);
        let transaction = Transaction::begin(&engine, &options, (true, self.cancel()))?;
        let defined = match self.begin_defining(&transaction) {
            Ok(()) => self.define(statement, parameters).await,
            Err(error) => Err(error),
        };
        self.end_alone(&transaction, defined)
    }

    /// Runs a statement about roles and rights. It changes rows of the catalog and nothing else, so
    /// it waits for nobody: whoever has a transaction open cannot keep his rights by it.
    ///
    /// Definitions and this exclude each other, for this writes; so the catalog that is read anew
    /// behind it has what was committed before, whatever of both was first.
    fn define_right_alone(&mut self, statement: &Statement) -> Result<Outcome> {
        let database = Arc::clone(&self.database);
        let _one_at_a_time = database.rights.lock().unwrap_or_else(PoisonError::into_inner);
        let options = self.options(Isolation::Snapshot);
        let transaction = Transaction::begin(&database.engine, &options, (true, self.cancel()))?;
        let catalog = database.catalog();
        self.defining = Some(Defining { transaction: Arc::clone(&transaction), catalog });
        let defined = self.reload().and_then(|()| self.define_right(statement));
        let done = match defined {
            Ok(done) => transaction.commit().map(|_| done),
            Err(error) => {
                transaction.roll_back();
                Err(error)
            }
        };
        self.forget_definitions();
        self.numbering.end(&self.database, done.is_ok());
        let done = done?;
        database.refresh_catalog()?;
        Ok(done)
    }

    /// Runs what defines without a statement, in a transaction of its own.
    ///
    /// # Errors
    /// Of `work`; then nothing was defined.
    pub(crate) fn define_alone<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let options = self.options(Isolation::Snapshot);
        let engine = Arc::clone(&self.database.engine);
        let transaction = Transaction::begin(&engine, &options, (true, self.cancel()))?;
        let defined = self.begin_defining(&transaction).and_then(|()| work(self));
        self.end_alone(&transaction, defined)
    }

    fn end_alone<T>(&mut self, transaction: &Arc<Transaction>, defined: Result<T>) -> Result<T> {
        match defined {
            Ok(done) => self.commit_definitions(transaction).map(|()| done),
            Err(error) => {
                self.forget_definitions();
                transaction.roll_back();
                self.settle_numbers();
                Err(error)
            }
        }
    }

    async fn define_in_block(
        &mut self,
        statement: &Statement,
        parameters: &[Datum],
    ) -> Result<Outcome> {
        let is_first = self.defining.is_none();
        drop(self.transaction(true)?);
        self.keep_block_alone()?;
        let transaction = self.transaction(true)?;
        let before = transaction.writing()?.savepoint();
        self.unfinished = Some(before);
        let defined = match self.begin_defining(&transaction) {
            Ok(()) => self.define(statement, parameters).await,
            Err(error) => Err(error),
        };
        self.unfinished = None;
        if defined.is_err() {
            self.take_back_to(&transaction, before)?;
            if is_first {
                // What was refused keeps nobody from writing.
                self.forget_definitions();
                transaction.writing()?.stop_defining();
                self.settle_numbers();
            }
        }
        defined
    }

    /// Takes back what a transaction has done since a savepoint, definitions too.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn take_back_to(
        &mut self,
        transaction: &Transaction,
        savepoint: Savepoint,
    ) -> Result<()> {
        transaction.writing()?.roll_back_to(savepoint)?;
        self.reload()?;
        match &self.defining {
            Some(defining) => self.numbering.keep_numbers(&self.database.store, defining),
            None => Ok(()),
        }
    }

    /// A statement that was given up before it had ended has done nothing.
    pub(crate) fn take_back_unfinished(&mut self) {
        let unfinished = self.unfinished.take();
        let block = self.block.as_ref().and_then(|block| block.transaction.clone());
        match (block, unfinished) {
            (Some(transaction), Some(before)) => {
                if self.take_back_to(&transaction, before).is_err()
                    && let Some(block) = &mut self.block
                {
                    block.fail();
                    self.forget_definitions();
                    self.settle_numbers();
                }
            }
            (None, _) => {
                if let Some(defining) = self.defining.take() {
                    self.forget_definitions();
                    defining.transaction.roll_back();
                    self.settle_numbers();
                }
            }
            _ => {}
        }
    }

    /// The block's transaction keeps other writers out, and goes on with the newest state where its
    /// isolation lets it.
    fn keep_block_alone(&mut self) -> Result<()> {
        if self.defining.is_some() {
            return Ok(());
        }
        let Some(block) = &mut self.block else { return Ok(()) };
        match (&mut block.transaction, block.isolation) {
            (Some(transaction), Level::ReadCommitted | Level::Serializable) => {
                Transaction::begin_defining_at_newest(transaction)
            }
            (Some(transaction), Level::RepeatableRead) => transaction.begin_defining(),
            (None, _) => Ok(()),
        }
    }

    fn begin_defining(&mut self, transaction: &Arc<Transaction>) -> Result<()> {
        transaction.begin_defining()?;
        if self.defining.is_none() {
            let catalog = self.database.catalog();
            self.defining = Some(Defining { transaction: Arc::clone(transaction), catalog });
            self.reload()?;
        }
        Ok(())
    }

    /// Reads the catalog anew, as the transaction of the definitions sees it now.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn reload(&mut self) -> Result<()> {
        let Some(defining) = &mut self.defining else { return Ok(()) };
        let database = &self.database;
        let version = database.next_version();
        let tables = defining.transaction.tables()?;
        let reading = (defining.transaction.reading()?, tables);
        let next = load::load(&database.store, reading, (&defining.catalog, version))?;
        defining.catalog = Arc::new(next);
        self.numbering.see(Some(defining));
        Ok(())
    }

    /// The transaction of the definition that is under way.
    ///
    /// # Errors
    /// A fault of whoever asks outside of one.
    pub(crate) fn defining_transaction(&self) -> Result<Arc<Transaction>> {
        let defining = self.defining.as_ref();
        let transaction = defining.map(|defining| Arc::clone(&defining.transaction));
        transaction.ok_or_else(|| Error::internal("nothing is being defined"))
    }

    /// Commits a transaction with its definitions, and puts up the catalog that has them.
    ///
    /// # Errors
    /// As a commit; then nothing was defined.
    pub(crate) fn commit_definitions(&mut self, transaction: &Arc<Transaction>) -> Result<()> {
        let defining = self.defining.take();
        let database = Arc::clone(&self.database);
        if defining.is_some() {
            database.expect_another();
        }
        let committed = transaction.commit_with(|| {
            if let Some(defining) = &defining {
                database.put_up(Arc::clone(&defining.catalog));
            }
        });
        if defining.is_some() && committed.is_err() {
            database.expect_none();
        }
        self.numbering.end(&self.database, committed.is_ok());
        committed.map(drop)
    }

    /// The transaction of the definitions is being rolled back.
    pub(crate) fn forget_definitions(&mut self) {
        self.defining = None;
        self.numbering.see(None);
    }

    /// It was.
    pub(crate) fn settle_numbers(&self) {
        self.numbering.end(&self.database, false);
    }
}
