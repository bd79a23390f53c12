//! Conditions of a query on one frozen segment: what encoded values can say of them, and the rest.
//!
//! `remanent-exec` compares encoded values; where it has to know what a condition says of some
//! values, of a dictionary for example, these become an array, on which the condition is evaluated.

use std::ops::Range;
use std::sync::Arc;

use remanent_engine::FrozenRows;
use remanent_exec::{
    ColumnPredicate, Decoded, Evaluation, KeyTally, Matches, NumberRanges, SegmentFilter,
    Selection, TextList, TextPattern, WantedNumbers,
};

use super::condition::Condition;
use super::constant::ComparedColumns;
use super::frozen::array_of_decoded;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::sql_type::SqlType;

/// The keys that a join wants of a column.
#[derive(Clone, Debug)]
pub(crate) struct WantedKeys {
    /// The place of the column among the table's.
    pub(crate) column: usize,
    pub(crate) keys: WantedNumbers,
    /// How many rows they have kept so far.
    pub(crate) tally: Arc<KeyTally>,
}

/// The conditions on one segment.
pub(crate) struct SegmentConditions {
    filter: SegmentFilter,
    /// Places of the conditions that have to be evaluated on values.
    pub(crate) others: Vec<usize>,
}

impl SegmentConditions {
    /// What the conditions say of a segment; `None` if no row of it can meet them.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn new(
        conditions: &[Condition],
        request: &[WantedKeys],
        table: &Table,
        rows: &FrozenRows<'_>,
    ) -> Result<Option<Self>> {
        let (mut filter, mut others) = (SegmentFilter::default(), Vec::new());
        for (place, condition) in conditions.iter().enumerate() {
            let evaluation = match (condition.columns.as_slice(), &condition.compared) {
                (&[column], _) => {
                    let of = &table.columns[column];
                    let predicate = OnColumn { condition, sql_type: &of.sql_type };
                    filter.add(rows, of.handle, &predicate)?
                }
                (_, Some(ComparedColumns { left, right, comparison })) => {
                    let handle = |place: &usize| table.columns[*place].handle;
                    filter.add_comparison(rows, handle(left), *comparison, handle(right))?
                }
                _ => Evaluation::Decoded,
            };
            match evaluation {
                Evaluation::NoRow => return Ok(None),
                Evaluation::Encoded => {}
                Evaluation::Decoded => others.push(place),
            }
        }
        let mut request: Vec<&WantedKeys> = request.iter().collect();
        request.retain(|wanted| !wanted.tally.is_useless());
        request.sort_by(|one, other| {
            one.tally.share(&one.keys).total_cmp(&other.tally.share(&other.keys))
        });
        for WantedKeys { column, keys, tally } in request {
            let column = table.columns[*column].handle;
            if filter.add_keys(rows, column, keys, tally)? == Evaluation::NoRow {
                return Ok(None);
            }
        }
        Ok(Some(Self { filter, others }))
    }

    /// Whether the least and the greatest values of a segment say that no row of it can meet the
    /// conditions. Nothing is read for it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn exclude<'c>(
        conditions: impl Iterator<Item = &'c Condition>,
        request: &[WantedKeys],
        table: &Table,
        rows: &FrozenRows<'_>,
    ) -> Result<bool> {
        for condition in conditions {
            if let [column] = condition.columns[..] {
                let of = &table.columns[column];
                let predicate = OnColumn { condition, sql_type: &of.sql_type };
                if SegmentFilter::is_excluded(rows, of.handle, &predicate)? {
                    return Ok(true);
                }
            }
        }
        for WantedKeys { column, keys, tally } in request {
            let handle = table.columns[*column].handle;
            if !tally.is_useless() && SegmentFilter::has_no_key(rows, handle, keys)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Adds a condition on one column that is checked again elsewhere; false if no row can meet it.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn add(
        &mut self,
        condition: &Condition,
        table: &Table,
        rows: &FrozenRows<'_>,
    ) -> Result<bool> {
        let [column] = condition.columns[..] else { return Ok(true) };
        let of = &table.columns[column];
        let predicate = OnColumn { condition, sql_type: &of.sql_type };
        Ok(self.filter.add(rows, of.handle, &predicate)? != Evaluation::NoRow)
    }

    /// The rows of a stretch that are seen, and of which encoded values do not say that they do not
    /// meet the conditions.
    ///
    /// # Errors
    /// As the engine.
    pub(crate) fn select(&self, rows: &FrozenRows<'_>, stretch: Range<usize>) -> Result<Selection> {
        Ok(self.filter.select(rows, stretch)?)
    }
}

/// A condition on one column of this type.
pub(super) struct OnColumn<'c> {
    pub(super) condition: &'c Condition,
    pub(super) sql_type: &'c SqlType,
}

impl ColumnPredicate for OnColumn<'_> {
    fn ranges(&self) -> Option<&NumberRanges> {
        self.condition.ranges.as_ref()
    }

    fn pattern(&self) -> Option<&Arc<dyn TextPattern>> {
        self.condition.pattern.as_ref()
    }

    fn texts(&self) -> Option<&TextList> {
        self.condition.texts.as_ref()
    }

    fn matches(&self, values: Decoded<'_>) -> Option<Matches> {
        let count = values.values.len();
        let array = array_of_decoded(values, self.sql_type, None).ok()?;
        Some(self.condition.kept(vec![array], count).ok()?.to_matches())
    }
}
