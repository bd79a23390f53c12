//! Tables over the number of readers: contenders are rows, numbers of readers are columns.
//!
//! A grid is one measure of one phase, from records that differ in their readers. The terminal
//! and the page show the same grids. A cell without a record is empty, and an unverified one says
//! so in place of a number.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, Color, Table};
use lab_harness::Outcome;

use crate::quantity;
use crate::record::Record;
use crate::table;

/// What the numbers of a grid are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Time on the wall for one operation of the writer.
    Wall,
    /// CPU time of the writer's thread for one operation.
    Cpu,
    /// Look-ups of the readers in a second of their own CPU time.
    Reads,
}

/// One measure of one phase.
pub(crate) struct Grid<'r> {
    pub(crate) title: String,
    /// Numbers of readers, ascending.
    pub(crate) readers: Vec<u64>,
    pub(crate) rows: Vec<GridRow<'r>>,
}

/// A contender in a grid.
pub(crate) struct GridRow<'r> {
    /// Any of its records, for its name and setting.
    pub(crate) first: &'r Record,
    /// Its record for each number of readers.
    pub(crate) records: Vec<Option<&'r Record>>,
}

/// The phases in which nobody writes.
const ALONE: &str = "read";

impl Measure {
    /// The number of a record, in nanoseconds.
    pub(crate) fn ns(self, record: &Record) -> Option<f64> {
        match self {
            Self::Wall => record.wall_ns(),
            Self::Cpu => record.cpu_ns(),
            Self::Reads => record.reader_cpu_ns(),
        }
    }

    /// The number as a table shows it.
    pub(crate) fn text(self, record: Option<&Record>) -> String {
        let Some(record) = record else { return String::new() };
        if record.verified == Some(false) {
            return "unverified".to_owned();
        }
        match (self, self.ns(record)) {
            (_, None) => String::new(),
            (Self::Reads, Some(ns)) => quantity::rate(ns),
            (_, Some(ns)) => quantity::nanoseconds(ns),
        }
    }

    /// What the number is.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Wall => "wall time of one operation, ns",
            Self::Cpu => "writer's CPU time of one operation, ns",
            Self::Reads => "look-ups in a CPU second of the readers",
        }
    }

    /// The measures that a phase has.
    pub(crate) fn of_phase(phase: &str) -> &'static [Self] {
        if phase == ALONE { &[Self::Reads] } else { &[Self::Wall, Self::Cpu, Self::Reads] }
    }
}

/// The grid of a phase, fastest first beside the fewest readers.
pub(crate) fn grid<'r>(records: &'r [Record], phase: &str, measure: Measure) -> Grid<'r> {
    let of_phase: Vec<&Record> = records
        .iter()
        .filter(|record| record.phase == phase)
        .filter(|record| measure != Measure::Reads || record.readers > Some(0))
        .collect();
    let mut readers: Vec<u64> = of_phase.iter().filter_map(|record| record.readers).collect();
    readers.sort_unstable();
    readers.dedup();
    let mut rows: Vec<GridRow<'r>> = Vec::new();
    for &record in &of_phase {
        if rows.iter().any(|row| same_contender(row.first, record)) {
            continue;
        }
        let of_readers = |&count: &u64| {
            let mut all = of_phase.iter().copied();
            all.find(|other| other.readers == Some(count) && same_contender(record, other))
        };
        rows.push(GridRow { first: record, records: readers.iter().map(of_readers).collect() });
    }
    let nearest = |row: &GridRow<'_>| {
        let first = row.records.iter().flatten().find_map(|record| measure.ns(record));
        first.unwrap_or(f64::INFINITY)
    };
    rows.sort_by(|left, right| nearest(left).total_cmp(&nearest(right)));
    Grid { title: format!("{phase}: {}", measure.words()), readers, rows }
}

/// Prints the grids of a group.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    let rounds = records.iter().filter_map(|record| record.rounds).max().unwrap_or(0);
    writeln!(out, "\n== {title}\nmedian of {rounds} rounds, over the number of readers")?;
    for phase in table::phases(records) {
        for &measure in Measure::of_phase(&phase) {
            let grid = grid(records, &phase, measure);
            if !grid.rows.is_empty() {
                writeln!(out, "\n{}\n{}", grid.title, terminal_table(&grid, measure))?;
            }
        }
    }
    Ok(())
}

fn terminal_table(grid: &Grid<'_>, measure: Measure) -> Table {
    let mut table = Table::new();
    table.load_style(table::STYLE);
    let readers = grid.readers.iter().map(u64::to_string);
    table.set_header(["contender setting/medium".to_owned()].into_iter().chain(readers));
    for row in &grid.rows {
        let mut cells = vec![Cell::new(table::place(row.first))];
        for record in &row.records {
            let cell = Cell::new(measure.text(*record));
            let wrong = record.is_some_and(|record| record.verified == Some(false));
            cells.push(if wrong { cell.fg(Color::Red) } else { cell });
        }
        table.add_row(cells);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn same_contender(left: &Record, right: &Record) -> bool {
    left.contender == right.contender
        && (left.setting, left.medium) == (right.setting, right.medium)
}

#[cfg(test)]
#[path = "grid_tests.rs"]
mod tests;
