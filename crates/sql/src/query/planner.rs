//! The rules by which statements become plans: DataFusion's, and ours before and after them.
//!
//! One state serves all sessions; what differs between them (the transaction, settings) comes with
//! the context in which a plan is executed.

use std::sync::Arc;

use datafusion::execution::FunctionRegistry;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{AggregateUDF, LogicalPlan, ScalarUDF};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

use super::chain::{ChainUnions, ForgetConstants};
use super::checked::CheckedArithmetic;
use super::lists::ListsOfConstants;
use super::scan::Current;
use super::single_value::SingleValue;
use super::subquery::Subqueries;
use super::sum::Sum;
use crate::error::Result;
use crate::session::transaction::Transaction;

/// Rows in a batch between operators.
pub(crate) const BATCH_ROWS: usize = 8192;

/// The state that plans of all sessions are made with.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn state(
    pool: Arc<dyn MemoryPool>,
    functions: Vec<Arc<ScalarUDF>>,
) -> Result<SessionState> {
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false);
    let options = config.options_mut();
    options.sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
    options.sql_parser.parse_float_as_decimal = true;
    options.optimizer.prefer_existing_sort = true;
    // A CASE that cannot be NULL by its conditions is one that can, to the operators.
    options.execution.skip_physical_aggregate_schema_check = true;
    // Our rules say which side of a join is hashed.
    options.optimizer.join_reordering = false;
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc()?;
    let mut physical_rules = PhysicalOptimizer::new().rules;
    physical_rules.insert(0, Arc::new(ForgetConstants));
    physical_rules.insert(0, Arc::new(ChainUnions));
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_physical_optimizer_rules(physical_rules)
        .with_analyzer_rule(Arc::new(CheckedArithmetic::new()))
        .with_analyzer_rule(Arc::new(ListsOfConstants))
        .with_analyzer_rule(Arc::new(Subqueries));
    let rules = crate::join_order::rules().into_iter();
    let mut state = rules.fold(builder, |builder, rule| builder.with_optimizer_rule(rule)).build();
    state.register_udaf(Arc::new(AggregateUDF::from(SingleValue::new())))?;
    state.register_udaf(Arc::new(AggregateUDF::from(Sum::new())))?;
    for function in functions {
        state.register_udf(function)?;
    }
    Ok(state)
}

/// The physical plan of a bound statement.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn plan(
    state: &SessionState,
    logical: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(state.create_physical_plan(logical).await?)
}

/// What a plan is executed with: this transaction.
pub(crate) fn task(state: &SessionState, transaction: &Arc<Transaction>) -> Arc<TaskContext> {
    let current = Current { transaction: Arc::clone(transaction) };
    let config = state.config().clone().with_extension(Arc::new(current));
    Arc::new(TaskContext::new(
        None,
        String::new(),
        config,
        state.scalar_functions().clone(),
        state.higher_order_functions().clone(),
        state.aggregate_functions().clone(),
        state.window_functions().clone(),
        Arc::clone(state.runtime_env()),
    ))
}
