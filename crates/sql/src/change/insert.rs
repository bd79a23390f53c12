//! INSERT: values or a query, with defaults for columns that are given none.
//!
//! The source is bound as a query; the defaults of the other columns are put behind its own
//! columns, and evaluated for each row.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{self, Insert, Query, SetExpr, TableObject};

use super::apply::Storage;
use super::conflict::Conflicts;
use super::rows::{Changed, whole_rows};
use super::segments::Segments;
use super::target::{Target, not_default, parse_query};
use crate::catalog::privilege::Privilege;
use crate::catalog::written::read_expression;
use crate::change::apply;
use crate::change::conflict;
use crate::change::owed;
use crate::change::rows;
use crate::change::target;
use crate::context::StatementContext;
use crate::error::{Error, Result, SqlState};
use crate::names::fold;
use crate::query::binder::Binder;
use crate::query::listed::with_lists_as_tables;
use crate::query::rewrite;
use crate::query::select;
use crate::query::select::{Gathered, with_values};
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

pub(super) fn insert_target(context: &StatementContext, insert: &Insert) -> Result<Target> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported("INSERT into something else than a table"));
    };
    if insert.or.is_some() || insert.ignore || insert.replace_into || insert.overwrite {
        return Err(Error::unsupported("this form of INSERT").hint("Write ON CONFLICT."));
    }
    let mut uses = vec![Privilege::Insert];
    if let Some(on) = &insert.on {
        let does_nothing = matches!(
            on,
            ast::OnInsert::OnConflict(ast::OnConflict {
                action: ast::OnConflictAction::DoNothing,
                ..
            })
        );
        uses.extend((!does_nothing).then_some(Privilege::Update));
    }
    uses.extend((insert.on.is_some() || insert.returning.is_some()).then_some(Privilege::Select));
    target::target(
        context,
        name,
        insert.table_alias.as_ref().map(|alias| fold(&alias.alias)),
        &uses,
    )
}

/// The query that gives the rows to insert: a column for each of the table's.
pub(super) fn insert_source(
    context: &mut StatementContext,
    target: &Target,
    insert: &Insert,
    given: &[SqlType],
) -> Result<(LogicalPlan, Vec<usize>)> {
    let mut places = Vec::new();
    for name in &insert.columns {
        let place = target.place(name)?;
        if places.contains(&place) {
            let text = format!("column {name} specified more than once");
            return Err(Error::new(SqlState::DUPLICATE_COLUMN, text));
        }
        places.push(place);
    }
    if insert.columns.is_empty() {
        places = (0..target.table.columns.len()).collect();
    }
    let mut given = given.to_vec();
    let source = match &insert.source {
        Some(source) => with_defaults(target, source, &mut places, &mut given)?,
        None => {
            places.clear();
            parse_query("SELECT 1 AS nothing")?
        }
    };
    let plan = target::bind_over(context, target, source, &given)?;
    let width = plan.schema().fields().len();
    let width = if insert.source.is_none() { 0 } else { width };
    if width > places.len() {
        let text = "INSERT has more expressions than target columns";
        return Err(Error::new(SqlState::SYNTAX_ERROR, text));
    }
    if width < places.len() && !insert.columns.is_empty() {
        let text = "INSERT has more target columns than expressions";
        return Err(Error::new(SqlState::SYNTAX_ERROR, text));
    }
    places.truncate(width);
    Ok((add_defaults(context, target, plan, &places)?, places))
}

/// The source, with the default expressions where it says DEFAULT, and with types for the
/// parameters that stand for whole values. A column that is DEFAULT in each row is left out.
fn with_defaults(
    target: &Target,
    source: &Query,
    places: &mut Vec<usize>,
    given: &mut Vec<SqlType>,
) -> Result<Query> {
    let mut source = source.clone();
    let SetExpr::Values(values) = source.body.as_mut() else { return Ok(source) };
    let width = values.rows.first().map_or(0, |row| row.content.len());
    let same_width = values.rows.iter().all(|row| row.content.len() == width);
    let all_default = |column: usize, values: &ast::Values| {
        values.rows.iter().all(|row| not_default(&row.content[column]).is_none())
    };
    if same_width && width <= places.len() {
        for column in (0..width).rev() {
            if all_default(column, values) && width > 1 && values.rows[0].content.len() > 1 {
                places.remove(column);
                values.rows.iter_mut().for_each(|row| drop(row.content.remove(column)));
            }
        }
    }
    for row in &mut values.rows {
        for (column, value) in row.content.iter_mut().enumerate() {
            let Some(&place) = places.get(column) else { continue };
            if not_default(value).is_none() {
                *value = read_expression(&target.default_of(place))?;
            } else {
                target.check_given(place)?;
            }
            note_parameter(value, &target.table.columns[place].sql_type, given);
        }
    }
    Ok(source)
}

/// The plan with the defaults of all other columns behind its own.
pub(crate) fn add_defaults(
    context: &mut StatementContext,
    target: &Target,
    plan: LogicalPlan,
    places: &[usize],
) -> Result<LogicalPlan> {
    use datafusion::logical_expr::{Expr, LogicalPlanBuilder};
    let columns = plan.schema().columns();
    let empty = datafusion::common::DFSchema::empty();
    let mut items = Vec::new();
    for (place, column) in target.table.columns.iter().enumerate() {
        let item = match places.iter().position(|given| *given == place) {
            Some(at) => Expr::Column(columns[at].clone()),
            None => {
                let text = if column.generated.is_some() {
                    "NULL".to_owned()
                } else {
                    target.default_of(place)
                };
                let default = rewrite::rewritten_expression(context, &read_expression(&text)?)?;
                Binder::of(context, &target.catalog).bind_expression(default, &empty)?
            }
        };
        items.push(item.alias(format!("{place}")));
    }
    Ok(LogicalPlanBuilder::from(plan).project(items)?.build()?)
}

pub(super) async fn insert(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    insert: &Insert,
    parameters: &[Datum],
) -> Result<Changed> {
    let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
    let (plan, _) = insert_source(context, target, insert, &given)?;
    let plan = with_lists_as_tables(with_values(plan, parameters)?)?;
    let Gathered { batches, held: _held, .. } =
        select::collect_plan(context, &plan, transaction).await?;
    let (mut changed, mut owed) = (Changed::default(), owed::owed(context));
    let keep = insert.returning.is_some();
    let Some(on) = &insert.on else {
        let mut insert_all = |context: &mut StatementContext, batches: Vec<RecordBatch>| {
            for batch in batches {
                context.check_cancelled()?;
                let rows = new_rows(context, target, &batch)?;
                changed.count += rows.num_rows() as u64;
                apply::insert_rows(transaction, target, &rows, Storage::Frozen, &mut owed)?;
                if keep {
                    changed.rows.push(rows);
                }
            }
            Ok::<(), Error>(())
        };
        let mut segments = Segments::new(context);
        for batch in batches {
            insert_all(context, segments.push(batch)?)?;
        }
        insert_all(context, segments.take())?;
        owed::validate(context, transaction, &target.catalog, &mut owed)?;
        return Ok(changed);
    };
    for batch in batches {
        context.check_cancelled()?;
        let rows = new_rows(context, target, &batch)?;
        let on = Conflicts { clause: on, keep, parameters };
        let (changed, owed) = (&mut changed, &mut owed);
        conflict::insert_or(context, transaction, target, &rows, on, changed, owed)?;
    }
    owed::validate(context, transaction, &target.catalog, &mut owed)?;
    Ok(changed)
}

/// Whole rows of what the source gave, with generated columns, checked.
pub(crate) fn new_rows(
    context: &mut StatementContext,
    target: &Target,
    batch: &RecordBatch,
) -> Result<RecordBatch> {
    let count = batch.num_rows();
    let table = Arc::clone(&target.table);
    let rows = match table.columns.iter().any(|column| column.generated.is_some()) {
        // NOT NULL is checked when they have their values.
        true => {
            let arrays =
                batch.columns().iter().zip(&table.columns).map(|(array, column)| {
                    crate::values::arrow_out::assign(array, &column.sql_type)
                });
            let arrays = arrays.collect::<Result<Vec<_>>>()?;
            let fields = table.arrow.fields().iter();
            let fields = fields.map(|field| field.as_ref().clone().with_nullable(true));
            let schema = datafusion::arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
            let rows = RecordBatch::try_new(Arc::new(schema), arrays)?;
            rows::generate(context, target, rows)?
        }
        false => whole_rows(&table, batch.columns().to_vec(), count)?,
    };
    rows::check_rows(context, target, &rows)?;
    Ok(rows)
}

/// A parameter that stands for a whole value has the type of its column.
pub(super) fn note_parameter(value: &ast::Expr, sql_type: &SqlType, given: &mut Vec<SqlType>) {
    let ast::Expr::Value(value) = value else { return };
    let ast::Value::Placeholder(name) = &value.value else { return };
    let Ok(number) = name.trim_start_matches('$').parse::<usize>() else { return };
    if number == 0 || number > usize::from(u16::MAX) {
        return;
    }
    if given.len() < number {
        given.resize(number, SqlType::Unknown);
    }
    if given[number - 1] == SqlType::Unknown {
        given[number - 1] = sql_type.clone();
    }
}
