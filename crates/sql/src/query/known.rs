//! Which plans are kept for the next who asks the same, and where a query's plan is found.
//!
//! A plan is kept if it is the same whenever and by whomever it is made: the query reads tables
//! alone, calls functions whose answers depend on nothing but their arguments, and names nothing of
//! the session. It is used where the binder would find the same: in the same catalog, with the same
//! statistics of each table. Of a query with parameters, a plan for any values is kept instead, and
//! of one with constants beside it ([`super::general`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::sql::sqlparser::ast;

use super::binder::functions_of;
use super::constants::Shape;
use super::general;
use super::general::{Custom, Specialised, Trial, Values};
use super::rewrite::is_serializable;
use super::select::{types_for, values_of, with_scalars};
use crate::catalog::table::Table;
use crate::context::{SessionFunctions, StatementContext};
use crate::error::Result;
use crate::plan::cancel_check::Template;
use crate::plan::template::can_be_copied;
use crate::plan_cache::{Asked, Described, Description, InUse, KeptPlan, LEVELS_MAX, Planned};
use crate::scan::provider::TableSourceOf;
use crate::statement::Statement;
use crate::transaction::Transaction;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// A query whose names are known.
pub(super) enum Bound {
    /// There is a plan of it.
    Known(InUse),
    /// There is one for any values of its parameters.
    General(Specialised),
    New(LogicalPlan, Option<Box<Keeping>>),
}

/// What a plan is kept with, if it can be.
pub(super) struct Keeping {
    tables: Vec<Planned>,
    /// Whether it is found by the query, which has no parameters.
    is_exact: bool,
    /// What is to be tried of a plan for any values.
    trial: Option<Trial>,
    /// The query without its constants, which are the values then.
    shape: Option<Shape>,
}

impl Bound {
    /// Whether tables of the database are read.
    ///
    /// # Errors
    /// As what says it of a plan.
    pub(super) fn reads(&self, of_plan: impl FnOnce(&LogicalPlan) -> Result<bool>) -> Result<bool> {
        match self {
            Self::Known(plan) => Ok(!plan.kept.tables.is_empty()),
            Self::General(general) => Ok(!general.plan.tables.is_empty()),
            Self::New(logical, _) => of_plan(logical),
        }
    }
}

/// A query, and what decides what its names mean.
#[derive(Clone, Copy)]
pub(crate) struct Question<'q> {
    pub(crate) query: &'q ast::Query,
    /// The table that its statement changes, which is in it under another name.
    pub(crate) own: Option<&'q Table>,
    /// The number of the catalog.
    pub(crate) version: u64,
}

/// By what the plan of a query is found.
fn asked<'q>(context: &'q StatementContext, question: &Question<'q>) -> Asked<'q> {
    Asked {
        query: question.query,
        own: question.own.map(|table| table.origin),
        actor: context.actor,
        path: &context.settings.search_path,
        is_serializable: is_serializable(context),
    }
}

/// The plan of a query that is kept, or what a binder makes of it, with values in the places of its
/// parameters.
///
/// # Errors
/// As the binder; a value that is not one of its parameter's type.
pub(super) fn bound(
    context: &StatementContext,
    question: &Question<'_>,
    parameters: &[Datum],
    bind: impl Fn(&StatementContext, &ast::Query) -> Result<LogicalPlan>,
) -> Result<Bound> {
    let (asked, version) = (asked(context, question), question.version);
    let mut shape = None;
    if parameters.is_empty() {
        if let Some(plan) = found(context, &asked, version) {
            return Ok(Bound::Known(plan));
        }
        shape = general::shape(context, question.query);
    }
    let general = Asked { query: shape.as_ref().map_or(question.query, |it| &it.query), ..asked };
    let values = Values::of(shape.as_ref(), parameters);
    if let Some(plan) = general::found(context, &general, &values, version) {
        return Ok(Bound::General(plan));
    }
    context.has_own_constants.store(false, Ordering::Relaxed);
    let logical = bind(context, question.query)?;
    let has_own = context.has_own_constants.load(Ordering::Relaxed);
    let tables = match has_own {
        true => None,
        false => tables_of(&logical, functions_of(context))?,
    };
    let types = types_for(&logical, parameters)?;
    let trial = tables.as_ref().and_then(|_| {
        let with_parameters = || match &shape {
            Some(shape) => bind(context, &shape.query),
            None => Ok(logical.clone()),
        };
        general::trial(context, &general, &values, version, with_parameters)
    });
    let logical = match types.as_slice() {
        [] => logical,
        types => with_scalars(logical, &values_of(parameters, types)?)?,
    };
    let keeping = |tables| Box::new(Keeping { tables, is_exact: types.is_empty(), trial, shape });
    Ok(Bound::New(logical, tables.map(keeping)))
}

fn found(context: &StatementContext, asked: &Asked<'_>, version: u64) -> Option<InUse> {
    let kept = context.database.plans.get(asked, version)?;
    let is_same = kept.tables.iter().all(|planned| is_known(context, planned));
    if is_same { kept.take() } else { None }
}

/// Whether of a table's rows the same is known as when it was planned.
pub(super) fn is_known(context: &StatementContext, planned: &Planned) -> bool {
    let (table, known) = planned;
    let Some(known) = known else { return true };
    context.statistics(table).is_some_and(|now| Arc::ptr_eq(&now, known))
}

/// By what the description of a statement is found; `None` where the session has a part in it.
fn described_as<'s>(
    context: &'s StatementContext,
    statement: &'s Statement,
    given: &'s [SqlType],
) -> Option<Described<'s>> {
    use ast::Statement as S;
    let statement = match &*statement.ast {
        of @ (S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::Merge(_))
            if statement.levels <= LEVELS_MAX =>
        {
            of
        }
        _ => return None,
    };
    let (actor, path) = (context.actor, context.settings.search_path.as_slice());
    Some(Described { statement, given, actor, path })
}

/// What a statement's parameters and columns are, if it was described before.
pub(crate) fn description(
    context: &StatementContext,
    statement: &Statement,
    given: &[SqlType],
) -> Option<Description> {
    let described = described_as(context, statement, given)?;
    context.database.plans.described(&described, context.catalog_version())
}

/// Keeps what a statement was described as.
pub(crate) fn keep_description(
    context: &StatementContext,
    statement: &Statement,
    given: &[SqlType],
    version: u64,
    description: &Description,
) {
    if let Some(described) = described_as(context, statement, given) {
        let database = &context.database;
        let is_current = |version| database.catalog_version() == version;
        database.plans.put_described(&described, version, description, is_current);
    }
}

/// Keeps the plan of a query, if copies of it can be made; a copy is what runs then. Of one with
/// parameters it is tried whether the plan for any values is the same.
pub(super) async fn keep(
    context: &StatementContext,
    question: &Question<'_>,
    keeping: Keeping,
    template: &Template,
    transaction: &Arc<Transaction>,
) -> Option<InUse> {
    let Keeping { tables, is_exact, trial, shape } = keeping;
    let (asked, version) = (asked(context, question), question.version);
    if let Some(trial) = trial {
        let query = shape.as_ref().map_or(question.query, |shape| &shape.query);
        let asked = Asked { query, ..asked };
        let custom = Custom { asked: &asked, version, tables: &tables, template };
        general::try_general(context, &custom, trial, transaction).await;
    }
    if !is_exact {
        return None;
    }
    let mut values = Vec::new();
    let is_deep = template.levels > LEVELS_MAX;
    if is_deep || template.is_volatile || !can_be_copied(&template.plan, &mut values) {
        return None;
    }
    let kept = KeptPlan::new(Arc::clone(&template.plan), template.levels, tables, values);
    let in_use = kept.take()?;
    let database = &context.database;
    database.plans.put(&asked, version, &kept, |version| database.catalog_version() == version);
    Some(in_use)
}

/// The tables that a plan reads, if it is the same whenever it is made.
fn tables_of(logical: &LogicalPlan, own: &SessionFunctions) -> PlanResult<Option<Vec<Planned>>> {
    let (mut tables, mut is_same) = (Vec::new(), true);
    logical.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::TableScan(scan) => {
                let provider = source_as_provider(&scan.source)?;
                match provider.downcast_ref::<TableSourceOf>() {
                    Some(of) => tables.push((Arc::clone(&of.table), of.known().cloned())),
                    None => is_same = false,
                }
            }
            LogicalPlan::RecursiveQuery(_) | LogicalPlan::Extension(_) => is_same = false,
            _ => {}
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                is_same &= is_immutable(expr, own);
                Ok(TreeNodeRecursion::Continue)
            })
        })?;
        Ok(if is_same { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(is_same.then_some(tables))
}

/// Whether a function, if it is a call of one, depends on its arguments alone.
fn is_immutable(expr: &Expr, own: &SessionFunctions) -> bool {
    let volatility = match expr {
        Expr::ScalarFunction(call) if own.contains_key(call.name()) => return false,
        Expr::ScalarFunction(call) => call.func.signature().volatility,
        Expr::AggregateFunction(call) => call.func.signature().volatility,
        Expr::WindowFunction(call) => call.fun.signature().volatility,
        Expr::HigherOrderFunction(_) | Expr::ScalarVariable(..) => return false,
        _ => Volatility::Immutable,
    };
    volatility == Volatility::Immutable
}
