//! DataFusion over tables in its own memory format, with its own rules or with ours behind them.
//!
//! Tables have batches of 8,192 rows and one partition. For our rules the tables say what is in
//! them: rows, smallest and largest value, different values; counted once after loading, which is
//! not in the time of loading.

use std::fs::File;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::Array;
use datafusion::arrow::csv::ReaderBuilder;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, ScalarValue, Statistics};
use datafusion::datasource::MemTable;
use datafusion::execution::SessionStateBuilder;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::displayable;
use datafusion::prelude::{SessionConfig, SessionContext};
use lab_harness::Outcome;
use tokio::runtime::Runtime;

use super::{Engine, Setting};
use crate::data::Data;

const BATCH_ROWS: usize = 8_192;

struct DataFusion {
    runtime: Runtime,
    context: SessionContext,
    ordered: bool,
}

pub(super) fn version() -> String {
    datafusion::DATAFUSION_VERSION.to_owned()
}

/// As its makers deliver it.
pub(super) fn plain(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(false, setting.threads)
}

/// With our rules for the order of joins.
pub(super) fn ordered(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(true, setting.threads)
}

fn open(ordered: bool, threads: usize) -> Outcome<Box<dyn Engine>> {
    if threads > 1 {
        return Err("it is measured in one thread alone".into());
    }
    let config = SessionConfig::new().with_target_partitions(1).with_batch_size(BATCH_ROWS);
    let config = match ordered {
        true => config.set_bool("datafusion.optimizer.join_reordering", false),
        false => config,
    };
    let mut state = SessionStateBuilder::new().with_config(config).with_default_features();
    if ordered {
        for rule in remanent_join_order::rules() {
            state = state.with_optimizer_rule(rule);
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let context = SessionContext::new_with_state(state.build());
    Ok(Box::new(DataFusion { runtime, context, ordered }))
}

impl Engine for DataFusion {
    fn load(&mut self, data: &Data) -> Outcome<()> {
        for table in data.benchmark.tables() {
            let schema = table.arrow();
            let file = File::open(data.file(table.name))?;
            let reader = ReaderBuilder::new(Arc::clone(&schema))
                .with_delimiter(b'|')
                .with_batch_size(BATCH_ROWS)
                .build(file)?;
            let batches = reader.collect::<Result<Vec<_>, _>>()?;
            let table_in_memory = MemTable::try_new(schema, vec![batches])?;
            self.context.register_table(table.name, Arc::new(table_in_memory))?;
        }
        Ok(())
    }

    fn prepare(&mut self, data: &Data) -> Outcome<()> {
        if !self.ordered {
            return Ok(());
        }
        for table in data.benchmark.tables() {
            let rows = self.runtime.block_on(self.context.table_provider(table.name))?;
            let statistics = self.statistics(table.name, &rows.schema())?;
            self.context.deregister_table(table.name)?;
            self.context.register_table(table.name, Arc::new(Counted { rows, statistics }))?;
        }
        Ok(())
    }

    fn query(&mut self, text: &str) -> Outcome<Vec<RecordBatch>> {
        let answer = async { self.context.sql(text).await?.collect().await };
        Ok(self.runtime.block_on(answer)?)
    }

    fn explain(&mut self, text: &str) -> Outcome<String> {
        let plan = async { self.context.sql(text).await?.create_physical_plan().await };
        Ok(displayable(self.runtime.block_on(plan)?.as_ref()).indent(false).to_string())
    }
}

impl DataFusion {
    fn statistics(&mut self, table: &str, schema: &SchemaRef) -> Outcome<Statistics> {
        let mut rows = 0;
        let mut columns = Vec::new();
        for field in schema.fields() {
            let name = field.name();
            let query = format!(
                "select count(*), min({name}), max({name}), \
                 approx_distinct(cast({name} as varchar)) from {table}"
            );
            let answer = self.query(&query)?;
            let values: Vec<ScalarValue> = answer[0]
                .columns()
                .iter()
                .map(|column| ScalarValue::try_from_array(column.as_ref() as &dyn Array, 0))
                .collect::<Result<_>>()?;
            let number = |at: usize| values[at].to_string().parse::<usize>();
            rows = number(0)?;
            columns.push(ColumnStatistics {
                null_count: Precision::Exact(0),
                min_value: Precision::Exact(values[1].clone()),
                max_value: Precision::Exact(values[2].clone()),
                distinct_count: Precision::Inexact(number(3)?),
                ..ColumnStatistics::new_unknown()
            });
        }
        Ok(Statistics {
            num_rows: Precision::Exact(rows),
            total_byte_size: Precision::Absent,
            column_statistics: columns,
        })
    }
}

/// A table that says what is in it.
#[derive(Debug)]
struct Counted {
    rows: Arc<dyn TableProvider>,
    statistics: Statistics,
}

#[async_trait]
impl TableProvider for Counted {
    fn schema(&self) -> SchemaRef {
        self.rows.schema()
    }

    fn table_type(&self) -> TableType {
        self.rows.table_type()
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.statistics.clone())
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
