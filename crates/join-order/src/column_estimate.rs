//! What is known of a column of a plan: how many different values, their ends, the share of NULLs.
//!
//! Where nobody has counted, there are at most as many values as rows, and a range leaves a guess.

use datafusion::common::ColumnStatistics;
use datafusion::common::stats::Precision;

use super::value::point;

/// Of a range whose ends are not known, this share is left.
pub(super) const RANGE: f64 = 1.0 / 3.0;

/// What a column holds.
#[derive(Debug, Clone)]
pub(super) struct ColumnEstimate {
    /// Different values left by the predicates on this column.
    pub(super) distinct: f64,
    /// The same before them.
    pub(super) distinct_before: f64,
    /// Whether somebody has counted the values.
    pub(super) known: bool,
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    /// The share of NULLs.
    pub(super) nulls: Option<f64>,
    /// What to think of a range if the ends are not known.
    pub(super) range_guess: f64,
}

impl ColumnEstimate {
    /// A column of which only the most values it can have are known.
    pub(super) fn unknown(rows: f64) -> Self {
        ColumnEstimate {
            distinct: rows.max(1.0),
            distinct_before: rows.max(1.0),
            known: false,
            low: None,
            high: None,
            nulls: None,
            range_guess: RANGE,
        }
    }

    /// The column of the rows of both, of which `share` are the first one's: columns of a union
    /// have much the same values.
    pub(super) fn united(self, other: Self, share: f64) -> Self {
        let both = |ends: [Option<f64>; 2], chosen: fn(f64, f64) -> f64| {
            let [one, other] = ends;
            Some(chosen(one?, other?))
        };
        let nulls = self.nulls.zip(other.nulls);
        ColumnEstimate {
            distinct: self.distinct.max(other.distinct),
            distinct_before: self.distinct_before.max(other.distinct_before),
            known: self.known && other.known,
            low: both([self.low, other.low], f64::min),
            high: both([self.high, other.high], f64::max),
            nulls: nulls.map(|(one, other)| one * share + other * (1.0 - share)),
            range_guess: self.range_guess.max(other.range_guess),
        }
    }

    pub(super) fn counted(distinct: f64) -> Self {
        ColumnEstimate { known: true, ..ColumnEstimate::unknown(distinct) }
    }

    pub(super) fn from_statistics(statistics: &ColumnStatistics, rows: f64) -> Self {
        let number = |value: &Precision<usize>| value.get_value().map(|&value| value as f64);
        let distinct = number(&statistics.distinct_count);
        let end = |value: &Precision<_>| value.get_value().and_then(point);
        ColumnEstimate {
            known: distinct.is_some(),
            low: end(&statistics.min_value),
            high: end(&statistics.max_value),
            nulls: number(&statistics.null_count).map(|nulls| nulls / rows.max(1.0)),
            ..ColumnEstimate::unknown(distinct.unwrap_or(rows).min(rows))
        }
    }
}
