//! What frozen segments say of their columns, put together.
//!
//! A segment speaks for its rows if it has sketches; what has changed in it since it was frozen is
//! not seen, until it is frozen again.

use std::ops::Range;

use remanent_engine::{DistinctSketch, EncodingSummary, FrozenRows, ReadTransaction};

use super::Bounds;
use crate::catalog::table::{Column, Table};
use crate::error::Result;
use crate::values::datum::Datum;

/// Row ids of a segment.
const SEGMENT: u64 = 65_536;

/// The frozen segments of a table that have sketches.
pub(super) struct Segments {
    /// Rows that are seen in them.
    pub(super) rows: usize,
    /// Whether all of their rows are seen.
    pub(super) are_unchanged: bool,
    pub(super) columns: Vec<SegmentColumn>,
    /// Their first row ids, in ascending order.
    starts: Vec<u64>,
}

/// A column in all of them.
#[derive(Default)]
pub(super) struct SegmentColumn {
    pub(super) nulls: usize,
    pub(super) bounds: Bounds,
    pub(super) sketch: DistinctSketch,
}

impl Segments {
    pub(super) fn of(tx: &ReadTransaction<'_>, table: &Table) -> Result<Self> {
        let columns = table.columns.iter().map(|_| SegmentColumn::default()).collect();
        let mut all = Self { rows: 0, are_unchanged: true, columns, starts: Vec::new() };
        let mut pieces = tx.scan_pieces(&table.handle)?;
        while let Some(rows) = pieces.next_frozen() {
            // All columns of a segment have a sketch, or none.
            let first =
                table.columns.first().map(|column| rows.summary(column.handle)).transpose()?;
            if first.and_then(|column| column.sketch()).is_none() {
                continue;
            }
            let seen = rows.visible_count();
            all.rows += seen;
            all.are_unchanged &= seen == rows.len();
            all.starts.push(rows.first_row());
            for (of, column) in table.columns.iter().zip(&mut all.columns) {
                column.add(&rows, of, seen as f64 / rows.len() as f64)?;
            }
        }
        Ok(all)
    }

    /// The row ids that are in none of them.
    pub(super) fn others(&self, rows_max: u64) -> Vec<Range<u64>> {
        let mut others = Vec::new();
        let mut from = 0;
        for start in self.starts.iter().chain([&rows_max]) {
            if from < *start {
                others.push(from..*start);
            }
            from = start + SEGMENT;
        }
        others
    }
}

impl SegmentColumn {
    /// Adds a segment, of whose rows such a share is seen.
    fn add(&mut self, rows: &FrozenRows<'_>, of: &Column, share: f64) -> Result<()> {
        let column = rows.summary(of.handle)?;
        self.nulls += (column.null_count() as f64 * share) as usize;
        if let Some(sketch) = column.sketch() {
            self.sketch.merge(&sketch);
        }
        let mut add = |least, greatest| {
            self.bounds.add(Datum::from_value(least, &of.sql_type));
            self.bounds.add(Datum::from_value(greatest, &of.sql_type));
        };
        match (column.min().zip(column.max()), column.encoding()) {
            (Some((least, greatest)), _) => add(least, greatest),
            (None, EncodingSummary::Strings | EncodingSummary::Dictionary { values: None, .. }) => {
                // They stand among the rows.
                let column = rows.column(of.handle)?;
                match column.min().zip(column.max()) {
                    Some((least, greatest)) => add(least, greatest),
                    None => self.bounds.are_unknown = true,
                }
            }
            (None, EncodingSummary::Constant(value)) if value.is_null() => {}
            (None, _) => self.bounds.are_unknown = true,
        }
        Ok(())
    }
}
