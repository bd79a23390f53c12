//! The command line, first step: words become flags, and nothing is understood yet.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints it.

#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;

use lab_harness::Outcome;
use lexopt::{Arg, Parser};

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
    pub(crate) out: Option<PathBuf>,
}

struct Flag {
    name: &'static str,
    value: Option<&'static str>,
    about: &'static str,
}

const FLAGS: &[Flag] = &[
    flag("scale", Some("A,B"), "scale factors; 0.1 by default"),
    flag("quick", None, "scale factor 0.01 and one round"),
    flag("full", None, "scale factor 1 and five rounds: what records are made with"),
    flag("rounds", Some("N"), "this many rounds instead of 3"),
    flag("contenders", Some("A,B"), "only these contenders"),
    flag("queries", Some("1,5"), "only these queries"),
    flag("out", Some("DIR"), "where records and data go; target/lab by default"),
    flag("help", None, "this text"),
];

const fn flag(name: &'static str, value: Option<&'static str>, about: &'static str) -> Flag {
    Flag { name, value, about }
}

/// Turns arguments into flags.
///
/// # Errors
///
/// When a flag is unknown, lacks its value, or its value is not of its kind.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Outcome<Flags> {
    let mut parser = Parser::from_args(arguments);
    let mut flags = Flags::default();
    while let Some(argument) = parser.next()? {
        let name = match argument {
            Arg::Value(word) => {
                flags.words.push(word.to_string_lossy().into_owned());
                continue;
            }
            Arg::Short('h') => "help".to_owned(),
            Arg::Short(other) => return Err(format!("unknown flag -{other}; see --help").into()),
            Arg::Long(name) => name.to_owned(),
        };
        let Some(known) = FLAGS.iter().find(|flag| flag.name == name) else {
            return Err(format!("unknown flag --{name}; see --help").into());
        };
        let value = match known.value {
            Some(_) => parser.value()?.to_string_lossy().into_owned(),
            None => String::new(),
        };
        flags.set(known.name, &value)?;
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
        "TPC-H, one thread on one core, answers compared with DuckDB's\n\n\
         usage: lab tpch [flags]                     run, then show tables\n       \
         lab tpch explain CONTENDER [flags]   how a linked engine would run the queries\n       \
         lab tpch points [flags]              statements about one key, beside SQLite\n       \
         lab tpch list                        contenders\n\nflags:\n",
    );
    for flag in FLAGS {
        let name = format!("--{} {}", flag.name, flag.value.unwrap_or(""));
        text.push_str(&format!("  {name:<18} {}\n", flag.about));
    }
    text
}

fn numbers<T: std::str::FromStr>(name: &str, value: &str) -> Outcome<Vec<T>> {
    let number = |word: &str| word.parse().ok();
    let numbers: Option<Vec<T>> = value.split(',').map(number).collect();
    numbers.ok_or_else(|| format!("--{name} takes numbers, not '{value}'").into())
}
