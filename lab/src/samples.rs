//! The samples of all rounds of one case, and the records they become.
//!
//! Times are divided by the operations of their own sample before the median is taken, since a
//! phase that was stopped early did fewer. One wrong answer in any round makes the phase
//! unverified, and an unverified phase has no times.

use std::collections::BTreeSet;

use crate::protocol::{Held, Line, PhaseSample};
use crate::record::{Record, Spread};

/// What was measured of one case so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples {
    phases: Vec<(String, Vec<PhaseSample>)>,
    held: Vec<Held>,
    failure: Option<String>,
}

impl Samples {
    /// Takes the lines of one round.
    pub(crate) fn add(&mut self, lines: Vec<Line>) {
        for line in lines {
            match line {
                Line::Held(held) => self.held.push(held),
                Line::Failed { reason } => self.fail(reason),
                Line::Phase(sample) => {
                    let known = self.phases.iter_mut().find(|(phase, _)| *phase == sample.phase);
                    match known {
                        Some((_, samples)) => samples.push(sample),
                        None => self.phases.push((sample.phase.clone(), vec![sample])),
                    }
                }
            }
        }
    }

    /// The case cannot be measured, for a reason; later rounds leave it out.
    pub(crate) fn fail(&mut self, reason: String) {
        self.failure.get_or_insert(reason);
    }

    /// Whether the case failed in an earlier round.
    pub(crate) fn failed(&self) -> bool {
        self.failure.is_some()
    }

    /// One record for each phase; or one that says why there is none. `about` has every field
    /// that does not come from samples, its note being the setting's.
    pub(crate) fn records(&self, about: &Record) -> Vec<Record> {
        if let Some(reason) = &self.failure {
            return vec![Record { skipped: Some(reason.clone()), ..about.clone() }];
        }
        self.phases.iter().map(|(phase, samples)| self.record(about, phase, samples)).collect()
    }

    fn record(&self, about: &Record, phase: &str, samples: &[PhaseSample]) -> Record {
        let verified = samples.iter().all(|sample| sample.verified);
        let per = |time: u64, count: u64| time as f64 / count.max(1) as f64;
        let spread = |sample: &dyn Fn(&PhaseSample) -> Option<f64>| {
            let samples: Vec<f64> = samples.iter().filter_map(sample).collect();
            if verified { Spread::of(samples) } else { None }
        };
        let ratio_of = |part: &dyn Fn(&PhaseSample) -> Option<f64>| {
            let ratios: Vec<f64> = samples.iter().filter_map(part).collect();
            if verified { middle_ratio(ratios) } else { None }
        };
        // A nanosecond for a byte is a second for a gigabyte.
        let per_byte = |sample: &PhaseSample, ns| Some(per(ns, sample.bytes?));
        let seconds = |ns: fn(&PhaseSample) -> u64| {
            let all = samples.iter().map(|sample| ns(sample) as f64).collect();
            Spread::of(all).filter(|_| verified).map(|spread| spread.median / 1e9)
        };
        let middle = |bytes: fn(&Held) -> u64| middle_of(self.held.iter().map(bytes).collect());
        let (data_bytes, held_bytes) = (middle(|held| held.data_bytes), middle(|h| h.held_bytes));
        let ratio = data_bytes.zip(held_bytes).map(|(data, held)| held as f64 / data.max(1) as f64);
        Record {
            phase: phase.to_owned(),
            per_transaction: samples.first().map(|sample| sample.per_transaction),
            rounds: Some(samples.len() as u32),
            wall_ns_per_op: spread(&|sample| Some(per(sample.wall_ns, sample.operations))),
            cpu_ns_per_op: spread(&|sample| Some(per(sample.cpu_ns, sample.operations))),
            wall_s: seconds(|sample| sample.wall_ns),
            cpu_s: seconds(|sample| sample.cpu_ns),
            reads: middle_of(samples.iter().filter_map(|sample| sample.reads).collect()),
            reader_cpu_ns_per_read: spread(&|sample| {
                let reads = sample.reads.filter(|&reads| reads > 0)?;
                Some(per(sample.reader_cpu_ns?, reads))
            }),
            commits_per_sync: ratio_of(&|sample| {
                let syncs = sample.syncs.filter(|&syncs| syncs > 0)?;
                Some(per(sample.operations, syncs))
            }),
            bytes: middle_of(samples.iter().filter_map(|sample| sample.bytes).collect()),
            wall_s_per_gb: ratio_of(&|sample| per_byte(sample, sample.wall_ns)),
            cpu_s_per_gb: ratio_of(&|sample| per_byte(sample, sample.cpu_ns)),
            time_series: samples
                .last()
                .map(|sample| sample.time_series.clone())
                .unwrap_or_default(),
            bytes_per_data_byte: ratio.map(|ratio| (ratio * 1000.0).round() / 1000.0),
            verified: Some(verified),
            note: note(&about.note, samples),
            operations: middle_of(samples.iter().map(|sample| sample.operations).collect()),
            data_bytes,
            held_bytes,
            accounted_bytes: middle_of(
                self.held.iter().filter_map(|held| held.accounted_bytes).collect(),
            ),
            resident_peak_bytes: middle_of(
                self.held.iter().filter_map(|held| held.resident_peak_bytes).collect(),
            ),
            empty_bytes: middle(|held| held.empty_bytes),
            ..about.clone()
        }
    }
}

/// The setting's note, then whatever the samples have to say, each thing once.
fn note(setting: &str, samples: &[PhaseSample]) -> String {
    let mut said = BTreeSet::new();
    let mut note = setting.to_owned();
    for sample in samples.iter().filter(|sample| !sample.note.is_empty()) {
        if said.insert(&sample.note) {
            note.push_str("; ");
            note.push_str(&sample.note);
        }
    }
    note
}

/// The middle of ratios, to three places behind the point.
fn middle_ratio(mut ratios: Vec<f64>) -> Option<f64> {
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).map(|ratio| (ratio * 1000.0).round() / 1000.0)
}

fn middle_of(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
#[path = "samples_tests.rs"]
mod tests;
