//! The page's part of the reader-writer workload: drawings and tables over the number of readers.
//!
//! A section is a size of transactions. Each phase has two drawings, of the wall time of an
//! operation and of the writer's own CPU time, and a table for each measure, from the same grids
//! that the terminal prints.

use std::fmt::Write;

use super::lines::{self, Drawing, Series, Upright};
use super::page::{escape, kind_of};
use crate::grid::{self, Grid, Measure};
use crate::quantity;
use crate::record::Record;
use crate::table;

/// Sections by rows and operations of a transaction, in the order of their first appearance.
pub(super) fn sections(records: &[Record]) -> String {
    let mut text = String::new();
    let of_section = |record: &Record| (record.rows, record.per_transaction);
    let mut seen = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        let section = of_section(record);
        if seen.contains(&section) {
            continue;
        }
        seen.push(section);
        let all = records.iter().filter(|record| of_section(record) == section);
        let all: Vec<Record> = all.filter(|record| !record.phase.is_empty()).cloned().collect();
        let (rows, per) = (section.0.unwrap_or(0), section.1.unwrap_or(0));
        let word = if per == 1 { "operation" } else { "operations" };
        let rows = quantity::grouped(rows);
        let _ = write!(text, "<h3>{rows} rows, {per} {word} a transaction</h3>");
        text.push_str(&section_of(&all));
    }
    text
}

fn section_of(records: &[Record]) -> String {
    let (mut charts, mut tables) = (String::new(), String::new());
    for phase in table::phases(records) {
        for &measure in Measure::of_phase(&phase) {
            let grid = grid::grid(records, &phase, measure);
            if grid.rows.is_empty() {
                continue;
            }
            if measure != Measure::Reads {
                charts.push_str(&drawing(&grid, measure));
            }
            tables.push_str(&card(&grid, measure));
        }
    }
    format!("<div class=\"charts\">{charts}</div>{tables}")
}

fn drawing(grid: &Grid<'_>, measure: Measure) -> String {
    let series = grid.rows.iter().map(|row| Series {
        label: escape(&row.first.contender),
        kind: kind_of(row.first),
        points: grid
            .readers
            .iter()
            .zip(&row.records)
            .filter_map(|(&readers, record)| Some((readers as f64, measure.ns((*record)?)?)))
            .collect(),
    });
    let title = escape(&format!("{}, over readers", grid.title.trim_end_matches(", ns")));
    let lines = lines::lines(&Drawing {
        title: &title,
        series: series.filter(|series| !series.points.is_empty()).collect(),
        upright: Upright::Logarithmic,
        x_words: |readers| format!("{readers:.0}"),
        y_words: quantity::time,
    });
    if lines.is_empty() {
        return lines;
    }
    format!("<figure><h4>{title}</h4>{lines}</figure>")
}

fn card(grid: &Grid<'_>, measure: Measure) -> String {
    let mut text = format!(
        "<div class=\"card\"><h4>{}, over readers</h4><table>\
         <tr><th>contender setting/medium</th>",
        escape(&grid.title),
    );
    for readers in &grid.readers {
        let _ = write!(text, "<th class=\"number\">{readers}</th>");
    }
    text.push_str("</tr>");
    for row in &grid.rows {
        let class = if row.first.contender.starts_with(table::BASES[0]) { "ours" } else { "" };
        let _ = write!(text, "<tr class=\"{class}\"><td>{}</td>", escape(&table::place(row.first)));
        for record in &row.records {
            let wrong = record.is_some_and(|record| record.verified == Some(false));
            let class = if wrong { "number no" } else { "number" };
            let _ = write!(text, "<td class=\"{class}\">{}</td>", measure.text(*record));
        }
        text.push_str("</tr>");
    }
    text.push_str("</table></div>");
    text
}
