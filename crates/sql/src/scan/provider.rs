//! A table as DataFusion's planner knows it: columns, keys, which conditions it can use.
//!
//! It is made only of a table that may be read: a plan has no other way to rows.
//! Conditions that name a key choose how the table is read ([`super::access_path`]). All conditions
//! are checked on each row that the access path gives, so it may give too many and never too few.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Constraint, Constraints, Statistics};
use datafusion::datasource::provider_as_source;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableSource, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::access_path::Access;
use super::condition::Condition;
use super::exec::ScanExec;
use crate::catalog::table::Table;
use crate::privileges::Allowed;
use crate::workers::Division;

/// A table that is read, or read to be changed.
#[derive(Debug)]
pub(crate) struct TableSourceOf {
    pub(crate) table: Arc<Table>,
    /// Its columns, and perhaps the number of the row behind them.
    schema: SchemaRef,
    constraints: Constraints,
    statistics: Option<Arc<Statistics>>,
    /// What each of several tasks reads of it, if it is divided.
    division: Option<Division>,
}

impl TableSourceOf {
    fn make(
        table: Allowed,
        schema: SchemaRef,
        statistics: Option<Arc<Statistics>>,
    ) -> Arc<dyn TableSource> {
        let table = Arc::clone(&table);
        let keys = table.indexes.iter().filter(|index| {
            index.unique && index.columns.iter().all(|&column| !table.columns[column].nullable)
        });
        let keys = keys.map(|index| match index.primary {
            true => Constraint::PrimaryKey(index.columns.clone()),
            false => Constraint::Unique(index.columns.clone()),
        });
        let constraints = Constraints::new_unverified(keys.collect());
        let division = None;
        provider_as_source(Arc::new(Self { table, schema, constraints, statistics, division }))
    }

    /// The same, of which each of several tasks reads a part.
    pub(crate) fn divided(&self, division: Division) -> Arc<dyn TableSource> {
        provider_as_source(Arc::new(Self {
            table: Arc::clone(&self.table),
            schema: Arc::clone(&self.schema),
            constraints: self.constraints.clone(),
            statistics: self.statistics.clone(),
            division: Some(division),
        }))
    }

    /// The table with its columns.
    pub(crate) fn plain(
        table: Allowed,
        statistics: Option<Arc<Statistics>>,
    ) -> Arc<dyn TableSource> {
        let schema = Arc::clone(&table.arrow);
        Self::make(table, schema, statistics)
    }

    /// What the optimiser is told of the rows, if it is told something.
    pub(crate) fn known(&self) -> Option<&Arc<Statistics>> {
        self.statistics.as_ref()
    }

    /// The table with its columns and the number of the row under a name.
    pub(crate) fn numbered(
        table: Allowed,
        name: &str,
        statistics: Option<Arc<Statistics>>,
    ) -> Arc<dyn TableSource> {
        let mut fields = table.arrow_with_row.fields().to_vec();
        if let Some(number) = fields.last_mut() {
            *number = Arc::new(Field::clone(number).with_name(name));
        }
        Self::make(table, Arc::new(Schema::new(fields)), statistics)
    }

    /// The table with its columns and the hidden number of the row.
    pub(crate) fn with_row(table: Allowed) -> Arc<dyn TableSource> {
        let schema = Arc::clone(&table.arrow_with_row);
        Self::make(table, schema, None)
    }
}

#[async_trait]
impl TableProvider for TableSourceOf {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn constraints(&self) -> Option<&Constraints> {
        Some(&self.constraints)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> PlanResult<Vec<TableProviderFilterPushDown>> {
        let answers = filters.iter().map(|filter| match Condition::can_be(&self.table, filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        });
        Ok(answers.collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        self.statistics.as_deref().cloned()
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let columns = match projection {
            Some(projection) => projection.clone(),
            None => (0..self.schema().fields().len()).collect(),
        };
        let (table, schema) = (&self.table, &self.schema);
        let scan = scan_of(table, schema, columns, filters, self.division, session)?;
        Ok(Arc::new(scan))
    }
}

/// The scan of these columns of a table, for rows that meet the filters; if it is divided, each of
/// several tasks reads a part of the table.
///
/// # Errors
/// What cannot be planned.
pub(crate) fn scan_of(
    table: &Arc<Table>,
    schema: &SchemaRef,
    columns: Vec<usize>,
    filters: &[Expr],
    division: Option<Division>,
    session: &dyn Session,
) -> PlanResult<ScanExec> {
    let access = match division {
        Some(Division::Segments) => Access::All,
        Some(Division::Keys { .. }) | None => Access::choose(table, filters),
    };
    let conditions = filters.iter().map(|filter| Condition::of_filter(table, filter, session));
    let conditions = conditions.collect::<PlanResult<_>>()?;
    let scan = ScanExec::new(Arc::clone(table), columns, access, conditions, filters, schema)?;
    Ok(scan.divided(division))
}
