//! UPDATE: new values for columns of the rows that meet a condition.
//!
//! The query gives each row whole, as it will be; checks, generated columns and RETURNING look at
//! that, and the engine writes the columns that were assigned.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::sql::sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, SelectItem, TableFactor, TableWithJoins, Update,
    UpdateTableFromKind, visit_expressions,
};

use super::apply::RowUpdate;
use super::insert::note_parameter;
use super::rows::Changed;
use super::target::{Source, Target, not_default, parse_query};
use crate::catalog::privilege::Privilege;
use crate::catalog::table::ROW_COLUMN;
use crate::change::apply;
use crate::change::insert;
use crate::change::owed;
use crate::change::target;
use crate::context::StatementContext;
use crate::error::{Error, Result};
use crate::names::{fold, quoted};
use crate::query::select::Gathered;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Whether an expression may look at a column: whatever has a name in it does.
fn names_column(expr: &Expr) -> bool {
    if not_default(expr).is_none() {
        return false;
    }
    let found = visit_expressions(expr, |part| match part {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::CompoundFieldAccess { .. } => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

pub(super) fn update_target(context: &StatementContext, update: &Update) -> Result<Target> {
    if !update.table.joins.is_empty() || update.limit.is_some() || update.or.is_some() {
        return Err(Error::unsupported("this form of UPDATE").hint("Write UPDATE ... FROM."));
    }
    // New values that are constants need no look at the old ones.
    let reads = update.selection.is_some()
        || update.from.is_some()
        || update.returning.is_some()
        || update.assignments.iter().any(|assignment| names_column(&assignment.value));
    let mut uses = vec![Privilege::Update];
    uses.extend(reads.then_some(Privilege::Select));
    target_of(context, &update.table.relation, &uses)
}

/// The target that a FROM clause or its like names.
pub(super) fn target_of(
    context: &StatementContext,
    factor: &TableFactor,
    uses: &[Privilege],
) -> Result<Target> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else {
        return Err(Error::unsupported(format!("changing {factor}")));
    };
    target::target(context, name, alias.as_ref().map(|alias| fold(&alias.name)), uses)
}

/// The query that gives the rows to change: all columns with their new values, and the number
/// of the row. Beside it, which columns are assigned.
pub(super) fn update_source(
    target: &Target,
    update: &Update,
    given: &[SqlType],
) -> Result<(Source, Vec<usize>)> {
    let assigned = target.assigned(&update.assignments)?;
    let mut given = given.to_vec();
    for (place, value) in &assigned {
        if let Some(value) = value {
            note_parameter(value, &target.table.columns[*place].sql_type, &mut given);
        }
    }
    let items = target.table.columns.iter().enumerate().map(|(place, column)| {
        let value = match assigned.iter().find(|(other, _)| *other == place) {
            Some((_, Some(value))) => value.to_string(),
            Some((_, None)) => target.default_of(place),
            None => target.column(&column.name),
        };
        format!("{value} AS \"{place}\"")
    });
    let items: Vec<String> = items.collect();
    let from = match &update.from {
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => {
            from.as_slice()
        }
        None => &[],
    };
    let beside = columns_beside(from, update.returning.as_deref())?;
    let filter = update.selection.as_ref().map_or(String::new(), |on| format!(" WHERE {on}"));
    let text = format!(
        "SELECT {}, {}{beside} FROM {}{}{filter}",
        items.join(", "),
        target.column(ROW_COLUMN),
        target.in_from(),
        joined(from)
    );
    let (width, has_more) = (target.table.columns.len(), !beside.is_empty());
    let source = Source { query: parse_query(&text)?, given, width, has_more };
    let mut places: Vec<usize> = assigned.iter().map(|(place, _)| *place).collect();
    let generated = target.table.columns.iter().enumerate();
    places.extend(generated.filter(|(_, column)| column.generated.is_some()).map(|(p, _)| p));
    Ok((source, places))
}

pub(super) async fn update(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    update: &Update,
    parameters: &[Datum],
) -> Result<Changed> {
    let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
    let (source, places) = update_source(target, update, &given)?;
    let (Gathered { batches, held: _held, .. }, beside) =
        source.collect(context, target, parameters, transaction).await?;
    let width = target.table.columns.len();
    let mut changed = Changed { beside, ..Changed::default() };
    let (mut seen, mut owed) = (HashSet::new(), owed::owed(context));
    for batch in batches {
        context.check_cancelled()?;
        let (rows, numbers, beside) = split_numbers(&batch, width, &mut seen)?;
        let rows = insert::new_rows(context, target, &rows)?;
        changed.count += rows.num_rows() as u64;
        let written = RowUpdate { rows: &rows, numbers: &numbers, places: &places };
        apply::update_rows(transaction, target, written, &mut owed)?;
        if update.returning.is_some() {
            changed.rows.push(rows);
            changed.beside.rows.push(beside);
        }
    }
    owed::validate(context, transaction, &target.catalog, &mut owed)?;
    Ok(changed)
}

/// So many columns, the numbers of the rows behind them, and what is beside; each number once in
/// the whole statement: a row that a join gives several times is changed with the first of its
/// partners.
pub(super) fn split_numbers(
    batch: &RecordBatch,
    width: usize,
    seen: &mut HashSet<u64>,
) -> Result<(RecordBatch, UInt64Array, RecordBatch)> {
    let numbers = batch.column(width).as_primitive::<UInt64Type>();
    let first: Vec<bool> = numbers.values().iter().map(|number| seen.insert(*number)).collect();
    let batch = match first.iter().all(|first| *first) {
        true => batch.clone(),
        false => filter_record_batch(batch, &first.into())?,
    };
    let numbers = batch.column(width).as_primitive::<UInt64Type>().clone();
    let columns: Vec<usize> = (0..width).collect();
    let beside: Vec<usize> = (width + 1..batch.num_columns()).collect();
    Ok((batch.project(&columns)?, numbers, batch.project(&beside)?))
}

/// All columns of further tables, as items of a select list, where RETURNING may speak of them.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED` for RETURNING of all columns where two tables share some.
pub(super) fn columns_beside(
    from: &[TableWithJoins],
    returning: Option<&[SelectItem]>,
) -> Result<String> {
    let Some(returning) = returning else { return Ok(String::new()) };
    let names_all = returning.iter().any(|item| matches!(item, SelectItem::Wildcard(_)));
    let mut beside = String::new();
    for table in from {
        push_columns(table, names_all, &mut beside)?;
    }
    Ok(beside)
}

fn push_columns(table: &TableWithJoins, names_all: bool, beside: &mut String) -> Result<()> {
    if names_all && table.joins.iter().any(shares_columns) {
        return Err(Error::unsupported("RETURNING * of tables that share columns")
            .hint("Name the columns, or write JOIN .. ON."));
    }
    let joined = table.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&table.relation).chain(joined) {
        let name = match factor {
            TableFactor::NestedJoin { table_with_joins, alias: None } => {
                push_columns(table_with_joins, names_all, beside)?;
                continue;
            }
            TableFactor::Table { name, alias: None, .. } => {
                name.0.last().and_then(|part| part.as_ident()).map(fold)
            }
            TableFactor::Table { alias: Some(alias), .. }
            | TableFactor::NestedJoin { alias: Some(alias), .. }
            | TableFactor::Derived { alias: Some(alias), .. }
            | TableFactor::UNNEST { alias: Some(alias), .. }
            | TableFactor::TableFunction { alias: Some(alias), .. }
            | TableFactor::Function { alias: Some(alias), .. } => Some(fold(&alias.name)),
            _ => None,
        };
        let name = name
            .ok_or_else(|| Error::unsupported(format!("RETURNING with {factor} beside a table")))?;
        beside.push_str(&format!(", {}.*", quoted(&name)));
    }
    Ok(())
}

fn shares_columns(join: &Join) -> bool {
    use JoinOperator as J;
    match &join.join_operator {
        J::Join(on)
        | J::Inner(on)
        | J::Left(on)
        | J::LeftOuter(on)
        | J::Right(on)
        | J::RightOuter(on)
        | J::FullOuter(on) => {
            matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural)
        }
        _ => false,
    }
}

/// Further tables in a FROM clause.
pub(super) fn joined(from: &[TableWithJoins]) -> String {
    from.iter().map(|table| format!(", {table}")).collect()
}
