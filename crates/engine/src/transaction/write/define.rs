//! A change of tables or indexes that is a transaction of its own.
//!
//! The turn of definitions is taken first, then a slot: who waits for the turn keeps nobody waiting
//! for it. A table that is new is made beside transactions that write.

use super::defining::{WAIT_MAX, busy};
use super::transaction::WriteTransaction;
use crate::error::Result;
use crate::instance::Instance;
use crate::transaction::begin::clock;
use crate::transaction::begin::options::{Isolation, TransactionOptions};
use crate::transaction::commit::finalize;

/// Who may go on while tables are changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Beside {
    /// Nobody.
    Writers,
    /// Everybody.
    Readers,
}

/// Runs `work`, which defines something, in a transaction of its own and commits it.
///
/// # Errors
/// `TableBusy`, `TooManyTransactions`, and what `work` and the commit return.
pub(crate) fn run_definition<T>(
    db: &Instance,
    beside: Beside,
    work: impl FnOnce(&WriteTransaction<'_>) -> Result<T>,
) -> Result<T> {
    let turn = db.definition_turn().take_within(WAIT_MAX);
    let turn = turn.ok_or_else(|| busy("another change of tables"))?;
    let (held, snapshot) = finalize::with_free_slot(db, clock::begin_past_gate)?;
    let options = TransactionOptions::new().isolation(Isolation::Snapshot);
    let age = snapshot.timestamp;
    let transaction = WriteTransaction::with_slot(db, held, snapshot, &options, age)?;
    match beside {
        Beside::Writers => transaction.begin_creating(turn),
        Beside::Readers => transaction.begin_defining_with(turn)?,
    }
    let made = work(&transaction)?;
    transaction.commit()?;
    Ok(made)
}
