//! The page's drawings of a disk beside a RAM disk, as the document's figures 9 and 10.
//!
//! Of each phase there are two: Remanent in memory beside everybody whose files are on a disk, and
//! beside the same on a RAM disk. Wall times, on one axis in both, so that they can be laid one
//! over the other. They are drawn where a run has both media.

use std::fmt::Write;

use lab_harness::Medium;

use super::chart::{self, Mark};
use super::page::{escape, kind_of};
use crate::quantity;
use crate::record::Record;
use crate::table;

const PHASES: [&str; 2] = ["write", "read"];
const FILES: [(Medium, &str); 2] =
    [(Medium::Disk, "files on a disk"), (Medium::Ramdisk, "files on a RAM disk")];

/// Who was the document's disk database, and why it is not here.
const ABSENT: &str = "db.linux, the document's disk database, is not here: no package registry \
    has it. The program of the document runs as remanent-d, on our engine.";

/// The drawings of one size; nothing where a medium is missing.
pub(super) fn section(records: &[Record]) -> String {
    let is_on = |medium| records.iter().any(|record| record.medium == Some(medium));
    if !FILES.iter().all(|(medium, _)| is_on(*medium)) {
        return String::new();
    }
    let mut charts = String::new();
    for phase in PHASES {
        let of_phase: Vec<&Record> = records
            .iter()
            .filter(|record| record.phase == phase && record.wall_ns().is_some())
            .collect();
        let axis = axis(&of_phase);
        for (medium, words) in FILES {
            let title = format!("{phase}: wall time, memory beside {words}");
            let marks = marks(&of_phase, medium);
            let drawing = chart::times_between(&title, &marks, axis);
            let _ = write!(charts, "<figure><h4>{title}</h4>{drawing}</figure>");
        }
    }
    format!("<div class=\"charts\">{charts}</div><p class=\"note\">{ABSENT}</p>")
}

/// From the smallest to the largest sample.
fn axis(records: &[&Record]) -> (f64, f64) {
    let spreads = records.iter().filter_map(|record| record.wall_ns_per_op);
    spreads.fold((f64::INFINITY, 0.0), |(low, high), spread| {
        (low.min(spread.min), high.max(spread.max))
    })
}

/// Remanent in memory and everybody with files on a medium, the fastest first.
fn marks(records: &[&Record], medium: Medium) -> Vec<Mark> {
    let is_shown = |record: &&&Record| {
        let in_memory =
            record.contender == table::BASES[0] && record.medium == Some(Medium::Memory);
        in_memory || record.medium == Some(medium)
    };
    let mut marks: Vec<Mark> = records
        .iter()
        .filter(is_shown)
        .filter_map(|record| {
            let spread = record.wall_ns_per_op?;
            let (min, median, max) = (spread.min, spread.median, spread.max);
            let label = match (record.medium, record.setting) {
                (Some(Medium::Memory), _) | (_, None) => format!("{} memory", record.contender),
                (_, Some(promise)) => format!("{} {promise}", record.contender),
            };
            let (label, value) = (escape(&label), quantity::time(median));
            Some(Mark { label, kind: kind_of(record), min, median, max, value })
        })
        .collect();
    marks.sort_by(|left, right| left.median.total_cmp(&right.median));
    marks
}
