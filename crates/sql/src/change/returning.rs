//! RETURNING: expressions over the rows that a statement changed.
//!
//! The rows are a table of the statement's own under the target's name, so every expression of a
//! select list can stand there.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::SelectItem;

use super::rows::Changed;
use super::target::{Target, parse_query};
use crate::catalog::names::quoted;
use crate::error::Result;
use crate::query::binder::OWN_SCHEMA;
use crate::query::running::Rows;
use crate::query::select::{Gathered, with_values};
use crate::session::statements::Session;
use crate::session::transaction::Transaction;
use crate::values::datum::Datum;

/// The name of the changed rows among the statement's own tables.
const CHANGED: &str = "changed";

impl Session {
    /// The plan of RETURNING over these rows.
    pub(super) fn returning_plan(
        &mut self,
        target: &Target,
        items: &[SelectItem],
        rows: Vec<RecordBatch>,
    ) -> Result<LogicalPlan> {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        let alias = quoted(&target.alias);
        let text =
            format!("SELECT {} FROM \"{OWN_SCHEMA}\".\"{CHANGED}\" AS {alias}", items.join(", "));
        let query = self.rewritten(&parse_query(&text)?)?;
        let table = MemTable::try_new(Arc::clone(&target.table.arrow), vec![rows])?;
        let mut binder = self.binder(&target.catalog);
        binder.add_own(CHANGED, provider_as_source(Arc::new(table)));
        binder.bind(query)
    }

    pub(super) async fn returning(
        &mut self,
        transaction: &Arc<Transaction>,
        target: &Target,
        items: &[SelectItem],
        (changed, parameters): (&Changed, &[Datum]),
    ) -> Result<Rows> {
        let plan = self.returning_plan(target, items, changed.rows.clone())?;
        let plan = with_values(plan, parameters)?;
        let Gathered { schema, batches, held } = self.collect_plan(&plan, transaction).await?;
        Ok(Rows::batches(&schema, batches, Some(held)))
    }
}
