//! Tables of blocks of memory: over the sizes of blocks, and over the bytes of all of them.
//!
//! A group of a run is one total: for each phase a line for each allocator and a column for each
//! size of blocks. The page has all totals of a run, so that it shows curves: for each allocator
//! and phase a line for each size of blocks, with the power that fits it. Times are CPU times of
//! whole phases; in touched memory, of one block.

use std::io::Write;

use lab_harness::Outcome;

use crate::growth::Growth;
use crate::parameters::{PREFAULTED, block_bytes, total_bytes};
use crate::quantity;
use crate::record::Record;
use crate::table;
use crate::text_table::{self, TextTable, number};

/// One allocator's times of a phase with blocks of one size, over totals.
pub(crate) struct Curve<'r> {
    pub(crate) first: &'r Record,
    pub(crate) block_bytes: u64,
    /// Totals and nanoseconds, ascending.
    pub(crate) points: Vec<(f64, f64)>,
}

impl Curve<'_> {
    /// The power that fits the curve.
    pub(crate) fn growth(&self) -> Option<Growth> {
        Growth::of(&self.points)
    }
}

/// The curves of a phase, allocator by allocator, the smallest blocks first.
pub(crate) fn curves<'r>(records: &'r [Record], phase: &str) -> Vec<Curve<'r>> {
    let mut curves: Vec<Curve<'r>> = Vec::new();
    for record in records.iter().filter(|record| record.phase == phase) {
        let point = total_bytes(&record.extra).zip(record.whole_cpu_ns());
        let (Some((total, ns)), Some(bytes)) = (point, block_bytes(&record.extra)) else {
            continue;
        };
        let known = curves
            .iter_mut()
            .find(|curve| curve.first.contender == record.contender && curve.block_bytes == bytes);
        let point = (total as f64, ns);
        match known {
            Some(curve) => curve.points.push(point),
            None => {
                curves.push(Curve { first: record, block_bytes: bytes, points: vec![point] });
            }
        }
    }
    for curve in &mut curves {
        curve.points.sort_by(|left, right| left.0.total_cmp(&right.0));
    }
    curves.sort_by(|left, right| {
        let key = |curve: &Curve<'r>| (curve.first.contender.clone(), curve.block_bytes);
        key(left).cmp(&key(right))
    });
    curves
}

/// Bytes as blocks are named.
pub(crate) fn size_words(bytes: u64) -> String {
    match bytes {
        bytes if bytes < 1024 => format!("{bytes} B"),
        bytes => quantity::bytes(bytes),
    }
}

/// Prints the tables of a total, or of touched memory.
pub(crate) fn print_group(out: &mut dyn Write, title: &str, records: &[Record]) -> Outcome<()> {
    let rounds = records.iter().filter_map(|record| record.rounds).max().unwrap_or(0);
    let word = if rounds == 1 { "round" } else { "rounds" };
    writeln!(out, "\n== {title}\nmedian of {rounds} {word}, CPU time, over the size of a block")?;
    over_sizes(records).iter().try_for_each(|text_table| text_table::print(out, text_table))
}

/// For each phase, allocators over sizes of blocks.
pub(crate) fn over_sizes(records: &[Record]) -> Vec<TextTable> {
    let mut sizes: Vec<u64> =
        records.iter().filter_map(|record| block_bytes(&record.extra)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let all: Vec<&Record> = records.iter().collect();
    let text_table = |phase: String| {
        let case = |contender: &str, bytes: u64| {
            let record = records.iter().find(|record| {
                record.contender == contender
                    && record.phase == phase
                    && block_bytes(&record.extra) == Some(bytes)
            });
            number(record, text)
        };
        let line = |contender: String| {
            let cases = sizes.iter().map(|&bytes| case(&contender, bytes)).collect();
            (contender, cases)
        };
        TextTable {
            title: phase.replace('_', " "),
            columns: sizes.iter().map(|&bytes| size_words(bytes)).collect(),
            lines: text_table::contenders(&all, &phase).into_iter().map(line).collect(),
        }
    };
    table::phases(records).into_iter().map(text_table).collect()
}

/// Of one block where memory was touched before, else of the whole.
fn text(record: &Record) -> Option<String> {
    match record.extra.contains_key(PREFAULTED) {
        true => record.cpu_ns().map(|ns| format!("{ns:.1} ns")),
        false => record.whole_cpu_ns().map(quantity::time),
    }
}

/// One allocator's curves of a phase over totals, with the powers that fit them.
pub(crate) fn over_totals(title: &str, curves: &[&Curve<'_>]) -> TextTable {
    let mut totals: Vec<f64> =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.0).collect();
    totals.sort_by(f64::total_cmp);
    totals.dedup();
    let line = |curve: &&Curve<'_>| {
        let at = |&total: &f64| {
            let point = curve.points.iter().find(|point| point.0 == total);
            point.map_or("-".to_owned(), |point| quantity::time(point.1))
        };
        let mut cases: Vec<String> = totals.iter().map(at).collect();
        cases.push(curve.growth().map_or("-".to_owned(), |growth| growth.to_string()));
        (size_words(curve.block_bytes), cases)
    };
    let mut columns: Vec<String> =
        totals.iter().map(|&total| quantity::bytes(total as u64)).collect();
    columns.push("exponent".to_owned());
    TextTable { title: title.to_owned(), columns, lines: curves.iter().map(line).collect() }
}

#[cfg(test)]
#[path = "by_size_tests.rs"]
mod tests;
