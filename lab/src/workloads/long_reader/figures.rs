//! Whether memory beside a long reader stays bounded.
//!
//! What is held after the last update is compared with what was held after the first hundredth of
//! them: by then every row has had more than one version, and what comes later is growth. A run
//! that was stopped by time is measured against its own history, if that is long enough.

use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;

/// What may be held more at the end than after the first hundredth.
const GROWTH_MAX: u64 = 8 << 20;

/// Which part of the updates is the beginning.
const BEGINNING: u64 = 100;

/// The only figure.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let grown = records.iter().rev().find_map(grown);
    vec![Figure {
        what: "held after the last update beside an open reader, and after the first hundredth"
            .to_owned(),
        asked: format!("at most {} more", quantity::bytes(GROWTH_MAX)),
        measured: grown.map(|(first, last)| {
            format!("{} against {}", quantity::bytes(last), quantity::bytes(first))
        }),
        reached: grown.map(|(first, last)| last <= first + GROWTH_MAX),
    }]
}

/// Bytes held after the first hundredth and at the end.
fn grown(record: &Record) -> Option<(u64, u64)> {
    if record.verified != Some(true) {
        return None;
    }
    let last = record.time_series.last()?;
    let begun = |operations: u64| operations > 0 && operations * BEGINNING >= last.operations;
    let first = record.time_series.iter().find(|point| begun(point.operations))?;
    (first.operations < last.operations).then_some((first.held_bytes, last.held_bytes))
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
