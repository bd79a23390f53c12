//! The page's part of the long-reader workload: memory over the updates made beside a reader.
//!
//! One drawing for each record that has a time series: everything held, and row versions of it, and
//! a table of the figures of that record.

use std::fmt::Write;

use super::chart::Kind;
use super::lines::{self, Drawing, Series, Upright};
use super::page::escape;
use crate::protocol::Point;
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::time_series;

/// A section for each record that has a time series.
pub(super) fn sections(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records.iter().filter(|record| !record.time_series.is_empty()) {
        let title = escape(&time_series::title(record));
        let _ = write!(text, "<h3>{title}</h3><div class=\"charts\">{}</div>", drawing(record));
        text.push_str(&card(record));
    }
    text
}

fn drawing(record: &Record) -> String {
    let points_of = |bytes: fn(&Point) -> u64| {
        let points = record.time_series.iter();
        points.map(|point| (point.operations as f64, bytes(point) as f64)).collect()
    };
    let series = vec![
        Series { label: "held".to_owned(), kind: Kind::Ours, points: points_of(|p| p.held_bytes) },
        Series {
            label: "rows".to_owned(),
            kind: Kind::Memory,
            points: points_of(|p| p.rows_bytes),
        },
    ];
    let title = "memory over updates beside a reader that stays open";
    let lines = lines::lines(&Drawing {
        title,
        series,
        upright: Upright::FromZero,
        x_words: |operations| quantity::grouped(operations as u64),
        y_words: |bytes| quantity::bytes(bytes as u64),
    });
    format!("<figure><h4>{title}</h4>{lines}</figure>")
}

fn card(record: &Record) -> String {
    let time = |ns: Option<f64>| match record.verified {
        Some(false) => "unverified".to_owned(),
        _ => ns.map(quantity::nanoseconds).unwrap_or_default(),
    };
    let mut text = format!(
        "<div class=\"card\"><table><tr><th>contender setting/medium</th>\
         <th class=\"number\">wall ns/update</th><th class=\"number\">CPU ns/update</th>\
         <th class=\"number\">looks</th></tr><tr class=\"ours\"><td>{}</td>\
         <td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\
         </table><table><tr>",
        escape(&table::place(record)),
        time(record.wall_ns()),
        time(record.cpu_ns()),
        record.reads.map(quantity::grouped).unwrap_or_default(),
    );
    for head in time_series::HEADS {
        let _ = write!(text, "<th class=\"number\">{head}</th>");
    }
    text.push_str("</tr>");
    for point in time_series::excerpt(&record.time_series) {
        text.push_str("<tr>");
        for word in time_series::words(point) {
            let _ = write!(text, "<td class=\"number\">{word}</td>");
        }
        text.push_str("</tr>");
    }
    text.push_str("</table></div>");
    text
}
