//! Which plans are kept for the next who asks the same, and where a query's plan is found.
//!
//! A plan is kept if it is the same whenever and by whomever it is made: the query has no
//! parameters, reads tables alone, calls functions whose answers depend on nothing but their
//! arguments, and names nothing of the session. It is used where the binder would find the same:
//! in the same catalog, with the same statistics of each table.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::sql::sqlparser::ast;

use super::binder::functions_of;
use super::rewrite::is_serializable;
use crate::context::{SessionFunctions, StatementContext};
use crate::error::Result;
use crate::plan::cancel_check::Template;
use crate::plan::template::can_be_copied;
use crate::plan_cache::{Asked, InUse, KeptPlan, LEVELS_MAX, Planned};
use crate::scan::provider::TableSourceOf;
use crate::values::datum::Datum;

/// A query whose names are known.
pub(super) enum Bound {
    /// There is a plan of it.
    Known(InUse),
    New(LogicalPlan, Option<Keeping>),
}

/// What a plan is kept with, if it can be.
pub(super) struct Keeping {
    version: u64,
    tables: Vec<Planned>,
}

impl Bound {
    /// Whether tables of the database are read.
    ///
    /// # Errors
    /// As what says it of a plan.
    pub(super) fn reads(&self, of_plan: impl FnOnce(&LogicalPlan) -> Result<bool>) -> Result<bool> {
        match self {
            Self::Known(plan) => Ok(!plan.kept.tables.is_empty()),
            Self::New(logical, _) => of_plan(logical),
        }
    }
}

/// By what the plan of a query is found; `None` if it has parameters.
fn asked<'q>(
    context: &'q StatementContext,
    query: &'q ast::Query,
    parameters: &[Datum],
) -> Option<Asked<'q>> {
    parameters.is_empty().then(|| Asked {
        query,
        actor: context.actor,
        path: &context.settings.search_path,
        is_serializable: is_serializable(context),
    })
}

/// The plan of a query that is kept, or what a binder makes of it.
///
/// # Errors
/// As the binder.
pub(super) fn bound(
    context: &mut StatementContext,
    query: &ast::Query,
    parameters: &[Datum],
    bind: impl FnOnce(&mut StatementContext) -> Result<LogicalPlan>,
) -> Result<Bound> {
    let version = context.catalog_version();
    if let Some(plan) = found(context, query, parameters, version) {
        return Ok(Bound::Known(plan));
    }
    context.has_own_constants.store(false, Ordering::Relaxed);
    let logical = bind(context)?;
    let has_own = context.has_own_constants.load(Ordering::Relaxed);
    let tables = match parameters.is_empty() && !has_own {
        true => tables_of(&logical, functions_of(context))?,
        false => None,
    };
    Ok(Bound::New(logical, tables.map(|tables| Keeping { version, tables })))
}

fn found(
    context: &StatementContext,
    query: &ast::Query,
    parameters: &[Datum],
    version: u64,
) -> Option<InUse> {
    let asked = asked(context, query, parameters)?;
    let kept = context.database.plans.get(&asked, version)?;
    let is_known = |(table, known): &Planned| {
        context.statistics(table).is_some_and(|now| Arc::ptr_eq(&now, known))
    };
    if kept.tables.iter().all(is_known) { kept.take() } else { None }
}

/// Keeps the plan of a query, if copies of it can be made; a copy is what runs then.
pub(super) fn keep(
    context: &StatementContext,
    query: &ast::Query,
    keeping: Keeping,
    template: &Template,
) -> Option<InUse> {
    let Keeping { version, tables } = keeping;
    let mut values = Vec::new();
    let is_deep = template.levels > LEVELS_MAX;
    if is_deep || template.is_volatile || !can_be_copied(&template.plan, &mut values) {
        return None;
    }
    let kept = KeptPlan::new(Arc::clone(&template.plan), template.levels, tables, values);
    let in_use = kept.take()?;
    let asked = asked(context, query, &[])?;
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
                let table = provider.downcast_ref::<TableSourceOf>();
                match table.and_then(|of| Some((Arc::clone(&of.table), Arc::clone(of.known()?)))) {
                    Some(table) => tables.push(table),
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
        Expr::HigherOrderFunction(_) | Expr::Placeholder(_) | Expr::ScalarVariable(..) => {
            return false;
        }
        _ => Volatility::Immutable,
    };
    volatility == Volatility::Immutable
}
