//! The transaction of a definition: one of its own, or the block's with a savepoint around it.
//!
//! A definition keeps all other writers out from its beginning until its transaction ends, so what
//! it reads and rewrites is whole; what failed has changed nothing. Statements about rights wait
//! for nobody.

use std::sync::{Arc, PoisonError};

use datafusion::sql::sqlparser::ast::Statement;
use remanent_engine::Isolation;

use crate::context::StatementContext;
use crate::context::defining::Defining;
use crate::error::Result;
use crate::result::answer::Outcome;
use crate::statement::Kind;
use crate::transaction::Transaction;
use crate::values::datum::Datum;

/// Runs a definition: in the block's transaction with a savepoint around it, or in one of its
/// own.
///
/// # Errors
/// As the statement; what failed has changed nothing. `OBJECT_IN_USE` while others write for
/// too long.
pub(crate) async fn define_as_one(
    context: &mut StatementContext,
    statement: &Statement,
    parameters: &[Datum],
) -> Result<Outcome> {
    context.check_writable()?;
    if context.block.is_some() {
        return define_in_block(context, statement, parameters).await;
    }
    if Kind::of_ast(statement).is_some_and(Kind::is_of_rights) {
        return define_right_alone(context, statement);
    }
    let options = context.options(Isolation::Snapshot);
    let engine = Arc::clone(&context.database.engine);
    let transaction = Transaction::begin(&engine, &options, true, context.cancel(), 1)?;
    let defined = match context.begin_defining(&transaction) {
        Ok(()) => super::define(context, statement, parameters).await,
        Err(error) => Err(error),
    };
    end_alone(context, &transaction, defined)
}

/// Runs a statement about roles and rights. It changes rows of the catalog and nothing else, so
/// it waits for nobody: a role with a transaction open cannot keep its rights by it.
///
/// Definitions and this exclude each other, for this writes; so the catalog that is read anew
/// behind it has what was committed before, whatever of both was first.
fn define_right_alone(context: &mut StatementContext, statement: &Statement) -> Result<Outcome> {
    let database = Arc::clone(&context.database);
    let _one_at_a_time = database.rights.lock().unwrap_or_else(PoisonError::into_inner);
    let options = context.options(Isolation::Snapshot);
    let transaction = Transaction::begin(&database.engine, &options, true, context.cancel(), 1)?;
    let catalog = database.catalog();
    context.defining = Some(Defining { transaction: Arc::clone(&transaction), catalog });
    let defined = context.reload().and_then(|()| super::define_right(context, statement));
    let done = match defined {
        Ok(done) => transaction.commit().map(|_| done),
        Err(error) => {
            transaction.roll_back();
            Err(error)
        }
    };
    context.forget_definitions();
    context.numbering.end(&context.database, done.is_ok());
    let done = done?;
    database.refresh_catalog()?;
    Ok(done)
}

/// Runs what defines without a statement, in a transaction of its own.
///
/// # Errors
/// Of `work`; then nothing was defined.
pub(crate) fn define_alone<T>(
    context: &mut StatementContext,
    work: impl FnOnce(&mut StatementContext) -> Result<T>,
) -> Result<T> {
    let options = context.options(Isolation::Snapshot);
    let engine = Arc::clone(&context.database.engine);
    let transaction = Transaction::begin(&engine, &options, true, context.cancel(), 1)?;
    let defined = context.begin_defining(&transaction).and_then(|()| work(context));
    end_alone(context, &transaction, defined)
}

fn end_alone<T>(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    defined: Result<T>,
) -> Result<T> {
    match defined {
        Ok(done) => context.commit_definitions(transaction).map(|()| done),
        Err(error) => {
            context.forget_definitions();
            transaction.roll_back();
            context.finish_sequence_numbers();
            Err(error)
        }
    }
}

async fn define_in_block(
    context: &mut StatementContext,
    statement: &Statement,
    parameters: &[Datum],
) -> Result<Outcome> {
    let is_first = context.defining.is_none();
    drop(context.transaction(true)?);
    context.keep_block_alone()?;
    let transaction = context.transaction(true)?;
    let before = transaction.writing()?.savepoint();
    context.unfinished = Some(before);
    let defined = match context.begin_defining(&transaction) {
        Ok(()) => super::define(context, statement, parameters).await,
        Err(error) => Err(error),
    };
    context.unfinished = None;
    if defined.is_err() {
        context.take_back_to(&transaction, before)?;
        if is_first {
            // What was refused keeps nobody from writing.
            context.forget_definitions();
            transaction.writing()?.stop_defining();
            context.finish_sequence_numbers();
        }
    }
    defined
}
