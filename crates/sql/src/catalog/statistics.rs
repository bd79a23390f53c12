//! What the optimiser is told of a table: how many rows, how many distinct values, between which.
//!
//! Taken from a sample of rows when a table is first planned with, and again when it has grown or
//! shrunk by a quarter since. Distinct values are estimated from how many values the sample has
//! once (Haas and Stokes, JASA 1998, the estimator that PostgreSQL uses); there are no more of them
//! than there are runs of one value, which some rows are compared with the next one for.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use remanent_engine::schema::Value;
use remanent_engine::{Database, ReadTransaction, Row, RowId};

use super::table::{Column, Table};
use crate::error::Result;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Rows of a sample; smaller tables are read whole.
const SAMPLE: u64 = 10_000;

/// Of so many sampled rows one is compared with the row behind it.
const COMPARED: u64 = 4;

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
        let statistics = Arc::new(sample(&tx, table, rows_max).ok()?);
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

/// What is counted of a column.
#[derive(Default)]
struct Counted {
    /// How often each value is in the sample, by its hash.
    values: HashMap<u64, u32>,
    nulls: u64,
    least: Option<Datum>,
    greatest: Option<Datum>,
    /// Rows that were compared with the next one, and those of them that begin a run.
    compared: u64,
    runs: u64,
}

fn sample(tx: &ReadTransaction<'_>, table: &Table, rows_max: u64) -> Result<Statistics> {
    let mut columns: Vec<Counted> = table.columns.iter().map(|_| Counted::default()).collect();
    let mut sampled = 0_u64;
    let mut note = |row: &Row<'_>| {
        sampled += 1;
        for (column, counted) in table.columns.iter().zip(&mut columns) {
            counted.note(row.value(column.handle), &column.sql_type);
        }
    };
    let (mut asked, mut pairs) = (rows_max, Vec::new());
    if rows_max <= SAMPLE {
        tx.scan(&table.handle)?.for_each(|row| note(&row));
    } else {
        asked = SAMPLE;
        // Evenly spread, a little apart from any rhythm in the rows.
        let step = rows_max as f64 / SAMPLE as f64;
        for number in 0..SAMPLE {
            let shift = (number.wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
            let at = ((number as f64 + shift) * step) as u64;
            let Some(id) = RowId::from_number(at) else { continue };
            let Some(row) = tx.row(&table.handle, id)? else { continue };
            note(&row);
            let next = RowId::from_number(at + 1).filter(|_| number % COMPARED == 0);
            if let Some(next) = next.map(|id| tx.row(&table.handle, id)).transpose()?.flatten() {
                pairs.push([row, next]);
            }
        }
    }
    for [row, next] in &pairs {
        for (column, counted) in table.columns.iter().zip(&mut columns) {
            let is_same = row.value(column.handle) == next.value(column.handle);
            counted.compared += 1;
            counted.runs += u64::from(!is_same);
        }
    }
    let share = if asked == 0 { 0.0 } else { sampled as f64 / asked as f64 };
    let rows = (rows_max as f64 * share).round() as usize;
    let whole = rows_max <= SAMPLE;
    let told =
        |count: usize| if whole { Precision::Exact(count) } else { Precision::Inexact(count) };
    let described =
        table.columns.iter().enumerate().zip(columns).map(|((place, column), counted)| {
            counted.described(column, rows, sampled, is_key(table, place))
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

impl Counted {
    fn note(&mut self, value: Value<'_>, sql_type: &SqlType) {
        if let Value::String(text) = value
            && let (Some(Datum::Text(least)), Some(Datum::Text(greatest))) =
                (&self.least, &self.greatest)
            && (&**least..=&**greatest).contains(&text)
        {
            // Texts are copied where they are an end, and nowhere else.
            return self.count(hash_of(&text));
        }
        let datum = Datum::from_value(value, sql_type);
        if datum.is_null() {
            self.nulls += 1;
            return;
        }
        self.count(hash_of_datum(&datum));
        let below = |bound: &Datum| less(&datum, bound);
        if self.least.as_ref().is_none_or(below) {
            self.least = Some(datum.clone());
        }
        let above = |bound: &Datum| less(bound, &datum);
        if self.greatest.as_ref().is_none_or(above) {
            self.greatest = Some(datum);
        }
    }

    fn count(&mut self, hash: u64) {
        *self.values.entry(hash).or_default() += 1;
    }

    fn described(
        self,
        column: &Column,
        rows: usize,
        sampled: u64,
        is_key: bool,
    ) -> ColumnStatistics {
        let nulls = match sampled {
            0 => 0,
            _ => (self.nulls as f64 / sampled as f64 * rows as f64) as usize,
        };
        let scalar = |bound: Option<Datum>| {
            let arrow = column.sql_type.to_arrow();
            let scalar = bound.and_then(|bound| bound.to_scalar(&column.sql_type).ok());
            let cast = scalar.and_then(|scalar: ScalarValue| scalar.cast_to(&arrow).ok());
            cast.map_or(Precision::Absent, Precision::Inexact)
        };
        let distinct = match is_key {
            true => rows,
            false => self.distinct(rows.saturating_sub(nulls), sampled - self.nulls.min(sampled)),
        };
        ColumnStatistics {
            null_count: Precision::Inexact(nulls),
            max_value: scalar(self.greatest),
            min_value: scalar(self.least),
            distinct_count: Precision::Inexact(distinct),
            ..ColumnStatistics::new_unknown()
        }
    }

    /// Distinct values among so many rows, of which this many were seen.
    fn distinct(&self, rows: usize, seen: u64) -> usize {
        let different = self.values.len() as f64;
        let once = self.values.values().filter(|count| **count == 1).count() as f64;
        let (rows, seen) = (rows as f64, seen as f64);
        if seen == 0.0 || rows <= seen {
            return different as usize;
        }
        let estimate = seen * different / (seen - once + once * seen / rows);
        let runs = match self.compared {
            0 => rows,
            compared => (self.runs as f64 / compared as f64 * rows).max(different),
        };
        estimate.clamp(different, rows).min(runs) as usize
    }
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

fn hash_of_datum(datum: &Datum) -> u64 {
    use Datum as D;
    match datum {
        D::Int(number) => hash_of(number),
        D::Decimal(number, _) => hash_of(number),
        D::Date(days) => hash_of(days),
        D::Time(moment) | D::Timestamp(moment) | D::TimestampTz(moment) => hash_of(moment),
        D::Text(text) => hash_of(&**text),
        other => hash_of(other.to_string().as_str()),
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
