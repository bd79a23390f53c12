//! What is asked of Remanent with one large transaction, beside what a run measured.
//!
//! Times are CPU times of whole phases, since ratios of those are what can be trusted on a machine
//! that others use; the limits in milliseconds are wall time. A contender that was stopped by time
//! inserted fewer records: its time for a record is that of a smaller database, and it is not
//! compared.

use lab_harness::{Medium, Promise};

use super::{ABORT, ASCENDING, COMMIT, ENDING, ORDER, RANDOM, SNAPSHOTS, is_stopped};
use crate::figure::Figure;
use crate::quantity;
use crate::record::Record;

const OURS: &str = "remanent";
/// Many records with each statement.
const OURS_IN_BULK: &str = "remanent-bulk";

/// Inserts of ours against those of others, keys ascending or not: at most so many times as long.
const INSERTS: [(&str, &str, &str, Promise, Option<f64>); 7] = [
    (OURS, ASCENDING, "lmdb", Promise::Memory, Some(0.6)),
    (OURS_IN_BULK, ASCENDING, "lmdb", Promise::Memory, Some(0.6)),
    (OURS, ASCENDING, "lmdb-append", Promise::Memory, None),
    (OURS, ASCENDING, "btreemap", Promise::None, Some(1.0)),
    (OURS, RANDOM, "btreemap", Promise::None, Some(1.0)),
    (OURS_IN_BULK, RANDOM, "btreemap", Promise::None, Some(1.0)),
    (OURS, RANDOM, "lmdb", Promise::Memory, None),
];

const COMMIT_NS_MAX: f64 = 50e6;
const CLOSE_NS_MAX: f64 = 50e6;

/// How long taking back may last beside inserting.
const ROLLBACK_MAX: f64 = 0.5;

/// Bytes for each byte of data, index included.
const BYTES_MAX: f64 = 2.2;

/// Every figure; of what the run did not measure, none.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let run = Run { records };
    let mut figures = Vec::new();
    for (ours, order, other, promise, most) in INSERTS {
        figures.extend(run.insert_against(ours, other, order, promise, most));
    }
    for order in [ASCENDING, RANDOM] {
        figures.extend(run.at_most(order, COMMIT, "commit", COMMIT_NS_MAX));
        figures.extend(run.rollback(order));
        figures.extend(run.at_most(order, COMMIT, "close", CLOSE_NS_MAX));
        figures.extend(run.at_most(order, ABORT, "close", CLOSE_NS_MAX));
        figures.extend(run.bytes(order));
    }
    figures.extend(run.beside_snapshots());
    figures.extend(run.ahead());
    figures
}

/// The records of one run.
struct Run<'a> {
    records: &'a [Record],
}

/// Where a record stands: contender, promise, order, ending, phase; snapshots or none.
struct Sought<'a> {
    contender: &'a str,
    promise: Promise,
    order: &'a str,
    ending: &'a str,
    phase: &'a str,
    snapshots: bool,
}

impl Sought<'_> {
    fn is(&self, record: &Record) -> bool {
        let parameter = |name: &str| record.extra.get(name).and_then(|value| value.as_str());
        record.contender == self.contender
            && record.setting == Some(self.promise)
            && record.phase == self.phase
            && record.medium != Some(Medium::Disk)
            && parameter(ORDER) == Some(self.order)
            && parameter(ENDING) == Some(self.ending)
            && record.extra.contains_key(SNAPSHOTS) == self.snapshots
    }
}

impl Run<'_> {
    fn find(&self, sought: &Sought<'_>) -> Option<&Record> {
        self.records.iter().find(|record| sought.is(record))
    }

    fn ours(&self, order: &str, ending: &str, phase: &str) -> Option<&Record> {
        self.of_ours(OURS, order, ending, phase)
    }

    fn of_ours(&self, contender: &str, order: &str, ending: &str, phase: &str) -> Option<&Record> {
        let (promise, snapshots) = (Promise::Memory, false);
        self.find(&Sought { contender, promise, order, ending, phase, snapshots })
    }

    fn insert_against(
        &self,
        ours: &str,
        other: &str,
        order: &str,
        promise: Promise,
        most: Option<f64>,
    ) -> Option<Figure> {
        let ns = whole_cpu_ns(self.of_ours(ours, order, COMMIT, "insert")?)?;
        let sought = Sought {
            contender: other,
            promise,
            order,
            ending: COMMIT,
            phase: "insert",
            snapshots: false,
        };
        let ratio = self.find(&sought).and_then(whole_cpu_ns).map(|other_ns| ns / other_ns);
        let how = if ours == OURS { "insert" } else { "insert of many at a time" };
        Some(Figure {
            what: format!("{how}, keys {order}, beside {other}"),
            asked: most.map_or("for comparison".to_owned(), |most| format!("<= {most:.1}x")),
            measured: ratio.map(quantity::factor),
            reached: ratio.zip(most).map(|(ratio, most)| ratio <= most),
        })
    }

    fn at_most(&self, order: &str, ending: &str, phase: &str, ns_max: f64) -> Option<Figure> {
        let ns = self.ours(order, ending, phase)?.whole_wall_ns()?;
        let after = if phase == ending { "" } else { &format!(" after {ending}") };
        Some(Figure {
            what: format!("{phase}{after}, keys {order}"),
            asked: format!("<= {}", quantity::time(ns_max)),
            measured: Some(quantity::time(ns)),
            reached: Some(ns <= ns_max),
        })
    }

    fn rollback(&self, order: &str) -> Option<Figure> {
        let ns = whole_cpu_ns(self.ours(order, ABORT, "rollback")?)?;
        let insert_ns = whole_cpu_ns(self.ours(order, ABORT, "insert")?)?;
        let ratio = ns / insert_ns;
        Some(Figure {
            what: format!("rollback beside insert, keys {order}"),
            asked: format!("<= {ROLLBACK_MAX:.1}x"),
            measured: Some(format!("{}: {}", quantity::factor(ratio), quantity::time(ns))),
            reached: Some(ratio <= ROLLBACK_MAX),
        })
    }

    /// The most of all endings.
    fn bytes(&self, order: &str) -> Option<Figure> {
        let of = |ending| self.ours(order, ending, "insert")?.bytes_per_data_byte;
        let ratio = of(COMMIT).into_iter().chain(of(ABORT)).reduce(f64::max)?;
        Some(Figure {
            what: format!("peak memory for each byte of data, keys {order}"),
            asked: format!("<= {BYTES_MAX:.1}"),
            measured: Some(format!("{ratio:.2}")),
            reached: Some(ratio <= BYTES_MAX),
        })
    }

    fn beside_snapshots(&self) -> Option<Figure> {
        let (contender, promise, order, ending) = (OURS, Promise::Memory, ASCENDING, COMMIT);
        let (phase, snapshots) = ("insert", true);
        let beside = self.find(&Sought { contender, promise, order, ending, phase, snapshots })?;
        let (alone, beside) =
            (whole_cpu_ns(self.ours(order, ending, phase)?)?, whole_cpu_ns(beside)?);
        Some(Figure {
            what: "insert beside 100 snapshots, against none".to_owned(),
            asked: "for comparison".to_owned(),
            measured: Some(quantity::factor(beside / alone)),
            reached: None,
        })
    }

    fn ahead(&self) -> Option<Figure> {
        let of = |phase| {
            self.find(&Sought {
                contender: "remanent-ahead",
                promise: Promise::Memory,
                order: ASCENDING,
                ending: COMMIT,
                phase,
                snapshots: false,
            })
        };
        let (open, insert) = (of("open")?.whole_wall_ns()?, whole_cpu_ns(of("insert")?)?);
        let plain = whole_cpu_ns(self.ours(ASCENDING, COMMIT, "insert")?)?;
        Some(Figure {
            what: "insert into memory committed ahead, against the plain one".to_owned(),
            asked: "for comparison".to_owned(),
            measured: Some(format!(
                "{}, and {} to open",
                quantity::factor(insert / plain),
                quantity::time(open)
            )),
            reached: None,
        })
    }
}

/// The CPU time of a whole phase; none of one that was stopped.
fn whole_cpu_ns(record: &Record) -> Option<f64> {
    record.whole_cpu_ns().filter(|_| !is_stopped(record))
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
