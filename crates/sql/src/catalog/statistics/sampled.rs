//! Rows that no segment speaks for: a sample of them.
//!
//! Distinct values are estimated from how many values the sample has once (Haas and Stokes, JASA
//! 1998, the estimator that PostgreSQL uses); there are no more of them than there are runs of one
//! value, which some rows are compared with the next one for.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use remanent_engine::schema::Value;
use remanent_engine::{DistinctSketch, ReadTransaction, Row, RowId};

use super::Bounds;
use crate::catalog::table::Table;
use crate::error::Result;
use crate::values::datum::Datum;
use crate::values::sql_type::SqlType;

/// Rows of a sample; fewer are read whole.
const SAMPLE: u64 = 10_000;

/// Of so many sampled rows one is compared with the row behind it.
const COMPARED: u64 = 4;

/// A sample of rows.
pub(super) struct Sample {
    /// How many rows there are, about.
    pub(super) rows: usize,
    /// Whether all of them were read.
    pub(super) is_whole: bool,
    pub(super) columns: Vec<SampledColumn>,
}

/// What is counted of a column.
#[derive(Default)]
pub(super) struct SampledColumn {
    /// How often each value is in the sample, by its hash.
    values: HashMap<u64, u32>,
    nulls: u64,
    pub(super) bounds: Bounds,
    pub(super) sketch: DistinctSketch,
    /// Rows that were compared with the next one, and those of them that begin a run.
    compared: u64,
    runs: u64,
    /// Rows of the sample, and of what it is taken of.
    sampled: u64,
    rows: usize,
}

impl Sample {
    /// A sample of the rows with these ids.
    pub(super) fn of(tx: &ReadTransaction<'_>, table: &Table, ids: &[Range<u64>]) -> Result<Self> {
        let mut columns: Vec<_> = table.columns.iter().map(|_| SampledColumn::default()).collect();
        let all: u64 = ids.iter().map(|ids| ids.end - ids.start).sum();
        let asked = all.min(SAMPLE);
        let (mut sampled, mut pairs) = (0, Vec::new());
        // Evenly spread, a little apart from any rhythm in the rows.
        let step = if asked == 0 { 1.0 } else { all as f64 / asked as f64 };
        for number in 0..asked {
            let shift = (number.wrapping_mul(2_654_435_761) % 1000) as f64 / 1000.0;
            let at = if all <= SAMPLE { number } else { ((number as f64 + shift) * step) as u64 };
            let Some(row) = row_at(tx, table, ids, at)? else { continue };
            sampled += 1;
            for (column, counted) in table.columns.iter().zip(&mut columns) {
                counted.note(row.value(column.handle), &column.sql_type);
            }
            if all > SAMPLE && number % COMPARED == 0 {
                pairs.extend(row_at(tx, table, ids, at + 1)?.map(|next| [row, next]));
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
        let rows = (all as f64 * share).round() as usize;
        columns.iter_mut().for_each(|column| (column.sampled, column.rows) = (sampled, rows));
        Ok(Self { rows, is_whole: all <= SAMPLE, columns })
    }
}

/// The row with the id that stands at a place among these.
fn row_at<'t>(
    tx: &'t ReadTransaction<'_>,
    table: &'t Table,
    ids: &[Range<u64>],
    mut at: u64,
) -> Result<Option<Row<'t>>> {
    for ids in ids {
        let len = ids.end - ids.start;
        if at < len {
            let id = RowId::from_number(ids.start + at);
            return Ok(id.map(|id| tx.row(&table.handle, id)).transpose()?.flatten());
        }
        at -= len;
    }
    Ok(None)
}

impl SampledColumn {
    fn note(&mut self, value: Value<'_>, sql_type: &SqlType) {
        self.sketch.add(&value);
        if let Value::String(text) = value
            && self.bounds.have_text(text)
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
        self.bounds.add(datum);
    }

    fn count(&mut self, hash: u64) {
        *self.values.entry(hash).or_default() += 1;
    }

    /// How many of the rows are null.
    pub(super) fn nulls(&self) -> usize {
        match self.sampled {
            0 => 0,
            sampled => (self.nulls as f64 / sampled as f64 * self.rows as f64) as usize,
        }
    }

    /// How many different values the sample has.
    pub(super) fn different(&self) -> f64 {
        self.values.len() as f64
    }

    /// How many the rows have.
    pub(super) fn distinct(&self) -> f64 {
        let different = self.different();
        let once = self.values.values().filter(|count| **count == 1).count() as f64;
        let rows = self.rows.saturating_sub(self.nulls()) as f64;
        let seen = (self.sampled - self.nulls.min(self.sampled)) as f64;
        if seen == 0.0 || rows <= seen {
            return different;
        }
        let estimate = seen * different / (seen - once + once * seen / rows);
        let runs = match self.compared {
            0 => rows,
            compared => (self.runs as f64 / compared as f64 * rows).max(different),
        };
        estimate.clamp(different, rows).min(runs)
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
