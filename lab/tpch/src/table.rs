//! The tables in the terminal: CPU milliseconds by query and contender, and what loading took.
//!
//! A mean or total stands only where every query was answered rightly, so that nobody gains by
//! leaving one out.

use std::io::Write;

use comfy_table::{Cell as TableCell, CellAlignment, Table, presets};
use lab_harness::Outcome;

use crate::record::{Cell, Header, Results};

/// What columns that were not in memory were read for, of the wall time.
const READING: &[(&str, Reads)] = &[
    ("waiting", |cell| cell.reading.waiting_ns),
    ("decompression", |cell| cell.reading.unpacking_ns),
    ("device", |cell| cell.reading.device_ns),
];

/// One of the times of a query's reads.
type Reads = fn(&Cell) -> Option<u64>;

/// Whom the last line compares with.
const COMPARED_WITH: &str = "datafusion";

/// Prints what a scale gave.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn print(
    out: &mut dyn Write,
    scale: f64,
    header: &Header,
    results: &Results,
) -> Outcome<()> {
    let Header { title, data, threads, .. } = *header;
    let what = if threads == 1 { "CPU ms" } else { "wall ms" };
    writeln!(
        out,
        "\n== {title} ({data}), scale factor {scale}: {what}, median, threads: {threads}"
    )?;
    writeln!(out, "{}", queries(results, threads))?;
    writeln!(out, "\n== loading")?;
    writeln!(out, "{}", loading(results))?;
    for skipped in &results.skipped {
        writeln!(out, "{} was left out: {}", skipped.contender, skipped.reason)?;
    }
    Ok(())
}

fn queries(results: &Results, threads: usize) -> Table {
    let names: Vec<&str> = results.loaded.iter().map(|loaded| loaded.contender).collect();
    let mut numbers: Vec<usize> = results.cells.iter().map(|cell| cell.query).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let time = |name: &str, query: usize| {
        let mut cells = results.cells.iter();
        cells.find(|cell| cell.contender == name && cell.query == query)?.ms(threads)
    };
    let mut table = new_table(["query"].into_iter().chain(names.iter().copied()));
    for &query in &numbers {
        let cells = names.iter().map(|name| match time(name, query) {
            Some(ms) => shown(ms),
            None => "wrong".to_owned(),
        });
        table.add_row(line(query.to_string(), cells));
    }
    let all = |name: &str| -> Option<Vec<f64>> {
        numbers.iter().map(|&query| time(name, query)).collect()
    };
    let of_all = |what: &dyn Fn(&[f64]) -> f64, name: &str| all(name).map(|times| what(&times));
    let total = |times: &[f64]| times.iter().sum::<f64>();
    let summary = |what: &dyn Fn(&[f64]) -> f64| {
        names.iter().map(|name| of_all(what, name).map_or(String::new(), shown)).collect::<Vec<_>>()
    };
    table.add_row(line("total".to_owned(), summary(&total).into_iter()));
    table.add_row(line("geometric mean".to_owned(), summary(&mean).into_iter()));
    let natives = names.iter().map(|name| native(results, name));
    let natives: Vec<String> = natives.map(Option::unwrap_or_default).collect();
    if natives.iter().any(|native| !native.is_empty()) {
        table.add_row(line("own operators".to_owned(), natives.into_iter()));
    }
    for (what, ns) in READING {
        let shares = names.iter().map(|name| share_of_wall(results, name, *ns));
        let shares: Vec<String> = shares.map(Option::unwrap_or_default).collect();
        if shares.iter().any(|share| !share.is_empty()) {
            table.add_row(line((*what).to_owned(), shares.into_iter()));
        }
    }
    if let Some(base) = of_all(&mean, COMPARED_WITH) {
        let ratio = |name: &&str| {
            of_all(&mean, name).map_or(String::new(), |mean| format!("{:.2}", mean / base))
        };
        table.add_row(line(format!("to {COMPARED_WITH}"), names.iter().map(ratio)));
    }
    table
}

/// Which part of the wall time of all queries columns were read, in the last round.
fn share_of_wall(results: &Results, name: &str, ns: Reads) -> Option<String> {
    let cells = results.cells.iter().filter(|cell| cell.contender == name);
    let both = cells.map(|cell| Some((ns(cell)? as f64, cell.wall_ns.last()?)));
    let both = both.collect::<Option<Vec<_>>>()?;
    let (read, wall) =
        both.iter().fold((0.0, 0.0), |(read, all), (ns, wall)| (read + ns, all + *wall));
    Some(format!("{:.1} %", read / wall * 100.0))
}

/// Which part of a contender's operators are its own, in the mean of all queries.
fn native(results: &Results, name: &str) -> Option<String> {
    let cells = results.cells.iter().filter(|cell| cell.contender == name);
    let parts = cells.map(|cell| cell.native).collect::<Option<Vec<f64>>>()?;
    let mean = parts.iter().sum::<f64>() / parts.len() as f64;
    Some(format!("{:.0} %", mean * 100.0))
}

fn loading(results: &Results) -> Table {
    let columns = ["contender", "s wall", "s CPU", "MB of text / s CPU", "bytes held / byte"];
    let mut table = new_table(columns.into_iter());
    for loaded in &results.loaded {
        let (bytes, seconds) = (loaded.text_bytes as f64, loaded.cpu_ns as f64 / 1e9);
        let cells = [
            format!("{:.2}", loaded.wall_ns as f64 / 1e9),
            format!("{seconds:.2}"),
            format!("{:.0}", bytes / 1e6 / seconds),
            loaded.held_bytes.map_or(String::new(), |held| format!("{:.2}", held as f64 / bytes)),
        ];
        table.add_row(line(loaded.contender.to_owned(), cells.into_iter()));
    }
    table
}

fn new_table<'a>(header: impl Iterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header.collect::<Vec<_>>());
    table
}

fn line(first: String, cells: impl Iterator<Item = String>) -> Vec<TableCell> {
    let right = cells.map(|cell| TableCell::new(cell).set_alignment(CellAlignment::Right));
    std::iter::once(TableCell::new(first)).chain(right).collect()
}

fn shown(ms: f64) -> String {
    if ms < 100.0 { format!("{ms:.1}") } else { format!("{ms:.0}") }
}

fn mean(times: &[f64]) -> f64 {
    (times.iter().map(|time| time.ln()).sum::<f64>() / times.len() as f64).exp()
}
