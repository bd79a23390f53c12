//! Changing rows: INSERT, UPDATE, DELETE, MERGE, TRUNCATE.
//!
//! Each statement becomes a query that gives the rows to change, by number, with their new values;
//! the query is read whole, then the rows are changed, then constraints are checked. So no
//! statement sees its own changes, and whatever fails leaves nothing behind.

pub(crate) mod apply;
pub(crate) mod batch;
mod conflict;
pub(crate) mod copy;
pub(crate) mod copy_file;
mod delete;
pub(crate) mod insert;
mod merge;
mod owed;
mod returning;
mod rows;
pub(crate) mod segments;
pub(crate) mod target;
pub(crate) mod truncate;
mod update;

use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Statement, With};

use crate::context::StatementContext;
use crate::context::runner::Tries;
use crate::error::{Error, Result};
use crate::query::binder::Binder;
use crate::query::rewrite;
use crate::query::select::{self, parameter_types};
use crate::result::answer::{Outcome, Tag};
use crate::result::rows::{ResultColumn, columns_of};
use crate::statement::changed_by;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

use rows::Beside;
use target::Target;

/// A change without the named queries in front of it, and these.
fn parted(statement: &Statement) -> (&Statement, Option<&With>) {
    match statement {
        Statement::Query(query) => match changed_by(query) {
            Some(change) => (change, query.with.as_ref()),
            None => (statement, None),
        },
        other => (other, None),
    }
}

/// Runs a change: in the block, or in a transaction of its own, which is run again where another
/// was first.
///
/// # Errors
/// Whatever it meets; then nothing was changed.
pub(crate) async fn run(
    context: &mut StatementContext,
    statement: &Statement,
    parameters: &[Datum],
) -> Result<Outcome> {
    let mut tries = Tries::default();
    loop {
        let changing = context.begin_change(&mut tries)?;
        let done = change_in(context, &changing.transaction, statement, parameters).await;
        if let Some(outcome) = context.end_change(changing, done, &mut tries)? {
            return Ok(outcome);
        }
        tokio::task::yield_now().await;
    }
}

/// Runs a query, or a change that answers rows.
///
/// # Errors
/// Whatever it meets; `FEATURE_NOT_SUPPORTED` for other statements.
async fn run_or_select(context: &mut StatementContext, statement: &Statement) -> Result<Outcome> {
    match statement {
        Statement::Query(query) if changed_by(query).is_none() => {
            select::select(context, query, &[]).await
        }
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => run(context, statement, &[]).await,
        other => Err(Error::unsupported(other)),
    }
}

/// Runs a change in a transaction.
///
/// # Errors
/// Whatever it meets; what was done before is for the caller to take back.
pub(crate) async fn change_in(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    statement: &Statement,
    parameters: &[Datum],
) -> Result<Outcome> {
    let (statement, with) = parted(statement);
    let (verb, returning, target, changed) = match statement {
        Statement::Insert(insert) => {
            let target = insert::insert_target(context, insert)?.behind(with);
            let changed = insert::insert(context, transaction, &target, insert, parameters).await?;
            ("INSERT", &insert.returning, target, changed)
        }
        Statement::Update(update) => {
            let target = update::update_target(context, update)?.behind(with);
            let changed = update::update(context, transaction, &target, update, parameters).await?;
            ("UPDATE", &update.returning, target, changed)
        }
        Statement::Delete(delete) => {
            let target = delete::delete_target(context, delete)?.behind(with);
            let changed = delete::delete(context, transaction, &target, delete, parameters).await?;
            ("DELETE", &delete.returning, target, changed)
        }
        Statement::Merge(merge) => {
            let target = merge::merge_target(context, merge)?.behind(with);
            let changed = merge::merge(context, transaction, &target, merge, parameters).await?;
            ("MERGE", &None, target, changed)
        }
        other => return Err(Error::unsupported(other)),
    };
    let rows = match returning {
        None => None,
        Some(items) => Some(
            returning::returning(context, transaction, &target, items, &changed, parameters)
                .await?,
        ),
    };
    Ok(Outcome { tag: Tag::counted(verb, changed.count), rows, notice: None })
}

/// The query that gives the rows of a change or of a query, without its parameters' values;
/// `None` for statements that read nothing.
///
/// # Errors
/// What the binder finds wrong.
pub(crate) fn source_of(
    context: &mut StatementContext,
    statement: &Statement,
) -> Result<Option<LogicalPlan>> {
    let (statement, with) = parted(statement);
    Ok(Some(match statement {
        Statement::Query(query) => {
            let query = rewrite::rewritten(context, query)?;
            let catalog = context.catalog();
            Binder::of(context, &catalog).bind(query)?
        }
        Statement::Insert(insert) => {
            let target = insert::insert_target(context, insert)?.behind(with);
            insert::insert_source(context, &target, insert, &[])?.0
        }
        Statement::Update(update) => {
            let target = update::update_target(context, update)?.behind(with);
            update::update_source(&target, update, &[])?.0.bind(context, &target)?
        }
        Statement::Delete(delete) => {
            let target = delete::delete_target(context, delete)?.behind(with);
            delete::delete_source(&target, delete, &[])?.bind(context, &target)?
        }
        Statement::Merge(merge) => {
            let target = merge::merge_target(context, merge)?.behind(with);
            merge::merge_source(context, &target, merge, &[])?.0
        }
        _ => return Ok(None),
    }))
}

/// The parameters of a change, and the columns of its RETURNING.
///
/// # Errors
/// What the binder finds wrong.
pub(crate) fn describe_change(
    context: &mut StatementContext,
    statement: &Statement,
    given: &[SqlType],
) -> Result<(Vec<SqlType>, Arc<[ResultColumn]>)> {
    let (statement, with) = parted(statement);
    let (plan, target, returning): (LogicalPlan, Target, _) = match statement {
        Statement::Insert(insert) => {
            let target = insert::insert_target(context, insert)?.behind(with);
            (insert::insert_source(context, &target, insert, given)?.0, target, &insert.returning)
        }
        Statement::Update(update) => {
            let target = update::update_target(context, update)?.behind(with);
            let source = update::update_source(&target, update, given)?.0;
            (source.bind(context, &target)?, target, &update.returning)
        }
        Statement::Delete(delete) => {
            let target = delete::delete_target(context, delete)?.behind(with);
            let source = delete::delete_source(&target, delete, given)?;
            (source.bind(context, &target)?, target, &delete.returning)
        }
        Statement::Merge(merge) => {
            let target = merge::merge_target(context, merge)?.behind(with);
            (merge::merge_source(context, &target, merge, given)?.0, target, &None)
        }
        other => return Err(Error::unsupported(other)),
    };
    let columns = match returning {
        None => Arc::from([]),
        Some(items) => {
            let beside = match statement {
                Statement::Update(_) | Statement::Delete(_) => {
                    Beside::behind(target.table.columns.len(), &plan)
                }
                _ => Beside::default(),
            };
            let logical = returning::returning_plan(context, &target, items, Vec::new(), &beside)?;
            columns_of(&Arc::new(logical.schema().as_arrow().clone()))
        }
    };
    Ok((parameter_types(&plan, given)?, columns))
}
