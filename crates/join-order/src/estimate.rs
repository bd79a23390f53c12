//! How many rows a plan gives, and how many different values its columns have.
//!
//! Statistics come from the scans' providers; every operator above passes on what it leaves of
//! them. What always holds: rows are at least one, and a column's distinct count is not reduced by
//! predicates on other columns. Whoever needs the values that are left asks [`values_among`]. A
//! provider without statistics is taken for a small table of which nothing is known.

#[cfg(test)]
mod tests;

use datafusion::common::{Column, DFSchema, JoinType, Statistics};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, Distinct, Expr, FetchType, Filter, Join, LogicalPlan, Projection, TableScan,
};

use super::column_estimate::ColumnEstimate;
use super::selectivity::{RANGE_OF_AGGREGATE, Rows};

/// Rows of a table without statistics, and of whatever is not understood.
const ROWS_UNKNOWN: f64 = 1_000.0;

/// What a plan gives.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub(super) rows: f64,
    /// Rows before predicates were applied: no key of the plan has more values.
    pub(super) rows_before: f64,
    /// One for each field of the plan.
    pub(super) columns: Vec<ColumnEstimate>,
}

/// Different values among some rows of a column that has `distinct` ones in all (Cardenas, 1975).
pub(super) fn values_among(distinct: f64, rows: f64) -> f64 {
    let distinct = distinct.max(1.0);
    (distinct * -(-rows / distinct).exp_m1()).clamp(1.0, rows.max(1.0))
}

impl Estimate {
    /// The rows of both.
    fn united(self, other: Self) -> Self {
        let rows = self.rows + other.rows;
        let share = self.rows / rows;
        let columns = self.columns.into_iter().zip(other.columns);
        Self {
            rows,
            rows_before: self.rows_before + other.rows_before,
            columns: columns.map(|(one, other)| one.united(other, share)).collect(),
        }
    }
}

/// What a plan gives.
pub(super) fn estimate(plan: &LogicalPlan) -> Estimate {
    match plan {
        LogicalPlan::TableScan(scan) => of_scan(scan),
        LogicalPlan::Filter(filter) => of_filter(filter),
        LogicalPlan::Projection(projection) => of_projection(projection),
        LogicalPlan::Aggregate(aggregate) => of_aggregate(aggregate),
        LogicalPlan::Join(join) => of_join(join),
        LogicalPlan::SubqueryAlias(alias) => estimate(&alias.input),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let mut input = estimate(input);
            input.rows = groups(input.columns.iter(), input.rows);
            input
        }
        LogicalPlan::Limit(limit) => {
            let mut input = estimate(&limit.input);
            if let Ok(FetchType::Literal(Some(most))) = limit.get_fetch_type() {
                input.rows = input.rows.min(most as f64).max(1.0);
                input.rows_before = input.rows;
            }
            input
        }
        LogicalPlan::Union(union) => {
            let inputs = union.inputs.iter().map(|input| estimate(input));
            inputs.reduce(Estimate::united).unwrap_or_else(|| nothing_known(plan, 1.0))
        }
        LogicalPlan::Values(values) => nothing_known(plan, values.values.len() as f64),
        LogicalPlan::EmptyRelation(_) => nothing_known(plan, 1.0),
        LogicalPlan::Sort(sort) => estimate(&sort.input),
        LogicalPlan::Repartition(repartition) => estimate(&repartition.input),
        LogicalPlan::Subquery(subquery) => estimate(&subquery.subquery),
        // Ours: rows as they are.
        LogicalPlan::Extension(extension) if extension.node.inputs().len() == 1 => {
            estimate(extension.node.inputs()[0])
        }
        other => of_others(other),
    }
}

/// The most rows that an input has; columns keep nothing but their number.
fn of_others(plan: &LogicalPlan) -> Estimate {
    let inputs = plan.inputs();
    let rows = inputs.iter().map(|input| estimate(input).rows).reduce(f64::max);
    nothing_known(plan, rows.unwrap_or(ROWS_UNKNOWN))
}

fn nothing_known(plan: &LogicalPlan, rows: f64) -> Estimate {
    let rows = rows.max(1.0);
    let columns = vec![ColumnEstimate::unknown(rows); plan.schema().fields().len()];
    Estimate { rows, rows_before: rows, columns }
}

/// The statistics of a scan's table, if its provider has any.
pub(super) fn table_statistics(scan: &TableScan) -> Option<Statistics> {
    source_as_provider(&scan.source).ok()?.statistics()
}

fn of_scan(scan: &TableScan) -> Estimate {
    let schema = scan.source.schema();
    let statistics = table_statistics(scan);
    let rows = statistics
        .as_ref()
        .and_then(|statistics| statistics.num_rows.get_value().copied())
        .map_or(ROWS_UNKNOWN, |rows| (rows as f64).max(1.0));
    let mut columns: Vec<ColumnEstimate> = match &statistics {
        Some(statistics) if statistics.column_statistics.len() == schema.fields().len() => {
            let columns = statistics.column_statistics.iter();
            columns.map(|column| ColumnEstimate::from_statistics(column, rows)).collect()
        }
        _ => vec![ColumnEstimate::unknown(rows); schema.fields().len()],
    };
    let positions = |column: &Column| schema.index_of(&column.name).ok();
    let mut kept = Rows { columns: &mut columns, positions: &positions };
    let share: f64 = scan.filters.iter().map(|filter| kept.keep(filter)).product();
    if let Some(projection) = &scan.projection {
        columns = projection.iter().map(|&at| columns[at].clone()).collect();
    }
    let most = scan.fetch.map_or(f64::MAX, |fetch| fetch as f64);
    Estimate { rows: (rows * share).min(most).max(1.0), rows_before: rows, columns }
}

/// A filter over a scan may repeat what the scan was told; that counts once.
fn of_filter(filter: &Filter) -> Estimate {
    let mut input = estimate(&filter.input);
    let told: &[Expr] = match filter.input.as_ref() {
        LogicalPlan::TableScan(scan) => &scan.filters,
        _ => &[],
    };
    let conjuncts = split_conjunction(&filter.predicate);
    for conjunct in conjuncts.into_iter().filter(|conjunct| !told.contains(conjunct)) {
        input.rows = (input.rows * keep(&mut input, filter.input.schema(), conjunct)).max(1.0);
    }
    input
}

/// Applies a predicate to an estimate's columns; the share of rows that stays.
pub(super) fn keep(input: &mut Estimate, schema: &DFSchema, predicate: &Expr) -> f64 {
    let positions = |column: &Column| schema.maybe_index_of_column(column);
    Rows { columns: &mut input.columns, positions: &positions }.keep(predicate)
}

fn of_projection(projection: &Projection) -> Estimate {
    let input = estimate(&projection.input);
    let schema = projection.input.schema();
    let columns = projection.expr.iter().map(|expr| of_expr(expr, schema, &input)).collect();
    Estimate { columns, ..input }
}

/// What is known of a computed column: no more values than its arguments have together.
pub(super) fn of_expr(expr: &Expr, schema: &DFSchema, input: &Estimate) -> ColumnEstimate {
    match expr {
        Expr::Alias(alias) => of_expr(&alias.expr, schema, input),
        Expr::Cast(cast) => of_expr(&cast.expr, schema, input),
        Expr::Literal(..) => ColumnEstimate::counted(1.0),
        Expr::Column(column) => match schema.maybe_index_of_column(column) {
            Some(at) => input.columns[at].clone(),
            None => ColumnEstimate::unknown(input.rows),
        },
        _ => {
            let columns = expr.column_refs();
            let positions =
                columns.iter().filter_map(|column| schema.maybe_index_of_column(column));
            let most: f64 = positions.map(|at| input.columns[at].distinct).product();
            ColumnEstimate::unknown(most.min(input.rows_before))
        }
    }
}

fn of_aggregate(aggregate: &Aggregate) -> Estimate {
    let input = estimate(&aggregate.input);
    let schema = aggregate.input.schema();
    let keys: Vec<ColumnEstimate> =
        aggregate.group_expr.iter().map(|expr| of_expr(expr, schema, &input)).collect();
    let rows = groups(keys.iter(), input.rows);
    let fields = aggregate.schema.fields().len();
    let mut columns = keys;
    columns.truncate(fields);
    for key in &mut columns {
        key.distinct = values_among(key.distinct, input.rows);
    }
    columns.resize_with(fields, || ColumnEstimate {
        range_guess: RANGE_OF_AGGREGATE,
        ..ColumnEstimate::unknown(rows)
    });
    Estimate { rows, rows_before: rows, columns }
}

/// Combinations of values that some rows have.
fn groups<'a>(keys: impl Iterator<Item = &'a ColumnEstimate>, rows: f64) -> f64 {
    values_among(keys.map(|key| key.distinct).product::<f64>().min(1e18), rows)
}

/// Joins that are not ordered here are estimated by their keys alone.
fn of_join(join: &Join) -> Estimate {
    let (left, right) = (estimate(&join.left), estimate(&join.right));
    let keys: Vec<(ColumnEstimate, ColumnEstimate)> = join
        .on
        .iter()
        .map(|(one, other)| {
            (of_expr(one, join.left.schema(), &left), of_expr(other, join.right.schema(), &right))
        })
        .collect();
    let mut inner = Estimate {
        rows: left.rows * right.rows * key_share(&keys, left.rows_before, right.rows_before),
        rows_before: left.rows_before.max(right.rows_before),
        columns: left.columns.iter().chain(&right.columns).cloned().collect(),
    };
    if let (Some(filter), JoinType::Inner) = (&join.filter, join.join_type) {
        inner.rows *= keep(&mut inner, &join.schema, filter);
    }
    use JoinType as J;
    let rows = match join.join_type {
        J::Inner => inner.rows,
        J::Left => inner.rows.max(left.rows),
        J::Right => inner.rows.max(right.rows),
        J::Full => inner.rows.max(left.rows + right.rows),
        J::LeftMark => left.rows,
        J::RightMark => right.rows,
        J::LeftSemi | J::LeftAnti | J::RightSemi | J::RightAnti => {
            return of_semi_join(join, left, right);
        }
    };
    let columns = match join.join_type {
        J::LeftMark => with_mark(left.columns),
        J::RightMark => with_mark(right.columns),
        _ => inner.columns,
    };
    Estimate { rows: rows.max(1.0), rows_before: inner.rows_before.max(rows), columns }
}

fn with_mark(mut columns: Vec<ColumnEstimate>) -> Vec<ColumnEstimate> {
    columns.push(ColumnEstimate::counted(2.0));
    columns
}

fn of_semi_join(join: &Join, left: Estimate, right: Estimate) -> Estimate {
    let from_left = matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti);
    let anti = matches!(join.join_type, JoinType::LeftAnti | JoinType::RightAnti);
    let (mut kept, other) = if from_left { (left, right) } else { (right, left) };
    let (kept_schema, other_schema) = if from_left {
        (join.left.schema(), join.right.schema())
    } else {
        (join.right.schema(), join.left.schema())
    };
    let keys: Vec<(ColumnEstimate, ColumnEstimate)> = join
        .on
        .iter()
        .map(|(one, two)| if from_left { (one, two) } else { (two, one) })
        .map(|(one, two)| (of_expr(one, kept_schema, &kept), of_expr(two, other_schema, &other)))
        .collect();
    let keeps = found_share(&keys, &kept, &other, join.filter.is_some());
    kept.rows = (kept.rows * if anti { missed_share(keeps) } else { keeps }).max(1.0);
    if let (false, [(_, values)], Some((one, two))) = (anti, &keys[..], join.on.first()) {
        let key = if from_left { one } else { two };
        if let Expr::Column(column) = key
            && let Some(at) = kept_schema.maybe_index_of_column(column)
        {
            let column = &mut kept.columns[at];
            column.distinct = column.distinct.min(values_among(values.distinct, other.rows));
        }
    }
    kept
}

/// The share of the pairs of two inputs that an equality on these keys leaves.
fn key_share(keys: &[(ColumnEstimate, ColumnEstimate)], left: f64, right: f64) -> f64 {
    let product = |side: &dyn Fn(&(ColumnEstimate, ColumnEstimate)) -> f64| {
        keys.iter().map(side).product::<f64>()
    };
    let (ours, theirs) = (product(&|key| key.0.distinct), product(&|key| key.1.distinct));
    1.0 / match keys {
        [_, _, ..] if ours >= left && theirs >= right => left.min(right),
        _ => ours.min(left).max(theirs.min(right)),
    }
    .max(1.0)
}

/// The share of rows that find a partner among the values of another input.
pub(super) fn found_share(
    keys: &[(ColumnEstimate, ColumnEstimate)],
    kept: &Estimate,
    other: &Estimate,
    has_filter: bool,
) -> f64 {
    let ours = keys.iter().map(|key| key.0.distinct).product::<f64>().min(kept.rows_before);
    let theirs = keys.iter().map(|key| key.1.distinct).product::<f64>().min(other.rows_before);
    let found = values_among(theirs, other.rows) / ours.max(1.0);
    // A further predicate is tried on each of the partners, and one of them is enough.
    let partners = (other.rows / theirs.max(1.0)).max(1.0);
    let passes = if has_filter { 1.0 - 0.5f64.powf(partners) } else { 1.0 };
    (found * passes).clamp(1e-9, 1.0)
}

/// What an anti join leaves; some rows always miss.
pub(super) fn missed_share(found: f64) -> f64 {
    (1.0 - found).max(0.05)
}
