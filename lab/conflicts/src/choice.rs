//! The command line: words become flags, and the flags a choice.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints it.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use lab_harness::Outcome;
use lab_harness::flags::{self, Flag, flag};

/// Where records go unless `--out` says otherwise.
const OUT: &str = "target/lab";

/// The fewest rows: four clients with keys of their own, and ten rows for each key.
const ROWS_MIN: usize = 400;

/// What is to be run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Choice {
    pub(crate) rounds: u32,
    /// How long one statement is done in one round by one contender.
    pub(crate) time: Duration,
    pub(crate) rows: usize,
    /// Only statements in which these words are.
    pub(crate) only: Option<String>,
    /// The program `remanent`; without it the profile `analytics` is built.
    pub(crate) server: Option<PathBuf>,
    pub(crate) out: PathBuf,
}

const FLAGS: &[Flag] = &[
    flag("quick", None, "one round, 20 ms for each statement"),
    flag("full", None, "five rounds, a second for each statement: what records are made with"),
    flag("rounds", Some("N"), "this many rounds instead of 3"),
    flag("rows", Some("N"), "this many rows instead of 4000"),
    flag("statements", Some("WORDS"), "only statements in which these words are"),
    flag("server", Some("PATH"), "this program `remanent` instead of one built for the purpose"),
    flag("out", Some("DIR"), "where records go; target/lab by default"),
    flag("help", None, "this text"),
];

/// Decides what the arguments mean; `None` where they ask for help.
///
/// # Errors
///
/// When a flag is unknown, lacks its value, or flags contradict each other.
pub(crate) fn understand(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Option<Choice>> {
    let given = flags::read(arguments, FLAGS)?;
    if let Some(word) = given.words.first() {
        return Err(format!("unexpected argument \"{word}\"").into());
    }
    let given = given.flags;
    let has = |name: &str| given.iter().any(|(given, _)| *given == name);
    let value = |name: &str| given.iter().rev().find(|(given, _)| *given == name);
    let text = |name: &str| value(name).map(|(_, text)| text.to_string_lossy().into_owned());
    if has("help") {
        return Ok(None);
    }
    let (rounds, millis) = match (has("quick"), has("full")) {
        (true, true) => return Err("--quick contradicts --full".into()),
        (true, false) => (1, 20),
        (false, true) => (5, 1_000),
        (false, false) => (3, 250),
    };
    let number = |name: &str, otherwise: usize| match text(name) {
        Some(text) => text.parse().map_err(|_| format!("--{name} takes a number, not '{text}'")),
        None => Ok(otherwise),
    };
    let choice = Choice {
        rounds: u32::try_from(number("rounds", rounds)?)?,
        time: Duration::from_millis(millis),
        rows: number("rows", 4_000)?,
        only: text("statements"),
        server: value("server").map(|(_, path)| path.into()),
        out: value("out").map_or(OUT.into(), |(_, path)| path.into()),
    };
    if choice.rounds == 0 {
        return Err("--rounds starts at 1".into());
    }
    if choice.rows < ROWS_MIN {
        return Err(format!("--rows starts at {ROWS_MIN}").into());
    }
    Ok(Some(choice))
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Four clients in serializable transactions on keys of their own, beside PostgreSQL 15:\n\
         how many are refused, and how many commit in a second\n\n\
         usage: lab conflicts [flags]\n\nflags:\n",
    );
    text.push_str(&flags::help_lines(FLAGS, 20));
    text
}
