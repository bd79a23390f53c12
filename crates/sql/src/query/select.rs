//! Running a query, describing a statement.
//!
//! A parameter's value is put into the plan before it is optimised: a key that is given as a
//! parameter leads to the index as one in the text does.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::metadata::ScalarAndMetadata;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::utils::memory::RecordBatchMemoryCounter;
use datafusion::common::{ParamValues, ScalarValue};
use datafusion::datasource::{MemTable, source_as_provider};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast;
use futures::TryStreamExt;
use remanent_engine::Isolation;

use crate::catalog::table::type_of_field;
use crate::context::StatementContext;
use crate::database::NO_VERSION;
use crate::error::{Error, Result, SqlState};
use crate::limits::held::Held;
use crate::plan::cancel_check;
use crate::plan::cancel_check::Planned;
use crate::plan_cache::{Description, InUse};
use crate::query::binder::Binder;
use crate::query::freezing;
use crate::query::general::Specialised;
use crate::query::known::{self, Bound, Question};
use crate::query::named;
use crate::query::rewrite;
use crate::result::answer::Outcome;
use crate::result::rows::{Guard, Rows, columns_of};
use crate::statement::Grammar;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// All rows of a query that is part of another statement, counted in the budget.
pub(crate) struct Gathered {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Vec<RecordBatch>,
    pub(crate) held: Held,
}

/// A query.
///
/// # Errors
/// Whatever it meets before its first row.
pub(crate) async fn select(
    context: &mut StatementContext,
    query: &ast::Query,
    parameters: &[Datum],
) -> Result<Outcome> {
    let question = |context: &StatementContext| Question {
        query,
        own: None,
        version: context.catalog_version(),
    };
    let (bound, transaction) = begin_with(context, |context| {
        let question = question(context);
        known::bound(context, &question, parameters, bind_query)
    })?;
    let question = question(context);
    let (planned, plan, named) = planned(context, &question, bound, &transaction).await?;
    let stream = cancel_check::start(&context.state, planned, &transaction)?;
    let afterwards = freezing::after_query(context, &transaction);
    let guard = Guard { transaction: Some(transaction), named, plan, afterwards };
    let rows = Rows::stream(stream, guard);
    Ok(Outcome::rows("SELECT", rows))
}

/// The plan of what was bound, to be run once, and what is held until it has been.
async fn planned(
    context: &StatementContext,
    question: &Question<'_>,
    bound: Bound,
    transaction: &Arc<Transaction>,
) -> Result<(Planned, Option<InUse>, Vec<Held>)> {
    let state = &context.state;
    Ok(match bound {
        Bound::Known(known) => {
            let planned = cancel_check::again(state, &known.kept, transaction)?;
            (planned, Some(known), Vec::new())
        }
        Bound::General(Specialised { plan, values }) => {
            let template = cancel_check::specialised(state, &plan, &values, transaction).await?;
            (cancel_check::once(state, template, transaction)?, None, Vec::new())
        }
        Bound::New(logical, keeping) => {
            let (logical, named) = named::with_named_rows(context, logical, transaction).await?;
            let template = cancel_check::template(state, &logical, transaction).await?;
            let kept = match keeping {
                Some(it) => known::keep(context, question, *it, &template, transaction).await,
                None => None,
            };
            let planned = match &kept {
                Some(known) => cancel_check::again(state, &known.kept, transaction)?,
                None => cancel_check::once(state, template, transaction)?,
            };
            (planned, kept, named)
        }
    })
}

/// What is bound, and a transaction that sees its tables: what was defined between binding and
/// beginning is bound anew.
fn begin_with(
    context: &mut StatementContext,
    bind: impl Fn(&mut StatementContext) -> Result<Bound>,
) -> Result<(Bound, Arc<Transaction>)> {
    loop {
        let version = context.catalog_version();
        if version == NO_VERSION {
            // A transaction that begins now may be newer than the catalog.
            context.check_cancelled()?;
            context.database.refresh_stale_catalog()?;
            std::thread::yield_now();
            continue;
        }
        let bound = bind(context)?;
        let begun = context.block.as_ref().is_some_and(|block| block.transaction.is_some());
        let transaction = transaction_of(context, &bound)?;
        if context.catalog_version() == version {
            pin_catalog(context);
            return Ok((bound, transaction));
        }
        drop(transaction);
        if let Some(block) = context.block.as_mut().filter(|_| !begun) {
            block.transaction = None;
        }
        context.check_cancelled()?;
    }
}

/// A transaction that only reads and keeps its snapshot keeps the catalog that fits it.
fn pin_catalog(context: &mut StatementContext) {
    let catalog = context.database.catalog();
    if let Some(block) = &mut context.block
        && block.transaction.as_ref().is_some_and(|transaction| !transaction.writes())
        && !block.isolation.refreshes()
    {
        block.catalog.get_or_insert(catalog);
    }
}

/// The transaction in which a query runs. One that reads no table of the database does not
/// begin the block's: definitions can still follow.
fn transaction_of(context: &mut StatementContext, bound: &Bound) -> Result<Arc<Transaction>> {
    let begun = context.defining.is_some()
        || context.block.as_ref().is_none_or(|block| block.transaction.is_some());
    if begun || bound.reads(reads_tables)? {
        return context.transaction(false);
    }
    let options = context.options(Isolation::Snapshot);
    Transaction::begin(&context.database.engine, &options, false, context.cancel(), 1)
}

/// The plan of a query with its parameters in it.
fn bind_query(context: &StatementContext, query: &ast::Query) -> Result<LogicalPlan> {
    let query = rewrite::rewritten(context, query)?;
    let catalog = context.catalog();
    Binder::of(context, &catalog).bind(query)
}

/// Starts a plan.
pub(crate) fn stream(
    context: &StatementContext,
    plan: Planned,
    transaction: Arc<Transaction>,
) -> Result<Rows> {
    let stream = cancel_check::start(&context.state, plan, &transaction)?;
    let afterwards = freezing::after_query(context, &transaction);
    let transaction = Some(transaction);
    let guard = Guard { transaction, named: Vec::new(), plan: None, afterwards };
    Ok(Rows::stream(stream, guard))
}

/// All rows of a query that is part of another statement, read in its transaction.
///
/// # Errors
/// Whatever it meets.
pub(crate) async fn collect_plan(
    context: &StatementContext,
    logical: &LogicalPlan,
    transaction: &Arc<Transaction>,
) -> Result<Gathered> {
    let (logical, _named) = named::with_named_rows(context, logical.clone(), transaction).await?;
    let plan = cancel_check::plan(&context.state, &logical, transaction).await?;
    collect(context, plan, transaction).await
}

/// The same of the query of a change, whose plan may be known and is kept.
///
/// # Errors
/// Whatever it meets.
pub(crate) async fn collect_known(
    context: &StatementContext,
    question: &Question<'_>,
    parameters: &[Datum],
    bind: impl Fn(&StatementContext, &ast::Query) -> Result<LogicalPlan>,
    transaction: &Arc<Transaction>,
) -> Result<Gathered> {
    let bound = known::bound(context, question, parameters, bind)?;
    let (plan, _in_use, _named) = planned(context, question, bound, transaction).await?;
    collect(context, plan, transaction).await
}

async fn collect(
    context: &StatementContext,
    plan: Planned,
    transaction: &Arc<Transaction>,
) -> Result<Gathered> {
    context.note_plan(&plan.plan);
    let schema = plan.plan.schema();
    let mut stream = cancel_check::start(&context.state, plan, transaction)?;
    let (mut batches, mut held) = (Vec::new(), context.database.hold("rows that are gathered"));
    let mut counted = RecordBatchMemoryCounter::new();
    while let Some(batch) = stream.try_next().await? {
        // Batches may share what they hold.
        counted.count_batch(&batch);
        held.resize(counted.memory_usage())?;
        batches.push(batch);
    }
    Ok(Gathered { schema, batches, held })
}

/// The value of an expression without columns.
///
/// # Errors
/// Whatever it meets.
pub(crate) async fn constant(
    context: &mut StatementContext,
    expression: &ast::Expr,
    parameters: &[Datum],
) -> Result<Datum> {
    let query = select_of(vec![ast::SelectItem::UnnamedExpr(expression.clone())]);
    let (bound, transaction) = begin_with(context, |context| {
        let logical = with_values(bind_query(context, &query)?, parameters)?;
        Ok(Bound::New(logical, None))
    })?;
    let Bound::New(logical, _) = bound else {
        return Err(Error::internal("a plan of an expression was kept"));
    };
    let Gathered { batches, .. } = collect_plan(context, &logical, &transaction).await?;
    match batches.iter().find(|batch| batch.num_rows() == 1) {
        Some(batch) => Datum::from_array(batch.column(0), 0),
        None => Err(Error::new(SqlState::CARDINALITY, "an expression gave no value")),
    }
}

/// What a query's parameters and columns are, found before it runs; types that are given stay.
///
/// # Errors
/// What the binder finds wrong.
pub(crate) fn describe(
    context: &StatementContext,
    query: &ast::Query,
    given: &[SqlType],
) -> Result<Description> {
    let query = rewrite::rewritten(context, query)?;
    let catalog = context.catalog();
    let types = given.iter().map(|t| (*t != SqlType::Unknown).then(|| t.to_arrow()));
    let logical = Binder::of(context, &catalog).bind_typed(query, types.collect())?;
    let parameters = parameter_types(&logical, given)?;
    // Rules give some columns other types; parameters of no type may keep them from it.
    let config = context.state.config_options();
    let analyzed = context.state.analyzer().execute_and_check(logical.clone(), config, |_, _| {});
    let schema = analyzed.unwrap_or(logical).schema().as_arrow().clone();
    Ok((parameters, columns_of(&Arc::new(schema))))
}

fn reads_tables(logical: &LogicalPlan) -> Result<bool> {
    let mut reads = false;
    logical.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            // What the catalog makes up is ready as rows.
            let in_memory = source_as_provider(&scan.source)
                .is_ok_and(|provider| provider.downcast_ref::<MemTable>().is_some());
            reads |= !in_memory;
        }
        Ok(if reads { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(reads)
}

/// The plan with values in the places of its parameters.
///
/// # Errors
/// `UNKNOWN_PARAMETER`; a value that is not one of its parameter's type.
pub(crate) fn with_values(logical: LogicalPlan, parameters: &[Datum]) -> Result<LogicalPlan> {
    let types = types_for(&logical, parameters)?;
    if types.is_empty() {
        return Ok(logical);
    }
    with_scalars(logical, &values_of(parameters, &types)?)
}

/// The types of a plan's parameters, all of which have values.
///
/// # Errors
/// `UNKNOWN_PARAMETER`.
pub(super) fn types_for(logical: &LogicalPlan, parameters: &[Datum]) -> Result<Vec<SqlType>> {
    let types = parameter_types(logical, &[])?;
    if types.len() > parameters.len() {
        let text = format!("there is no parameter ${}", parameters.len() + 1);
        return Err(Error::new(SqlState::UNKNOWN_PARAMETER, text));
    }
    Ok(types)
}

/// Values as a plan has them whose parameters are of these types.
///
/// # Errors
/// A value that is not one of its parameter's type.
pub(super) fn values_of(parameters: &[Datum], types: &[SqlType]) -> Result<Vec<ScalarValue>> {
    let values = parameters.iter().enumerate().map(|(place, datum)| {
        let to = types.get(place).cloned().unwrap_or_else(|| datum.natural());
        let is_list = matches!(datum, Datum::List(elements) if !elements.is_empty());
        let to = if to == SqlType::Unknown || is_list { datum.natural() } else { to };
        let value = datum.as_parameter(&to)?;
        let to = match (&value, &to) {
            (Datum::Decimal(_, own), SqlType::Numeric { scale, .. }) if own == scale => to,
            (Datum::Decimal(..), _) => value.natural(),
            _ => to,
        };
        let scalar = value.to_scalar(&to)?;
        let arrow = to.to_arrow();
        Ok(if scalar.data_type() == arrow { scalar } else { scalar.cast_to(&arrow)? })
    });
    values.collect()
}

/// The plan with these values in the places of its parameters.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn with_scalars(logical: LogicalPlan, values: &[ScalarValue]) -> Result<LogicalPlan> {
    let values = values.iter().map(|value| ScalarAndMetadata::new(value.clone(), None));
    Ok(logical.replace_params_with_values(&ParamValues::List(values.collect()))?)
}

/// The types of a plan's parameters; those that were given stay.
pub(crate) fn parameter_types(logical: &LogicalPlan, given: &[SqlType]) -> Result<Vec<SqlType>> {
    let found = logical.get_parameter_fields()?;
    let number = |name: &String| name.trim_start_matches('$').parse::<usize>().ok();
    let count = found.keys().filter_map(number).max().unwrap_or(0).max(given.len());
    let types = (1..=count).map(|number| {
        let given = given.get(number - 1).filter(|given| **given != SqlType::Unknown);
        let inferred = found.get(&format!("${number}")).cloned().flatten();
        match (given, inferred) {
            (Some(given), _) => given.clone(),
            (None, Some(field)) => match type_of_field(&field) {
                char @ SqlType::Char(_) => char,
                _ => SqlType::from_arrow(field.data_type()),
            },
            (None, None) => SqlType::Unknown,
        }
    });
    Ok(types.collect())
}

/// A query that selects these items from nothing.
pub(crate) fn select_of(items: Vec<ast::SelectItem>) -> ast::Query {
    let grammar = Grammar::of(2);
    let parsed = sqlparser::parser::Parser::new(&grammar).try_with_sql("SELECT 1");
    let mut query = match parsed.and_then(|mut parser| parser.parse_query()) {
        Ok(query) => *query,
        Err(error) => unreachable!("{error}"),
    };
    if let ast::SetExpr::Select(select) = query.body.as_mut() {
        select.projection = items;
    }
    query
}
