//! Running a plan for one key.
//!
//! A value that its column could have only by a conversion goes through the planner, which knows
//! all conversions; so both ways answer the same.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use remanent_engine::schema::Value;
use remanent_engine::{ColumnHandle, ErrorKind, ReadTransaction, Row, RowId, WriteTransaction};

use super::{Change, Key, Parent, PointOp, PointPlan, Source, TextCache, normal, transact};
use crate::catalog::table::duplicate_named;
use crate::catalog::table::{Column, Table};
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::quoted;
use crate::result::answer::{Outcome, Tag};
use crate::result::rows::Rows;
use crate::session_functions::sequences;
use crate::statement::Statement;
use crate::transaction::TransactionStatus;
use crate::values::blanks;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Runs a text that has the shape of a statement about one key; `None` if it has not.
///
/// What it would answer is what [`crate::Session::run`] answers, without a parser or a planner.
pub(crate) fn run_text(
    context: &mut StatementContext,
    texts: &mut TextCache,
    text: &str,
) -> Option<Result<Outcome>> {
    let normal = normal::normalise(text)?;
    context.renew_rights();
    let version = context.catalog_version();
    texts.renew(version);
    let plan = match texts.get(&normal.text, version, &context.settings.search_path) {
        Some(known) => known?,
        None => {
            let compiled = compile_text(context, &normal.text).map(Arc::new);
            texts.put(normal.text, compiled.clone());
            compiled?
        }
    };
    run_point(context, &plan, &normal.constants)
}

fn compile_text(context: &StatementContext, text: &str) -> Option<PointPlan> {
    let statement = Statement::parse(text).ok()?;
    compile_point(context, &statement)
}

/// The plan of a statement about one key.
pub(crate) fn compile_point(
    context: &StatementContext,
    statement: &Statement,
) -> Option<PointPlan> {
    let catalog = context.catalog();
    super::compile::compile(&statement.ast, context.access(&catalog))
}

/// Runs a plan with these values; `None` if the planner has to run it.
pub(crate) fn run_point(
    context: &mut StatementContext,
    plan: &PointPlan,
    parameters: &[Datum],
) -> Option<Result<Outcome>> {
    context.renew_rights();
    if context.status() == TransactionStatus::Failed
        || !plan.made_for.holds(context.catalog_version(), &context.settings.search_path)
    {
        return None;
    }
    context.begin_statement();
    let executed = match &plan.op {
        PointOp::Select { .. } => point_read(context, plan, parameters),
        _ => point_write(context, plan, parameters),
    };
    executed.inspect_err(|error| context.failed_with(error)).transpose()
}

fn point_read(
    context: &mut StatementContext,
    plan: &PointPlan,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    transact::read(context, &plan.made_for, |reading| read(plan, reading, parameters))
}

fn point_write(
    context: &mut StatementContext,
    plan: &PointPlan,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    transact::write(context, &plan.made_for, |context, writing| {
        write(context, plan, writing, parameters)
    })
}

fn write(
    context: &StatementContext,
    plan: &PointPlan,
    writing: &WriteTransaction<'_>,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    match &plan.op {
        PointOp::Insert { values, parents, .. } => {
            let row = NewRow { values, parents };
            insert_point(context, plan, writing, &row, parameters)
        }
        PointOp::Update { key, changes, .. } => {
            let changes = Changes { key, changes };
            update_point(context, plan, writing, &changes, parameters)
        }
        PointOp::Delete { key, .. } => {
            let Some(values) = key_values(&plan.table, key, parameters) else {
                return Ok(None);
            };
            if values.iter().any(|value| value.is_null()) {
                return Ok(done(plan, "DELETE", None));
            }
            let handle = &plan.table.handle;
            let index = plan.table.indexes[key.index].handle;
            let found = writing.find(handle, index, &borrowed(&plan.table, key, &values))?;
            let Some(row) = found else { return Ok(done(plan, "DELETE", None)) };
            let answered = returned(plan, &row);
            writing.delete(handle, row.id())?;
            Ok(done(plan, "DELETE", Some(answered)))
        }
        PointOp::Select { .. } => Ok(None),
    }
}

fn insert_point(
    context: &StatementContext,
    plan: &PointPlan,
    writing: &WriteTransaction<'_>,
    row: &NewRow<'_>,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    let NewRow { values: sources, parents } = row;
    let table = &plan.table;
    let mut values: Vec<Cow<'_, Datum>> = Vec::with_capacity(sources.len());
    for (column, source) in table.columns.iter().zip(*sources) {
        let given = match source {
            Source::Sequence(sequence) => {
                let next = sequences::take(&context.database, &context.caller, sequence)?;
                Cow::Owned(Datum::Int(next))
            }
            Source::Constant(constant) => Cow::Borrowed(constant),
            Source::Now => Cow::Owned(now(context)),
            Source::Parameter(number) => match parameters.get(*number) {
                Some(datum) => Cow::Borrowed(datum),
                None => return Ok(None),
            },
        };
        let value = match is_of(&given, &column.sql_type) {
            true => given,
            false => Cow::Owned(given.cast(&column.sql_type)?),
        };
        if matches!(value.as_ref(), Datum::List(_)) {
            return Ok(None);
        }
        if value.is_null() && !column.nullable {
            let name = quoted(&column.name);
            let text = format!(
                "null value in column {name} of relation {} violates not-null constraint",
                table.name
            );
            return Err(Error::new(SqlState::NOT_NULL_VIOLATION, text).of_column(
                &table.name.schema,
                &table.name.name,
                &column.name,
            ));
        }
        values.push(value);
    }
    let mut leaves: Vec<Option<Value<'_>>> = vec![None; table.leaves];
    for (column, value) in table.columns.iter().zip(&values) {
        leaves[column.leaf] = Some(value.to_value(&column.stored));
    }
    let id = writing.insert_values(&table.handle, &leaves);
    let id = id.map_err(|error| duplicate_named(error, table))?;
    for parent in *parents {
        // What is wrong with it, the planner says, which begins anew.
        if !refers_to_row(parent, writing, &values)? {
            return Ok(None);
        }
    }
    Ok(done(plan, "INSERT", Some(written(plan, writing, id)?)))
}

/// Where the values of a new row come from, and what it refers to.
struct NewRow<'p> {
    values: &'p [Source],
    parents: &'p [Parent],
}

/// Whether what a new row refers to is there, or it has a NULL.
fn refers_to_row(
    parent: &Parent,
    writing: &WriteTransaction<'_>,
    row: &[Cow<'_, Datum>],
) -> Result<bool> {
    if parent.columns.iter().any(|&column| row[column].is_null()) {
        return Ok(true);
    }
    // That the key is there is to hold at the commit, whatever the isolation.
    let _kept = writing.keep_reads();
    let index = &parent.table.indexes[parent.index];
    let stored = index.columns.iter().map(|&column| &parent.table.columns[column].stored);
    let key = parent.columns.iter().zip(stored);
    let key: Vec<Value<'_>> = key.map(|(&column, stored)| row[column].to_value(stored)).collect();
    Ok(writing.find(&parent.table.handle, index.handle, &key)?.is_some())
}

/// What is answered of a row as it is now, if something is.
fn written(plan: &PointPlan, writing: &WriteTransaction<'_>, id: RowId) -> Result<Vec<Datum>> {
    if plan.op.answered().is_none() {
        return Ok(Vec::new());
    }
    let row = writing.row(&plan.table.handle, id)?;
    Ok(row.map(|row| returned(plan, &row)).unwrap_or_default())
}

/// What is answered of a row.
fn returned(plan: &PointPlan, row: &Row<'_>) -> Vec<Datum> {
    let columns = plan.op.answered().map_or(&[][..], |answered| &answered.columns);
    columns.iter().map(|&column| value_in(row, &plan.table.columns[column])).collect()
}

fn value_in(row: &Row<'_>, column: &Column) -> Datum {
    Datum::from_value(row.value(column.handle), &column.sql_type)
}

/// New values, and the key of the row that gets them.
struct Changes<'p> {
    key: &'p Key,
    changes: &'p [(usize, Change)],
}

fn update_point(
    context: &StatementContext,
    plan: &PointPlan,
    writing: &WriteTransaction<'_>,
    changes: &Changes<'_>,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    let (table, Changes { key, changes }) = (&plan.table, changes);
    let Some(values) = key_values(table, key, parameters) else {
        return Ok(None);
    };
    let index = table.indexes[key.index].handle;
    if values.iter().any(|value| value.is_null()) {
        return Ok(done(plan, "UPDATE", None));
    }
    let found = writing.find(&table.handle, index, &borrowed(table, key, &values))?;
    let Some(row) = found else { return Ok(done(plan, "UPDATE", None)) };
    let now = now(context);
    let mut new = Vec::with_capacity(changes.len());
    for (place, change) in *changes {
        let column = &table.columns[*place];
        let (Change::To(source) | Change::Plus(source) | Change::Minus(source)) = change;
        let given = match source {
            Source::Parameter(number) => match parameters.get(*number) {
                Some(datum) => datum,
                None => return Ok(None),
            },
            Source::Constant(constant) => constant,
            Source::Now => &now,
            Source::Sequence(_) => return Ok(None),
        };
        let value = match change {
            Change::To(_) => match given.cast(&column.sql_type)? {
                Datum::List(_) => return Ok(None),
                value => value,
            },
            Change::Plus(_) | Change::Minus(_) => {
                let old = value_in(&row, column);
                let minus = matches!(change, Change::Minus(_));
                match sum(&old, given, minus, &column.sql_type) {
                    Some(value) => value?,
                    None => return Ok(None),
                }
            }
        };
        if value.is_null() && !column.nullable {
            return Ok(None);
        }
        new.push((column, value));
    }
    let changes: Vec<(ColumnHandle, Value<'_>)> =
        new.iter().map(|(column, value)| (column.handle, value.to_value(&column.stored))).collect();
    let id = row.id();
    match writing.update_values(&table.handle, id, &changes) {
        Err(error) if error.kind() == ErrorKind::RowNotFound => Ok(done(plan, "UPDATE", None)),
        updated => {
            updated.map_err(|error| duplicate_named(error, table))?;
            Ok(done(plan, "UPDATE", Some(written(plan, writing, id)?)))
        }
    }
}

/// When the transaction began: the block's, or the one that begins now.
fn now(context: &StatementContext) -> Datum {
    let begun = context.block.as_ref().and_then(|_| {
        let properties = context.state.execution_props();
        properties.query_execution_start_time.map(|begun| begun.timestamp_micros())
    });
    let micros = begun.unwrap_or_else(|| {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since.as_micros() as i64
    });
    Datum::TimestampTz(micros)
}

/// What a change has come to, of one row or none: what is answered of it.
fn done(plan: &PointPlan, verb: &'static str, row: Option<Vec<Datum>>) -> Option<Outcome> {
    let tag = Tag::counted(verb, u64::from(row.is_some()));
    let mut outcome = Outcome::done(tag);
    outcome.rows = plan
        .op
        .answered()
        .map(|answered| Rows::values(Arc::clone(&answered.result), row.into_iter().collect()));
    Some(outcome)
}

fn read(
    plan: &PointPlan,
    reading: &ReadTransaction<'_>,
    parameters: &[Datum],
) -> Result<Option<Outcome>> {
    let PointOp::Select { key, answer } = &plan.op else {
        return Ok(None);
    };
    let table = &plan.table;
    let Some(values) = key_values(table, key, parameters) else {
        return Ok(None);
    };
    let mut rows: VecDeque<Vec<Datum>> = VecDeque::new();
    // Nothing is equal to NULL.
    if !values.iter().any(|value| value.is_null()) {
        let index = &table.indexes[key.index];
        let borrowed = borrowed(table, key, &values);
        let mut add = |row: Row<'_>| rows.push_back(returned(plan, &row));
        if index.unique {
            reading.find(&table.handle, index.handle, &borrowed)?.into_iter().for_each(&mut add);
        } else {
            reading.each(&table.handle, index.handle, &borrowed, |row| {
                add(row);
                Ok(())
            })?;
        }
    }
    let rows = Rows::values(Arc::clone(&answer.result), rows);
    Ok(Some(Outcome::rows("SELECT", rows)))
}

/// What a column has after adding; `None` where the types need the planner.
fn sum(old: &Datum, by: &Datum, minus: bool, sql_type: &SqlType) -> Option<Result<Datum>> {
    let out_of_range = || {
        let text = format!("{sql_type} out of range");
        Error::new(SqlState::NUMBER_OUT_OF_RANGE, text)
    };
    match (old, by) {
        (Datum::Null, Datum::Int(_)) => Some(Ok(Datum::Null)),
        (Datum::Int(old), Datum::Int(by)) if sql_type.is_integer() => {
            let sum = if minus { old.checked_sub(*by) } else { old.checked_add(*by) };
            let sum = sum.map(Datum::Int).filter(|sum| sum.fits(sql_type));
            Some(sum.ok_or_else(out_of_range))
        }
        (Datum::Decimal(..), Datum::Int(_) | Datum::Decimal(..)) => {
            let SqlType::Numeric { scale, .. } = sql_type else { return None };
            // More digits than the column has are rounded after adding, not before.
            if matches!(by, Datum::Decimal(_, digits) if digits > scale) {
                return None;
            }
            let Ok(Datum::Decimal(by, _)) = by.cast(sql_type) else { return None };
            let Datum::Decimal(old, _) = old else { return None };
            let sum = if minus { old.checked_sub(by) } else { old.checked_add(by) };
            let sum = sum.map(|sum| Datum::Decimal(sum, *scale).cast(sql_type));
            Some(sum.unwrap_or_else(|| Err(out_of_range())))
        }
        (Datum::Double(old), Datum::Double(by)) => {
            Some(Ok(Datum::Double(if minus { old - by } else { old + by })))
        }
        _ => None,
    }
}

/// Whether a value can be written to a column as it is.
fn is_of(datum: &Datum, sql_type: &SqlType) -> bool {
    match (datum, sql_type) {
        (Datum::Null, _) => true,
        (Datum::Int(_), integer) => integer.is_integer() && datum.fits(sql_type),
        (Datum::Text(_), SqlType::Text) => true,
        (Datum::Bool(_), SqlType::Boolean)
        | (Datum::Double(_), SqlType::Double)
        | (Datum::Date(_), SqlType::Date)
        | (Datum::Time(_), SqlType::Time)
        | (Datum::Timestamp(_), SqlType::Timestamp)
        | (Datum::TimestampTz(_), SqlType::TimestampTz)
        | (Datum::Bytes(_), SqlType::Bytea) => true,
        _ => false,
    }
}

/// The values of a key; `None` if one of them is not a value that its column can have.
fn key_values<'p>(
    table: &Table,
    key: &'p Key,
    parameters: &'p [Datum],
) -> Option<Vec<Cow<'p, Datum>>> {
    let columns = &table.indexes[key.index].columns;
    let values = key.values.iter().zip(columns).map(|(source, &column)| {
        let datum = match source {
            Source::Parameter(number) => parameters.get(*number)?,
            Source::Constant(constant) => constant,
            Source::Now | Source::Sequence(_) => return None,
        };
        let sql_type = &table.columns[column].sql_type;
        if is_of(datum, sql_type) {
            return Some(Cow::Borrowed(datum));
        }
        // Text compared with text of limited length, and numbers of other kinds, as they are cast.
        let exact = match (datum, sql_type) {
            (Datum::Text(_), SqlType::Varchar(_)) => return Some(Cow::Borrowed(datum)),
            (Datum::Text(text), SqlType::Char(_)) => {
                Some(Datum::Text(blanks::without(text).into()))
            }
            (Datum::Int(_), SqlType::Numeric { .. }) | (Datum::Date(_), SqlType::Timestamp) => {
                datum.cast(sql_type).ok()
            }
            (Datum::Decimal(_, scale), SqlType::Numeric { scale: to, .. }) if scale <= to => {
                datum.cast(sql_type).ok()
            }
            _ => None,
        };
        exact.map(Cow::Owned)
    });
    values.collect()
}

/// The same for the engine.
fn borrowed<'v>(table: &Table, key: &Key, values: &'v [Cow<'v, Datum>]) -> Vec<Value<'v>> {
    let columns = &table.indexes[key.index].columns;
    let stored = columns.iter().map(|&column| &table.columns[column].stored);
    values.iter().zip(stored).map(|(value, stored)| value.to_value(stored)).collect()
}
