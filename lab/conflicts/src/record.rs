//! What was measured, as lines of JSON in the laboratory's format.
//!
//! A record whose sum was wrong says so and carries no figures.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use lab_harness::Outcome;
use serde_json::{Value, json};

use crate::clients::Work;
use crate::contenders::CLIENTS;
use crate::statements::Statement;

/// One contender's transactions of one statement, round by round.
pub(crate) struct Case {
    pub(crate) statement: Statement,
    pub(crate) contender: &'static str,
    pub(crate) version: String,
    pub(crate) note: String,
    pub(crate) rounds: Vec<Work>,
    /// Why there is no figure: the server does not know the statement.
    pub(crate) skipped: Option<String>,
    /// Why there is no figure: the sum is another one.
    pub(crate) wrong: Option<String>,
}

impl Case {
    /// Of all transactions of all rounds, those that were refused.
    pub(crate) fn refused_share(&self) -> Option<f64> {
        let refused: u64 = self.rounds.iter().map(|work| work.refused).sum();
        let all = refused + self.rounds.iter().map(|work| work.committed).sum::<u64>();
        (self.is_right() && all > 0).then(|| refused as f64 / all as f64)
    }

    /// Wall time for each commit of all clients, at the median of the rounds.
    pub(crate) fn wall_ns(&self) -> Option<f64> {
        let rounds = self.rounds.iter().filter(|work| work.committed > 0);
        let samples = rounds.map(|work| work.wall_ns as f64 / work.committed as f64).collect();
        self.is_right().then(|| median(samples)).flatten()
    }

    pub(crate) fn is_right(&self) -> bool {
        self.wrong.is_none() && self.skipped.is_none()
    }
}

/// What all records of a run have.
pub(crate) struct Header {
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) run: String,
    pub(crate) rows: usize,
}

/// Appends everything to the workload's file.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn append(
    out: &Path,
    header: &Header,
    cases: &[Case],
    missing: Option<&str>,
) -> Outcome<()> {
    let mut text = String::new();
    let skipped = missing.map(|reason| of_skipped(header, "postgresql", reason));
    for record in cases.iter().map(|case| of_case(header, case)).chain(skipped) {
        text.push_str(&record.to_string());
        text.push('\n');
    }
    let path = out.join("conflicts.jsonl");
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(())
}

fn of_case(header: &Header, case: &Case) -> Value {
    if let Some(reason) = &case.skipped {
        let mut record = of_skipped(header, case.contender, reason);
        record["statement"] = json!(case.statement.text);
        return record;
    }
    let mut record = json!({
        "workload": "conflicts", "contender": case.contender, "version": case.version,
        "setting": "memory", "medium": "memory", "phase": case.statement.phase,
        "statement": case.statement.text, "rows": header.rows, "clients": CLIENTS,
        "rounds": case.rounds.len(), "verified": case.wrong.is_none(),
        "note": case.wrong.as_ref().unwrap_or(&case.note),
        "machine": header.machine, "commit": header.commit, "run": header.run,
    });
    if let Some(share) = case.refused_share() {
        record["refused_share"] = json!(share);
        record["operations"] = json!(case.rounds.iter().map(|work| work.committed).sum::<u64>());
        record["wall_ns_per_op"] = spread(&case.rounds, |work| work.wall_ns);
        record["cpu_ns_per_op"] = spread(&case.rounds, |work| work.cpu_ns);
    }
    record
}

fn of_skipped(header: &Header, contender: &str, reason: &str) -> Value {
    json!({
        "workload": "conflicts", "contender": contender, "skipped": reason,
        "machine": header.machine, "commit": header.commit, "run": header.run,
    })
}

/// The least, the middle and the greatest time for each commit.
fn spread(rounds: &[Work], time_ns: fn(&Work) -> u64) -> Value {
    let rounds = rounds.iter().filter(|work| work.committed > 0);
    let samples: Vec<f64> =
        rounds.map(|work| time_ns(work) as f64 / work.committed as f64).collect();
    let least = samples.iter().copied().reduce(f64::min);
    let greatest = samples.iter().copied().reduce(f64::max);
    match (least, median(samples), greatest) {
        (Some(min), Some(median), Some(max)) => json!({"min": min, "median": median, "max": max}),
        _ => Value::Null,
    }
}

/// The middle of some samples.
pub(crate) fn median(mut samples: Vec<f64>) -> Option<f64> {
    samples.sort_by(f64::total_cmp);
    let middle = samples.len() / 2;
    match samples.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(samples[middle]),
        _ => Some((samples[middle - 1] + samples[middle]) / 2.0),
    }
}
