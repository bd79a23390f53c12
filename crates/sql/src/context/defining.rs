//! Definitions: one transaction of the engine each, or parts of a block's.
//!
//! A definition keeps all other writers out from its beginning until its transaction ends, so what
//! it reads and rewrites is whole. What it makes is in the transaction: rows, tables, indexes and
//! the catalog's own rows are there together once it has committed, and never were otherwise.
//! Others go on reading the state before, by the catalog that they have; the next one is put up
//! before any writer is let in.

use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::Savepoint;

use super::StatementContext;
use super::block::Level;
use crate::catalog::load;
use crate::catalog::sequence::Sequence;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::store::Store;
use crate::database::SqlDatabase;
use crate::error::{Error, Result};
use crate::transaction::Transaction;

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
        let kept = left.iter().try_for_each(|sequence| sequence.keep(store, &writing));
        self.lock().taken = left;
        kept
    }

    fn see(&self, defining: Option<&Defining>) {
        let mut state = self.lock();
        state.transaction = defining.map(|defining| Arc::clone(&defining.transaction));
        state.catalog = defining.map(|defining| Arc::clone(&defining.catalog));
    }

    /// The transaction has ended.
    pub(crate) fn end(&self, database: &SqlDatabase, committed: bool) {
        self.see(None);
        let taken = std::mem::take(&mut self.lock().taken);
        let catalog = database.catalog();
        // One that was made in what was rolled back is gone.
        let stays = |sequence: &&Arc<Sequence>| catalog.sequence_of(sequence.id).is_some();
        for sequence in taken.iter().filter(stays) {
            sequence.finish(&database.store, committed);
        }
    }
}

impl StatementContext {
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
        if unfinished.is_some() {
            self.forget_asked();
        }
        let block = self.block.as_ref().and_then(|block| block.transaction.clone());
        match (block, unfinished) {
            (Some(transaction), Some(before)) => {
                if self.take_back_to(&transaction, before).is_err()
                    && let Some(block) = &mut self.block
                {
                    block.fail();
                    self.forget_definitions();
                    self.finish_sequence_numbers();
                }
            }
            (None, _) => {
                if let Some(defining) = self.defining.take() {
                    self.forget_definitions();
                    defining.transaction.roll_back();
                    self.finish_sequence_numbers();
                }
            }
            _ => {}
        }
    }

    /// The block's transaction keeps other writers out, and goes on with the newest state where its
    /// isolation lets it.
    pub(crate) fn keep_block_alone(&mut self) -> Result<()> {
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

    pub(crate) fn begin_defining(&mut self, transaction: &Arc<Transaction>) -> Result<()> {
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
        let reading = defining.transaction.reading()?;
        let next = load::load(&database.store, &reading, tables, &defining.catalog, version)?;
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
    pub(crate) fn finish_sequence_numbers(&self) {
        self.numbering.end(&self.database, false);
    }
}
