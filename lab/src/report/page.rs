//! The text of the page: runs, their drawings and tables, the goals at the end of each.
//!
//! What the records have in common is a section, a phase is a drawing, a contender is a row; a
//! workload that is viewed in another way has its sections in a file of their own. The goals
//! are the workload's. Every text that comes from a record is escaped here.

use std::fmt::Write;

use lab_harness::Promise;

use super::chart::{self, Kind, Mark};
use super::{Run, bursts, by_size, media, over_readers, text_tables, time_series};
use crate::conflicts;
use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::tpch;
use crate::workloads::{self, View, Workload};

const STYLE: &str = include_str!("style.css");

/// The whole page.
pub(super) fn page(runs: &[Run]) -> String {
    let mut body = String::new();
    let mut workload = "";
    for run in runs {
        let newest = run.workload != workload;
        workload = &run.workload;
        if newest {
            let _ = write!(body, "<h2>{}</h2>{}", escape(workload), section_of_run(run));
        } else {
            let _ = write!(
                body,
                "<details><summary>{}: earlier run, {}</summary>{}</details>",
                escape(workload),
                escape(&run.name),
                section_of_run(run),
            );
        }
    }
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Remanent: the laboratory</title><style>{STYLE}</style></head>\
         <body><h1>Remanent: the laboratory</h1>\
         <p class=\"about\">CPU time of the whole process, median of interleaved rounds, each in \
         a fresh process on one core; on all cores where the workload is about threads, whose CPU \
         times are then the threads' own. The line behind a dot runs from the smallest to the \
         largest round. Answers were checked; what was not verified has no time.</p>{body}\
         </body></html>\n"
    )
}

fn section_of_run(run: &Run) -> String {
    let mut text = String::new();
    if let Some(first) = run.records.first() {
        let _ = write!(
            text,
            "<p class=\"about\">{}</p><p class=\"about\">run {}, commit {}</p>",
            escape(&first.machine),
            escape(&run.name),
            escape(&first.commit),
        );
    }
    text.push_str(&legend());
    match workloads::find(&run.workload).map(Workload::view) {
        None if tpch::has(&run.workload) => text.push_str(&text_tables::of_queries(&run.records)),
        None if run.workload == conflicts::NAME => {
            text.push_str(&text_tables::of_conflicts(&run.records));
        }
        None | Some(View::Phases) => text.push_str(&sections_of_phases(&run.records)),
        Some(View::OverReaders) => text.push_str(&over_readers::sections(&run.records)),
        Some(View::TimeSeries) => text.push_str(&time_series::sections(&run.records)),
        Some(View::Levels) => text.push_str(&text_tables::of_levels(&run.records)),
        Some(View::Returns) => text.push_str(&text_tables::of_returns(&run.records)),
        Some(View::BySize) => text.push_str(&by_size::sections(&run.records)),
        Some(View::Bursts) => text.push_str(&bursts::sections(&run.records)),
    }
    text.push_str(&settings_table(&run.records));
    text.push_str(&skipped_list(&run.records));
    if let Some(workload) = workloads::find(&run.workload) {
        text.push_str(&goals(&workload.figures(&run.records)));
    }
    text
}

fn sections_of_phases(records: &[Record]) -> String {
    let mut text = String::new();
    for (title, records) in sections(records) {
        let _ = write!(text, "<h3>{}</h3><div class=\"charts\">", escape(&title));
        for phase in table::phases(&records) {
            if table::ordinary_way(&records, &phase) == phase {
                text.push_str(&phase_chart(&phase, &records));
            }
        }
        text.push_str(&bytes_chart(&records));
        let _ = write!(text, "</div>{}{}", media::section(&records), section_tables(&records));
    }
    text
}

/// Records with the same size and parameters, in the order of their first appearance.
fn sections(records: &[Record]) -> Vec<(String, Vec<Record>)> {
    let mut sections: Vec<(String, Vec<Record>)> = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        let mut title = match record.rows {
            Some(rows) => format!("{} rows", quantity::grouped(rows)),
            None => String::new(),
        };
        for (name, value) in &record.extra {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let _ = write!(title, ", {name} {value}");
        }
        match sections.iter_mut().find(|(known, _)| *known == title) {
            Some((_, of_section)) => of_section.push(record.clone()),
            None => sections.push((title, vec![record.clone()])),
        }
    }
    sections
}

fn phase_chart(phase: &str, records: &[Record]) -> String {
    let mut of_phase: Vec<&Record> = records
        .iter()
        .filter(|record| table::ordinary_way(records, &record.phase) == phase)
        .filter(|record| record.cpu_ns().is_some())
        .collect();
    if of_phase.is_empty() {
        return String::new();
    }
    table::by_time(&mut of_phase);
    let mark = |record: &&Record| {
        let spread = record.cpu_ns_per_op.unwrap_or_default();
        let samples = [spread.min, spread.median, spread.max];
        let mut mark = mark(record, samples, quantity::time(spread.median));
        if let Some(way) = record.phase.strip_prefix(phase).filter(|way| !way.is_empty()) {
            mark.label = escape(&format!("{},{}", record.contender, way.replace('_', " ")));
        }
        mark
    };
    let marks: Vec<Mark> = of_phase.iter().map(mark).collect();
    let title = format!("{}: CPU time of one operation", escape(&phase.replace('_', " ")));
    format!("<figure><h4>{title}</h4>{}</figure>", chart::times(&title, &marks))
}

fn bytes_chart(records: &[Record]) -> String {
    let mut marks: Vec<Mark> = Vec::new();
    for record in table::first_of_each_cell(records) {
        if let Some(ratio) = record.bytes_per_data_byte {
            marks.push(mark(record, [ratio; 3], format!("{ratio:.2}")));
        }
    }
    if marks.is_empty() {
        return String::new();
    }
    marks.sort_by(|left, right| left.median.total_cmp(&right.median));
    let title = "bytes held per byte of data";
    format!("<figure><h4>{title}</h4>{}</figure>", chart::ratios(title, &marks))
}

fn mark(record: &Record, [min, median, max]: [f64; 3], value: String) -> Mark {
    let (label, kind) = (escape(&table::place(record)), kind_of(record));
    Mark { label, kind, min, median, max, value }
}

/// What a record is of, which is its colour.
pub(super) fn kind_of(record: &Record) -> Kind {
    match record.setting {
        _ if record.contender.starts_with(table::BASES[0]) => Kind::Ours,
        None | Some(Promise::None) => Kind::NoTransactions,
        Some(Promise::Memory) => Kind::Memory,
        Some(Promise::Buffered | Promise::Os) => Kind::Unsynced,
        Some(Promise::Disk) => Kind::Synced,
    }
}

/// What the colours mean.
fn legend() -> String {
    let mut text = String::from("<p class=\"legend\">");
    for kind in Kind::ALL {
        let _ = write!(text, "<span class=\"{}\">{}</span> ", kind.class(), kind.words());
    }
    text.push_str("</p>");
    text
}

/// A table of the phases that most contenders offer, with the bytes; then one of the others.
fn section_tables(records: &[Record]) -> String {
    let (most, few) = table::offered(records);
    let mut text = format!("<div class=\"card\">{}</div>", phase_table(records, &most, true));
    let note = table::base_name(records)
        .map_or(String::new(), |base| format!("<p class=\"note\">x: times {base}</p>"));
    if !few.is_empty() {
        let _ = write!(text, "<div class=\"card\">{}</div>", phase_table(records, &few, false));
    }
    text.push_str(&note);
    if let Some(line) = table::synced_wall_times(records) {
        let _ = write!(text, "<p class=\"note\">{}</p>", escape(&line));
    }
    text
}

/// One row for each contender and setting that has one of the phases, three columns for each.
fn phase_table(records: &[Record], phases: &[String], with_bytes: bool) -> String {
    let mut text = String::from("<table><tr><th>contender setting/medium</th>");
    let mut bases = Vec::new();
    for phase in phases {
        let _ = write!(
            text,
            "<th class=\"number first\">{}<br>ns/op</th><th class=\"number\">op/s</th>\
             <th class=\"number\">x</th>",
            escape(&phase.replace('_', " ")),
        );
        bases.push(table::base(records, phase));
    }
    if with_bytes {
        text.push_str(
            "<th class=\"number first\">held<br>/data</th><th class=\"number\">empty</th>\
             <th class=\"number\">close</th>",
        );
    }
    text.push_str("</tr>");
    for first in table::first_of_each_cell(records) {
        let of_phases: Vec<_> =
            phases.iter().map(|phase| table::of_case(records, first, phase)).collect();
        if !with_bytes && of_phases.iter().all(Option::is_none) {
            continue;
        }
        let class = if first.contender.starts_with(table::BASES[0]) { "ours" } else { "" };
        let _ = write!(text, "<tr class=\"{class}\"><td>{}</td>", escape(&table::place(first)));
        for (record, base) in of_phases.into_iter().zip(&bases) {
            text.push_str(&time_cells(record, *base));
        }
        if with_bytes {
            text.push_str(&byte_cells(records, first));
        }
        text.push_str("</tr>");
    }
    text.push_str("</table>");
    text
}

fn time_cells(record: Option<&Record>, base: Option<&Record>) -> String {
    let mut text = String::new();
    let Some(record) = record else { return "<td></td><td></td><td></td>".to_owned() };
    let Some(ns) = record.cpu_ns() else {
        return "<td class=\"number no\" colspan=\"3\">unverified</td>".to_owned();
    };
    number_cell(&mut text, Some(quantity::nanoseconds(ns)));
    number_cell(&mut text, Some(quantity::rate(ns)));
    number_cell(&mut text, base.and_then(Record::cpu_ns).map(|base| quantity::factor(ns / base)));
    text
}

fn byte_cells(records: &[Record], first: &Record) -> String {
    let close = table::of_case(records, first, table::CLOSE).and_then(Record::cpu_ns);
    let mut text = String::new();
    number_cell(&mut text, first.bytes_per_data_byte.map(|ratio| format!("{ratio:.2}")));
    number_cell(&mut text, first.empty_bytes.map(quantity::bytes));
    number_cell(&mut text, close.map(quantity::time));
    text
}

fn number_cell(text: &mut String, value: Option<String>) {
    let _ = write!(text, "<td class=\"number\">{}</td>", value.unwrap_or_default());
}

/// What Remanent set out to reach, which is its makers' concern more than a visitor's.
fn goals(figures: &[Figure]) -> String {
    if figures.iter().all(|figure| figure.measured.is_none()) {
        return String::new();
    }
    let mut text = String::from(
        "<h3>Goals of Remanent</h3><p class=\"note\">Set for the sizes of a run with --full.</p>\
         <div class=\"card\"><table>\
         <tr><th>figure</th><th>goal</th><th>measured</th><th>reached</th></tr>",
    );
    for figure in figures {
        let (word, class) = match figure.reached {
            Some(true) => ("yes", "yes"),
            Some(false) => ("no", "no"),
            None if figure.measured.is_some() => ("-", ""),
            None => ("not measured", ""),
        };
        let _ = write!(
            text,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>",
            escape(&figure.what),
            escape(&figure.asked),
            escape(figure.measured.as_deref().unwrap_or("")),
        );
    }
    text.push_str("</table></div>");
    text
}

fn settings_table(records: &[Record]) -> String {
    let mut text = String::from(
        "<h3>Versions and settings</h3><div class=\"card\"><table>\
         <tr><th>contender</th><th>version</th><th>configuration</th></tr>",
    );
    let mut seen: Vec<(String, &str)> = Vec::new();
    for record in records.iter().filter(|record| record.skipped.is_none()) {
        let line = (table::place(record), record.note.as_str());
        if !seen.contains(&line) {
            let _ = write!(
                text,
                "<tr><td>{}</td><td>{}</td><td>{}{}</td></tr>",
                escape(&line.0),
                escape(&record.version),
                escape(line.1),
                escape(&rows_of_note(record)),
            );
            seen.push(line);
        }
    }
    text.push_str("</table></div>");
    text
}

/// A note that speaks of a stopped phase says at which size.
fn rows_of_note(record: &Record) -> String {
    match record.rows {
        Some(rows) if record.note.contains("stopped") => {
            format!(" ({}, {} rows)", record.phase, quantity::grouped(rows))
        }
        _ => String::new(),
    }
}

fn skipped_list(records: &[Record]) -> String {
    let mut text = String::new();
    for line in table::skipped(records) {
        let _ = write!(text, "<p class=\"note\">skipped: {}</p>", escape(&line));
    }
    text
}

pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
