//! The rules by which statements become plans: DataFusion's, and ours before and after them.
//!
//! One state serves all sessions; what differs between them (the transaction, settings) comes with
//! the context in which a plan is executed. The last rules are for each execution of a plan: the
//! filters that operators fill when they run are made by them.

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as PlanResult;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{
    AggregateUDF, EmptyRelation, Expr, LogicalPlan, Projection, ScalarUDF,
};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;

use super::general;
use super::general::with_values;
use super::parameter;
use super::shared_parts::PlanShared;
use super::stages::PlanStages;
use super::subquery::Subqueries;
use crate::error::{Error, Result};
use crate::functions;
use crate::functions::aggregates::average::Average;
use crate::functions::aggregates::single_value::SingleValue;
use crate::functions::aggregates::sum::Sum;
use crate::functions::arithmetic::checked::CheckedArithmetic;
use crate::functions::arithmetic::rounding;
use crate::functions::measured::{MeasuredFunctions, Planning};
use crate::functions::texts::{cut, pad};
use crate::functions::{measured, regex};
use crate::limits::spill::Spilling;
use crate::rules::by_index::OrderByIndex;
use crate::rules::coercion::blanks::BlanksOfChar;
use crate::rules::coercion::floats::FloatsBesideNumerics;
use crate::rules::coercion::literals;
use crate::rules::divided::with_stages;
use crate::rules::groups::filters::FiltersInArguments;
use crate::rules::groups::grouping_sets::SetsOfGroups;
use crate::rules::groups::implicit_keys::WithoutImplicitKeys;
use crate::rules::groups::limit_aggregate::LimitScalarAggregate;
use crate::rules::joins::constant_keys::WithoutConstantKeys;
use crate::rules::joins::not_in;
use crate::rules::joins::not_in::NotInConstants;
use crate::rules::lists::ListsOfConstants;
use crate::rules::native_operators::NativeOperators;
use crate::rules::ordered::OrdersOfTheirOwn;
use crate::rules::ordered::of_subqueries::{OrdersOfSubqueries, WithoutIdleSorts};
use crate::rules::ordered::skipped::SkippedInOrder;
use crate::rules::pipelines::Pipelines;
use crate::rules::same_names;
use crate::rules::same_names::SameNames;
use crate::rules::sequential_union::{SequentialUnions, StripConstants};
use crate::rules::set_comparisons;
use crate::rules::set_comparisons::SetComparisons;
use crate::rules::shared_parts::with_shared_parts;
use crate::rules::strip_dependencies;
use crate::rules::strip_dependencies::{PlanForgetting, StripDependencies};
use crate::rules::watched::Watched;
use crate::rules::wide_filters;
use crate::rules::wide_filters::WideFilters;
use crate::scan::BATCH_ROWS;
use crate::workers::WorkersOf;

/// Different keys of the smaller side of a join that the scan of the other is told of, at most.
const JOIN_KEYS_MAX: usize = 4096;

/// The state that plans of all sessions are made with.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn state(pool: Arc<dyn MemoryPool>, more: Vec<Arc<ScalarUDF>>) -> Result<SessionState> {
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false)
        .with_extension(Arc::new(Spilling::default()))
        .with_extension(Arc::new(WorkersOf::default()));
    let options = config.options_mut();
    options.sql_parser.dialect = datafusion::common::config::Dialect::PostgreSQL;
    options.sql_parser.parse_float_as_decimal = true;
    // Rows of a subquery come in its order, if whoever reads them wants one.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // Moments without a zone of their own are in this one.
    options.execution.time_zone = Some("+00:00".to_owned());
    options.optimizer.prefer_existing_sort = true;
    // Keys that joins tell scans of, which may have an index of them.
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = JOIN_KEYS_MAX;
    options.optimizer.hash_join_inlist_pushdown_max_size = 1 << 20;
    // A CASE that cannot be NULL by its conditions is one that can, to the operators.
    options.execution.skip_physical_aggregate_schema_check = true;
    // Our rules say which side of a join is hashed.
    options.optimizer.join_reordering = false;
    // What finds no memory is told so: rows are not to lie in files that nobody asked for. A
    // query has files if its database has a folder for them (`Scope`).
    let no_files = DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool);
    let runtime = runtime.with_disk_manager_builder(no_files).build_arc()?;
    let builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        // Before the others, which ask for the types of what may be a long chain.
        .with_expr_planners(vec![Arc::new(functions::Operators)])
        .with_default_features()
        .with_analyzer_rules(analyzer_rules())
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(physical_rules())
        .with_query_planner(Arc::new(Planner));
    let mut state = builder.build();
    state.register_udaf(Arc::new(AggregateUDF::from(SingleValue::new())))?;
    state.register_udaf(Arc::new(AggregateUDF::from(Sum::new())))?;
    state.register_udaf(Arc::new(AggregateUDF::from(Average::new())))?;
    let ours = rounding::functions().into_iter().chain(pad::functions());
    let ours = ours.chain([literals::named_cast(), cut::function()]);
    let ours = ours.chain(functions::functions());
    let ours = ours.chain(regex::functions());
    for function in more.into_iter().chain(ours) {
        state.register_udf(function)?;
    }
    for function in measured::functions(&state) {
        state.register_udf(function)?;
    }
    for function in measured::aggregates() {
        state.register_udaf(function)?;
    }
    Ok(state)
}

/// DataFusion's planner, which knows the operators of ours.
#[derive(Debug)]
struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(PlanForgetting),
            Arc::new(PlanShared),
            Arc::new(PlanStages),
        ]);
        planner.create_physical_plan(plan, session).await
    }
}

/// Rules for what was bound: two of ours before DataFusion's, the others behind.
fn analyzer_rules() -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let ours: [Arc<dyn AnalyzerRule + Send + Sync>; 10] = [
        Arc::new(FiltersInArguments),
        Arc::new(CheckedArithmetic::new()),
        Arc::new(ListsOfConstants),
        Arc::new(LimitScalarAggregate),
        Arc::new(MeasuredFunctions),
        Arc::new(Subqueries),
        Arc::new(OrdersOfTheirOwn),
        Arc::new(WithoutImplicitKeys),
        Arc::new(SetsOfGroups),
        Arc::new(StripDependencies),
    ];
    let first: [Arc<dyn AnalyzerRule + Send + Sync>; 2] =
        [Arc::new(BlanksOfChar), Arc::new(FloatsBesideNumerics)];
    let rules = first.into_iter().chain(Analyzer::new().rules).chain(ours);
    rules.map(|rule| Arc::new(Watched(rule)) as Arc<_>).collect()
}

/// DataFusion's rules that make a plan a better one, one of them behind what it needs, then ours.
fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let keys: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(WithoutConstantKeys::new());
    let not_in: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(NotInConstants);
    let with_ours = |rule: Arc<dyn OptimizerRule + Send + Sync>| match rule.name() {
        name if name == keys.name() => vec![Arc::clone(&keys)],
        not_in::BEHIND => vec![rule, Arc::clone(&not_in)],
        set_comparisons::RULE => vec![Arc::new(SetComparisons(rule)) as Arc<_>],
        name if strip_dependencies::BEFORE.contains(&name) => {
            vec![Arc::new(StripDependencies), rule]
        }
        _ => vec![rule],
    };
    let first: Arc<dyn OptimizerRule + Send + Sync> = Arc::new(WithoutIdleSorts);
    let rules = Optimizer::new().rules.into_iter().flat_map(with_ours);
    let rules = std::iter::once(first).chain(rules);
    let rules = rules.chain(remanent_join_order::rules());
    rules.map(|rule| Arc::new(Watched(rule)) as Arc<_>).collect()
}

/// A rule for operators.
type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

/// The rule that makes filters which are filled when operators run.
const MAKES_FILTERS: &str = "FilterPushdown(Post)";

/// The rules for each execution of a plan, in their order.
static LAST_RULES: LazyLock<Vec<PhysicalRule>> = LazyLock::new(|| {
    let rules = PhysicalOptimizer::new().rules.into_iter();
    let filters = rules.filter(|rule| rule.name() == MAKES_FILTERS);
    let filters = filters.map(|rule| Arc::new(SameNames(rule)) as PhysicalRule);
    let ours: [PhysicalRule; 1] = [Arc::new(NativeOperators)];
    let rules = filters.chain(ours);
    rules.map(|rule| Arc::new(Watched(rule)) as PhysicalRule).collect()
});

/// DataFusion's rules for operators with ours: before all of them, where sorts stand and what is
/// between operators does not yet, and where projections are pushed down. The last are elsewhere.
pub(crate) fn physical_rules() -> Vec<PhysicalRule> {
    let mut rules: Vec<PhysicalRule> = vec![
        Arc::new(SequentialUnions),
        Arc::new(StripConstants),
        Arc::new(SkippedInOrder),
        Arc::new(OrdersOfSubqueries),
    ];
    for rule in PhysicalOptimizer::new().rules {
        if rule.name() == MAKES_FILTERS {
            continue;
        }
        if rule.name() == "EnsureCooperative" {
            rules.push(Arc::new(OrderByIndex));
        }
        if rule.name() == wide_filters::BEFORE {
            rules.push(Arc::new(WideFilters));
        }
        let is_pushdown = rule.name().starts_with(same_names::RULE);
        rules.push(if is_pushdown { Arc::new(SameNames(rule)) } else { rule });
    }
    rules.push(Arc::new(Pipelines));
    let rules = rules.into_iter().map(|rule| Arc::new(Watched(rule)) as PhysicalRule);
    rules.map(|rule| Arc::new(ByValues(rule)) as PhysicalRule).collect()
}

/// Rules that depend on access paths, in the order in which they stand among the others.
const BY_VALUES: [&str; 3] = ["order_by_index", "EnsureCooperative", "pipelines"];

/// The same rules, for plans that have just got their values.
static RULES_BY_VALUES: LazyLock<Vec<PhysicalRule>> = LazyLock::new(|| {
    let is_by_values = |rule: &PhysicalRule| BY_VALUES.contains(&rule.name());
    physical_rules().into_iter().filter(is_by_values).collect()
});

thread_local! {
    static IS_GENERAL: Cell<bool> = const { Cell::new(false) };
}

/// The thread plans operators for any values until this is dropped.
pub(crate) struct PlanningGeneral {
    before: bool,
}

impl PlanningGeneral {
    pub(crate) fn begin(is_general: bool) -> Self {
        Self { before: IS_GENERAL.replace(is_general) }
    }
}

impl Drop for PlanningGeneral {
    fn drop(&mut self) {
        IS_GENERAL.set(self.before);
    }
}

/// A rule that waits for values, if it depends on them.
#[derive(Debug)]
struct ByValues(PhysicalRule);

impl PhysicalOptimizerRule for ByValues {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        match IS_GENERAL.get() && BY_VALUES.contains(&self.0.name()) {
            true => Ok(plan),
            false => self.0.optimize(plan, config),
        }
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> PlanResult<Arc<dyn ExecutionPlan>> {
        match IS_GENERAL.get() && BY_VALUES.contains(&self.0.name()) {
            true => Ok(plan),
            false => self.0.optimize_with_context(plan, context),
        }
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

/// A bound expression by itself after the rules that say what it means, and simplified as the
/// expressions of a plan are: some functions are nothing but what they are simplified to.
///
/// # Errors
/// What the rules find wrong.
pub(crate) fn ready(state: &SessionState, bound: Expr, schema: &DFSchema) -> Result<Expr> {
    let schema = Arc::new(schema.clone());
    let rows = EmptyRelation { produce_one_row: false, schema: Arc::clone(&schema) };
    let rows = Arc::new(LogicalPlan::EmptyRelation(rows));
    let plan = LogicalPlan::Projection(Projection::try_new(vec![bound.alias("value")], rows)?);
    let plan = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {})?;
    let LogicalPlan::Projection(mut projection) = plan else {
        return Err(Error::unsupported("such an expression here"));
    };
    let expr = projection.expr.pop().ok_or_else(|| Error::internal("no expression is left"))?;
    let context = SimplifyContext::builder()
        .with_schema(schema)
        .with_config_options(Arc::clone(state.config_options()))
        .with_query_execution_start_time(state.execution_props().query_execution_start_time)
        .build();
    let _planning = Planning::begin();
    Ok(ExprSimplifier::new(context).simplify(expr.unalias())?)
}

/// The logical plan of a bound statement after all rules.
///
/// # Errors
/// What the rules find wrong.
pub(crate) fn optimized(state: &SessionState, logical: &LogicalPlan) -> Result<LogicalPlan> {
    in_parts(state, general(state, logical)?)
}

/// The plan with the parts that are shared, and with stages, if there are workers for them.
fn in_parts(state: &SessionState, plan: LogicalPlan) -> Result<LogicalPlan> {
    let plan = with_shared_parts(plan)?;
    Ok(match WorkersOf::of(state) {
        Some(workers) => with_stages(plan, workers.rows_min())?,
        None => plan,
    })
}

/// The same of one that may have parameters, for any values of them.
///
/// # Errors
/// What the rules find wrong.
pub(crate) fn general(state: &SessionState, logical: &LogicalPlan) -> Result<LogicalPlan> {
    Ok(state.optimize(logical)?)
}

/// A general plan in which operators can have the parameters.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_functions(general: &LogicalPlan) -> Result<LogicalPlan> {
    Ok(with_shared_parts(general::with_functions(general.clone())?)?)
}

/// What a general plan is for these values.
///
/// # Errors
/// What simplifying meets.
pub(crate) fn specialised(
    state: &SessionState,
    general: &LogicalPlan,
    values: &[ScalarValue],
) -> Result<LogicalPlan> {
    in_parts(state, with_values(state, general.clone(), values)?)
}

/// The same of a physical one.
///
/// # Errors
/// A fault of the rules.
pub(crate) fn with_access(
    state: &SessionState,
    general: &Arc<dyn ExecutionPlan>,
    values: &[ScalarValue],
) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = parameter::with_values(general, state, values)?;
    let options = state.config_options();
    Ok(RULES_BY_VALUES.iter().try_fold(plan, |plan, rule| rule.optimize(plan, options))?)
}

/// The physical plan of a statement, which nobody can execute yet.
///
/// # Errors
/// What cannot be planned.
pub(crate) async fn template(
    state: &SessionState,
    optimized: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(state.query_planner().create_physical_plan(optimized, state).await?)
}

/// The plan that is executed, once.
///
/// # Errors
/// A fault of the rules.
pub(crate) fn finished(
    state: &SessionState,
    template: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(ended(template, state.config_options())?)
}

/// A plan after the rules for each execution.
fn ended(
    plan: Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    LAST_RULES.iter().try_fold(plan, |plan, rule| rule.optimize(plan, options))
}

/// What a part of a plan becomes that is run elsewhere: of DataFusion's operators alone, each of
/// which can be sent.
///
/// # Errors
/// A fault of the rules.
pub(super) fn unquickened(
    plan: Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let _general = PlanningGeneral::begin(true);
    physical_rules().iter().try_fold(plan, |plan, rule| rule.optimize(plan, options))
}

/// The same for whoever runs it, with our operators.
///
/// # Errors
/// A fault of the rules.
pub(super) fn quickened(
    plan: Arc<dyn ExecutionPlan>,
    options: &ConfigOptions,
) -> PlanResult<Arc<dyn ExecutionPlan>> {
    let by_values = RULES_BY_VALUES.iter();
    ended(by_values.clone().try_fold(plan, |plan, rule| rule.optimize(plan, options))?, options)
}
