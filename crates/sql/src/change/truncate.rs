//! TRUNCATE: all rows of tables, within the transaction.
//!
//! Tables that others refer to are emptied only together with those.

use datafusion::sql::sqlparser::ast::{CascadeOption, Truncate, TruncateIdentityOption};
use remanent_engine::{RowId, WriteTransaction};

use crate::catalog::privilege::Privilege;
use crate::catalog::sequence::SequenceValue;
use crate::context::StatementContext;
use crate::context::runner::Tries;
use crate::error::{Error, Result, SqlState};
use crate::privileges::{Access, Allowed};
use crate::result::answer::Outcome;
use crate::session_functions::sequences;

/// TRUNCATE, within the transaction.
///
/// # Errors
/// `UNKNOWN_TABLE`; `FEATURE_NOT_SUPPORTED` for a table that others refer to, without CASCADE.
pub(crate) async fn truncate(
    context: &mut StatementContext,
    truncate: &Truncate,
) -> Result<Outcome> {
    let mut tries = Tries::default();
    loop {
        let changing = context.begin_change(&mut tries)?;
        context.cancel().frees_memory();
        let done = empty(context, &*changing.writing()?, truncate);
        if let Some(emptied) = context.end_change(changing, done, &mut tries)? {
            restart(context, &emptied, truncate)?;
            return Ok(Outcome::verb("TRUNCATE TABLE"));
        }
        tokio::task::yield_now().await;
    }
}

/// Deletes all rows; of these tables.
fn empty(
    context: &StatementContext,
    writing: &WriteTransaction<'_>,
    truncate: &Truncate,
) -> Result<Vec<Allowed>> {
    let catalog = context.catalog();
    let access = context.access(&catalog);
    let mut tables = Vec::new();
    for name in &truncate.table_names {
        tables.push(access.find(&name.name, &[Privilege::Truncate])?);
    }
    let cascade = matches!(truncate.cascade, Some(CascadeOption::Cascade));
    add_referrers(access, &mut tables, cascade)?;
    for table in &tables {
        let ids: Vec<RowId> = writing.scan(&table.handle)?.map(|row| row.id()).collect();
        for id in ids {
            context.check_cancelled()?;
            writing.delete(&table.handle, id)?;
        }
    }
    Ok(tables)
}

/// With RESTART IDENTITY, sequences of emptied tables begin anew.
fn restart(context: &StatementContext, tables: &[Allowed], truncate: &Truncate) -> Result<()> {
    if truncate.identity != Some(TruncateIdentityOption::Restart) {
        return Ok(());
    }
    let catalog = context.catalog();
    for column in tables.iter().flat_map(|table| &table.columns) {
        let Some(identity) = &column.identity else { continue };
        if let Some(sequence) = catalog.sequence_of(identity.sequence) {
            let start = SequenceValue { number: sequence.options.start, is_called: false };
            sequences::put(&context.database, &context.caller, sequence, start)?;
        }
    }
    Ok(())
}

fn add_referrers(access: Access<'_>, tables: &mut Vec<Allowed>, cascade: bool) -> Result<()> {
    let mut at = 0;
    while at < tables.len() {
        let name = tables[at].name.clone();
        at += 1;
        for child in access.catalog.tables.values() {
            let refers = child.references.iter().any(|reference| reference.table == name);
            if !refers || tables.iter().any(|table| table.name == child.name) {
                continue;
            }
            if !cascade {
                let text = "cannot truncate a table referenced in a foreign key constraint";
                return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text)
                    .detail(format!("Table {} references {name}.", child.name))
                    .hint("Truncate both, or write CASCADE."));
            }
            tables.push(access.table(child, &[Privilege::Truncate])?);
        }
    }
    Ok(())
}
