//! Groups by the row of a build side, where that determines the keys.
//!
//! Where no two rows of a build side have one key of the join, and that key is among those that
//! tuples are grouped by, all columns of the build side, and of others that are joined by these,
//! are the same within a group. So tuples are grouped by the number of the row, and the values are
//! read once for each group that goes out. Whether keys are unique is known when the build side has
//! been read. (Functional dependencies: Paulley, Exploiting Functional Dependence in Query
//! Optimization, 2000.)

use datafusion::physical_expr::expressions::Column;
use remanent_exec::{JoinKind, Key, KeyKind};

use super::query::{KeyValues, Query};
use crate::pipeline::flow::Built;
use crate::pipeline::plan::{Expr, Join, Pipeline};
use crate::pipeline::values::Computed;

/// Asks for the key columns of build sides by which tuples may be grouped.
pub(crate) fn ask_for_keys(query: &mut Query, pipeline: &Pipeline) {
    let keys = query.exprs[..query.keys.len()].to_vec();
    for join in pipeline.joins() {
        if let Some(columns) = covering(join, pipeline, &keys) {
            let more = columns.into_iter().map(|column| column_of(pipeline, column));
            query.exprs.extend(more);
        }
    }
}

/// The query with tuples grouped by rows, if the build sides that were read allow it.
pub(crate) fn by_rows(query: &Query, pipeline: &Pipeline, builds: &[&Built]) -> Option<Query> {
    let keys = &query.exprs[..query.keys.len()];
    let joins: Vec<(&Join, &Built)> = pipeline.joins().zip(builds.iter().copied()).collect();
    let candidates = joins.iter().filter_map(|(join, built)| {
        // Rows that no tuple has found come, too, those without a key among them.
        let is_unique = match join.kind {
            JoinKind::Pairs { rows_without: false, .. } => built.table.is_unique(),
            _ => built.table.is_unique_with_nulls(),
        };
        let covering = covering(join, pipeline, keys).filter(|_| is_unique)?;
        let determined = determined(pipeline, &joins, join.relation);
        let values = keys.iter().map(|key| value_of(key, pipeline, join, &covering, &determined));
        Some((*join, values.collect::<Vec<_>>()))
    });
    let replaced = |values: &[Option<usize>]| values.iter().flatten().count();
    let (join, values) = candidates.max_by_key(|(_, values)| replaced(values))?;
    if replaced(&values) < 2 && values.len() > 1 {
        return None;
    }
    let replaced = Replaced { relation: join.relation, values: &values };
    Some(grouped_by_rows(query, pipeline, &joins, &replaced))
}

/// The places of the columns of a join's build side that are its keys, if tuples are grouped by all
/// of these, or by what they are equal to.
fn covering(join: &Join, pipeline: &Pipeline, keys: &[Expr]) -> Option<Vec<usize>> {
    let gives_rows = pipeline.joins().any(Join::gives_rows);
    let (has_rows, has_pairs) = match join.kind {
        JoinKind::Pairs { tuples_without: false, .. } => (true, true),
        JoinKind::Rows { .. } | JoinKind::RowsNotIn | JoinKind::MarkedRows => (true, false),
        _ => (false, false),
    };
    if !has_rows || join.nulls_are_equal {
        return None;
    }
    let columns = join.build_keys.iter().zip(&join.probe_keys).map(|(build, probe)| {
        let place = build.downcast_ref::<Column>()?.index();
        let column = pipeline.places.iter().position(|of| *of == (join.relation, place))?;
        // What a tuple without a row has is another value.
        let is_equal = |key: &Expr| has_pairs && !gives_rows && key == probe;
        keys.iter().any(|key| is_column(key, column) || is_equal(key)).then_some(column)
    });
    columns.collect()
}

/// The relations whose rows are the same for all tuples with one row of a relation.
fn determined(pipeline: &Pipeline, joins: &[(&Join, &Built)], relation: usize) -> Vec<bool> {
    let mut determined = vec![false; pipeline.relations];
    determined[relation] = true;
    for (join, built) in joins {
        let is_of_determined = |key: &Expr| {
            let column = key.downcast_ref::<Column>().map(Column::index);
            column.is_some_and(|column| determined[pipeline.places[column].0])
        };
        let is_plain = join.kind == JoinKind::Pairs { tuples_without: false, rows_without: false };
        let follows = is_plain
            && join.filter.is_none()
            && built.table.is_unique()
            && join.probe_keys.iter().all(is_of_determined);
        determined[join.relation] |= follows;
    }
    determined
}

/// The column that has the value of a key, if a row determines it.
fn value_of(
    key: &Expr,
    pipeline: &Pipeline,
    join: &Join,
    covering: &[usize],
    determined: &[bool],
) -> Option<usize> {
    if let Some(column) = key.downcast_ref::<Column>().map(Column::index)
        && determined[pipeline.places[column].0]
    {
        return Some(column);
    }
    let equal = join.probe_keys.iter().position(|probe| probe == key)?;
    Some(covering[equal])
}

/// What a row determines.
struct Replaced<'v> {
    /// The relation that it is a row of.
    relation: usize,
    /// For each key the column that has its value, if it is determined.
    values: &'v [Option<usize>],
}

/// The query with the keys that rows determine replaced by these rows.
fn grouped_by_rows(
    query: &Query,
    pipeline: &Pipeline,
    joins: &[(&Join, &Built)],
    Replaced { relation, values }: &Replaced<'_>,
) -> Query {
    let determines_all = values.iter().all(Option::is_some);
    let mut changed = query.clone();
    changed.plan.keys.clear();
    changed.keys.clear();
    changed.plan.first_determines = determines_all;
    // The row that determines others comes first.
    let mut rows = vec![*relation];
    if determines_all {
        for column in values.iter().flatten() {
            let relation = pipeline.places[*column].0;
            if !rows.contains(&relation) {
                rows.push(relation);
            }
        }
    }
    for relation in &rows {
        let built = joins.iter().find(|(join, _)| join.relation == *relation);
        // The row behind the last stands for none.
        let count = built.map_or(0, |(_, built)| built.table.rows() + 1);
        let kind = KeyKind::Row { relation: *relation, rows: count };
        changed.plan.keys.push(Key { column: None, nullable: false, kind });
        changed.keys.push(Computed::none());
    }
    let key_values = values.iter().enumerate().map(|(place, column)| {
        let of_row = column.and_then(|column| {
            let relation = pipeline.places[column].0;
            let key = rows.iter().position(|row| *row == relation)?;
            Some(KeyValues::OfRow { key, column })
        });
        of_row.unwrap_or_else(|| {
            changed.plan.keys.push(query.plan.keys[place].clone());
            changed.keys.push(query.keys[place].clone());
            KeyValues::Key(changed.keys.len() - 1)
        })
    });
    changed.key_values = key_values.collect();
    changed
}

fn is_column(key: &Expr, column: usize) -> bool {
    key.downcast_ref::<Column>().is_some_and(|key| key.index() == column)
}

fn column_of(pipeline: &Pipeline, column: usize) -> Expr {
    let name = pipeline.columns.field(column).name();
    std::sync::Arc::new(Column::new(name, column))
}
