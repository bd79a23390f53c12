//! The command line: words become a run.
//!
//! `FLAGS` is the only list: the parser accepts exactly what it names and the help text prints it.

use std::error::Error;
use std::ffi::OsString;

use lexopt::{Arg, Parser};

use crate::crashes::{Crashes, Kind};
use crate::plan::Isolation;
use crate::powerloss::PowerLoss;
use crate::run::{MODES, Mode, Run};
use crate::soak::Soak;

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Histories(Run),
    Crashes(Crashes),
    PowerLoss(PowerLoss),
    Soak(Soak),
    Help,
}

struct Flag {
    name: &'static str,
    value: &'static str,
    about: &'static str,
}

const FLAGS: &[Flag] = &[
    flag(
        "count",
        "N",
        "this many histories instead of 2,000, of each mode if none is named; or seeds, of 20",
    ),
    flag("seed", "S", "the first history's seed, those after it count on; drawn if not given"),
    flag("mode", "M", "interleaved, threads, or, in builds with --cfg shuttle, schedules"),
    flag("isolation", "I", "serializable, snapshot or mixed; drawn for each history if not given"),
    flag("steps", "N", "only so many steps of an interleaved history"),
    flag("show", "", "print every history, and not only what is wrong"),
    flag("help", "", "this text"),
];

const fn flag(name: &'static str, value: &'static str, about: &'static str) -> Flag {
    Flag { name, value, about }
}

/// Turns arguments into a command.
///
/// # Errors
///
/// When a word or flag is unknown, lacks its value, or its value is not of its kind.
pub(crate) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Command, Box<dyn Error>> {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(command) = PowerLoss::parse(&arguments)? {
        return Ok(Command::PowerLoss(command));
    }
    if let Some(soak) = Soak::parse(&arguments)? {
        return Ok(Command::Soak(soak));
    }
    let mut parser = Parser::from_args(arguments);
    let mut run = Run::default();
    let mut is_named = false;
    let mut crashes = None;
    let mut count = None;
    while let Some(argument) = parser.next()? {
        let name = match argument {
            Arg::Value(word) if word == "histories" && !is_named => {
                is_named = true;
                continue;
            }
            Arg::Value(word) if crashes.is_none() && !is_named && kind(&word).is_some() => {
                crashes = kind(&word);
                continue;
            }
            Arg::Value(word) => {
                return Err(format!("unknown word {}; see --help", word.display()).into());
            }
            Arg::Short('h') => "help".to_owned(),
            Arg::Short(other) => return Err(format!("unknown flag -{other}; see --help").into()),
            Arg::Long(name) => name.to_owned(),
        };
        let Some(known) = FLAGS.iter().find(|flag| flag.name == name) else {
            return Err(format!("unknown flag --{name}; see --help").into());
        };
        let value = match known.value {
            "" => String::new(),
            _ => parser.value()?.to_string_lossy().into_owned(),
        };
        if known.name == "help" {
            return Ok(Command::Help);
        }
        if known.name == "count" {
            count = Some(number(known.name, &value)?);
        }
        set(&mut run, known.name, &value)?;
    }
    if let Some(kind) = crashes {
        return Ok(Command::Crashes(Crashes { kind, seed: run.seed, count: count.unwrap_or(20) }));
    }
    Ok(if is_named { Command::Histories(run) } else { Command::Help })
}

fn kind(word: &OsString) -> Option<Kind> {
    Kind::ALL.into_iter().find(|kind| word == kind.name())
}

fn set(run: &mut Run, name: &str, value: &str) -> Result<(), Box<dyn Error>> {
    match name {
        "count" => run.count = number(name, value)?,
        "seed" => run.seed = Some(number(name, value)?),
        "steps" => run.steps_max = number(name, value)?,
        "show" => run.shows_all = true,
        "mode" => {
            let mode: Option<&(&str, Mode)> = MODES.iter().find(|(name, _)| *name == value);
            let names: Vec<&str> = MODES.iter().map(|(name, _)| *name).collect();
            let (_, mode) = mode.ok_or_else(|| format!("--mode is one of {}", names.join(", ")))?;
            if !mode.is_available() {
                return Err(
                    format!("--mode {value} is of builds with or without --cfg shuttle").into()
                );
            }
            run.mode = Some(*mode);
        }
        "isolation" => {
            run.isolation = Some(match value {
                "serializable" => Isolation::Serializable,
                "snapshot" => Isolation::Snapshot,
                "mixed" => Isolation::Mixed,
                _ => return Err("--isolation is serializable, snapshot or mixed".into()),
            });
        }
        other => return Err(format!("--{other} is listed but has no meaning").into()),
    }
    Ok(())
}

/// The text of `--help`.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "Random histories of transactions, checked; and what is there after a crash\n\n\
         usage: remanent-simulator histories [flags]\n\
         \x20      remanent-simulator crashes|failures|flips|damages [--seed S] [--count N]\n\
         \x20      remanent-simulator powerloss-writer DIR SEED LEVEL\n\
         \x20      remanent-simulator powerloss-judge DIR SEED\n\
         \x20      remanent-simulator soak [--operations N] [--budget MIB] [--threads N] \
         [--seed S]\n\nflags:\n",
    );
    for flag in FLAGS {
        let name = format!("--{} {}", flag.name, flag.value);
        text.push_str(&format!("  {name:<14} {}\n", flag.about));
    }
    text
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, String> {
    let digits: String = value.chars().filter(|&c| c != ',' && c != '_').collect();
    digits.parse().map_err(|_| format!("--{name} takes a number, not '{value}'"))
}

#[cfg(test)]
mod tests;
