//! A table in memory that says of itself whatever a test wants, and sessions with and without the
//! rules.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::{SessionConfig, SessionContext};

#[derive(Debug)]
pub(super) struct Table {
    rows: MemTable,
    statistics: Option<Statistics>,
}

impl Table {
    pub(super) fn new(
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        statistics: Option<Statistics>,
    ) -> Arc<Self> {
        let rows = MemTable::try_new(schema, vec![batches]).expect("batches have the schema");
        Arc::new(Table { rows, statistics })
    }
}

#[async_trait]
impl TableProvider for Table {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        self.statistics.clone()
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.rows.scan(session, projection, filters, limit).await
    }
}

/// A session that has the rules, or has not.
pub(super) fn session(with_rules: bool) -> SessionContext {
    let config = SessionConfig::new()
        .with_target_partitions(1)
        .set_bool("datafusion.optimizer.join_reordering", !with_rules)
        .set_bool("datafusion.optimizer.skip_failed_rules", false);
    let mut state = SessionStateBuilder::new().with_config(config).with_default_features();
    if with_rules {
        for rule in super::super::rules() {
            state = state.with_optimizer_rule(rule);
        }
    }
    SessionContext::new_with_state(state.build())
}
