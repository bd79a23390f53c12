//! The text of the page: runs, their figures, drawings and tables.
//!
//! Works for every workload alike: what the records have in common is a section, a phase is a
//! drawing, a contender is a row. Only the list of figures is the workload's own. Every text
//! that comes from a record is escaped here.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::Run;
use super::chart::{self, Kind, Mark};
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::workloads::{self, Figure};

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
         a fresh process on one core; the line behind a dot runs from the smallest to the largest \
         round. Answers were checked; what was not verified has no time.</p>{body}</body></html>\n"
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
    if let Some(workload) = workloads::find(&run.workload) {
        text.push_str(&figure_list(&workload.figures(&run.records)));
    }
    for (title, records) in sections(&run.records) {
        let _ = write!(text, "<h3>{}</h3><div class=\"charts\">", escape(&title));
        for phase in table::phases(&records) {
            text.push_str(&phase_chart(&phase, &records));
        }
        text.push_str(&bytes_chart(&records));
        let _ = write!(text, "</div><div class=\"card\">{}</div>", section_table(&records));
    }
    text.push_str(&settings_table(&run.records));
    text.push_str(&skipped_list(&run.records));
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
        .filter(|record| record.phase == phase && record.cpu_ns().is_some())
        .collect();
    if of_phase.is_empty() {
        return String::new();
    }
    table::by_time(&mut of_phase);
    let mark = |record: &&Record| {
        let spread = record.cpu_ns_per_op.unwrap_or_default();
        mark(record, [spread.min, spread.median, spread.max], quantity::time(spread.median))
    };
    let marks: Vec<Mark> = of_phase.iter().map(mark).collect();
    let title = format!("{}, CPU time of one operation", escape(phase));
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
    let limit = record.setting == Some(lab_harness::Promise::None);
    let kind = match (record.contender.starts_with(table::BASES[0]), limit) {
        (true, _) => Kind::Ours,
        (_, true) => Kind::Limit,
        _ => Kind::Peer,
    };
    Mark { label: escape(&table::place(record)), kind, min, median, max, value }
}

/// One row for each contender and setting, two columns for each phase.
fn section_table(records: &[Record]) -> String {
    let phases = table::phases(records);
    let bases: BTreeMap<&String, &Record> = phases
        .iter()
        .filter_map(|phase| {
            let of_phase: Vec<_> = records.iter().filter(|record| record.phase == *phase).collect();
            Some((phase, table::base(&of_phase)?))
        })
        .collect();
    let mut text = String::from("<table><tr><th>contender</th>");
    for phase in &phases {
        let base = bases.get(phase).map_or("", |base| base.contender.as_str());
        let _ = write!(
            text,
            "<th class=\"number\">{}<br>ns/op</th><th class=\"number\">op/s</th>\
             <th class=\"number\">to {}</th>",
            escape(phase),
            escape(base),
        );
    }
    text.push_str(
        "<th class=\"number\">held<br>/data</th><th class=\"number\">empty<br>database</th></tr>",
    );
    for first in table::first_of_each_cell(records) {
        let class = if first.contender.starts_with(table::BASES[0]) { "ours" } else { "" };
        let _ = write!(text, "<tr class=\"{class}\"><td>{}</td>", escape(&table::place(first)));
        for phase in &phases {
            let record = records
                .iter()
                .find(|record| record.phase == *phase && table::same_cell(record, first));
            text.push_str(&time_cells(record, bases.get(phase).copied()));
        }
        let ratio = first.bytes_per_data_byte.map(|ratio| format!("{ratio:.2}"));
        number_cell(&mut text, ratio);
        number_cell(&mut text, first.empty_bytes.map(quantity::bytes));
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

fn number_cell(text: &mut String, value: Option<String>) {
    let _ = write!(text, "<td class=\"number\">{}</td>", value.unwrap_or_default());
}

fn figure_list(figures: &[Figure]) -> String {
    if figures.iter().all(|figure| figure.measured.is_none()) {
        return String::new();
    }
    let mut text = String::from(
        "<h3>Figures asked of Remanent</h3><div class=\"card\"><table>\
         <tr><th>figure</th><th>asked</th><th>measured</th><th>reached</th></tr>",
    );
    for figure in figures {
        let (word, class) = match figure.reached {
            Some(true) => ("yes", "yes"),
            Some(false) => ("no", "no"),
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
    for record in records {
        if let Some(reason) = &record.skipped {
            let _ = write!(
                text,
                "<p class=\"note\">skipped: {}: {}</p>",
                escape(&table::place(record)),
                escape(reason),
            );
        }
    }
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
