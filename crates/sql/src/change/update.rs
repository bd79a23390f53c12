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
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    Expr, SelectItem, TableFactor, TableWithJoins, Update, UpdateTableFromKind, visit_expressions,
};

use super::insert::note_parameter;
use super::rows::Changed;
use super::target::{Target, not_default, parse_query};
use crate::access::Privilege;
use crate::catalog::names::fold;
use crate::catalog::table::ROW_COLUMN;
use crate::error::{Error, Result};
use crate::query::select::{Gathered, with_values};
use crate::session::statements::Session;
use crate::session::transaction::Transaction;
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

impl Session {
    pub(super) fn update_target(&self, update: &Update) -> Result<Target> {
        if !update.table.joins.is_empty() || update.limit.is_some() || update.or.is_some() {
            return Err(Error::unsupported("this form of UPDATE").hint("Write UPDATE ... FROM."));
        }
        // New values that are constants need no look at the old ones.
        let reads = update.selection.is_some()
            || update.from.is_some()
            || update.returning.is_some()
            || update.assignments.iter().any(|assignment| names_column(&assignment.value));
        if update.from.is_some() {
            refuse_all(update.returning.as_deref())?;
        }
        let mut uses = vec![Privilege::Update];
        uses.extend(reads.then_some(Privilege::Select));
        self.target_of(&update.table.relation, &uses)
    }

    /// The target that a FROM clause or its like names.
    pub(super) fn target_of(&self, factor: &TableFactor, uses: &[Privilege]) -> Result<Target> {
        let TableFactor::Table { name, alias, args: None, .. } = factor else {
            return Err(Error::unsupported(format!("changing {factor}")));
        };
        self.target(name, alias.as_ref().map(|alias| fold(&alias.name)), uses)
    }

    /// The query that gives the rows to change: all columns with their new values, and the number
    /// of the row. Beside it, which columns are assigned.
    pub(super) fn update_source(
        &mut self,
        target: &Target,
        update: &Update,
        given: &[SqlType],
    ) -> Result<(LogicalPlan, Vec<usize>)> {
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
                joined(from)
            }
            None => String::new(),
        };
        let filter = update.selection.as_ref().map_or(String::new(), |on| format!(" WHERE {on}"));
        let text = format!(
            "SELECT {}, {} FROM {}{from}{filter}",
            items.join(", "),
            target.column(ROW_COLUMN),
            target.in_from()
        );
        let plan = self.bind_over(target, parse_query(&text)?, &given)?;
        let mut places: Vec<usize> = assigned.iter().map(|(place, _)| *place).collect();
        let generated = target.table.columns.iter().enumerate();
        places.extend(generated.filter(|(_, column)| column.generated.is_some()).map(|(p, _)| p));
        Ok((plan, places))
    }

    pub(super) async fn update(
        &mut self,
        transaction: &Arc<Transaction>,
        target: &Target,
        update: &Update,
        parameters: &[Datum],
    ) -> Result<Changed> {
        let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
        let (plan, places) = self.update_source(target, update, &given)?;
        let plan = with_values(plan, parameters)?;
        let Gathered { batches, held: _held, .. } = self.collect_plan(&plan, transaction).await?;
        let mut changed = Changed::default();
        let mut seen = HashSet::new();
        for batch in batches {
            self.check_cancelled()?;
            let (rows, numbers) = split_numbers(&batch, &mut seen)?;
            let rows = self.new_rows(target, &rows)?;
            changed.count += rows.num_rows() as u64;
            self.update_rows(transaction, target, (&rows, &numbers), &places)?;
            if update.returning.is_some() {
                changed.rows.push(rows);
            }
        }
        Ok(changed)
    }
}

/// The columns and the numbers of the rows, each number once in the whole statement: a row that a
/// join gives several times is changed with the first of its partners.
pub(super) fn split_numbers(
    batch: &RecordBatch,
    seen: &mut HashSet<u64>,
) -> Result<(RecordBatch, UInt64Array)> {
    let last = batch.num_columns() - 1;
    let numbers = batch.column(last).as_primitive::<UInt64Type>();
    let first: Vec<bool> = numbers.values().iter().map(|number| seen.insert(*number)).collect();
    let batch = match first.iter().all(|first| *first) {
        true => batch.clone(),
        false => filter_record_batch(batch, &first.into())?,
    };
    let numbers = batch.column(last).as_primitive::<UInt64Type>().clone();
    let columns: Vec<usize> = (0..last).collect();
    Ok((batch.project(&columns)?, numbers))
}

/// Refuses RETURNING of all columns where there are other tables, whose columns they would include.
///
/// # Errors
/// `FEATURE_NOT_SUPPORTED`.
pub(super) fn refuse_all(returning: Option<&[SelectItem]>) -> Result<()> {
    match returning.unwrap_or_default().iter().any(|it| matches!(it, SelectItem::Wildcard(_))) {
        true => Err(Error::unsupported("RETURNING * of several tables")
            .hint("Name the columns of the table that is changed.")),
        false => Ok(()),
    }
}

/// Further tables in a FROM clause.
pub(super) fn joined(from: &[TableWithJoins]) -> String {
    from.iter().map(|table| format!(", {table}")).collect()
}
