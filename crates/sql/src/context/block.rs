//! Transaction blocks: BEGIN, COMMIT, ROLLBACK, savepoints.
//!
//! A block begins its engine transaction with the first statement that reads or writes, so that
//! definitions, which wait for all who write, can come before it.

use std::sync::Arc;
use std::time::Instant;

use datafusion::sql::sqlparser::ast::{
    Statement, TransactionAccessMode, TransactionIsolationLevel, TransactionMode,
};
use remanent_engine::{Isolation, Savepoint};

use super::StatementContext;
use crate::catalog::snapshot::Snapshot;
use crate::error::{Error, Result, SqlState};
use crate::names::fold;
use crate::notifications::Asked;
use crate::result::answer::{Notice, Outcome};
use crate::transaction::Transaction;

/// A transaction block.
pub(crate) struct Block {
    pub(crate) isolation: Level,
    pub(crate) read_only: bool,
    begun: Instant,
    /// Whether it can only be rolled back.
    pub(crate) failed: bool,
    /// Begun with the first statement that reads or writes.
    pub(crate) transaction: Option<Arc<Transaction>>,
    pub(crate) savepoints: Vec<Named>,
    /// The catalog that fits the snapshot of a transaction that keeps its own.
    pub(crate) catalog: Option<Arc<Snapshot>>,
    /// The number of the catalog from which the rights in that one are.
    pub(crate) rights: u64,
}

/// A savepoint.
pub(crate) struct Named {
    name: String,
    savepoint: Savepoint,
    /// How much had been asked for by then of what is done after the commit.
    asked: usize,
}

/// An isolation level, as SQL names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Level {
    /// Each statement sees what was committed when it began. (READ UNCOMMITTED is the same.)
    ReadCommitted,
    /// All statements see one snapshot.
    RepeatableRead,
    /// As if transactions ran one after the other.
    Serializable,
}

impl Level {
    /// The engine's.
    pub(crate) fn engine(self) -> Isolation {
        match self {
            Self::ReadCommitted | Self::RepeatableRead => Isolation::Snapshot,
            Self::Serializable => Isolation::Serializable,
        }
    }

    /// Whether each statement takes a new snapshot.
    pub(crate) fn refreshes(self) -> bool {
        self == Self::ReadCommitted
    }

    pub(crate) fn from_ast(level: TransactionIsolationLevel) -> Self {
        match level {
            TransactionIsolationLevel::ReadUncommitted
            | TransactionIsolationLevel::ReadCommitted => Self::ReadCommitted,
            TransactionIsolationLevel::RepeatableRead | TransactionIsolationLevel::Snapshot => {
                Self::RepeatableRead
            }
            TransactionIsolationLevel::Serializable => Self::Serializable,
        }
    }

    /// As SHOW says it.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ReadCommitted => "read committed",
            Self::RepeatableRead => "repeatable read",
            Self::Serializable => "serializable",
        }
    }
}

impl Block {
    fn new(isolation: Level, read_only: bool) -> Self {
        Self {
            isolation,
            read_only,
            begun: Instant::now(),
            failed: false,
            transaction: None,
            savepoints: Vec::new(),
            catalog: None,
            rights: 0,
        }
    }

    /// Only a rollback can follow; what was written is taken back now.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
        if let Some(transaction) = self.transaction.take() {
            transaction.roll_back();
        }
    }
}

impl StatementContext {
    /// Carries out a statement about transactions; `None` for others.
    pub(crate) fn control(&mut self, statement: &Statement) -> Option<Result<Outcome>> {
        Some(match statement {
            Statement::StartTransaction { modes, statements, .. } if statements.is_empty() => {
                self.begin(modes)
            }
            Statement::Commit { chain, .. } => self.commit(*chain),
            Statement::Rollback { chain, savepoint: None } => self.roll_back(*chain),
            Statement::Rollback { savepoint: Some(name), .. } => self.roll_back_to(&fold(name)),
            Statement::Savepoint { name } => self.savepoint(fold(name)),
            Statement::ReleaseSavepoint { name } => self.release(&fold(name)),
            _ => return None,
        })
    }

    fn begin(&mut self, modes: &[TransactionMode]) -> Result<Outcome> {
        if self.block.is_some() {
            let text = "there is already a transaction in progress";
            let notice = Notice::warning(SqlState::ACTIVE_TRANSACTION, text);
            return Ok(Outcome::notice("BEGIN", notice));
        }
        self.mark_start();
        let mut block = Block::new(self.settings.isolation, self.settings.read_only);
        for mode in modes {
            set_mode(&mut block, mode);
        }
        self.block = Some(block);
        Ok(Outcome::verb("BEGIN"))
    }

    /// SET TRANSACTION, which has to be the block's first statement.
    ///
    /// # Errors
    /// `BAD_TRANSACTION_STATE`.
    pub(crate) fn set_transaction(&mut self, modes: &[TransactionMode]) -> Result<Outcome> {
        let Some(block) = &mut self.block else {
            let text = "SET TRANSACTION can only be used in transaction blocks";
            return Ok(Outcome::notice("SET", Notice::warning(SqlState::NO_TRANSACTION, text)));
        };
        if block.transaction.is_some() {
            let text = "SET TRANSACTION must be called before any query";
            return Err(Error::new(SqlState::ACTIVE_TRANSACTION, text));
        }
        modes.iter().for_each(|mode| set_mode(block, mode));
        Ok(Outcome::verb("SET"))
    }

    fn commit(&mut self, chain: bool) -> Result<Outcome> {
        let Some(block) = self.block.take() else {
            return Ok(Outcome::notice("COMMIT", nothing_to_end()));
        };
        if block.failed {
            self.block = Some(block);
            return self.roll_back(chain);
        }
        if chain {
            self.chain(&block);
        }
        self.committing(|context| match (&block.transaction, &context.defining) {
            (Some(transaction), Some(_)) => context.commit_definitions(transaction),
            (Some(transaction), None) => transaction.commit().map(drop),
            (None, _) => Ok(()),
        })?;
        if let Some(transaction) = block.transaction {
            // Its snapshot goes first.
            drop(transaction);
            if !block.read_only {
                self.after_commit(block.begun.elapsed());
            }
        }
        Ok(Outcome::verb("COMMIT"))
    }

    /// The transaction ends: does `commit`, and then what it has asked for. Others that notify wait
    /// meanwhile, so that all are told in one order.
    ///
    /// # Errors
    /// Those of the commit, and `LIMIT_EXCEEDED` before it where too much waits to be taken; then
    /// nobody is told.
    pub(crate) fn committing<T>(
        &mut self,
        commit: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        if self.notifying.len() == 0 {
            return commit(self);
        }
        let asked = self.notifying.take();
        if !asked.notifies() {
            let done = commit(self)?;
            self.carry_out(asked);
            return Ok(done);
        }
        let database = Arc::clone(&self.database);
        let _turn = database.channels.take_turn()?;
        let done = commit(self)?;
        self.carry_out(asked);
        Ok(done)
    }

    fn carry_out(&self, asked: Asked) {
        asked.carry_out(&self.database.channels, &self.notifying.inbox);
    }

    /// Does what a statement outside a transaction block has asked for, which has ended.
    ///
    /// # Errors
    /// As [`StatementContext::committing`].
    pub(crate) fn end_statement(&mut self) -> Result<()> {
        match self.block.is_none() && self.notifying.len() > 0 {
            true => self.committing(|_| Ok(())),
            false => Ok(()),
        }
    }

    fn roll_back(&mut self, chain: bool) -> Result<Outcome> {
        let Some(block) = self.block.take() else {
            return Ok(Outcome::notice("ROLLBACK", nothing_to_end()));
        };
        if chain {
            self.chain(&block);
        }
        self.forget_definitions();
        self.notifying.take();
        if let Some(transaction) = block.transaction {
            transaction.roll_back();
        }
        self.finish_sequence_numbers();
        Ok(Outcome::verb("ROLLBACK"))
    }

    /// The next block, with the modes of this one.
    fn chain(&mut self, block: &Block) {
        self.block = None;
        self.mark_start();
        self.block = Some(Block::new(block.isolation, block.read_only));
    }

    fn savepoint(&mut self, name: String) -> Result<Outcome> {
        self.in_block("SAVEPOINT")?;
        let transaction = self.transaction(true)?;
        let savepoint = transaction.writing()?.savepoint();
        let asked = self.notifying.len();
        if let Some(block) = &mut self.block {
            block.savepoints.push(Named { name, savepoint, asked });
        }
        Ok(Outcome::verb("SAVEPOINT"))
    }

    fn roll_back_to(&mut self, name: &str) -> Result<Outcome> {
        let block = self.in_block("ROLLBACK TO SAVEPOINT")?;
        let place = place_of(block, name)?;
        let Named { savepoint, asked, .. } = block.savepoints[place];
        block.savepoints.truncate(place + 1);
        let transaction = block.transaction.clone();
        self.notifying.forget_since(asked);
        if let Some(transaction) = transaction {
            self.take_back_to(&transaction, savepoint)?;
        }
        Ok(Outcome::verb("ROLLBACK"))
    }

    fn release(&mut self, name: &str) -> Result<Outcome> {
        let block = self.in_block("RELEASE SAVEPOINT")?;
        let place = place_of(block, name)?;
        block.savepoints.truncate(place);
        Ok(Outcome::verb("RELEASE"))
    }

    fn in_block(&mut self, what: &str) -> Result<&mut Block> {
        match &mut self.block {
            Some(block) if block.failed => {
                let text = "the transaction has failed as a whole and cannot go on";
                Err(Error::new(SqlState::IN_FAILED_TRANSACTION, text).hint("Roll back."))
            }
            Some(block) => Ok(block),
            None => {
                let text = format!("{what} can only be used in transaction blocks");
                Err(Error::new(SqlState::NO_TRANSACTION, text))
            }
        }
    }
}

fn nothing_to_end() -> Notice {
    Notice::warning(SqlState::NO_TRANSACTION, "there is no transaction in progress")
}

fn place_of(block: &Block, name: &str) -> Result<usize> {
    let place = block.savepoints.iter().rposition(|other| other.name == name);
    place.ok_or_else(|| {
        Error::new(SqlState::UNKNOWN_SAVEPOINT, format!("savepoint {name} does not exist"))
    })
}

fn set_mode(block: &mut Block, mode: &TransactionMode) {
    match mode {
        TransactionMode::AccessMode(mode) => {
            block.read_only = *mode == TransactionAccessMode::ReadOnly;
        }
        TransactionMode::IsolationLevel(level) => block.isolation = Level::from_ast(*level),
    }
}
