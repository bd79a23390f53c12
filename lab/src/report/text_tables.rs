//! The page's part of small pairs: a drawing of each phase over the levels, and the tables.
//!
//! Levels stand from left to right in the order of what they promise; a contender is a line through
//! the levels on which it stands. Commits of threads are drawn over the number of threads. The
//! tables are those that the terminal prints.

use std::fmt::Write;

use lab_harness::Promise;

use super::lines::{self, Drawing, Series, Upright};
use super::page::{escape, kind_of};
use crate::conflicts;
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::text_table::{self, TextTable, Time};
use crate::tpch;

/// The phases over the levels, then commits over threads.
pub(super) fn of_levels(records: &[Record]) -> String {
    let (together, alone): (Vec<&Record>, Vec<&Record>) =
        records.iter().partition(|record| text_table::threads_of(record).is_some());
    let mut text = String::from("<h3>Small pairs by promise</h3>");
    let mut charts = String::new();
    for phase in table::phases(records) {
        let of_phase: Vec<&Record> =
            alone.iter().copied().filter(|record| record.phase == phase).collect();
        if of_phase.is_empty() {
            continue;
        }
        let words = phase.replace('_', " ");
        for (time, clock) in [(Time::Cpu, "CPU time"), (Time::Wall, "wall time")] {
            let title = format!("{words}: {clock} of one pair, by promise");
            let place = |record: &Record| {
                Promise::ALL
                    .iter()
                    .position(|&level| record.setting == Some(level))
                    .map(|at| at as f64)
            };
            charts.push_str(&drawing(&title, &of_phase, place, time, level_words));
        }
    }
    let _ = write!(text, "<div class=\"charts\">{charts}</div>");
    text_table::of_levels(records).iter().for_each(|text_table| text.push_str(&card(text_table)));
    if together.is_empty() {
        return text;
    }
    text.push_str("<h3>Threads that commit to the disk</h3><div class=\"charts\">");
    for (time, clock) in [(Time::Wall, "wall time"), (Time::Cpu, "CPU time")] {
        let title = format!("{clock} for each commit, by threads");
        let place = |record: &Record| text_table::threads_of(record).map(|threads| threads as f64);
        text.push_str(&drawing(&title, &together, place, time, |at| format!("{at:.0}")));
    }
    text.push_str("</div>");
    text_table::of_threads(records).iter().for_each(|text_table| text.push_str(&card(text_table)));
    text
}

/// A benchmark, query by query.
pub(super) fn of_queries(records: &[Record]) -> String {
    let mut text = String::from("<h3>Queries</h3>");
    tpch::text_tables(records).iter().for_each(|text_table| text.push_str(&card(text_table)));
    text
}

/// Clients on keys of their own, statement by statement.
pub(super) fn of_conflicts(records: &[Record]) -> String {
    let mut text = String::from("<h3>Four clients on keys of their own</h3>");
    conflicts::text_tables(records).iter().for_each(|text_table| text.push_str(&card(text_table)));
    text
}

/// What comes back, phase by phase.
pub(super) fn of_returns(records: &[Record]) -> String {
    let mut text = String::from("<h3>Coming back</h3>");
    text_table::of_returns(records).iter().for_each(|text_table| text.push_str(&card(text_table)));
    text
}

fn level_words(at: f64) -> String {
    Promise::ALL.get(at as usize).map(ToString::to_string).unwrap_or_default()
}

/// A line for each contender through its places.
fn drawing(
    title: &str,
    records: &[&Record],
    place: impl Fn(&Record) -> Option<f64>,
    time: Time,
    x_words: fn(f64) -> String,
) -> String {
    let mut series: Vec<Series> = Vec::new();
    for &record in records {
        let Some(point) = place(record).zip(time.of(record)) else { continue };
        let label = escape(&record.contender);
        match series.iter_mut().find(|series| series.label == label) {
            Some(series) => series.points.push(point),
            None => series.push(Series { label, kind: kind_of(record), points: vec![point] }),
        }
    }
    let title = escape(title);
    let drawing = Drawing {
        title: &title,
        series,
        upright: Upright::Logarithmic,
        x_words,
        y_words: quantity::time,
    };
    match lines::lines(&drawing) {
        lines if lines.is_empty() => lines,
        lines => format!("<figure><h4>{title}</h4>{lines}</figure>"),
    }
}

/// A table of the page.
pub(super) fn card(text_table: &TextTable) -> String {
    let title = escape(&text_table.title);
    let mut text = format!("<div class=\"card\"><h4>{title}</h4><table><tr><th>contender</th>");
    for column in &text_table.columns {
        let _ = write!(text, "<th class=\"number\">{}</th>", escape(column));
    }
    text.push_str("</tr>");
    for (name, cases) in &text_table.lines {
        let class = if name.starts_with(table::BASES[0]) { "ours" } else { "" };
        let _ = write!(text, "<tr class=\"{class}\"><td>{}</td>", escape(name));
        for case in cases {
            let class = if case == "unverified" { "number no" } else { "number" };
            let _ = write!(text, "<td class=\"{class}\">{}</td>", escape(case));
        }
        text.push_str("</tr>");
    }
    text.push_str("</table></div>");
    text
}
