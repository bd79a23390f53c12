//! Dividing a query by the values of a key: each task does all of it for a range of values.
//!
//! Rows that have the same value of a key meet in joins and groups by it, and no others do. So
//! where one table is read for a range, all that it meets by the key needs no more: no task reads
//! what others read, and groups are whole. What has no such key, each task reads by itself.

use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Column, JoinType, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result as PlanResult;
use datafusion::logical_expr::{Aggregate, Expr, Join, LogicalPlan, TableScan};

use super::{Cut, FOUND_ROWS, below, rows_below, rows_of, with_input};
use crate::rules::strip_dependencies::remembered;
use crate::scan::condition::of_task::can_divide;
use crate::scan::provider::TableSourceOf;
use crate::workers::Division;

/// What a task of two reads of a table whose rows do not lie in the order of the key: the key of
/// all rows, and the rest of its own.
const APART: f64 = 0.65;
/// The same where they do.
const TOGETHER: f64 = 0.5;
/// The same where they do not, and a join looks up the key of each row in any case: there is not
/// much else to be left out.
const SOUGHT: f64 = 0.9;
/// Ways to divide a plan that are considered.
const WAYS_MAX: usize = 32;

/// The way to divide a plan of which a task reads least; `None` if there is none.
///
/// # Errors
/// A fault of DataFusion's.
pub(super) fn by_key(plan: &LogicalPlan) -> PlanResult<Option<Cut>> {
    let mut ways = Vec::new();
    ways_of(plan, &mut Vec::new(), &mut ways);
    let mut best: Option<(Looking, &Way)> = None;
    let all = rows_below(plan)?;
    for way in ways.iter().take(WAYS_MAX) {
        let read = all - rows_below(below(plan, &way.path))?;
        let mut looking = Looking { read, ..Looking::default() };
        let can_be = looking.restricted(below(plan, &way.path), vec![way.key.clone()])?.is_some();
        let is_best = best.as_ref().is_none_or(|(best, _)| looking.read < best.read);
        if can_be && looking.bounds.is_some() && is_best {
            best = Some((looking, way));
        }
    }
    let Some((Looking { read, largest, bounds: Some(bounds), .. }, way)) = best else {
        return Ok(None);
    };
    let mut dividing = Looking { found: Some(bounds), ..Looking::default() };
    let divided = dividing.restricted(below(plan, &way.path), vec![way.key.clone()])?;
    let plan = divided.map(|divided| with_input(plan, &way.path, divided)).transpose()?;
    Ok(plan.map(|plan| Cut { plan, read, largest }))
}

/// An operator within a plan, and a column of its rows.
struct Way {
    /// The input of each operator on the way to it, the first one first.
    path: Vec<usize>,
    key: Column,
}

/// Where a plan could be divided: its rows are those of the operator there, each by itself.
fn ways_of(plan: &LogicalPlan, path: &mut Vec<usize>, ways: &mut Vec<Way>) {
    let mut through = |input: usize, plan: &LogicalPlan, ways: &mut Vec<Way>| {
        path.push(input);
        ways_of(plan, path, ways);
        path.pop();
    };
    match plan {
        LogicalPlan::Projection(of) => through(0, &of.input, ways),
        LogicalPlan::Filter(of) => through(0, &of.input, ways),
        LogicalPlan::SubqueryAlias(of) => through(0, &of.input, ways),
        LogicalPlan::Extension(_) => {
            if let Some(input) = remembered(plan) {
                through(0, input, ways);
            }
        }
        LogicalPlan::Join(join) => {
            let [left, right] = kept(join);
            if left {
                through(0, &join.left, ways);
            }
            if right {
                through(1, &join.right, ways);
            }
            let of_side = |(one, other): &(Expr, Expr)| {
                let key = [(left, one), (right, other)].into_iter().find(|(is_kept, _)| *is_kept);
                key.and_then(|(_, key)| key.try_as_col().cloned())
            };
            let keys = join.on.iter().filter_map(of_side);
            ways.extend(keys.map(|key| Way { path: path.clone(), key }));
        }
        LogicalPlan::Aggregate(aggregate) => {
            let columns = aggregate.schema.columns().into_iter();
            let keys =
                columns.zip(&aggregate.group_expr).filter(|(_, key)| column_of(key).is_some());
            ways.extend(keys.map(|(key, _)| Way { path: path.clone(), key }));
        }
        _ => {}
    }
}

/// Which sides' rows are those of a join, each as often as it finds others, or once.
pub(super) fn kept(join: &Join) -> [bool; 2] {
    use JoinType as J;
    match join.join_type {
        J::Inner => [true, true],
        J::Left | J::LeftSemi | J::LeftAnti | J::LeftMark => [true, false],
        J::Right | J::RightSemi | J::RightAnti | J::RightMark => [false, true],
        J::Full => [false, false],
    }
}

/// The column that an expression is, under whatever name.
fn column_of(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Alias(alias) => column_of(&alias.expr),
        other => other.try_as_col(),
    }
}

/// Whole numbers, and the rows of the table in which they lie between these.
#[derive(Clone, Copy)]
struct Bounds {
    rows: f64,
    low: i64,
    high: i64,
}

/// Looks what could be divided; or divides it, once that was found.
#[derive(Default)]
struct Looking {
    found: Option<Bounds>,
    read: f64,
    largest: f64,
    /// Those of the largest table.
    bounds: Option<Bounds>,
    /// Whether a join by the key finds few of the rows.
    sought: bool,
}

impl Looking {
    /// The plan that gives those rows in which equal columns of its rows have a value in the range
    /// of a task; `None` if that cannot be said of what it reads.
    fn restricted(
        &mut self,
        plan: &LogicalPlan,
        keys: Vec<Column>,
    ) -> PlanResult<Option<LogicalPlan>> {
        let (input, keys) = match plan {
            LogicalPlan::TableScan(scan) => return self.scan(scan, &keys),
            LogicalPlan::Join(join) => return self.join(join, keys),
            LogicalPlan::Filter(of) => (of.input.as_ref(), keys),
            LogicalPlan::Extension(_) => match remembered(plan) {
                Some(input) => (input, keys),
                None => return Ok(None),
            },
            LogicalPlan::SubqueryAlias(of) => {
                let pairs = of.schema.columns().into_iter().zip(of.input.schema().columns());
                (
                    of.input.as_ref(),
                    pairs.filter(|(key, _)| keys.contains(key)).map(|(_, of)| of).collect(),
                )
            }
            LogicalPlan::Projection(of) => {
                (of.input.as_ref(), taken(of.schema.columns().into_iter().zip(&of.expr), &keys))
            }
            LogicalPlan::Aggregate(of) => (of.input.as_ref(), group_keys(of, &keys)),
            _ => return Ok(None),
        };
        if keys.is_empty() {
            return Ok(None);
        }
        let restricted = self.restricted(input, keys)?;
        restricted.map(|input| plan.with_new_exprs(plan.expressions(), vec![input])).transpose()
    }

    fn scan(&mut self, scan: &TableScan, keys: &[Column]) -> PlanResult<Option<LogicalPlan>> {
        let provider = source_as_provider(&scan.source)?;
        let Some(source) = provider.downcast_ref::<TableSourceOf>() else { return Ok(None) };
        let columns = scan.projected_schema.columns();
        let key = columns.iter().find(|column| keys.contains(column));
        let place = key.and_then(|key| source.table.column(&key.name));
        let Some((key, place)) = key.zip(place).filter(|_| scan.fetch.is_none()) else {
            return Ok(None);
        };
        if !can_divide(&source.table, place) {
            return Ok(None);
        }
        if let Some(Bounds { low, high, .. }) = self.found {
            let division = Division::Keys { column: place, low, high };
            let divided = TableScan { source: source.divided(division), ..scan.clone() };
            return Ok(Some(LogicalPlan::TableScan(divided)));
        }
        // What an index leads to is little.
        let Some(rows) = rows_of(scan, false) else {
            self.read += FOUND_ROWS;
            return Ok(Some(LogicalPlan::TableScan(scan.clone())));
        };
        let is_in_order =
            source.table.primary().is_some_and(|index| index.columns.first() == Some(&place));
        self.read += rows
            * match is_in_order {
                true => TOGETHER,
                false if self.sought => SOUGHT,
                false => APART,
            };
        self.largest = self.largest.max(rows);
        let known = source.known().and_then(|known| {
            let place = scan.source.schema().index_of(&key.name).ok()?;
            let known = known.column_statistics.get(place)?;
            Some((known.min_value.get_value()?.clone(), known.max_value.get_value()?.clone()))
        });
        if let Some((low, high)) = known
            && let (Some(low), Some(high)) = (whole(&low), whole(&high))
            && self.bounds.is_none_or(|bounds| bounds.rows < rows)
        {
            self.bounds = Some(Bounds { rows, low, high });
        }
        Ok(Some(LogicalPlan::TableScan(scan.clone())))
    }

    fn join(&mut self, join: &Join, keys: Vec<Column>) -> PlanResult<Option<LogicalPlan>> {
        let of_side = |side: &LogicalPlan| {
            let own = |key: &&Column| side.schema().has_column(key);
            keys.iter().filter(own).cloned().collect::<Vec<_>>()
        };
        let mut sides = [of_side(&join.left), of_side(&join.right)];
        let kept = kept(join);
        // What a side without rows of its own has is NULL, too: of it, only what this join makes
        // equal to the other side can be left out.
        sides.iter_mut().zip(kept).filter(|(_, is_kept)| !is_kept).for_each(|(keys, _)| {
            keys.clear();
        });
        if sides.iter().all(Vec::is_empty) {
            return Ok(None);
        }
        let is_by_key = with_equal_keys(join, &mut sides);
        // The rows of these joins are some of each side's: one of which is restricted is enough.
        let one_is_enough =
            matches!(join.join_type, JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi);
        let mut is_restricted = [false; 2];
        let mut inputs = Vec::with_capacity(2);
        let both = [&join.left, &join.right];
        let sought = self.sought;
        for (place, input) in both.into_iter().enumerate() {
            let before = (self.read, self.largest, self.bounds);
            let is_sought = one_is_enough && is_by_key && has_conditions(both[1 - place]);
            self.sought = sought || is_sought;
            let keys = std::mem::take(&mut sides[place]);
            let restricted = match keys.is_empty() {
                true => None,
                false => self.restricted(input, keys)?,
            };
            is_restricted[place] = restricted.is_some();
            inputs.push(match restricted {
                Some(input) => input,
                None => {
                    (self.read, self.largest, self.bounds) = before;
                    self.read += rows_below(input)?;
                    input.as_ref().clone()
                }
            });
        }
        self.sought = sought;
        let is_enough = match one_is_enough {
            true => is_restricted != [false; 2],
            false => is_restricted[usize::from(!kept[0])],
        };
        let plan = LogicalPlan::Join(join.clone());
        let restricted = is_enough.then(|| plan.with_new_exprs(plan.expressions(), inputs));
        restricted.transpose()
    }
}

/// Adds the columns that a join makes equal to keys of its other side; whether it does so with any.
fn with_equal_keys(join: &Join, sides: &mut [Vec<Column>; 2]) -> bool {
    let mut is_by_key = false;
    for (left, right) in &join.on {
        let (Some(left), Some(right)) = (left.try_as_col(), right.try_as_col()) else {
            continue;
        };
        let (in_left, in_right) = (sides[0].contains(left), sides[1].contains(right));
        is_by_key |= in_left || in_right;
        // Whether one side has a NULL at all may matter to each row of the other.
        if in_left && !in_right && !join.null_aware {
            sides[1].push(right.clone());
        }
        if in_right && !in_left && !join.null_aware {
            sides[0].push(left.clone());
        }
    }
    is_by_key
}

/// Whether some rows of a table are left out below.
fn has_conditions(plan: &LogicalPlan) -> bool {
    let found = plan.exists(|node| {
        Ok(match node {
            LogicalPlan::TableScan(scan) => !scan.filters.is_empty(),
            LogicalPlan::Filter(_) => true,
            _ => false,
        })
    });
    found.unwrap_or(false)
}

/// The columns that the values of keys are of, below.
fn taken<'e>(items: impl Iterator<Item = (Column, &'e Expr)>, keys: &[Column]) -> Vec<Column> {
    let items = items.filter(|(column, _)| keys.contains(column));
    items.filter_map(|(_, item)| column_of(item).cloned()).collect()
}

/// The same of keys of groups.
fn group_keys(aggregate: &Aggregate, keys: &[Column]) -> Vec<Column> {
    if aggregate.group_expr.iter().any(|key| matches!(key, Expr::GroupingSet(_))) {
        return Vec::new();
    }
    taken(aggregate.schema.columns().into_iter().zip(&aggregate.group_expr), keys)
}

fn whole(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int32(value) => value.map(i64::from),
        ScalarValue::Int64(value) => *value,
        _ => None,
    }
}
