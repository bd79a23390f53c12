//! The page's part of large transactions: bars for each phase, and the tables of the terminal.
//!
//! A section is a way to fill and end the transaction. Bars begin at zero, the shortest on top;
//! whoever was stopped by time has none.

use std::fmt::Write;

use super::chart::{self, Mark};
use super::page::{escape, kind_of};
use super::text_tables::card;
use crate::bursts::{self, Variant};
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::text_table::Time;

/// A section for each way that the records are of.
pub(super) fn sections(records: &[Record]) -> String {
    let mut text = String::new();
    for variant in bursts::variants(records) {
        let _ = write!(text, "<h3>{}</h3><div class=\"charts\">", escape(&variant.title));
        for phase in bursts::phases(&variant) {
            text.push_str(&chart_of(&variant, phase));
        }
        text.push_str("</div>");
        bursts::text_tables(&variant)
            .iter()
            .for_each(|text_table| text.push_str(&card(text_table)));
    }
    text
}

fn chart_of(variant: &Variant<'_>, phase: &str) -> String {
    let mut marks: Vec<Mark> = Vec::new();
    for record in variant.records.iter().filter(|record| record.phase == phase) {
        let Some(ns) = bursts::whole_ns(record, Time::Wall) else { continue };
        marks.push(Mark {
            label: escape(&table::place(record)),
            kind: kind_of(record),
            min: ns,
            median: ns,
            max: ns,
            value: quantity::time(ns),
        });
    }
    if marks.is_empty() {
        return String::new();
    }
    marks.sort_by(|left, right| left.median.total_cmp(&right.median));
    let title = format!("{phase}: wall time of the whole");
    let bars = chart::bars(&title, &marks, quantity::time);
    format!("<figure><h4>{title}</h4>{bars}</figure>")
}
