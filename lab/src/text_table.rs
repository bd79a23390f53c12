//! Tables of small pairs, as the terminal prints and the page shows them.
//!
//! A table has a line for each contender. Over levels: each phase by CPU time and by wall time, a
//! column for each promise, as the tables in the paper of Berkeley DB's makers have a table for
//! each. Over threads: what a commit takes. Coming back: what a byte and a row take. What was not
//! verified shows the word in place of a number.

use std::io::Write;

use comfy_table::{Cell, CellAlignment, Table};
use lab_harness::{Outcome, Promise};
use serde_json::Value;

use crate::parameters::THREADS;
use crate::quantity;
use crate::record::Record;
use crate::table::{self, STYLE};

/// A table: its title, its columns, and a line for each contender.
pub(crate) struct TextTable {
    pub(crate) title: String,
    pub(crate) columns: Vec<String>,
    pub(crate) lines: Vec<(String, Vec<String>)>,
}

/// The two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Time {
    Cpu,
    Wall,
}

impl Time {
    pub(crate) fn of(self, record: &Record) -> Option<f64> {
        match self {
            Self::Cpu => record.cpu_ns(),
            Self::Wall => record.wall_ns(),
        }
    }

    /// That of the whole phase.
    pub(crate) fn of_whole(self, record: &Record) -> Option<f64> {
        match self {
            Self::Cpu => record.whole_cpu_ns(),
            Self::Wall => record.whole_wall_ns(),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Cpu => "a second of CPU time",
            Self::Wall => "a second",
        }
    }
}

/// Prints all levels, each with what it holds, then each phase over them; or threads that commit.
pub(crate) fn print_group_of_levels(
    out: &mut dyn Write,
    title: &str,
    records: &[Record],
) -> Outcome<()> {
    for level in Promise::ALL {
        let alone = |record: &&Record| threads_of(record).is_none();
        let of_level = records.iter().filter(alone).filter(|record| record.setting == Some(level));
        let of_level: Vec<Record> = of_level.cloned().collect();
        if let Some(rows) = of_level.first().and_then(|record| record.rows) {
            let title = format!("{level}: {} pairs of 8 and 32 bytes", quantity::grouped(rows));
            table::print_group(out, &title, &of_level)?;
        }
    }
    writeln!(out, "\n== {title}, medians")?;
    let mut text_tables = of_levels(records).into_iter().chain(of_threads(records));
    text_tables.try_for_each(|text_table| print(out, &text_table))
}

/// Prints what came back.
pub(crate) fn print_group_of_returns(
    out: &mut dyn Write,
    title: &str,
    records: &[Record],
) -> Outcome<()> {
    writeln!(out, "\n== {title}")?;
    of_returns(records).iter().try_for_each(|text_table| print(out, text_table))
}

/// Each phase over the levels, by CPU time and by wall time.
pub(crate) fn of_levels(records: &[Record]) -> Vec<TextTable> {
    let alone: Vec<&Record> =
        records.iter().filter(|record| threads_of(record).is_none()).collect();
    let mut text_tables = Vec::new();
    for phase in phases(&alone) {
        for time in [Time::Cpu, Time::Wall] {
            text_tables.push(over_levels(&alone, &phase, time));
        }
    }
    text_tables
}

fn over_levels(records: &[&Record], phase: &str, time: Time) -> TextTable {
    let levels: Vec<Promise> = Promise::ALL
        .into_iter()
        .filter(|&level| records.iter().any(|r| r.setting == Some(level) && r.phase == phase))
        .collect();
    let case = |contender: &str, level: Promise| {
        let record = records.iter().find(|record| {
            record.contender == contender && record.setting == Some(level) && record.phase == phase
        });
        number(record.copied(), |record| time.of(record).map(quantity::rate))
    };
    let line = |contender: String| {
        let cases = levels.iter().map(|&level| case(&contender, level)).collect();
        (contender, cases)
    };
    TextTable {
        title: format!("{}: pairs {}", phase.replace('_', " "), time.words()),
        columns: levels.iter().map(Promise::to_string).collect(),
        lines: contenders(records, phase).into_iter().map(line).collect(),
    }
}

/// What a commit takes, over the number of threads.
pub(crate) fn of_threads(records: &[Record]) -> Vec<TextTable> {
    let together: Vec<&Record> =
        records.iter().filter(|record| threads_of(record).is_some()).collect();
    let mut threads: Vec<u64> = together.iter().filter_map(|record| threads_of(record)).collect();
    threads.sort_unstable();
    threads.dedup();
    let text_table = |title: &str, text: fn(&Record) -> Option<String>| {
        let case = |contender: &str, threads: u64| {
            let record = together.iter().find(|record| {
                record.contender == contender && threads_of(record) == Some(threads)
            });
            number(record.copied(), text)
        };
        let line = |contender: String| {
            let cases = threads.iter().map(|&threads| case(&contender, threads)).collect();
            (contender, cases)
        };
        TextTable {
            title: format!("commits to the disk, by threads: {title}"),
            columns: threads.iter().map(u64::to_string).collect(),
            lines: contenders(&together, "commit").into_iter().map(line).collect(),
        }
    };
    if threads.is_empty() {
        return Vec::new();
    }
    vec![
        text_table("wall time for each commit of all", |r| r.wall_ns().map(quantity::time)),
        text_table("CPU time for each", |r| r.cpu_ns().map(quantity::time)),
        text_table("commits for each sync", |r| {
            r.commits_per_sync.map(|ratio| format!("{ratio:.2}"))
        }),
    ]
}

/// What a byte and a row take that come back.
pub(crate) fn of_returns(records: &[Record]) -> Vec<TextTable> {
    let records: Vec<&Record> = records.iter().collect();
    let mut text_tables = Vec::new();
    for phase in phases(&records) {
        let of_phase = records.iter().filter(|record| record.phase == phase);
        let three = |value: Option<f64>| value.map(|value| format!("{value:.3}"));
        let line = |record: &&Record| {
            (
                table::place(record),
                vec![
                    number(Some(record), |r| r.bytes.map(quantity::bytes)),
                    number(Some(record), |r| three(r.wall_s_per_gb)),
                    number(Some(record), |r| three(r.cpu_s_per_gb)),
                    number(Some(record), |r| r.wall_ns().and_then(rows_rate)),
                    number(Some(record), |r| r.cpu_ns().and_then(rows_rate)),
                ],
            )
        };
        text_tables.push(TextTable {
            title: format!("{phase}: seconds for each GB, and rows a second"),
            columns: ["bytes", "s/GB", "CPU s/GB", "rows/s", "rows/CPU s"].map(Into::into).into(),
            lines: of_phase.map(line).collect(),
        });
    }
    text_tables
}

/// Rows a second; none where a row takes less than can be, since nothing was done for each.
fn rows_rate(ns: f64) -> Option<String> {
    (ns >= 1.0).then(|| quantity::rate(ns))
}

/// How many threads commit, where threads do.
pub(crate) fn threads_of(record: &Record) -> Option<u64> {
    record.extra.get(THREADS).and_then(Value::as_u64)
}

/// The phases of records, in the order of their first appearance.
fn phases(records: &[&Record]) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        if !phases.contains(&record.phase) {
            phases.push(record.phase.clone());
        }
    }
    phases
}

/// Who has a phase, in the order of their first appearance.
pub(crate) fn contenders(records: &[&Record], phase: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for record in records.iter().filter(|record| record.phase == phase) {
        if !names.contains(&record.contender) {
            names.push(record.contender.clone());
        }
    }
    names
}

pub(crate) fn number(record: Option<&Record>, text: impl Fn(&Record) -> Option<String>) -> String {
    match record {
        Some(record) if record.verified == Some(false) => "unverified".to_owned(),
        Some(record) => text(record).unwrap_or_else(|| "-".to_owned()),
        None => "-".to_owned(),
    }
}

pub(crate) fn print(out: &mut dyn Write, text_table: &TextTable) -> Outcome<()> {
    let mut table = Table::new();
    table.load_style(STYLE);
    let mut header = vec![String::new()];
    header.extend(text_table.columns.iter().cloned());
    table.set_header(header);
    for (name, cases) in &text_table.lines {
        let mut line = vec![Cell::new(name)];
        line.extend(cases.iter().map(Cell::new));
        table.add_row(line);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "\n{}\n{table}", text_table.title)?;
    Ok(())
}

#[cfg(test)]
#[path = "text_table_tests.rs"]
mod tests;
