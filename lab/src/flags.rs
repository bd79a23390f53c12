//! The command line, first step: words become flags, and nothing is understood yet.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints
//! it. What a combination of flags means is decided in `command`.

use std::ffi::OsString;
use std::path::PathBuf;

use lab_harness::Outcome;
use lab_harness::flags::{self, Flag, flag};

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) words: Vec<String>,
    pub(crate) quick: bool,
    pub(crate) full: bool,
    pub(crate) all: bool,
    pub(crate) large: bool,
    pub(crate) help: bool,
    pub(crate) version: bool,
    pub(crate) rows: Option<u64>,
    pub(crate) rounds: Option<u32>,
    pub(crate) minutes: Option<u32>,
    pub(crate) contenders: Option<Vec<String>>,
    /// Every one that was named, in this order; none when the flag was not given.
    pub(crate) interfaces: Vec<String>,
    pub(crate) promises: Vec<String>,
    pub(crate) media: Vec<String>,
    pub(crate) out: Option<PathBuf>,
}

const FLAGS: &[Flag] = &[
    flag("quick", None, "few rows and rounds: ends within about half a minute"),
    flag("full", None, "every size, five rounds: what records are made with, up to half an hour"),
    flag("all", None, "as --full, every setting of every contender, without time limits"),
    flag("large", None, "also ten million records of 64 bytes, random reads"),
    flag("rows", Some("N"), "this many rows instead of the usual sizes"),
    flag("rounds", Some("N"), "this many rounds instead of 3, or of 5 with --full"),
    flag("minutes", Some("N"), "long-reader: the updates are spread over so many minutes"),
    flag("contenders", Some("A,B"), "only these contenders"),
    flag("interface", Some("A,B"), "sensors: rust, c, mco, d beside rust; then --contenders adds"),
    flag("promise", Some("A,B"), "sensors, readers: only these of memory, buffered, os, disk"),
    flag("medium", Some("A,B"), "sensors, readers: only on these of memory, ramdisk, disk"),
    flag("out", Some("DIR"), "where records and the report go; target/lab by default"),
    flag("help", None, "this text"),
    flag("version", None, "the version"),
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
            "quick" => self.quick = true,
            "full" => self.full = true,
            "all" => self.all = true,
            "large" => self.large = true,
            "help" => self.help = true,
            "version" => self.version = true,
            "rows" => self.rows = Some(number(name, value)?),
            "rounds" => self.rounds = Some(number(name, value)?),
            "minutes" => self.minutes = Some(number(name, value)?),
            "contenders" => {
                self.contenders = Some(value.split(',').map(str::to_owned).collect());
            }
            "interface" => self.interfaces.extend(value.split(',').map(str::to_owned)),
            "promise" => self.promises.extend(value.split(',').map(str::to_owned)),
            "medium" => self.media.extend(value.split(',').map(str::to_owned)),
            "out" => self.out = Some(PathBuf::from(value)),
            other => return Err(format!("--{other} is listed but has no meaning").into()),
        }
        Ok(())
    }
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "The benchmark laboratory of Remanent\n\n\
         usage: lab WORKLOAD.. [flags] run workloads, then write the report\n       \
         lab list               workloads, contenders, what is missing\n       \
         lab report [DIR]       one HTML page from the records in DIR\n       \
         lab tpch [flags]       TPC-H; flags of its own, see lab tpch --help\n       \
         lab tpcds [flags]      TPC-DS, in the same way\n       \
         lab ssb [flags]        the Star Schema Benchmark, in the same way\n       \
         lab shapes [flags]     shapes that these leave out, in the same way\n       \
         lab conflicts [flags]  clients on keys of their own; see lab conflicts --help\n       \
         lab replicas [flags]   groups of replicas; see lab replicas --help\n       \
         lab python [flags]     the Python package; see lab python --help\n\n\
         flags:\n",
    );
    text.push_str(&flags::help_lines(FLAGS, 18));
    text
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Outcome<T> {
    let digits: String = value.chars().filter(|&c| c != ',' && c != '_').collect();
    digits.parse().map_err(|_| format!("--{name} takes a number, not '{value}'").into())
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
