//! What the parameters and rows of a statement about one key are, without binder or optimiser.
//!
//! A parameter has the type of the column that it is compared with, written to or added to, as
//! PostgreSQL finds types of parameters that are given none.

use std::sync::Arc;

use super::{Change, Key, PointOp, PointPlan, Source};
use crate::catalog::table::Table;
use crate::result::rows::ResultColumn;
use crate::values::sql_type::SqlType;

impl PointPlan {
    /// The types of the parameters and what rows have; `None` if the binder has to say it.
    ///
    /// Types that are given must be those that were found here: with another, the statement may be
    /// wrong or mean something else.
    pub(crate) fn describe(
        &self,
        given: &[SqlType],
    ) -> Option<(Vec<SqlType>, Arc<[ResultColumn]>)> {
        let mut found = Vec::new();
        for (column, source) in self.sources() {
            if let Source::Parameter(number) = source {
                let wanted = parameter_of(&self.table.columns[column].sql_type)?;
                found.resize(found.len().max(number + 1), SqlType::Unknown);
                match &found[*number] {
                    SqlType::Unknown => found[*number] = wanted,
                    other if *other == wanted => {}
                    _ => return None,
                }
            }
        }
        let as_given = given.len() <= found.len()
            && given
                .iter()
                .zip(&found)
                .all(|(given, found)| *given == SqlType::Unknown || is_same(given, found));
        let complete = found.iter().all(|found| *found != SqlType::Unknown);
        let answered = self.op.answered();
        let columns = answered.map_or_else(|| Arc::from([]), |it| Arc::clone(&it.result));
        (as_given && complete).then_some((found, columns))
    }

    /// Where values come from, each with the column that it is for.
    fn sources(&self) -> Vec<(usize, &Source)> {
        let of_key = |key| key_sources(&self.table, key);
        match &self.op {
            PointOp::Select { key, .. } | PointOp::Delete { key, .. } => of_key(key),
            PointOp::Insert { values, .. } => values.iter().enumerate().collect(),
            PointOp::Update { key, changes, .. } => {
                let changes = changes.iter().map(|(column, change)| {
                    let (Change::To(by) | Change::Plus(by) | Change::Minus(by)) = change;
                    (*column, by)
                });
                changes.chain(of_key(key)).collect()
            }
        }
    }
}

fn key_sources<'k>(table: &Table, key: &'k Key) -> Vec<(usize, &'k Source)> {
    table.indexes[key.index].columns.iter().copied().zip(&key.values).collect()
}

/// What a parameter beside a column of this type is; `None` if the binder knows better.
fn parameter_of(column: &SqlType) -> Option<SqlType> {
    match column {
        // Its length is checked when it is written.
        SqlType::Varchar(_) | SqlType::Text => Some(SqlType::Text),
        SqlType::Boolean
        | SqlType::Real
        | SqlType::Double
        | SqlType::Numeric { .. }
        | SqlType::Date
        | SqlType::Time
        | SqlType::Timestamp
        | SqlType::TimestampTz
        | SqlType::Bytea
        | SqlType::Char(_) => Some(column.clone()),
        integer if integer.is_integer() => Some(column.clone()),
        _ => None,
    }
}

/// Whether a type that was given is the one that was found, digits aside.
fn is_same(given: &SqlType, found: &SqlType) -> bool {
    let numeric = |of: &SqlType| matches!(of, SqlType::Numeric { .. });
    given == found || numeric(given) && numeric(found) || given.is_integer() && found.is_integer()
}
