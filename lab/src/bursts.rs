//! Tables of large transactions, as the terminal prints and the page shows them.
//!
//! One table for each way to fill and end a transaction, by CPU time and by wall time: what
//! inserting took, for a record as well, then committing or rolling back, closing, and the opening
//! before. The quickest to insert is on top. Whoever was stopped by time comes last and has no time
//! for the whole.

use std::io::Write;

use lab_harness::Outcome;

use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::text_table::{self, TextTable, Time, number};
use crate::workloads::burst::{self, ABORT, ENDING};

/// The phases of a transaction that is kept, and of one that is not.
const KEPT: [&str; 4] = ["insert", "commit", "close", "open"];
const TAKEN_BACK: [&str; 4] = ["insert", "rollback", "close", "open"];

/// Records of one way to fill and end a transaction, and what it is in words.
pub(crate) struct Variant<'r> {
    pub(crate) title: String,
    pub(crate) records: Vec<&'r Record>,
}

/// The ways that records are of, in the order of their first appearance.
pub(crate) fn variants(records: &[Record]) -> Vec<Variant<'_>> {
    let mut variants: Vec<Variant<'_>> = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        let rows = quantity::grouped(record.rows.unwrap_or(0));
        let title = format!("{}: {rows} records", burst::words(&record.extra));
        match variants.iter_mut().find(|variant| variant.title == title) {
            Some(variant) => variant.records.push(record),
            None => variants.push(Variant { title, records: vec![record] }),
        }
    }
    variants
}

/// Prints the tables of a group.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    let rounds = records.iter().filter_map(|record| record.rounds).max().unwrap_or(0);
    let word = if rounds == 1 { "round" } else { "rounds" };
    writeln!(out, "\n== {title}\nmedian of {rounds} {word}")?;
    for variant in variants(records) {
        for text_table in text_tables(&variant) {
            text_table::print(out, &text_table)?;
        }
    }
    Ok(())
}

/// By CPU time and by wall time.
pub(crate) fn text_tables(variant: &Variant<'_>) -> Vec<TextTable> {
    [(Time::Cpu, "CPU time"), (Time::Wall, "wall time")]
        .map(|(time, words)| table_of(variant, time, words))
        .into()
}

fn table_of(variant: &Variant<'_>, time: Time, words: &str) -> TextTable {
    let phases = phases(variant);
    let mut firsts = table::first_of_each_cell_in(&variant.records);
    let whole = |record: &&Record| whole_ns(record, time).unwrap_or(f64::INFINITY);
    firsts.sort_by(|left, right| {
        let inserts = |first| of_phase(variant, first, phases[0]);
        let of = |first| inserts(first).as_ref().map_or(f64::INFINITY, whole);
        of(left).total_cmp(&of(right))
    });
    let base = firsts
        .iter()
        .filter(|first| first.contender == table::BASES[0])
        .min_by_key(|first| first.setting)
        .and_then(|first| whole_ns(of_phase(variant, first, phases[0])?, time));
    let line = |first: &&Record| {
        let of = |phase| of_phase(variant, first, phase);
        let insert = of(phases[0]);
        let text = |phase| number(of(phase), |record| Some(whole_text(record, time)));
        let ratio = insert.and_then(|record| whole_ns(record, time)).zip(base);
        let mut cases = vec![
            text(phases[0]),
            ratio.map_or("-".to_owned(), |(ns, base)| quantity::factor(ns / base)),
            number(insert, |record| time.of(record).map(quantity::nanoseconds)),
        ];
        cases.extend(phases[1..].iter().map(|phase| text(phase)));
        cases.push(number(insert, |r| r.bytes_per_data_byte.map(|ratio| format!("{ratio:.2}"))));
        (table::place(first), cases)
    };
    let mut columns = vec!["insert".to_owned(), "x".to_owned(), "ns a record".to_owned()];
    columns.extend(phases[1..].iter().map(|&phase| phase.to_owned()));
    columns.push("held/data".to_owned());
    TextTable {
        title: format!("{}, {words}", variant.title),
        columns,
        lines: firsts.iter().map(line).collect(),
    }
}

/// The phases of a variant, inserts first.
pub(crate) fn phases(variant: &Variant<'_>) -> [&'static str; 4] {
    let aborts = variant.records.first().and_then(|record| record.extra.get(ENDING));
    if aborts.is_some_and(|ending| ending == ABORT) { TAKEN_BACK } else { KEPT }
}

/// The time of a whole phase; none of inserts that were stopped.
pub(crate) fn whole_ns(record: &Record, time: Time) -> Option<f64> {
    let ns = time.of_whole(record)?;
    let stopped = record.phase == KEPT[0] && burst::is_stopped(record);
    (!stopped).then_some(ns)
}

fn whole_text(record: &Record, time: Time) -> String {
    match whole_ns(record, time) {
        Some(ns) => quantity::time(ns),
        None if burst::is_stopped(record) => "stopped".to_owned(),
        None => "-".to_owned(),
    }
}

fn of_phase<'r>(variant: &Variant<'r>, first: &Record, phase: &str) -> Option<&'r Record> {
    let mut all = variant.records.iter().copied();
    all.find(|record| record.phase == phase && table::same_cell(record, first))
}

#[cfg(test)]
#[path = "bursts_tests.rs"]
mod tests;
