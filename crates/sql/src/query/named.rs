//! Named queries that may give other rows each time, and are named several times.
//!
//! A named query is computed once. Where its rows are the same whenever it is computed, its plan
//! may stand wherever it is named; where a function in it is volatile, its rows are computed before
//! the statement, and stand there instead.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder, SubqueryAlias};
use futures::future::BoxFuture;

use super::select::Gathered;
use crate::context::StatementContext;
use crate::error::Result;
use crate::limits::held::Held;
use crate::query::select;
use crate::transaction::Transaction;

/// The plan with the rows of such queries in their places, and what these rows are held by in
/// the budget for as long as the plan is run.
///
/// # Errors
/// Whatever the queries meet.
pub(super) fn with_named_rows<'a>(
    context: &'a StatementContext,
    mut logical: LogicalPlan,
    transaction: &'a Arc<Transaction>,
) -> BoxFuture<'a, Result<(LogicalPlan, Vec<Held>)>> {
    Box::pin(async move {
        let mut all_held = Vec::new();
        while let Some(named) = volatile_twice(&logical)? {
            let Gathered { schema, batches, held } =
                select::collect_plan(context, &named.input, transaction).await?;
            all_held.push(held);
            let rows = provider_as_source(Arc::new(MemTable::try_new(schema, vec![batches])?));
            let rows = LogicalPlanBuilder::scan(named.alias.clone(), rows, None)?.build()?;
            let rows = SubqueryAlias::try_new(Arc::new(rows), named.alias.clone())?;
            let placed = logical.transform_up_with_subqueries(|node| {
                Ok(match &node {
                    LogicalPlan::SubqueryAlias(alias) if *alias == named => {
                        Transformed::yes(LogicalPlan::SubqueryAlias(rows.clone()))
                    }
                    _ => Transformed::no(node),
                })
            })?;
            logical = placed.data;
        }
        Ok((logical, all_held))
    })
}

/// The innermost query that is named twice and may give other rows the second time.
fn volatile_twice(logical: &LogicalPlan) -> Result<Option<SubqueryAlias>> {
    let mut seen: Vec<SubqueryAlias> = Vec::new();
    let mut found = None;
    if !is_volatile(logical)? {
        return Ok(None);
    }
    logical.apply_with_subqueries(|node| {
        if let LogicalPlan::SubqueryAlias(alias) = node
            && is_volatile(&alias.input)?
        {
            if seen.contains(alias) {
                // Those within it come later.
                found = Some(alias.clone());
            } else {
                seen.push(alias.clone());
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Whether a function in a plan answers otherwise each time, and nothing in it is about rows around
/// it.
fn is_volatile(plan: &LogicalPlan) -> PlanResult<bool> {
    let (mut is_volatile, mut is_within) = (false, false);
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            is_volatile |= expr.is_volatile();
            is_within |= expr.contains_outer();
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_volatile && !is_within)
}
