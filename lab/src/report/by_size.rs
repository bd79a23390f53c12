//! The page's part of memory: curves over the total, one drawing for each allocator and phase.
//!
//! A line is a size of blocks. Below the drawings of a phase stand the tables with the powers that
//! fit. Blocks in touched memory have the tables of the terminal.

use std::fmt::Write;

use super::lines::{self, Drawing, Series, Upright};
use super::page::{escape, kind_of};
use super::text_tables::card;
use crate::by_size::{self, Curve};
use crate::parameters::PREFAULTED;
use crate::quantity;
use crate::record::Record;
use crate::table;

/// Every phase over the total, then touched memory.
pub(super) fn sections(records: &[Record]) -> String {
    let mut text = String::new();
    for phase in table::phases(records) {
        let curves = by_size::curves(records, &phase);
        if !curves.is_empty() {
            let words = escape(&phase.replace('_', " "));
            let _ = write!(text, "<h3>{words}: CPU time over the total</h3>");
            text.push_str(&section(&words, &curves));
        }
    }
    let is_prefaulted = |record: &&Record| record.extra.contains_key(PREFAULTED);
    let prefaulted: Vec<Record> = records.iter().filter(is_prefaulted).cloned().collect();
    if !prefaulted.is_empty() {
        text.push_str("<h3>Blocks in touched memory: CPU time of one</h3>");
        by_size::over_sizes(&prefaulted)
            .iter()
            .for_each(|text_table| text.push_str(&card(text_table)));
    }
    text
}

fn section(phase: &str, curves: &[Curve<'_>]) -> String {
    let (mut charts, mut cards) = (String::new(), String::new());
    let mut names: Vec<&str> = curves.iter().map(|curve| curve.first.contender.as_str()).collect();
    names.dedup();
    for name in names {
        let own: Vec<&Curve<'_>> =
            curves.iter().filter(|curve| curve.first.contender == name).collect();
        let title = format!("{phase}: {}", escape(name));
        charts.push_str(&drawing(&title, &own));
        cards.push_str(&card(&by_size::over_totals(&title, &own)));
    }
    format!("<div class=\"charts\">{charts}</div>{cards}")
}

fn drawing(title: &str, curves: &[&Curve<'_>]) -> String {
    let series = curves.iter().map(|curve| Series {
        label: by_size::size_words(curve.block_bytes),
        kind: kind_of(curve.first),
        points: curve.points.clone(),
    });
    let lines = lines::lines(&Drawing {
        title,
        series: series.collect(),
        upright: Upright::FromZero,
        x_words: |bytes| quantity::bytes(bytes as u64),
        y_words: quantity::time,
    });
    format!("<figure><h4>{title}</h4>{lines}</figure>")
}
