//! DELETE: the rows that meet a condition.
//!
//! The condition is a query over the table with the number of each row, so no predicate is lost on
//! the way, whatever the optimiser makes of it.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Delete, FromTable};

use super::rows::{Beside, Changed};
use super::target::{Target, parse_query};
use super::update::{columns_beside, joined, split_numbers};
use crate::access::Privilege;
use crate::catalog::table::ROW_COLUMN;
use crate::error::{Error, Result};
use crate::query::select::{Gathered, with_values};
use crate::session::statements::Session;
use crate::session::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

impl Session {
    pub(super) fn delete_target(&self, delete: &Delete) -> Result<Target> {
        let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
        let single = from.len() == 1 && from[0].joins.is_empty() && delete.tables.is_empty();
        if !single || delete.limit.is_some() || !delete.order_by.is_empty() {
            return Err(Error::unsupported("this form of DELETE").hint("Write DELETE ... USING."));
        }
        let reads =
            delete.selection.is_some() || delete.using.is_some() || delete.returning.is_some();
        let mut uses = vec![Privilege::Delete];
        uses.extend(reads.then_some(Privilege::Select));
        self.target_of(&from[0].relation, &uses)
    }

    /// The query that gives the rows to delete: all columns as they are, and the number of the
    /// row.
    pub(super) fn delete_source(
        &mut self,
        target: &Target,
        delete: &Delete,
        given: &[SqlType],
    ) -> Result<LogicalPlan> {
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
        self.bind_over(target, parse_query(&text)?, given)
    }

    pub(super) async fn delete(
        &mut self,
        transaction: &Arc<Transaction>,
        target: &Target,
        delete: &Delete,
        parameters: &[Datum],
    ) -> Result<Changed> {
        self.cancel().frees_memory();
        let given: Vec<SqlType> = parameters.iter().map(|_| SqlType::Unknown).collect();
        let plan = self.delete_source(target, delete, &given)?;
        let plan = with_values(plan, parameters)?;
        let Gathered { batches, held: _held, .. } = self.collect_plan(&plan, transaction).await?;
        let width = if delete.returning.is_some() { target.table.columns.len() } else { 0 };
        let mut changed = Changed { beside: Beside::behind(width, &plan), ..Changed::default() };
        let mut seen = HashSet::new();
        for batch in batches {
            self.check_cancelled()?;
            let (rows, numbers, beside) = split_numbers(&batch, width, &mut seen)?;
            changed.count += numbers.len() as u64;
            self.delete_rows(transaction, target, (&rows, &numbers))?;
            if delete.returning.is_some() {
                changed.rows.push(rows);
                changed.beside.rows.push(beside);
            }
        }
        Ok(changed)
    }
}
