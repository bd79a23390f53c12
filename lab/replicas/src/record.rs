//! What was measured, as lines of JSON.
//!
//! A figure is made only where the rows of all replicas were what they have to be.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use lab_harness::{Outcome, machine};
use serde_json::{Value, json};

/// A figure: what was measured, of whom, and under which conditions.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    pub(crate) phase: &'static str,
    pub(crate) contender: &'static str,
    pub(crate) level: &'static str,
    pub(crate) round: u32,
    /// Names and numbers.
    pub(crate) numbers: Vec<(&'static str, f64)>,
}

impl Figure {
    /// The figure on one line, for whoever waits.
    pub(crate) fn line(&self) -> String {
        let numbers = self.numbers.iter().map(|(name, number)| format!("{name} {number:.2}"));
        let numbers: Vec<_> = numbers.collect();
        let Self { phase, contender, level, round, .. } = self;
        format!("{round} {phase:<10} {contender:<12} {level:<22} {}", numbers.join(", "))
    }
}

/// Appends all to `replicas.jsonl`.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn append(out: &Path, figures: &[Figure]) -> Outcome<()> {
    std::fs::create_dir_all(out)?;
    let run = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (machine, commit) = (machine::describe(), machine::commit());
    let mut text = String::new();
    for figure in figures {
        let mut record = json!({
            "workload": "replicas", "phase": figure.phase, "contender": figure.contender,
            "level": figure.level, "round": figure.round, "verified": true,
            "machine": machine, "commit": commit, "run": run,
        });
        for (name, number) in &figure.numbers {
            record[*name] = Value::from(*number);
        }
        text.push_str(&record.to_string());
        text.push('\n');
    }
    let path = out.join("replicas.jsonl");
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(())
}
