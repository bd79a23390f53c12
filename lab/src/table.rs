//! The terminal: one table for each size, the list of figures, what is missing.
//!
//! A line is a contender in a setting; for each phase it has the time of one operation, the
//! operations in a second of CPU time, and the ratio to Remanent where it took part, else to
//! the bare `BTreeMap`. Phases that few contenders offer get a table of their own, and so does
//! every phase on a narrow terminal. An unverified phase shows the word in place of a time.

use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};
use lab_harness::Outcome;

use crate::quantity;
use crate::record::Record;
use crate::workloads::Figure;

/// To which contender ratios are made, the first that took part.
pub(crate) const BASES: [&str; 2] = ["remanent", "btreemap"];

/// One line below the head, none elsewhere.
pub(crate) const STYLE: TableStyle =
    NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints everything about the records of one group.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    let rounds = records.iter().filter_map(|record| record.rounds).max().unwrap_or(0);
    let compared = base_name(records).map_or(String::new(), |base| format!(", x = times {base}"));
    writeln!(
        out,
        "\n== {title}\nmedian of {rounds} rounds: CPU ns/op, op per CPU second{compared}\n"
    )?;
    let cells = first_of_each_cell(records).len();
    let offered = |phase: &String| records.iter().filter(|record| record.phase == *phase).count();
    // A close beside other phases is a column of the bytes, not a phase of its own.
    let (most, few): (Vec<String>, Vec<String>) = phases(records)
        .into_iter()
        .filter(|phase| phase != "close" || phases(records).len() == 1)
        .partition(|phase| offered(phase) * 2 > cells);
    let all = group_table(records, &most, true);
    if fits(&all) {
        writeln!(out, "{all}")?;
    } else {
        for phase in &most {
            writeln!(out, "{}\n", group_table(records, std::slice::from_ref(phase), false))?;
        }
        writeln!(out, "{}", group_table(records, &[], true))?;
    }
    if !few.is_empty() {
        writeln!(out, "\n{}", group_table(records, &few, false))?;
    }
    Ok(())
}

/// Prints what was asked and what was measured.
pub(crate) fn print_figures(out: &mut dyn Write, figures: &[Figure]) -> Outcome<()> {
    if figures.iter().all(|figure| figure.measured.is_none()) {
        return Ok(());
    }
    let mut table = Table::new();
    table.load_style(STYLE).set_header(["figure", "asked", "measured", "reached"]);
    for figure in figures {
        let (word, colour) = match figure.reached {
            Some(true) => ("yes", Color::Green),
            Some(false) => ("no", Color::Red),
            None => ("-", Color::Reset),
        };
        table.add_row([
            Cell::new(&figure.what),
            Cell::new(&figure.asked),
            Cell::new(figure.measured.as_deref().unwrap_or("not measured")),
            Cell::new(word).fg(colour),
        ]);
    }
    writeln!(out, "\n== figures asked of Remanent (CPU time, medians)\n{table}")?;
    Ok(())
}

/// Prints what could not be measured, and why.
pub(crate) fn print_skipped(out: &mut dyn Write, records: &[Record]) -> Outcome<()> {
    for record in records {
        if let Some(reason) = &record.skipped {
            writeln!(out, "skipped: {}: {reason}", place(record))?;
        }
    }
    writeln!(out)?;
    Ok(())
}

/// The phases of records, in the order of their first appearance.
pub(crate) fn phases(records: &[Record]) -> Vec<String> {
    let mut phases: Vec<String> = Vec::new();
    for record in records {
        if !record.phase.is_empty() && !phases.contains(&record.phase) {
            phases.push(record.phase.clone());
        }
    }
    phases
}

/// The record to whose time others are compared, among records of one phase and size.
pub(crate) fn base<'a>(records: &[&'a Record]) -> Option<&'a Record> {
    BASES.iter().find_map(|base| {
        records
            .iter()
            .copied()
            .filter(|record| record.contender == *base && record.cpu_ns().is_some())
            .min_by_key(|record| record.setting)
    })
}

/// The contender to which ratios are made.
fn base_name(records: &[Record]) -> Option<&'static str> {
    BASES.into_iter().find(|base| {
        records.iter().any(|record| record.contender == *base && record.cpu_ns().is_some())
    })
}

/// Fastest first; what has no time comes last.
pub(crate) fn by_time(records: &mut [&Record]) {
    let time = |record: &Record| record.cpu_ns().unwrap_or(f64::INFINITY);
    records.sort_by(|left, right| time(left).total_cmp(&time(right)));
}

/// Contender, setting and medium as one text.
pub(crate) fn place(record: &Record) -> String {
    match (record.setting, record.medium) {
        (Some(setting), Some(medium)) => format!("{} {setting}/{medium}", record.contender),
        _ => record.contender.clone(),
    }
}

/// A line for each contender and setting that has one of these phases, the fastest in the
/// first of them on top; then, if asked for, the bytes.
fn group_table(records: &[Record], phases: &[String], with_bytes: bool) -> Table {
    let bases: Vec<Option<&Record>> = phases
        .iter()
        .map(|phase| {
            base(&records.iter().filter(|record| record.phase == *phase).collect::<Vec<_>>())
        })
        .collect();
    let mut header = vec!["contender setting/medium".to_owned()];
    for phase in phases {
        header.extend([format!("{}\nns/op", phase.replace('_', "\n")), "op/s".into(), "x".into()]);
    }
    if with_bytes {
        header.extend(["held\n/data", "empty", "close"].map(str::to_owned));
    }
    let mut table = bare_table(header);
    let mut cells = first_of_each_cell(records);
    let time = |first: &Record| {
        let record = phases.first().and_then(|phase| of_cell(records, first, phase));
        record.and_then(Record::cpu_ns).unwrap_or(f64::INFINITY)
    };
    cells.sort_by(|left, right| time(left).total_cmp(&time(right)));
    for first in cells {
        let of_phases: Vec<_> = phases.iter().map(|phase| of_cell(records, first, phase)).collect();
        if !with_bytes && of_phases.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![name(first)];
        for (record, base) in of_phases.into_iter().zip(&bases) {
            row.extend(time_cells(record, *base));
        }
        if with_bytes {
            row.extend(byte_cells(records, first));
        }
        table.add_row(row);
    }
    table
}

fn time_cells(record: Option<&Record>, base: Option<&Record>) -> [Cell; 3] {
    let Some(record) = record else { return ["-", "-", "-"].map(Cell::new) };
    let Some(ns) = record.cpu_ns() else {
        return [Cell::new("unverified").fg(Color::Red), Cell::new("-"), Cell::new("-")];
    };
    let ratio = base.and_then(Record::cpu_ns).map(|base| quantity::factor(ns / base));
    [quantity::nanoseconds(ns), quantity::short_rate(ns), or_dash(ratio)].map(Cell::new)
}

fn byte_cells(records: &[Record], first: &Record) -> [Cell; 3] {
    let close = of_cell(records, first, "close").and_then(Record::cpu_ns);
    let ratio = first.bytes_per_data_byte.map(|ratio| format!("{ratio:.2}"));
    [ratio, first.empty_bytes.map(quantity::bytes), close.map(quantity::time)]
        .map(|text| Cell::new(or_dash(text)))
}

/// The record of a phase from the same cell as another record.
fn of_cell<'a>(records: &'a [Record], first: &Record, phase: &str) -> Option<&'a Record> {
    records.iter().find(|record| record.phase == phase && same_cell(record, first))
}

/// One record for each contender, setting, medium and size.
pub(crate) fn first_of_each_cell(records: &[Record]) -> Vec<&Record> {
    let mut firsts: Vec<&Record> = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        if !firsts.iter().any(|first| same_cell(first, record)) {
            firsts.push(record);
        }
    }
    firsts
}

/// Whether two records are of the same contender, setting, medium and size.
pub(crate) fn same_cell(left: &Record, right: &Record) -> bool {
    left.contender == right.contender
        && (left.setting, left.medium, left.rows) == (right.setting, right.medium, right.rows)
        && left.extra == right.extra
}

fn name(record: &Record) -> Cell {
    let cell = Cell::new(place(record));
    if record.contender.starts_with(BASES[0]) { cell.add_attribute(Attribute::Bold) } else { cell }
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

/// A table whose first column is a name and whose others are numbers; heads of several lines
/// stand on the lowest.
fn bare_table(header: Vec<String>) -> Table {
    let lines = |text: &String| text.lines().count();
    let height = header.iter().map(lines).max().unwrap_or(1);
    let stand = |text: String| "\n".repeat(height - lines(&text)) + &text;
    let mut table = Table::new();
    table.load_style(STYLE);
    table.set_header(header.into_iter().map(stand));
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if place > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Whether a table fits the terminal; anything fits a file.
fn fits(table: &Table) -> bool {
    let width = table.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    table.width().is_none_or(|terminal| width <= usize::from(terminal))
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
