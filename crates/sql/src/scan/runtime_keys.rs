//! What a join says of its keys, as bits that encoded values are compared with.
//!
//! Keys of a join's build side that were collected are bits ([`super::build_keys`]). Other joins
//! tell the scan of their larger side which keys they found as an expression that looks each key
//! up, in a list or by itself: `remanent-exec` makes bits of it, if that is worth it.

use std::sync::Arc;

use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, DynamicFilterTracking, InListExpr, Literal,
};
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_expr_common::physical_expr::snapshot_physical_expr;
use remanent_exec::{Decoded, KeyBounds, KnownKeys};

use super::build_keys::BuildKeys;
use super::condition::Condition;
use super::constant::whole;
use super::frozen::array_of_decoded;
use super::pushed::WantedKeys;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::sql_type::SqlType;

/// What becomes of a runtime filter when a scan begins.
#[derive(Debug)]
pub(crate) struct Decided {
    /// What encoded values are compared with.
    pub(crate) keys: Vec<WantedKeys>,
    /// Whether it says more than they do, so that rows that are left are checked.
    pub(crate) is_left: bool,
}

/// Decides what becomes of a runtime filter of a table of so many rows: the keys of the join that
/// fills it may have been collected, or are asked of it.
///
/// # Errors
/// Whatever the runtime filter meets in evaluating.
pub(crate) fn decide(
    runtime_filter: &Condition,
    build_keys: &[Arc<BuildKeys>],
    table: &Table,
    rows: usize,
) -> Result<Decided> {
    let collected = by_build_keys(runtime_filter, build_keys, table, rows);
    if let Some(decided) = collected.filter(|it| !it.is_left || !it.keys.is_empty()) {
        return Ok(decided);
    }
    Ok(match known_keys(runtime_filter, table, rows)? {
        KnownKeys::Unsuitable => Decided { keys: Vec::new(), is_left: true },
        KnownKeys::Useless => Decided { keys: Vec::new(), is_left: false },
        KnownKeys::Keys(keys) => {
            let wanted = WantedKeys { column: runtime_filter.columns[0], keys: Arc::new(keys) };
            Decided { keys: vec![wanted], is_left: false }
        }
    })
}

/// What the keys that a join has collected say; `None` if they are not there. Of several columns
/// each has its own numbers, which together let more rows through than the join wants: it compares
/// whole keys itself, and faster.
fn by_build_keys(
    runtime_filter: &Condition,
    build_keys: &[Arc<BuildKeys>],
    table: &Table,
    rows: usize,
) -> Option<Decided> {
    let filter = runtime_filter.expr().expression_id()?;
    let sets = build_keys.iter().find(|keys| keys.filter() == filter)?.sets()?;
    let columns = runtime_filter.expr().children();
    let (mut keys, mut is_left) = (Vec::new(), columns.len() != sets.len());
    for (column, set) in columns.into_iter().zip(sets) {
        let column = column.downcast_ref::<Column>();
        let column = column.and_then(|column| runtime_filter.columns.get(column.index()));
        match (column, set) {
            (Some(column), Some(set)) if is_number(&table.columns[*column].sql_type) => {
                if !set.is_useless(rows) {
                    keys.push(WantedKeys { column: *column, keys: set });
                }
            }
            _ => is_left = true,
        }
    }
    Some(Decided { keys, is_left })
}

/// Whether a column's values are numbers that keys of joins are.
fn is_number(sql_type: &SqlType) -> bool {
    sql_type.is_integer() || *sql_type == SqlType::Date
}

/// The keys that a runtime filter about one column allows, in a table of so many rows.
///
/// # Errors
/// Whatever the runtime filter meets in evaluating.
fn known_keys(runtime_filter: &Condition, table: &Table, rows: usize) -> Result<KnownKeys> {
    let [column] = runtime_filter.columns[..] else { return Ok(KnownKeys::Unsuitable) };
    let column = &table.columns[column];
    let sql_type = &column.sql_type;
    let is_final = matches!(
        DynamicFilterTracking::classify(runtime_filter.expr()),
        DynamicFilterTracking::AllComplete
    );
    if !is_final || !is_number(sql_type) {
        return Ok(KnownKeys::Unsuitable);
    }
    let known = snapshot_physical_expr(Arc::clone(runtime_filter.expr()))?;
    let Some(bounds) = bounds_of(&known, sql_type) else { return Ok(KnownKeys::Unsuitable) };
    KnownKeys::find(&bounds, &column.stored, rows, |values| {
        let count = values.len();
        let array = array_of_decoded(Decoded { values, valid: None }, sql_type, None)?;
        Ok(runtime_filter.kept(vec![array], count)?.to_matches())
    })
}

/// The keys of an expression that looks a column up in a list of them, as joins say it.
fn list_of(known: &Arc<dyn PhysicalExpr>, sql_type: &SqlType) -> Option<Vec<i128>> {
    let parts = split_conjunction(known);
    let list = parts.iter().find_map(|part| part.downcast_ref::<InListExpr>())?;
    if list.negated() || list.expr().downcast_ref::<Column>().is_none() {
        return None;
    }
    let keys = list.list().iter().filter_map(|key| {
        let value = key.downcast_ref::<Literal>().map(Literal::value);
        // Nothing is equal to NULL.
        match value {
            Some(value) if value.is_null() => None,
            value => Some(value.and_then(|value| whole(value, sql_type))),
        }
    });
    keys.collect()
}

/// The least and the greatest number that an expression over one column allows, as joins say it,
/// and the numbers, if it has them as a list.
fn bounds_of(known: &Arc<dyn PhysicalExpr>, sql_type: &SqlType) -> Option<KeyBounds> {
    let (mut low, mut high) = (None, None);
    for part in split_conjunction(known) {
        let Some(comparison) = part.downcast_ref::<BinaryExpr>() else { continue };
        if comparison.left().downcast_ref::<Column>().is_none() {
            continue;
        }
        let bound = comparison.right().downcast_ref::<Literal>();
        let bound = bound.and_then(|literal| whole(literal.value(), sql_type));
        match comparison.op() {
            Operator::GtEq => low = bound,
            Operator::LtEq => high = bound,
            _ => {}
        }
    }
    let (low, high) = (low?, high?);
    (low <= high).then(|| KeyBounds { low, high, list: list_of(known, sql_type) })
}
