//! The transaction of whatever reads or changes rows by key without the planner.
//!
//! In a block it is the block's; outside of one it is a transaction of its own, without the cost of
//! one that plans share. What was compiled for another catalog is not used: whoever asks looks its
//! names up anew, or has the planner do so.

use std::sync::Arc;
use std::time::Duration;

use remanent_engine::{ErrorKind, ReadTransaction, WriteTransaction};

use super::MadeFor;
use crate::context::StatementContext;
use crate::context::runner::Tries;
use crate::error::{Error, Result};
use crate::transaction::owned::patiently;

impl MadeFor {
    /// Whether the names mean the same now.
    pub(super) fn holds_in(&self, context: &StatementContext) -> bool {
        self.holds(context.catalog_version(), &context.settings.search_path)
    }
}

/// Reads; `None` if names may mean something else by now, or `work` says so.
pub(super) fn read<T>(
    context: &mut StatementContext,
    made_for: &MadeFor,
    work: impl FnOnce(&ReadTransaction<'_>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    if context.block.is_some() {
        let transaction = context.transaction(false)?;
        return match made_for.holds_in(context) {
            true => work(&*transaction.reading()?),
            false => Ok(None),
        };
    }
    context.wait_until_fresh()?;
    let engine = Arc::clone(&context.database.engine);
    let reading = engine.begin_read()?;
    // A table that was dropped since may be another by now.
    match made_for.holds_in(context) {
        true => work(&reading),
        false => Ok(None),
    }
}

/// Makes a change, once more after each conflict where that is possible; `None` if names may mean
/// something else by now, or `work` says so, and then nothing was changed.
pub(super) fn write<T>(
    context: &mut StatementContext,
    made_for: &MadeFor,
    mut work: impl FnMut(&StatementContext, &WriteTransaction<'_>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    if context.block.is_some() {
        return write_in_block(context, made_for, work);
    }
    let engine = Arc::clone(&context.database.engine);
    let options = context.options(context.settings.isolation.engine());
    context.check_writable()?;
    let mut tries = Tries::default();
    loop {
        let writing =
            patiently(&options, context.cancel(), |options| engine.begin_write_with(options))?;
        if !made_for.holds_in(context) {
            return Ok(None);
        }
        let ended = match work(context, &writing) {
            Ok(Some(done)) => writing.commit().map_err(not_committed).map(|_| {
                context.after_commit(Duration::ZERO);
                Some(done)
            }),
            other => other,
        };
        match ended {
            Err(error) => match context.runs_again_alone(&error, &mut tries)? {
                true => std::thread::yield_now(),
                false => return Err(error),
            },
            ended => return ended,
        }
    }
}

fn not_committed(error: remanent_engine::Error) -> Error {
    match error.kind() {
        ErrorKind::NotLeader => Error::deposed(),
        _ => error.into(),
    }
}

fn write_in_block<T>(
    context: &mut StatementContext,
    made_for: &MadeFor,
    mut work: impl FnMut(&StatementContext, &WriteTransaction<'_>) -> Result<Option<T>>,
) -> Result<Option<T>> {
    let mut tries = Tries::default();
    loop {
        let changing = context.begin_change(&mut tries)?;
        let done = match made_for.holds_in(context) {
            true => work(context, &*changing.writing()?),
            false => Ok(None),
        };
        if matches!(done, Ok(None)) {
            context.give_up_change(&changing)?;
            return Ok(None);
        }
        if let Some(done) = context.end_change(changing, done, &mut tries)? {
            return Ok(done);
        }
    }
}
