//! Sets of groups are made of the groups by all keys, not of rows.
//!
//! ROLLUP, CUBE and GROUPING SETS look at each row once for each set. Groups by all keys of all
//! sets are fewer: rows are grouped by these first, which is an aggregate like any other, and their
//! parts are put together ([`super::parts`]). What cannot be is left as it is.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::utils::grouping_set_to_exprlist;
use datafusion::logical_expr::{Aggregate, Expr, GroupingSet, LogicalPlan, Projection};
use datafusion::optimizer::AnalyzerRule;

use crate::error::Error;
use crate::rules::groups::parts::{Parts, named};

/// The rule, which stands behind those that give aggregates their types.
#[derive(Debug)]
pub(crate) struct SetsOfGroups;

impl AnalyzerRule for SetsOfGroups {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> PlanResult<LogicalPlan> {
        let is_of_sets = |plan: &LogicalPlan| Ok(sets_of(plan).is_some());
        if !plan.exists(is_of_sets)? {
            return Ok(plan);
        }
        let rewritten = plan.transform_up(|plan| match sets_of(&plan) {
            Some((aggregate, sets)) => Ok(match of_groups(aggregate, sets)? {
                Some(plan) => Transformed::yes(plan),
                None => Transformed::no(plan),
            }),
            None => Ok(Transformed::no(plan)),
        })?;
        Ok(rewritten.data)
    }

    fn name(&self) -> &str {
        "sets_of_groups"
    }
}

/// A plan whose keys of sets are columns: those that are computed are made by a projection below.
/// What changes how an expression is computed keeps its name, and of a set gives one to all keys.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_columns_for_keys(plan: LogicalPlan) -> PlanResult<LogicalPlan> {
    let rewritten = plan.transform_up_with_subqueries(|plan| match sets_of(&plan) {
        Some((aggregate, sets)) => Ok(match with_columns(aggregate, sets)? {
            Some(plan) => Transformed::yes(plan),
            None => Transformed::no(plan),
        }),
        None => Ok(Transformed::no(plan)),
    })?;
    Ok(rewritten.data)
}

/// The aggregate over a projection that computes its keys; `None` if all are columns.
fn with_columns(aggregate: &Aggregate, sets: &GroupingSet) -> PlanResult<Option<LogicalPlan>> {
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let computed = keys.into_iter().filter(|key| !matches!(key, Expr::Column(_)));
    let computed: Vec<(Expr, Column)> = computed
        .map(|key| (key.clone(), Column::new_unqualified(key.schema_name().to_string())))
        .collect();
    if computed.is_empty() {
        return Ok(None);
    }
    let columns = aggregate.input.schema().columns().into_iter().map(Expr::Column);
    let named = computed.iter().map(|(key, column)| key.clone().alias(column.name.clone()));
    let items = columns.chain(named).collect();
    let input = Projection::try_new(items, Arc::clone(&aggregate.input))?;
    let of = |expr: &Expr| {
        let found = computed.iter().find(|(key, _)| key == expr);
        found.map(|(_, column)| Expr::Column(column.clone()))
    };
    let group = vec![Expr::GroupingSet(sets.clone())].into_iter();
    let replaced = |expr: Expr| {
        let replaced = expr.transform_down(|expr| {
            Ok(match of(&expr) {
                Some(column) => Transformed::new(column, true, TreeNodeRecursion::Jump),
                None => Transformed::no(expr),
            })
        });
        replaced.map(|expr| expr.data)
    };
    let group = group.map(replaced).collect::<PlanResult<_>>()?;
    let functions = aggregate.aggr_expr.iter().cloned().map(replaced);
    let functions = functions.collect::<PlanResult<_>>()?;
    let input = Arc::new(LogicalPlan::Projection(input));
    Ok(Some(LogicalPlan::Aggregate(Aggregate::try_new(input, group, functions)?)))
}

/// The sets that a plan groups by, if it does.
fn sets_of(plan: &LogicalPlan) -> Option<(&Aggregate, &GroupingSet)> {
    let LogicalPlan::Aggregate(aggregate) = plan else { return None };
    match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(sets)] => Some((aggregate, sets)),
        _ => None,
    }
}

/// The plan that groups by all keys first; `None` if its functions cannot be put together.
fn of_groups(aggregate: &Aggregate, sets: &GroupingSet) -> PlanResult<Option<LogicalPlan>> {
    let keys = grouping_set_to_exprlist(&aggregate.group_expr)?;
    let keys: Vec<Expr> = keys.into_iter().cloned().collect();
    let outer = |expr: &Expr| expr.contains_outer() || expr.is_volatile();
    if keys.is_empty() || keys.iter().chain(&aggregate.aggr_expr).any(outer) {
        return Ok(None);
    }
    let mut parts = Parts::of(aggregate);
    let mut results = Vec::new();
    for function in &aggregate.aggr_expr {
        let Some(result) = parts.result(function)? else { return Ok(None) };
        results.push(result);
    }
    let functions = parts.into_functions();
    let groups = Aggregate::try_new(Arc::clone(&aggregate.input), keys.clone(), functions)?;
    let columns: Vec<Column> = groups.schema.columns();
    // Each key and each function is a column of the groups now.
    let key = |expr: &Expr| keys.iter().position(|key| key == expr).map(|at| &columns[at]);
    let sets = of_columns(sets, key)?;
    let part = |at: usize| Expr::Column(columns[keys.len() + at].clone());
    let merging = results.iter().map(|result| result.merging(&part));
    let merging = merging.collect::<PlanResult<Vec<_>>>()?;
    let groups = Arc::new(LogicalPlan::Aggregate(groups));
    let merging = named("merged", merging);
    let merged = Aggregate::try_new(groups, vec![Expr::GroupingSet(sets)], merging)?;
    // Behind the keys stands which set it is.
    let first = aggregate.schema.fields().len() - results.len();
    let names = aggregate.schema.iter().zip(merged.schema.columns()).enumerate();
    let items = names.map(|(at, ((qualifier, field), column))| {
        let column = Expr::Column(column);
        let item = match at.checked_sub(first).map(|at| &results[at]) {
            Some(result) => result.item(column, field.data_type())?,
            None => column,
        };
        Ok(item.alias_qualified(qualifier.cloned(), field.name()))
    });
    let items = items.collect::<PlanResult<Vec<_>>>()?;
    let merged = Arc::new(LogicalPlan::Aggregate(merged));
    Ok(Some(LogicalPlan::Projection(Projection::try_new(items, merged)?)))
}

/// The sets, of columns.
fn of_columns<'c>(
    sets: &GroupingSet,
    key: impl Fn(&Expr) -> Option<&'c Column>,
) -> PlanResult<GroupingSet> {
    let column = |expr: &Expr| {
        let column = key(expr).cloned().map(Expr::Column);
        Ok(column.ok_or_else(|| Error::internal("a set of groups by what is no key"))?)
    };
    let columns = |exprs: &[Expr]| exprs.iter().map(column).collect::<PlanResult<Vec<_>>>();
    Ok(match sets {
        GroupingSet::Rollup(exprs) => GroupingSet::Rollup(columns(exprs)?),
        GroupingSet::Cube(exprs) => GroupingSet::Cube(columns(exprs)?),
        GroupingSet::GroupingSets(sets) => {
            let sets = sets.iter().map(|exprs| columns(exprs));
            GroupingSet::GroupingSets(sets.collect::<PlanResult<_>>()?)
        }
    })
}
