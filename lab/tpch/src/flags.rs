//! The command line, first step: words become flags, and nothing is understood yet.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints it.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use lab_harness::Outcome;
use lab_harness::flags::{self, Flag, flag};

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flags {
    pub(crate) words: Vec<String>,
    pub(crate) quick: bool,
    pub(crate) full: bool,
    pub(crate) help: bool,
    pub(crate) scales: Option<Vec<f64>>,
    pub(crate) rounds: Option<u32>,
    pub(crate) contenders: Option<Vec<String>>,
    pub(crate) queries: Option<Vec<usize>>,
    pub(crate) threads: Option<usize>,
    pub(crate) scramble: bool,
    pub(crate) storage: Option<Vec<String>>,
    pub(crate) budget: Option<u64>,
    pub(crate) device: Option<u64>,
    pub(crate) folder: Option<PathBuf>,
    pub(crate) out: Option<PathBuf>,
}

const FLAGS: &[Flag] = &[
    flag("scale", Some("A,B"), "scale factors; 0.1 by default"),
    flag("quick", None, "scale factor 0.01 and one round"),
    flag("full", None, "scale factor 1 and five rounds: what records are made with"),
    flag("rounds", Some("N"), "this many rounds instead of 3"),
    flag("contenders", Some("A,B"), "only these contenders"),
    flag("queries", Some("1,5"), "only these queries"),
    flag("threads", Some("N"), "threads of a query, on as many cores, instead of one"),
    flag("scramble", None, "sparse keys of 62 bits instead of 1, 2, 3, and rows in no order"),
    flag(
        "storage",
        Some("A,B"),
        "this database in memory, paged-warm, paged-cold, beside two others",
    ),
    flag("budget", Some("BYTES"), "the most memory of each contender that can be told"),
    flag("device", Some("BYTES"), "paged tables: what their device gives in a second"),
    flag("folder", Some("DIR"), "where a measured process has its files"),
    flag("out", Some("DIR"), "where records and data go; target/lab by default"),
    flag("help", None, "this text"),
];

/// Turns arguments into flags.
///
/// # Errors
///
/// When a flag is unknown, lacks its value, or its value is not of its kind.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Flags> {
    let given = flags::read(arguments, FLAGS)?;
    let mut flags = Flags { words: given.words, ..Flags::default() };
    for (name, value) in given.flags {
        flags.set(name, &value.to_string_lossy())?;
    }
    Ok(flags)
}

impl Flags {
    fn set(&mut self, name: &str, value: &str) -> Outcome<()> {
        match name {
            "scale" => self.scales = Some(numbers(name, value)?),
            "quick" => self.quick = true,
            "full" => self.full = true,
            "rounds" => self.rounds = numbers(name, value)?.first().copied(),
            "contenders" => self.contenders = Some(value.split(',').map(str::to_owned).collect()),
            "queries" => self.queries = Some(numbers(name, value)?),
            "threads" => self.threads = numbers(name, value)?.first().copied(),
            "scramble" => self.scramble = true,
            "storage" => self.storage = Some(value.split(',').map(str::to_owned).collect()),
            "budget" => self.budget = numbers(name, value)?.first().copied(),
            "device" => self.device = numbers(name, value)?.first().copied(),
            "folder" => self.folder = Some(PathBuf::from(value)),
            "out" => self.out = Some(PathBuf::from(value)),
            "help" => self.help = true,
            other => return Err(format!("--{other} is listed but has no meaning").into()),
        }
        Ok(())
    }
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Queries of TPC-H, TPC-DS (lab tpcds), the Star Schema Benchmark (lab ssb) and of shapes\n\
         that these leave out (lab shapes), one thread on one core unless more are asked for,\n\
         answers compared with DuckDB's\n\n\
         usage: lab tpch [flags]              run, then show tables\n       \
         lab tpch explain CONTENDER [flags]   how a linked engine would run the queries\n       \
         lab tpch points [flags]              statements about one key, beside SQLite\n       \
         lab tpch paged-points [flags]        rows of a paged table, by their keys\n       \
         lab tpch plans [flags]               what planning costs\n       \
         lab tpch checkpoints [flags]         what checkpoints write\n       \
         lab tpch list                        contenders\n\nflags:\n",
    );
    text.push_str(&flags::help_lines(FLAGS, 18));
    text
}

fn numbers<T: std::str::FromStr>(name: &str, value: &str) -> Outcome<Vec<T>> {
    let number = |word: &str| word.parse().ok();
    let numbers: Option<Vec<T>> = value.split(',').map(number).collect();
    numbers.ok_or_else(|| format!("--{name} takes numbers, not '{value}'").into())
}
