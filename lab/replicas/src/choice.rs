//! The command line: words become flags, and the flags a choice.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints it.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lab_harness::Outcome;
use lab_harness::flags::{self, Flag, flag};

/// Where records go unless `--out` says otherwise.
const OUT: &str = "target/lab";

/// What is to be run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) rounds: u32,
    /// How long clients commit in one round.
    pub(crate) time: Duration,
    /// Rows that are there before threads commit: they would meet on few pages of a tree otherwise.
    pub(crate) loaded: u64,
    /// For how long keys are looked up.
    pub(crate) lookups: Duration,
    /// Row changes that a replica catches up with.
    pub(crate) changes: u64,
    pub(crate) out: PathBuf,
}

const FLAGS: &[Flag] = &[
    flag("quick", None, "one round of 50 ms, 20,000 changes"),
    flag("rounds", Some("N"), "this many rounds instead of 3"),
    flag("seconds", Some("N"), "clients commit for so long in a round, instead of 3"),
    flag("changes", Some("N"), "a replica catches up with so many, instead of 4,000,000"),
    flag("out", Some("DIR"), "where records go; target/lab by default"),
    flag("help", None, "this text"),
];

/// Decides what the arguments mean; `None` where they ask for help.
///
/// # Errors
///
/// When a flag is unknown or lacks its value.
pub(crate) fn understand(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Option<Choice>> {
    let given = flags::read(arguments, FLAGS)?;
    if let Some(word) = given.words.first() {
        return Err(format!("unexpected argument \"{word}\"").into());
    }
    let given = given.flags;
    let has = |name: &str| given.iter().any(|(given, _)| *given == name);
    let value = |name: &str| given.iter().rev().find(|(given, _)| *given == name);
    if has("help") {
        return Ok(None);
    }
    let number = |name: &str, otherwise: u64| match value(name) {
        Some((_, text)) => {
            let text = text.to_string_lossy();
            text.parse().map_err(|_| format!("--{name} takes a number, not '{text}'"))
        }
        None => Ok(otherwise),
    };
    let (rounds, millis, loaded, changes) = match has("quick") {
        true => (1, 50, 2_000, 20_000),
        false => (3, 3_000, 200_000, 4_000_000),
    };
    let time = match value("seconds") {
        Some(_) => Duration::from_secs(number("seconds", 3)?),
        None => Duration::from_millis(millis),
    };
    Ok(Some(Choice {
        rounds: u32::try_from(number("rounds", rounds)?)?,
        time,
        loaded,
        lookups: Duration::from_millis(millis / 2),
        changes: number("changes", changes)?,
        out: value("out").map_or(OUT.into(), |(_, path)| path.into()),
    }))
}

pub(crate) fn help() -> String {
    format!(
        "lab replicas: groups of three processes, commits and catching up\n\n\
         usage: lab replicas [flags]\n\nflags:\n{}",
        flags::help_lines(FLAGS, 20)
    )
}
