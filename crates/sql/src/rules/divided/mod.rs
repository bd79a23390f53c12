//! Aggregates of large tables are computed in two parts: by several tasks, each of a part of one
//! table, and of what those give.
//!
//! The rows of an aggregate are cut where it does not matter: rows of a table go through filters,
//! projections and one side of joins each by itself. Of the tables that are cut so, the largest is
//! taken; or all that belong together by a key ([`by_keys`]). All else below the aggregate, each
//! task reads by itself, since each has the whole database. Where that is most of what is read, or
//! there are nearly as many groups as rows, nothing is gained, and the plan stays as it is.

mod by_keys;
pub(crate) mod node;

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::source_as_provider;
use datafusion::error::{DataFusionError, Result as PlanResult};
use datafusion::logical_expr::{
    Aggregate, Expr, Extension, LogicalPlan, Projection, Sort, TableScan,
};

use self::by_keys::{by_key, kept};
use self::node::Staged;
use crate::error::Error;
use crate::rules::groups::parts::{Parts, named};
use crate::rules::shared_parts::is_shared;
use crate::rules::strip_dependencies::remembered;
use crate::scan::access_path::Access;
use crate::scan::provider::TableSourceOf;
use crate::workers::Division;

/// Of what is read, a task of two reads at most so much.
const READ_MAX: f64 = 0.8;
/// By a key, a task of two reads at most this part of what it reads by segments, which cost less to
/// tell apart.
const BETTER: f64 = 0.95;
/// Tasks make one group of so many rows at least: what they give is sent, and aggregated again.
const ROWS_OF_GROUP: f64 = 8.0;
/// What a scan reads that finds its rows by an index.
const FOUND_ROWS: f64 = 1000.0;
/// The most rows that each task sorts and gives.
const FETCH_MAX: usize = 10_000;

/// The plan, after all other rules, with stages below its aggregates, and below what takes the
/// first rows of a sort, if they read a table of so many rows. A part that is shared has stages of
/// its own, within it: the same wherever it stands.
///
/// # Errors
/// A fault of DataFusion's.
pub(crate) fn with_stages(plan: LogicalPlan, rows_min: usize) -> PlanResult<LogicalPlan> {
    let staged = plan.transform_down_with_subqueries(|node| {
        let staged = match &node {
            // It may be run for each row of the query around it.
            LogicalPlan::Subquery(of) if !of.outer_ref_columns.is_empty() => {
                return Ok(Transformed::new(node, false, TreeNodeRecursion::Jump));
            }
            // What is run again and again reads other rows each time.
            LogicalPlan::RecursiveQuery(_) => {
                return Ok(Transformed::new(node, false, TreeNodeRecursion::Jump));
            }
            LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate, rows_min)?,
            LogicalPlan::Sort(sort) => of_sort(sort, rows_min)?,
            _ => None,
        };
        Ok(match staged {
            Some(staged) => Transformed::new(staged, true, TreeNodeRecursion::Jump),
            None => Transformed::no(node),
        })
    })?;
    Ok(staged.data)
}

/// The aggregate of what tasks have aggregated; `None` if it is not worth it, or cannot be.
fn of_aggregate(aggregate: &Aggregate, rows_min: usize) -> PlanResult<Option<LogicalPlan>> {
    let is_grouping_set = |key: &Expr| matches!(key, Expr::GroupingSet(_));
    let exprs = || aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
    let is_found = is_extreme_of_index(aggregate);
    if is_found || aggregate.group_expr.iter().any(is_grouping_set) || !exprs().all(is_of_row) {
        return Ok(None);
    }
    let groups = groups_of(&aggregate.input, &aggregate.group_expr)?;
    let input = cut(&aggregate.input, rows_min, groups)?;
    let (plan, all) = (LogicalPlan::Aggregate(aggregate.clone()), rows_below(&aggregate.input)?);
    let whole = match is_alone(&plan)? {
        true => by_key(&plan)?.filter(|whole| whole.is_worth_it(all, rows_min, groups)),
        false => None,
    };
    let is_better = |whole: &Cut| input.as_ref().is_none_or(|it| BETTER * whole.read <= it.read);
    let whole = whole.filter(is_better);
    if let Some(whole) = whole {
        return Ok(Some(staged(whole.plan)));
    }
    let Some(Cut { plan: input, .. }) = input else { return Ok(None) };
    let mut parts = Parts::of(aggregate);
    let mut results = Vec::new();
    for function in &aggregate.aggr_expr {
        let Some(result) = parts.result(function)? else { return Ok(None) };
        results.push(result);
    }
    let keys = aggregate.group_expr.clone();
    let functions = parts.into_functions();
    let tasks = Aggregate::try_new(Arc::new(input), keys, functions)?;
    let columns = tasks.schema.columns();
    let (keys, parts) = columns.split_at(aggregate.group_expr.len());
    let keys: Vec<Expr> = keys.iter().cloned().map(Expr::Column).collect();
    let part = |at: usize| Expr::Column(parts[at].clone());
    let merging = results.iter().map(|result| result.merging(&part));
    let merging = named("merged", merging.collect::<PlanResult<Vec<_>>>()?);
    let tasks = staged(LogicalPlan::Aggregate(tasks));
    let merged = Aggregate::try_new(Arc::new(tasks), keys, merging)?;
    let first = aggregate.group_expr.len();
    let names = aggregate.schema.iter().zip(merged.schema.columns()).enumerate();
    let items = names.map(|(at, ((qualifier, field), column))| {
        let column = Expr::Column(column);
        let item = match at.checked_sub(first) {
            Some(at) => results[at].item(column, field.data_type())?,
            None => column,
        };
        Ok(item.alias_qualified(qualifier.cloned(), field.name()))
    });
    let items = items.collect::<PlanResult<Vec<_>>>()?;
    let merged = Arc::new(LogicalPlan::Aggregate(merged));
    let schema = Arc::clone(&aggregate.schema);
    Ok(Some(LogicalPlan::Projection(Projection::try_new_with_schema(items, merged, schema)?)))
}

/// The sort of the first rows that each task has found; `None` if it is not worth it.
fn of_sort(sort: &Sort, rows_min: usize) -> PlanResult<Option<LogicalPlan>> {
    let is_of_few = sort.fetch.is_some_and(|fetch| fetch <= FETCH_MAX);
    let first = sort.expr.first().map(|by| &by.expr);
    let is_found = first.is_some_and(|first| has_order(&sort.input, first));
    if !is_of_few || is_found || !sort.expr.iter().all(|by| is_of_row(&by.expr)) {
        return Ok(None);
    }
    let given = sort.fetch.map_or(0.0, |fetch| fetch as f64);
    let Some(Cut { plan: input, .. }) = cut(&sort.input, rows_min, given)? else {
        return Ok(None);
    };
    let (expr, fetch) = (sort.expr.clone(), sort.fetch);
    let tasks = Sort { expr: expr.clone(), input: Arc::new(input), fetch };
    let input = Arc::new(staged(LogicalPlan::Sort(tasks)));
    Ok(Some(LogicalPlan::Sort(Sort { expr, input, fetch })))
}

/// Whether an index may have rows in the order of an expression, and so lead to the first of them
/// without any others.
fn has_order(input: &LogicalPlan, by: &Expr) -> bool {
    let Expr::Column(by) = by else { return false };
    let has_order = input.exists(|node| {
        let LogicalPlan::TableScan(scan) = node else { return Ok(false) };
        let provider = source_as_provider(&scan.source)?;
        let Some(source) = provider.downcast_ref::<TableSourceOf>() else { return Ok(false) };
        let column = source.table.column(&by.name);
        let mut ordered = source.table.indexes.iter().filter(|index| index.ordered);
        Ok(column.is_some() && ordered.any(|index| index.columns.first() == column.as_ref()))
    });
    has_order.unwrap_or(false)
}

/// Whether an aggregate is nothing but an extreme that an index may lead to.
fn is_extreme_of_index(aggregate: &Aggregate) -> bool {
    let ([], [function]) = (aggregate.group_expr.as_slice(), aggregate.aggr_expr.as_slice()) else {
        return false;
    };
    let Expr::AggregateFunction(call) = function.clone().unalias() else { return false };
    let is_extreme = ["min", "max"].contains(&call.func.name());
    let first = call.params.args.first().filter(|_| is_extreme);
    first.is_some_and(|argument| has_order(&aggregate.input, argument))
}

fn staged(input: LogicalPlan) -> LogicalPlan {
    LogicalPlan::Extension(Extension { node: Arc::new(Staged { input }) })
}

/// A plan that is divided.
struct Cut {
    plan: LogicalPlan,
    /// Rows that each of two tasks reads.
    read: f64,
    /// Rows of the largest table of which it reads a part.
    largest: f64,
}

impl Cut {
    /// Whether it is worth it where all rows are so many, and each task gives about so many.
    fn is_worth_it(&self, all: f64, rows_min: usize, given: f64) -> bool {
        self.largest >= rows_min as f64
            && self.read <= READ_MAX * all
            && given * ROWS_OF_GROUP <= self.largest
    }
}

/// The plan with a table that is divided, or several by a key; `None` if there is none that is
/// worth it, where each task gives about so many rows.
fn cut(plan: &LogicalPlan, rows_min: usize, given: f64) -> PlanResult<Option<Cut>> {
    if !is_alone(plan)? {
        return Ok(None);
    }
    let all = rows_below(plan)?;
    let by_segments = largest(plan).map(|table| {
        let (read, largest) = (all - table.rows / 2.0, table.rows);
        Ok::<_, DataFusionError>(Cut { plan: divided(plan, &table.path)?, read, largest })
    });
    let is_worth_it = |cut: &Cut| cut.is_worth_it(all, rows_min, given);
    let by_segments = by_segments.transpose()?.filter(is_worth_it);
    let by_key = by_key(plan)?.filter(is_worth_it);
    Ok(match (by_segments, by_key) {
        (Some(segments), Some(key)) if key.read < BETTER * segments.read => Some(key),
        (segments, key) => segments.or(key),
    })
}

/// A table that can be divided.
struct Divisible {
    rows: f64,
    /// The input of each operator on the way to it, the last one first.
    path: Vec<usize>,
}

/// The largest table whose rows come to the top each by itself.
fn largest(plan: &LogicalPlan) -> Option<Divisible> {
    let through = |input: usize, of: &LogicalPlan| {
        let mut found = largest(of)?;
        found.path.push(input);
        Some(found)
    };
    match plan {
        LogicalPlan::TableScan(scan) if scan.fetch.is_none() => {
            Some(Divisible { rows: rows_of(scan, false)?, path: Vec::new() })
        }
        LogicalPlan::Projection(of) => through(0, &of.input),
        LogicalPlan::Filter(of) => through(0, &of.input),
        LogicalPlan::SubqueryAlias(of) => through(0, &of.input),
        LogicalPlan::Extension(_) => through(0, remembered(plan)?),
        LogicalPlan::Join(join) => {
            let [left, right] = kept(join);
            let left = left.then(|| through(0, &join.left)).flatten();
            let right = right.then(|| through(1, &join.right)).flatten();
            let both = left.into_iter().chain(right);
            both.max_by(|one, other| one.rows.total_cmp(&other.rows))
        }
        _ => None,
    }
}

/// Rows that a scan reads, as far as anything is known; `None` if it is of no table of ours, or,
/// unless all are asked for, finds its rows by an index.
fn rows_of(scan: &TableScan, any: bool) -> Option<f64> {
    let provider = source_as_provider(&scan.source).ok()?;
    let source = provider.downcast_ref::<TableSourceOf>()?;
    if Access::choose(&source.table, &scan.filters) != Access::All {
        return any.then_some(FOUND_ROWS);
    }
    Some(source.known()?.num_rows.get_value().copied()? as f64)
}

/// About how many groups there are by these keys: as many as combinations of their values, as far
/// as anything is known of them.
fn groups_of(plan: &LogicalPlan, keys: &[Expr]) -> PlanResult<f64> {
    let mut groups = 1.0;
    for key in keys {
        let Expr::Column(column) = key else { continue };
        let mut values = None;
        plan.apply(|node| {
            if let LogicalPlan::TableScan(scan) = node {
                values = values.or(values_of(scan, &column.name));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        groups *= values.unwrap_or(1.0);
    }
    Ok(groups)
}

/// About how many values a column of a scan has, if it has such a column and that is known.
fn values_of(scan: &TableScan, column: &str) -> Option<f64> {
    let provider = source_as_provider(&scan.source).ok()?;
    let known = provider.downcast_ref::<TableSourceOf>()?.known()?;
    let place = scan.source.schema().index_of(column).ok()?;
    Some(*known.column_statistics.get(place)?.distinct_count.get_value()? as f64)
}

/// Rows of all tables that a plan reads.
fn rows_below(plan: &LogicalPlan) -> PlanResult<f64> {
    let mut rows = 0.0;
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            rows += rows_of(scan, true).unwrap_or(FOUND_ROWS);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(rows)
}

/// Whether a plan needs nothing of the query around it, and answers the same to each task.
fn is_alone(plan: &LogicalPlan) -> PlanResult<bool> {
    let mut is_alone = true;
    plan.apply(|node| {
        is_alone &= !matches!(node, LogicalPlan::RecursiveQuery(_) | LogicalPlan::Subquery(_));
        // Others read its rows, too.
        is_alone &= !is_shared(node);
        node.apply_expressions(|expr| {
            is_alone &= is_of_row(expr);
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(is_alone)
}

/// Whether an expression says something of a row, by itself.
fn is_of_row(expr: &Expr) -> bool {
    let asks_more = expr.exists(|part| {
        use Expr as E;
        Ok(matches!(
            part,
            E::ScalarSubquery(_)
                | E::InSubquery(_)
                | E::Exists(_)
                | E::SetComparison(_)
                | E::OuterReferenceColumn(..)
                | E::Placeholder(_)
        ))
    });
    !expr.is_volatile() && !asks_more.unwrap_or(true)
}

/// The plan whose table at the end of this way is divided by its segments.
fn divided(plan: &LogicalPlan, path: &[usize]) -> PlanResult<LogicalPlan> {
    let path: Vec<usize> = path.iter().rev().copied().collect();
    let LogicalPlan::TableScan(scan) = below(plan, &path) else {
        return Err(Error::internal("what is divided is no table").into());
    };
    let provider = source_as_provider(&scan.source)?;
    let source = provider.downcast_ref::<TableSourceOf>();
    let source = source.ok_or_else(|| Error::internal("a table of somebody else is divided"))?;
    let source = source.divided(Division::Segments);
    with_input(plan, &path, LogicalPlan::TableScan(TableScan { source, ..scan.clone() }))
}

/// The operator at the end of a way through inputs.
fn below<'p>(plan: &'p LogicalPlan, path: &[usize]) -> &'p LogicalPlan {
    path.iter().fold(plan, |plan, &input| plan.inputs().get(input).copied().unwrap_or(plan))
}

/// The plan with another operator at the end of a way.
fn with_input(plan: &LogicalPlan, path: &[usize], end: LogicalPlan) -> PlanResult<LogicalPlan> {
    let Some((&input, behind)) = path.split_first() else { return Ok(end) };
    let mut inputs: Vec<LogicalPlan> = plan.inputs().into_iter().cloned().collect();
    inputs[input] = with_input(&inputs[input], behind, end)?;
    plan.with_new_exprs(plan.expressions(), inputs)
}
