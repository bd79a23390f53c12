//! Memory beside a RAM disk beside a disk: the question of the document.
//!
//! Its makers found a database on a RAM disk 3 to 4 times as fast as on a disk, and one in memory
//! 420 and 4 times as fast as that. Wall times within one run, since nobody's CPU time says how
//! long a disk was waited for; a contender in a setting is compared with itself on the other
//! medium, and with Remanent in memory.

use lab_harness::{Medium, Promise};

use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;

/// A phase of the document, how many times slower the disk was there than the RAM disk, and the
/// RAM disk than memory.
const PHASES: [(&str, u32, u32); 2] = [("write", 3, 420), ("read", 4, 4)];

const OURS: &str = "remanent";

/// Both comparisons of both phases, at one size.
pub(super) fn figures(records: &[Record], rows: u64) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (phase, disk, memory) in PHASES {
        let of_phase: Vec<&Record> = records
            .iter()
            .filter(|record| record.phase == phase && record.rows == Some(rows))
            .collect();
        let on = |medium| of_phase.iter().filter(move |record| record.medium == Some(medium));
        let ours = on(Medium::Memory).find(|record| record.contender == OURS);
        let ours = ours.and_then(|record| record.wall_ns());
        let slower = on(Medium::Disk).filter_map(|record| {
            let mut same = on(Medium::Ramdisk).filter(|other| {
                (&other.contender, other.setting) == (&record.contender, record.setting)
            });
            Some((*record, record.wall_ns()? / same.next()?.wall_ns()?))
        });
        let nearer = on(Medium::Ramdisk)
            .filter(|record| !record.contender.starts_with(OURS))
            .filter_map(|record| Some((*record, record.wall_ns()? / ours?)));
        let figure = |what: &str, document: u32, measured: String| Figure {
            what: format!("{phase}, wall time, {} rows: {what}", quantity::grouped(rows)),
            asked: format!("the document: {document}x"),
            measured: (!measured.is_empty()).then_some(measured),
            reached: None,
        };
        figures.push(figure("on a disk / on a RAM disk", disk, words(slower)));
        figures.push(figure("on a RAM disk / Remanent in memory", memory, words(nearer)));
    }
    figures
}

fn words<'r>(times: impl Iterator<Item = (&'r Record, f64)>) -> String {
    let words = times.map(|(record, times)| {
        let promise = record.setting.unwrap_or(Promise::None);
        format!("{} {} {promise}", quantity::factor(times), record.contender)
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "media_tests.rs"]
mod tests;
