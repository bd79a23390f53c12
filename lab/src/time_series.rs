//! Memory over the time of a phase, as the terminal shows it: a dozen of its points.
//!
//! The page draws the same points and takes its table from here.

use std::io::Write;

use comfy_table::{CellAlignment, Table};
use lab_harness::Outcome;

use crate::protocol::Point;
use crate::quantity;
use crate::record::Record;
use crate::table;

/// What stands above the columns of a table of points.
pub(crate) const HEADS: [&str; 4] = ["updates", "after", "held", "row versions"];

/// About how many points a table shows.
const SHOWN: usize = 12;

/// Prints the courses of a group.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    writeln!(out, "\n== {title}")?;
    for record in records.iter().filter(|record| !record.time_series.is_empty()) {
        let time = match record.cpu_ns() {
            Some(ns) => format!("{} CPU ns an update", quantity::nanoseconds(ns)),
            None => "unverified".to_owned(),
        };
        let mut table = Table::new();
        table.load_style(table::STYLE).set_header(HEADS);
        for point in excerpt(&record.time_series) {
            table.add_row(words(point));
        }
        for column in table.column_iter_mut() {
            column.set_cell_alignment(CellAlignment::Right);
        }
        writeln!(out, "{}: {time}\n\n{table}", table::place(record))?;
    }
    Ok(())
}

/// What a record with a time series is about.
pub(crate) fn title(record: &Record) -> String {
    let updates = quantity::grouped(record.operations.unwrap_or(0));
    let rows = quantity::grouped(record.rows.unwrap_or(0));
    format!("{rows} rows, {updates} updates beside a reader that stays open")
}

/// A dozen of the points, evenly spread, the first and the last among them.
pub(crate) fn excerpt(time_series: &[Point]) -> impl Iterator<Item = &Point> {
    let step = time_series.len().div_ceil(SHOWN).max(1);
    let last = time_series.len().wrapping_sub(1);
    let shown = time_series.iter().enumerate();
    shown.filter(move |(place, _)| place % step == 0 || *place == last).map(|(_, point)| point)
}

/// A point as the columns of a table.
pub(crate) fn words(point: &Point) -> [String; 4] {
    [
        quantity::grouped(point.operations),
        quantity::time(point.wall_ms as f64 * 1e6),
        quantity::bytes(point.held_bytes),
        quantity::bytes(point.rows_bytes),
    ]
}

#[cfg(test)]
#[path = "time_series_tests.rs"]
mod tests;
