//! What the optimiser is told of a table: how many rows, how many distinct values, between which.
//!
//! Frozen segments say it of themselves: extremes, nulls, and a sketch of distinct values, which
//! are put together without reading a row, after a restart as well. Other rows are sampled. All is
//! taken when a table is first planned with, and again when it has grown or shrunk by a quarter
//! since.

mod sampled;
mod segments;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use remanent_engine::{Database, ReadTransaction};

use super::table::{Column, Table};
use crate::error::Result;
use crate::values::datum::Datum;
use sampled::{Sample, SampledColumn};
use segments::{SegmentColumn, Segments};

/// The statistics of all tables that were asked for.
#[derive(Default)]
pub(crate) struct Known {
    tables: Mutex<HashMap<u32, Entry>>,
}

struct Entry {
    rows_max: u64,
    statistics: Arc<Statistics>,
}

impl Known {
    /// The statistics of a table; none if it cannot be read.
    pub(crate) fn of(&self, database: &Database, table: &Table) -> Option<Arc<Statistics>> {
        let tx = database.begin_read().ok()?;
        let rows_max = tx.rows_max(&table.handle).ok()?;
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = tables.get(&table.handle.number())
            && rows_max.abs_diff(entry.rows_max) <= entry.rows_max / 4
        {
            return Some(Arc::clone(&entry.statistics));
        }
        let statistics = Arc::new(taken(&tx, table, rows_max).ok()?);
        let entry = Entry { rows_max, statistics: Arc::clone(&statistics) };
        tables.insert(table.handle.number(), entry);
        Some(statistics)
    }

    /// Forgets what is known of a table.
    pub(crate) fn forget(&self, table: &Table) {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        tables.remove(&table.handle.number());
    }
}

/// What segments say, and a sample of the rows that are in none.
fn taken(tx: &ReadTransaction<'_>, table: &Table, rows_max: u64) -> Result<Statistics> {
    let segments = Segments::of(tx, table)?;
    let sample = Sample::of(tx, table, &segments.others(rows_max))?;
    let rows = segments.rows + sample.rows;
    let is_exact = segments.are_unchanged && sample.is_whole;
    let told = |rows| if is_exact { Precision::Exact(rows) } else { Precision::Inexact(rows) };
    let columns = table.columns.iter().zip(segments.columns).zip(sample.columns);
    let described = columns.enumerate().map(|(place, ((column, in_segments), sampled))| {
        let distinct = is_key(table, place).then_some(rows);
        described(column, in_segments, sampled, rows, distinct)
    });
    Ok(Statistics {
        num_rows: told(rows),
        total_byte_size: Precision::Absent,
        column_statistics: described.collect(),
    })
}

/// Whether a column alone is a unique key.
fn is_key(table: &Table, column: usize) -> bool {
    table.indexes.iter().any(|index| index.unique && index.columns == [column])
}

/// What is known of a column of so many rows, whose distinct values are known if it is a key.
fn described(
    column: &Column,
    mut in_segments: SegmentColumn,
    sampled: SampledColumn,
    rows: usize,
    distinct: Option<usize>,
) -> ColumnStatistics {
    let nulls = in_segments.nulls + sampled.nulls();
    let distinct = distinct.unwrap_or_else(|| {
        let known = in_segments.sketch.estimate();
        in_segments.sketch.merge(&sampled.sketch);
        // Of the values outside segments, so many are in none of them.
        let new = (in_segments.sketch.estimate() - known).max(0.0) / sampled.different().max(1.0);
        let distinct = (known + sampled.distinct() * new.min(1.0)).round() as usize;
        distinct.min(rows.saturating_sub(nulls))
    });
    let mut bounds = in_segments.bounds;
    bounds.add_all(sampled.bounds);
    let scalar = |bound: Option<Datum>| {
        let arrow = column.sql_type.to_arrow();
        let scalar = bound.and_then(|bound| bound.to_scalar(&column.sql_type).ok());
        let cast = scalar.and_then(|scalar: ScalarValue| scalar.cast_to(&arrow).ok());
        cast.map_or(Precision::Absent, Precision::Inexact)
    };
    let (least, greatest) = bounds.into_ends();
    ColumnStatistics {
        null_count: Precision::Inexact(nulls),
        max_value: scalar(greatest),
        min_value: scalar(least),
        distinct_count: Precision::Inexact(distinct),
        ..ColumnStatistics::new_unknown()
    }
}

/// The least and the greatest of some values.
#[derive(Default)]
struct Bounds {
    ends: Option<(Datum, Datum)>,
    /// Whether there are values that were not compared.
    are_unknown: bool,
}

impl Bounds {
    fn add(&mut self, value: Datum) {
        match &mut self.ends {
            None => self.ends = Some((value.clone(), value)),
            Some((least, _)) if less(&value, least) => *least = value,
            Some((_, greatest)) if less(greatest, &value) => *greatest = value,
            Some(_) => {}
        }
    }

    fn add_all(&mut self, others: Self) {
        self.are_unknown |= others.are_unknown;
        if let Some((least, greatest)) = others.ends {
            self.add(least);
            self.add(greatest);
        }
    }

    /// Whether a text is within them.
    fn have_text(&self, text: &str) -> bool {
        let Some((Datum::Text(least), Datum::Text(greatest))) = &self.ends else { return false };
        (&**least..=&**greatest).contains(&text)
    }

    fn into_ends(self) -> (Option<Datum>, Option<Datum>) {
        self.ends.filter(|_| !self.are_unknown).unzip()
    }
}

fn less(one: &Datum, other: &Datum) -> bool {
    use Datum as D;
    match (one, other) {
        (D::Int(a), D::Int(b)) => a < b,
        (D::UInt(a), D::UInt(b)) => a < b,
        (D::Real(a), D::Real(b)) => a < b,
        (D::Double(a), D::Double(b)) => a < b,
        (D::Decimal(a, _), D::Decimal(b, _)) => a < b,
        (D::Date(a), D::Date(b)) => a < b,
        (
            D::Time(a) | D::Timestamp(a) | D::TimestampTz(a),
            D::Time(b) | D::Timestamp(b) | D::TimestampTz(b),
        ) => a < b,
        (D::Text(a), D::Text(b)) => a < b,
        (D::Bytes(a), D::Bytes(b)) => a < b,
        _ => false,
    }
}
