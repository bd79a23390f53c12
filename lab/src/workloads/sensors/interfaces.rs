//! What the interfaces in C cost beside the Rust one, from the records of one run.
//!
//! Ratios of median CPU times to the Rust interface, at each size and in each phase that both have;
//! nothing at all when a run asked for no interface. A text that is put together from pieces is
//! shown beside one that is a string, in time and in bytes; nothing was asked of it.

use crate::figure::Figure;
use crate::quantity::{self, grouped};
use crate::record::Record;

const RUST: &str = "remanent";

/// What each may cost, as times the Rust interface.
const ASKED: [(&str, f64); 3] = [("remanent-c", 1.15), ("remanent-mco", 1.3), ("remanent-d", 2.0)];

/// The text in pieces.
const STRINGS: &str = "remanent-d-strings";

const PHASES: [&str; 3] = ["write", "read", "read_random"];

/// Every figure about interfaces.
pub(super) fn figures(records: &[Record], sizes: &[u64]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for &rows in sizes {
        let of = |contender: &str, phase: &str| {
            records.iter().find(|record| {
                record.contender == contender && record.phase == phase && record.rows == Some(rows)
            })
        };
        for (contender, asked) in ASKED {
            for phase in PHASES {
                let Some(theirs) = of(contender, phase) else { continue };
                figures.push(cost(theirs, of(RUST, phase), asked, rows));
            }
        }
        for phase in PHASES {
            let Some(pieces) = of(STRINGS, phase) else { continue };
            figures.push(emulation(pieces, of(RUST, phase), rows));
        }
    }
    figures
}

fn cost(theirs: &Record, rust: Option<&Record>, asked: f64, rows: u64) -> Figure {
    let times = theirs.cpu_ns().zip(rust.and_then(Record::cpu_ns));
    let ratio = times.map(|(theirs, rust)| theirs / rust);
    Figure {
        what: format!(
            "{}, {} rows: CPU time, {} / {RUST}",
            theirs.phase,
            grouped(rows),
            theirs.contender
        ),
        asked: format!("<= {asked}x"),
        measured: ratio.map(quantity::factor),
        reached: ratio.map(|ratio| ratio <= asked),
    }
}

fn emulation(pieces: &Record, native: Option<&Record>, rows: u64) -> Figure {
    let times = pieces.cpu_ns().zip(native.and_then(Record::cpu_ns));
    let bytes = pieces
        .bytes_per_data_byte
        .zip(native.and_then(|native| native.bytes_per_data_byte))
        .map_or(String::new(), |(pieces, native)| {
            format!(", {pieces:.2} against {native:.2} bytes per byte of data")
        });
    Figure {
        what: format!("{}, {} rows: text in pieces / string", pieces.phase, grouped(rows)),
        asked: "for comparison".to_owned(),
        measured: times.map(|(pieces, native)| {
            format!("{} the time{bytes}", quantity::factor(pieces / native))
        }),
        reached: None,
    }
}

#[cfg(test)]
#[path = "interfaces_tests.rs"]
mod tests;
