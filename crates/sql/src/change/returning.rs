//! RETURNING: expressions over the rows that a statement changed.
//!
//! The rows are a table of the statement's own under the target's name, so every expression of a
//! select list can stand there. Where the statement has further tables, a row has their columns
//! beside its own, of the row by which it was changed.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::common::{Column, TableReference};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{SelectItem, SetExpr};

use super::rows::{Beside, Changed};
use super::target::{Target, parse_query};
use crate::context::StatementContext;
use crate::error::Result;
use crate::names::quoted;
use crate::query::binder::Binder;
use crate::query::binder::OWN_SCHEMA;
use crate::query::rewrite;
use crate::query::select;
use crate::query::select::{Gathered, with_values};
use crate::result::rows::Rows;
use crate::transaction::Transaction;
use crate::values::datum::Datum;

/// The name of the changed rows among the statement's own tables.
const CHANGED: &str = "changed";

/// The plan of RETURNING over these rows, and over what is beside them.
pub(super) fn returning_plan(
    context: &mut StatementContext,
    target: &Target,
    items: &[SelectItem],
    rows: Vec<RecordBatch>,
    beside: &Beside,
) -> Result<LogicalPlan> {
    let items: Vec<String> = items.iter().map(ToString::to_string).collect();
    let alias = quoted(&target.alias);
    let text =
        format!("SELECT {} FROM \"{OWN_SCHEMA}\".\"{CHANGED}\" AS {alias}", items.join(", "));
    let query = rewrite::rewritten(context, &target.named(parse_query(&text)?))?;
    if !beside.columns.is_empty()
        && let SetExpr::Select(select) = *query.body
    {
        let rows = rows_beside(target, rows, beside)?;
        return Binder::of(context, &target.catalog).bind_items(select.projection, rows);
    }
    let table = MemTable::try_new(Arc::clone(&target.table.arrow), vec![rows])?;
    let mut binder = Binder::of(context, &target.catalog);
    binder.add_own(CHANGED, provider_as_source(Arc::new(table)));
    binder.bind(query)
}

pub(super) async fn returning(
    context: &mut StatementContext,
    transaction: &Arc<Transaction>,
    target: &Target,
    items: &[SelectItem],
    changed: &Changed,
    parameters: &[Datum],
) -> Result<Rows> {
    let rows = changed.rows.clone();
    let plan = returning_plan(context, target, items, rows, &changed.beside)?;
    let plan = with_values(plan, parameters)?;
    let Gathered { schema, batches, held } =
        select::collect_plan(context, &plan, transaction).await?;
    Ok(Rows::batches(&schema, batches, Some(held)))
}

/// The changed rows with what is beside them, each column under its table's name.
fn rows_beside(target: &Target, rows: Vec<RecordBatch>, beside: &Beside) -> Result<LogicalPlan> {
    let own = target.table.arrow.fields().iter().map(|field| {
        let table = TableReference::bare(target.alias.clone());
        (Some(table), Arc::clone(field))
    });
    let columns: Vec<_> = own.chain(beside.columns.iter().cloned()).collect();
    // What the rows have is known of them; of no rows, what the plan said.
    let known = beside.rows.first().map(RecordBatch::schema);
    let fields = columns.iter().enumerate().map(|(place, (_, field))| {
        let other = place.checked_sub(target.table.columns.len());
        let of = match (other, &known) {
            (Some(other), Some(known)) => known.field(other).data_type(),
            _ => field.data_type(),
        };
        Field::new(place.to_string(), of.clone(), true).with_metadata(field.metadata().clone())
    });
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let whole = rows.iter().zip(&beside.rows).map(|(own, beside)| {
        let arrays = own.columns().iter().chain(beside.columns()).cloned();
        RecordBatch::try_new(Arc::clone(&schema), arrays.collect())
    });
    let whole = whole.collect::<std::result::Result<Vec<_>, _>>()?;
    let table = MemTable::try_new(schema, vec![whole])?;
    let scan = LogicalPlanBuilder::scan(CHANGED, provider_as_source(Arc::new(table)), None)?;
    let named = columns.into_iter().enumerate().map(|(place, (table, field))| {
        let column = Column::new(Some(TableReference::bare(CHANGED)), place.to_string());
        Expr::Column(column).alias_qualified(table, field.name().clone())
    });
    Ok(scan.project(named.collect::<Vec<_>>())?.build()?)
}
