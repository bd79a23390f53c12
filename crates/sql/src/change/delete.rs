//! DELETE: the rows that meet a condition.
//!
//! The condition is a query over the table with the number of each row, so no predicate is lost on
//! the way, whatever the optimiser makes of it.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Delete, FromTable};

use super::rows::Changed;
use super::target::{Source, Target, parse_query};
use super::update::{columns_beside, joined, split_numbers};
use crate::catalog::privilege::Privilege;
use crate::catalog::table::ROW_COLUMN;
use crate::change::apply;
use crate::change::owed;
use crate::change::update;
use crate::context::StatementContext;
use crate::error::{Error, Result};
use crate::query::select::Gathered;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

pub(super) fn delete_target(context: &StatementContext, delete: &Delete) -> Result<Target> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let single = from.len() == 1 && from[0].joins.is_empty() && delete.tables.is_empty();
    if !single || delete.limit.is_some() || !delete.order_by.is_empty() {
        return Err(Error::unsupported("this form of DELETE").hint("Write DELETE ... USING."));
    }
    let reads = delete.selection.is_some() || delete.using.is_some() || delete.returning.is_some();
    let mut uses = vec![Privilege::Delete];
    uses.extend(reads.then_some(Privilege::Select));
    update::target_of(context, &from[0].relation, &uses)
}

/// The query that gives the rows to delete: all columns as they are, and the number of the
/// row.
pub(super) fn delete_source(target: &Target, delete: &Delete, given: &[SqlType]) -> Result<Source> {
    let mut items = Vec::new();
    if delete.returning.is_some() {
        items = target.table.columns.iter().map(|c| target.column(&c.name)).collect();
    }
    items.push(target.column(ROW_COLUMN));
    let using = delete.using.as_deref().unwrap_or_default();
    let beside = columns_beside(using, delete.returning.as_deref())?;
    let filter = delete.selection.as_ref().map_or(String::new(), |on| format!(" WHERE {on}"));
    let (items, from) = (items.join(", "), joined(using));
    let text = format!("SELECT {items}{beside} FROM {}{from}{filter}", target.in_from());
    let width = if delete.returning.is_some() { target.table.columns.len() } else { 0 };
    let (query, given, has_more) = (parse_query(&text)?, given.to_vec(), !beside.is_empty());
    Ok(Source { query, given, width, has_more })
}

pub(super) async fn delete(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    delete: &Delete,
    parameters: &[Datum],
) -> Result<Changed> {
    context.cancel().frees_memory();
    let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
    let source = delete_source(target, delete, &given)?;
    let (Gathered { batches, held: _held, .. }, beside) =
        source.collect(context, target, parameters, transaction).await?;
    let width = source.width;
    let mut changed = Changed { beside, ..Changed::default() };
    let (mut seen, mut gone) = (HashSet::new(), Vec::new());
    for batch in batches {
        context.check_cancelled()?;
        let (rows, numbers, beside) = split_numbers(&batch, width, &mut seen)?;
        changed.count += numbers.len() as u64;
        gone.extend_from_slice(numbers.values());
        if delete.returning.is_some() {
            changed.rows.push(rows);
            changed.beside.rows.push(beside);
        }
    }
    // All at once: what refers to one of them may be another.
    let mut owed = owed::owed(context);
    apply::delete_rows(context, transaction, target, &gone, &mut owed)?;
    owed::validate(context, transaction, &target.catalog, &mut owed)?;
    Ok(changed)
}
