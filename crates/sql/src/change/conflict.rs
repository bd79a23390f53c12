//! INSERT ... ON CONFLICT: what is done with rows whose key is there already.
//!
//! Rows are taken one by one: each is looked up in the unique indexes that the clause means, and
//! then inserted, left out, or used to change the row that was found.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::{DFSchema, TableReference};
use datafusion::sql::sqlparser::ast::{
    ConflictTarget, DoUpdate, Expr, OnConflictAction, OnInsert, Value as AstValue,
};
use remanent_engine::RowId;
use remanent_engine::schema::Value;

use super::apply::{RowUpdate, check_inserted, leaves, readers};
use super::owed::Owed;
use super::rows::{Changed, whole_rows};
use super::target::Target;
use crate::catalog::table::duplicate_named;
use crate::catalog::table::{Index, Table};
use crate::catalog::written::literal;
use crate::catalog::written::read_expression;
use crate::change::apply;
use crate::change::insert;
use crate::change::rows;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::fold;
use crate::transaction::Transaction;
use crate::values::arrow_in::ColumnBuilder;
use crate::values::arrow_out::ColumnReader;
use crate::values::datum::Datum;

/// What a statement does about conflicts.
#[derive(Clone, Copy)]
pub(super) struct Conflicts<'a> {
    pub(super) clause: &'a OnInsert,
    /// Whether it gives out the rows that it changed.
    pub(super) keep: bool,
    pub(super) parameters: &'a [Datum],
}

/// Inserts whole rows one by one, or does what the clause says.
///
/// # Errors
/// `BAD_CONFLICT_TARGET`; as other insertions.
pub(super) fn insert_or(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    rows: &RecordBatch,
    on: Conflicts<'_>,
    changed: &mut Changed,
    owed: &mut Owed,
) -> Result<()> {
    let Conflicts { clause, keep, parameters } = on;
    let OnInsert::OnConflict(clause) = clause else {
        return Err(Error::unsupported("ON DUPLICATE KEY").hint("Write ON CONFLICT."));
    };
    let indexes = arbiters(&target.table, clause.conflict_target.as_ref())?;
    let readers = readers(&target.table, rows)?;
    let mut inserted_here = Vec::new();
    for row in 0..rows.num_rows() {
        context.check_cancelled()?;
        let one = rows.slice(row, 1);
        let Some(id) = conflicting(transaction, &target.table, &indexes, &readers, row)? else {
            let values = leaves(&target.table, &readers, row);
            let inserted = transaction.writing()?.insert_values(&target.table.handle, &values);
            inserted_here.push(inserted.map_err(|error| duplicate_named(error, &target.table))?);
            check_inserted(transaction, target, &one, owed)?;
            changed.count += 1;
            if keep {
                changed.rows.push(one);
            }
            continue;
        };
        let OnConflictAction::DoUpdate(update) = &clause.action else { continue };
        if inserted_here.contains(&id) {
            let text = "ON CONFLICT DO UPDATE command cannot affect row a second time";
            return Err(Error::new(SqlState::CARDINALITY, text));
        }
        let update = with_parameters(update, parameters)?;
        let new = update_conflicting(context, transaction, target, id, &one, &update, owed)?;
        if let Some(new) = new {
            inserted_here.push(id);
            changed.count += 1;
            if keep {
                changed.rows.push(new);
            }
        }
    }
    Ok(())
}

fn update_conflicting(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    id: RowId,
    excluded: &RecordBatch,
    update: &DoUpdate,
    owed: &mut Owed,
) -> Result<Option<RecordBatch>> {
    let table = Arc::clone(&target.table);
    let old = row_batch(transaction, &table, id)?;
    let both: Vec<ArrayRef> = old.columns().iter().chain(excluded.columns()).cloned().collect();
    let fields = table.arrow.fields().iter().chain(table.arrow.fields()).cloned();
    let joined = RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), both)?;
    let qualified = |alias: &str| {
        DFSchema::try_from_qualified_schema(TableReference::bare(alias), &table.arrow)
    };
    let schema = qualified(&target.alias)?.join(&qualified("excluded")?)?;
    if let Some(condition) = &update.selection {
        let condition = own_columns(condition, &target.alias);
        let holds = rows::evaluate_over(context, target, &condition, &schema, &joined)?;
        let holds = holds.as_boolean_opt().is_some_and(|b| b.is_valid(0) && b.value(0));
        if !holds {
            return Ok(None);
        }
    }
    let mut arrays = old.columns().to_vec();
    let mut places = Vec::new();
    for (place, value) in target.assigned(&update.assignments)? {
        let value = match value {
            Some(value) => own_columns(value, &target.alias),
            None => read_expression(&target.default_of(place))?,
        };
        arrays[place] = rows::evaluate_over(context, target, &value, &schema, &joined)?;
        places.push(place);
    }
    let new = whole_rows(&table, arrays, 1)?;
    let new = insert::new_rows(context, target, &new)?;
    let generated = table.columns.iter().enumerate();
    places.extend(generated.filter(|(_, column)| column.generated.is_some()).map(|(p, _)| p));
    let numbers = UInt64Array::from(vec![id.number()]);
    let update = RowUpdate { rows: &new, numbers: &numbers, places: &places };
    apply::update_rows(transaction, target, update, owed)?;
    Ok(Some(new))
}

/// The unique indexes whose conflicts are meant.
fn arbiters<'t>(table: &'t Table, target: Option<&ConflictTarget>) -> Result<Vec<&'t Index>> {
    let unique = || table.indexes.iter().filter(|index| index.unique);
    let found: Vec<&Index> = match target {
        None => return Ok(unique().collect()),
        Some(ConflictTarget::OnConstraint(name)) => {
            let name = name.0.last().and_then(|part| part.as_ident()).map(fold).unwrap_or_default();
            unique().filter(|index| index.name == name).collect()
        }
        Some(ConflictTarget::Columns(columns)) => {
            let mut wanted: Vec<String> = columns.iter().map(fold).collect();
            wanted.sort();
            let same = |index: &&Index| {
                let mut names: Vec<String> =
                    index.columns.iter().map(|&c| table.columns[c].name.clone()).collect();
                names.sort();
                names == wanted
            };
            unique().filter(same).collect()
        }
    };
    if found.is_empty() {
        let text = "there is no unique constraint matching the ON CONFLICT specification";
        return Err(Error::new(SqlState::BAD_CONFLICT_TARGET, text));
    }
    Ok(found)
}

/// The row that has a key of this one already.
fn conflicting(
    transaction: &Transaction,
    table: &Table,
    indexes: &[&Index],
    readers: &[ColumnReader<'_>],
    row: usize,
) -> Result<Option<RowId>> {
    for index in indexes {
        let key: Vec<Value<'_>> =
            index.columns.iter().map(|&column| readers[column].value(row)).collect();
        if key.iter().any(Value::is_null) {
            continue;
        }
        if let Some(found) = transaction.reading()?.find(&table.handle, index.handle, &key)? {
            return Ok(Some(found.id()));
        }
    }
    Ok(None)
}

/// One row as a batch.
fn row_batch(transaction: &Transaction, table: &Table, id: RowId) -> Result<RecordBatch> {
    let reading = transaction.reading()?;
    let row = reading.row(&table.handle, id)?;
    let row = row.ok_or_else(|| Error::internal("a row that was just found is gone"))?;
    let arrays = table.columns.iter().map(|column| {
        let (stored, sql_type) = (&column.stored, &column.sql_type);
        let mut builder = ColumnBuilder::new(column.handle, stored, sql_type, 1);
        builder.extend(&[row]);
        builder.finish()
    });
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new(Arc::clone(&table.arrow), arrays)?)
}

/// The expression with the target's name before columns that have none: `excluded` has the same.
fn own_columns(expression: &Expr, alias: &str) -> Expr {
    use datafusion::sql::sqlparser::ast::{Ident, visit_expressions_mut};
    let mut expression = expression.clone();
    let _: std::ops::ControlFlow<()> = visit_expressions_mut(&mut expression, |expr| {
        if let Expr::Identifier(ident) = expr {
            *expr = Expr::CompoundIdentifier(vec![Ident::with_quote('"', alias), ident.clone()]);
        }
        std::ops::ControlFlow::Continue(())
    });
    expression
}

/// The clause with the values of parameters in it.
fn with_parameters(update: &DoUpdate, parameters: &[Datum]) -> Result<DoUpdate> {
    use datafusion::sql::sqlparser::ast::visit_expressions_mut;
    let mut update = update.clone();
    let mut failed = None;
    let _: std::ops::ControlFlow<()> = visit_expressions_mut(&mut update, |expr| {
        if let Expr::Value(value) = expr
            && let AstValue::Placeholder(name) = &value.value
        {
            let number = name.trim_start_matches('$').parse::<usize>().ok();
            match number.and_then(|number| parameters.get(number.checked_sub(1)?)) {
                Some(datum) => *expr = literal(datum),
                None => failed = Some(name.clone()),
            }
        }
        std::ops::ControlFlow::Continue(())
    });
    match failed {
        None => Ok(update),
        Some(name) => {
            let text = format!("there is no parameter {name}");
            Err(Error::new(SqlState::UNKNOWN_PARAMETER, text))
        }
    }
}
