//! The terminal: one table for each size, the list of figures, what is missing.
//!
//! A line is a contender in a setting; for each phase it has the time of one operation, the
//! operations in a second of CPU time, and the ratio to Remanent where it took part, else to
//! the bare `BTreeMap`. Phases that few contenders offer get a table of their own, and so does
//! every phase on a narrow terminal. An unverified phase shows the word in place of a time.

use std::borrow::Cow;
use std::io::Write;

use comfy_table::presets::NOTHING;
use comfy_table::{Attribute, Cell, CellAlignment, Color, LineStyle, Table, TableStyle};
use lab_harness::{Medium, Outcome, Promise};

use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;

/// To which contender ratios are made, the first that took part.
pub(crate) const BASES: [&str; 2] = ["remanent", "btreemap"];

/// The phase that closes a database.
pub(crate) const CLOSE: &str = "close";

/// One line below the head, none elsewhere.
pub(crate) const STYLE: TableStyle =
    NOTHING.header_separator(LineStyle::none().fill('─').junction('─'));

/// Prints everything about the records of one group.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    let rounds = records.iter().filter_map(|record| record.rounds).max().unwrap_or(0);
    let word = if rounds == 1 { "round" } else { "rounds" };
    let compared = base_name(records).map_or(String::new(), |base| format!(", x = times {base}"));
    writeln!(
        out,
        "\n== {title}\nmedian of {rounds} {word}: CPU ns/op, op per CPU second{compared}\n"
    )?;
    let (most, few) = offered(records);
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
    if let Some(line) = synced_wall_times(records) {
        writeln!(out, "\n{line}")?;
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
    writeln!(out, "\n== figures asked of Remanent (medians)\n{table}")?;
    Ok(())
}

/// Prints what could not be measured, and why.
pub(crate) fn print_skipped(out: &mut dyn Write, records: &[Record]) -> Outcome<()> {
    for line in skipped(records) {
        writeln!(out, "skipped: {line}")?;
    }
    writeln!(out)?;
    Ok(())
}

/// What could not be measured, and why, each thing once.
pub(crate) fn skipped(records: &[Record]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for record in records {
        let line = record.skipped.as_ref().map(|reason| format!("{}: {reason}", place(record)));
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    lines
}

/// Wall times where CPU time says least: writing with every commit synced to a disk.
pub(crate) fn synced_wall_times(records: &[Record]) -> Option<String> {
    let synced = |record: &&Record| {
        record.phase == "write"
            && record.setting == Some(Promise::Disk)
            && record.medium == Some(Medium::Disk)
    };
    let mut times: Vec<(f64, &str)> = records
        .iter()
        .filter(synced)
        .filter_map(|record| Some((record.wall_ns_per_op?.median, record.contender.as_str())))
        .collect();
    times.sort_by(|left, right| left.0.total_cmp(&right.0));
    let words: Vec<String> =
        times.iter().map(|(ns, name)| format!("{name} {}", quantity::time(*ns))).collect();
    let text = format!("write with synced commits on disk, wall time: {}", words.join(", "));
    (!words.is_empty()).then_some(text)
}

/// The phases that most contenders offer, and the others. A close beside other phases is in
/// neither: it is shown as a time of its own.
pub(crate) fn offered(records: &[Record]) -> (Vec<String>, Vec<String>) {
    let cells = first_of_each_cell(records).len();
    let offers = |phase: &String| records.iter().filter(|record| record.phase == *phase).count();
    let all = phases(records);
    let alone = all.len() == 1;
    all.into_iter()
        .filter(|phase| alone || phase != CLOSE)
        .partition(|phase| offers(phase) * 2 > cells)
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

/// The phase that another is an optional way of: `read_random` of `read_random_hash`. A phase
/// that most contenders offer is its own.
pub(crate) fn ordinary_way<'a>(records: &[Record], phase: &'a str) -> Cow<'a, str> {
    let (most, few) = offered(records);
    if !few.iter().any(|optional| optional == phase) {
        return Cow::Borrowed(phase);
    }
    let extended = |known: &String| phase.strip_prefix(known.as_str())?.strip_prefix('_');
    let longest =
        most.into_iter().filter(|known| extended(known).is_some()).max_by_key(String::len);
    longest.map_or(Cow::Borrowed(phase), Cow::Owned)
}

/// The record to whose time a phase's records are compared.
pub(crate) fn base<'a>(records: &'a [Record], phase: &str) -> Option<&'a Record> {
    let phase = ordinary_way(records, phase);
    let of_phase = |record: &&Record| record.phase == phase && record.cpu_ns().is_some();
    BASES.iter().find_map(|base| {
        records
            .iter()
            .filter(of_phase)
            .filter(|record| record.contender == *base)
            .min_by_key(|record| record.setting)
    })
}

/// The contender to which ratios are made.
pub(crate) fn base_name(records: &[Record]) -> Option<&'static str> {
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
    let bases: Vec<_> = phases.iter().map(|phase| base(records, phase)).collect();
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
        let record = phases.first().and_then(|phase| of_case(records, first, phase));
        record.and_then(Record::cpu_ns).unwrap_or(f64::INFINITY)
    };
    cells.sort_by(|left, right| time(left).total_cmp(&time(right)));
    let several_sizes = cells.iter().any(|cell| cell.rows != cells[0].rows);
    for first in cells {
        let of_phases: Vec<_> = phases.iter().map(|phase| of_case(records, first, phase)).collect();
        if !with_bytes && of_phases.iter().all(Option::is_none) {
            continue;
        }
        let mut row = vec![name(first, several_sizes)];
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
    [quantity::nanoseconds(ns), quantity::rate(ns), or_dash(ratio)].map(Cell::new)
}

fn byte_cells(records: &[Record], first: &Record) -> [Cell; 3] {
    let close = of_case(records, first, CLOSE).and_then(Record::cpu_ns);
    let ratio = first.bytes_per_data_byte.map(|ratio| format!("{ratio:.2}"));
    [ratio, first.empty_bytes.map(quantity::bytes), close.map(quantity::time)]
        .map(|text| Cell::new(or_dash(text)))
}

/// The record of a phase from the same cell as another record.
pub(crate) fn of_case<'a>(
    records: &'a [Record],
    first: &Record,
    phase: &str,
) -> Option<&'a Record> {
    records.iter().find(|record| record.phase == phase && same_cell(record, first))
}

/// One record for each contender, setting, medium and size.
pub(crate) fn first_of_each_cell(records: &[Record]) -> Vec<&Record> {
    let measured: Vec<&Record> = records.iter().filter(|record| !record.phase.is_empty()).collect();
    first_of_each_cell_in(&measured)
}

/// As [`first_of_each_cell`], of records that have a phase.
pub(crate) fn first_of_each_cell_in<'r>(records: &[&'r Record]) -> Vec<&'r Record> {
    let mut firsts: Vec<&Record> = Vec::new();
    for &record in records {
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

fn name(record: &Record, with_rows: bool) -> Cell {
    let cell = match record.rows {
        Some(rows) if with_rows => {
            Cell::new(format!("{}, {} rows", place(record), quantity::grouped(rows)))
        }
        _ => Cell::new(place(record)),
    };
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
