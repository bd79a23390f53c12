//! What was asked of Remanent in the sensor workload, beside what a run measured.
//!
//! Ratios are of median CPU times within one run. "The fastest transactional contender" is the
//! smallest median among all others whose setting has transactions and who wrote every row: one
//! that was stopped while writing is read from a smaller database. A figure that the run did not
//! measure stands in the list without a value, never as reached.

use lab_harness::Promise;
use serde_json::Value;

use super::measure::STOPPED;
use super::plan::{
    PART, PART_CLOSE, PART_CLOSE_64, PART_RANDOM_64, ROWS_4_GIB, ROWS_4_GIB_64, ROWS_LARGE,
    ROWS_MILLION, ROWS_SMALL,
};
use super::{interfaces, media};
use crate::figure::Figure;
use crate::quantity::grouped;
use crate::record::Record;
use crate::table;

const OURS: &str = "remanent";

/// Ours with the memory for all rows committed at open.
const OURS_AHEAD: &str = "remanent-ahead";

/// The size of the document and the size beyond the caches.
const SIZES: [u64; 2] = [ROWS_SMALL, ROWS_MILLION];

const CLOSE_NS_MAX: f64 = 50e6;

/// Close may differ this much between the rows before it counts as slower with more of them.
const CLOSE_NOISE_NS: f64 = 1e6;

/// Databases whose bytes held differ by more than this part are not of one size.
const HELD_APART_MAX: f64 = 0.1;

/// Every figure, for the sizes that were asked for and were measured, or else for the
/// document's.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let run = Run { records };
    let mut figures = Vec::new();
    for rows in run.sizes() {
        let at = |phase| format!("{phase}, {} rows", grouped(rows));
        let read = run.ours("read", rows, "");
        for (ours, how) in [(OURS, ""), (OURS_AHEAD, ", memory committed ahead")] {
            let what = at("write") + how;
            let write = run.record(ours, "write", rows, "").and_then(Record::cpu_ns);
            figures.push(times_faster(what.clone(), 5.0, write, run.fastest("write", rows)));
            figures.push(limit(what, 0.7, write, run.btree("write", rows, "")));
        }
        figures.push(times_faster(at("read in order"), 4.0, read, run.fastest("read", rows)));
        figures.push(limit(at("read in order"), 0.7, read, run.btree("read", rows, "")));
        if rows >= ROWS_MILLION {
            figures.extend(random(&run, rows, "", [0.4, 0.2, 0.2]));
        }
    }
    figures.extend(random(&run, ROWS_LARGE, PART_RANDOM_64, [0.35, 0.2, 0.2]));
    let rows = run.sizes()[0];
    figures.extend(bytes(&run, rows));
    figures.extend(close(&run));
    figures.extend(interfaces::figures(records, &run.sizes()));
    figures.extend(run.sizes().into_iter().flat_map(|rows| media::figures(records, rows)));
    figures
}

/// The records of one run.
struct Run<'a> {
    records: &'a [Record],
}

impl Run<'_> {
    /// The sizes to speak of: those asked for, or what there is when none of them is.
    fn sizes(&self) -> Vec<u64> {
        let mut measured: Vec<u64> = self
            .records
            .iter()
            .filter(|record| part(record).is_empty() && record.phase == "write")
            .filter_map(|record| record.rows)
            .collect();
        measured.sort_unstable();
        measured.dedup();
        if measured.is_empty() { SIZES.to_vec() } else { measured }
    }

    fn ours(&self, phase: &str, rows: u64, of_part: &str) -> Option<f64> {
        self.record(OURS, phase, rows, of_part)?.cpu_ns()
    }

    /// The smallest median over our variants, with the variant's name: a hash index is one.
    fn best(&self, phase: &str, rows: u64, of_part: &str) -> Option<(f64, String)> {
        self.records
            .iter()
            .filter(|record| record.contender.starts_with(OURS) && record.phase == phase)
            .filter(|record| record.rows == Some(rows) && part(record) == of_part)
            .filter_map(|record| Some((record.cpu_ns()?, record.contender.clone())))
            .min_by(|left, right| left.0.total_cmp(&right.0))
    }

    fn btree(&self, phase: &str, rows: u64, of_part: &str) -> Option<f64> {
        self.record("btreemap", phase, rows, of_part)?.cpu_ns()
    }

    fn record(&self, contender: &str, phase: &str, rows: u64, of_part: &str) -> Option<&Record> {
        self.records
            .iter()
            .filter(|record| record.contender == contender && record.phase == phase)
            .filter(|record| record.rows == Some(rows) && part(record) == of_part)
            .min_by_key(|record| record.setting)
    }

    /// The smallest median of a transactional contender that wrote every row, with its name.
    fn fastest(&self, phase: &str, rows: u64) -> Option<(f64, String)> {
        self.records
            .iter()
            .filter(|record| !record.contender.starts_with(OURS))
            .filter(|record| record.setting.is_some_and(|setting| setting > Promise::None))
            .filter(|record| record.phase == phase && record.rows == Some(rows))
            .filter(|record| part(record).is_empty() && !self.stopped_writing(record))
            .filter_map(|record| Some((record.cpu_ns()?, record.contender.clone())))
            .min_by(|left, right| left.0.total_cmp(&right.0))
    }

    /// Whether the rows of a record's case were not all written, because time was up.
    fn stopped_writing(&self, of: &Record) -> bool {
        self.records
            .iter()
            .filter(|record| record.phase == "write" && table::same_cell(record, of))
            .any(|record| record.note.contains(STOPPED))
    }
}

fn random(run: &Run<'_>, rows: u64, of_part: &str, asked: [f64; 3]) -> [Figure; 3] {
    let btree = run.btree("read_random", rows, of_part);
    let of_size = match of_part {
        "" => format!("{} rows", grouped(rows)),
        _ => format!("{} rows of 64 bytes (--large)", grouped(rows)),
    };
    let best = |what: &str, asked, phase| {
        let best = run.best(phase, rows, of_part);
        let mut figure =
            limit(format!("{what}, {of_size}"), asked, best.as_ref().map(|(time, _)| *time), btree);
        figure.measured = figure.measured.zip(best).map(|(ratio, (_, by))| format!("{ratio} {by}"));
        figure
    };
    let [ordered, hash, batch] = asked;
    [
        limit(
            format!("read at random, ordered index, {of_size}"),
            ordered,
            run.ours("read_random", rows, of_part),
            btree,
        ),
        best("read at random, hash index", hash, "read_random_hash"),
        best("read at random, 64 keys a batch", batch, "read_random_batch"),
    ]
}

fn bytes(run: &Run<'_>, rows: u64) -> [Figure; 2] {
    let record = run.record(OURS, "write", rows, "");
    let ratio = record.and_then(|record| record.bytes_per_data_byte);
    let empty = record.and_then(|record| record.empty_bytes).map(|bytes| bytes as f64 / 1024.0);
    [
        Figure {
            what: format!("bytes held per byte of data, {} rows", grouped(rows)),
            asked: "<= 1.20".to_owned(),
            measured: ratio.map(|ratio| format!("{ratio:.2}")),
            reached: ratio.map(|ratio| ratio <= 1.20),
        },
        Figure {
            what: "empty database".to_owned(),
            asked: "<= 108 KiB".to_owned(),
            measured: empty.map(|kibibytes| format!("{kibibytes:.0} KiB")),
            reached: empty.map(|kibibytes| kibibytes <= 108.0),
        },
    ]
}

fn close(run: &Run<'_>) -> [Figure; 2] {
    let few = run.record(OURS, "close", ROWS_4_GIB, PART_CLOSE);
    let many = run.record(OURS, "close", ROWS_4_GIB_64, PART_CLOSE_64);
    let milliseconds = |ns: f64| format!("{:.2} ms", ns / 1e6);
    let of_few = few.and_then(Record::cpu_ns);
    let both = few.zip(many).and_then(|(few, many)| {
        let times = (many.cpu_ns()?, few.cpu_ns()?);
        let (many, few) = (many.held_bytes? as f64, few.held_bytes? as f64);
        let same = (many / few - 1.0).abs() <= HELD_APART_MAX;
        Some((times, same, format!("{:.2} against {:.2} GB held", many / 1e9, few / 1e9)))
    });
    [
        Figure {
            what: "close of a 4 GiB database".to_owned(),
            asked: "<= 50 ms".to_owned(),
            measured: of_few.map(milliseconds),
            reached: of_few.map(|few| few <= CLOSE_NS_MAX),
        },
        Figure {
            what: format!(
                "close of the same bytes in {} against {} rows",
                grouped(ROWS_4_GIB_64),
                grouped(ROWS_4_GIB)
            ),
            asked: "no slower".to_owned(),
            reached: both
                .as_ref()
                .filter(|(_, same, _)| *same)
                .map(|((many, few), ..)| *many <= few * 1.1 + CLOSE_NOISE_NS),
            measured: both.map(|((many, few), same, held)| match same {
                true => format!("{} against {}", milliseconds(many), milliseconds(few)),
                false => format!("not comparable: {held}"),
            }),
        },
    ]
}

fn times_faster(
    what: String,
    asked: f64,
    ours: Option<f64>,
    fastest: Option<(f64, String)>,
) -> Figure {
    let measured = ours.zip(fastest).map(|(ours, (theirs, name))| (theirs / ours, name));
    Figure {
        what,
        asked: format!(">= {asked}x the fastest transactional contender"),
        reached: measured.as_ref().map(|(times, _)| *times >= asked),
        measured: measured.map(|(times, name)| format!("{times:.1}x {name}")),
    }
}

fn limit(what: String, asked: f64, ours: Option<f64>, btree: Option<f64>) -> Figure {
    let ratio = ours.zip(btree).map(|(ours, btree)| ours / btree);
    Figure {
        what,
        asked: format!("<= {asked} of the BTreeMap's time"),
        measured: ratio.map(|ratio| format!("{ratio:.2}")),
        reached: ratio.map(|ratio| ratio <= asked),
    }
}

fn part(record: &Record) -> &str {
    record.extra.get(PART).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
