//! The command line, second step: what the flags mean together.
//!
//! Unknown workloads and contenders are refused here, with the words that would have been
//! understood, so that everything later works with things that exist.

use std::path::PathBuf;

use lab_harness::{Contender, Medium, Outcome, Promise};

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::flags::Flags;
use crate::protocol::CaseRequest;
use crate::workloads::{self, Workload};

/// Where records go unless `--out` says otherwise.
const OUT: &str = "target/lab";

/// What is to be done.
pub(crate) enum Command {
    Help,
    Version,
    List,
    Report {
        directory: PathBuf,
    },
    Case {
        request: CaseRequest,
    },
    /// One after the other.
    Run {
        runs: Vec<Run>,
    },
}

/// A workload, and what of it is to be run.
pub(crate) struct Run {
    pub(crate) workload: &'static dyn Workload,
    pub(crate) choice: Choice,
}

/// Decides what the flags mean.
///
/// # Errors
///
/// When they contradict each other or name what does not exist.
pub(crate) fn understand(flags: Flags) -> Outcome<Command> {
    if flags.help {
        return Ok(Command::Help);
    }
    if flags.version {
        return Ok(Command::Version);
    }
    let words: Vec<&str> = flags.words.iter().map(String::as_str).collect();
    match words[..] {
        [] => Ok(Command::Help),
        ["list"] => Ok(Command::List),
        ["report"] => Ok(Command::Report { directory: flags.out.unwrap_or_else(|| OUT.into()) }),
        ["report", directory] => Ok(Command::Report { directory: directory.into() }),
        ["case", request] => Ok(Command::Case { request: serde_json::from_str(request)? }),
        _ => {
            let runs = words.iter().map(|name| {
                let workload = workload(name)?;
                Ok(Run { workload, choice: choice(workload, &flags)? })
            });
            Ok(Command::Run { runs: runs.collect::<Outcome<_>>()? })
        }
    }
}

fn workload(name: &str) -> Outcome<&'static dyn Workload> {
    workloads::find(name).ok_or_else(|| {
        let known: Vec<_> = workloads::ALL.iter().map(|workload| workload.name()).collect();
        format!("no workload '{name}'; there is: {}", known.join(", ")).into()
    })
}

fn choice(workload: &dyn Workload, flags: &Flags) -> Outcome<Choice> {
    if flags.quick && (flags.full || flags.all) {
        return Err("--quick contradicts --full and --all".into());
    }
    if flags.rows == Some(0) || flags.rounds == Some(0) || flags.minutes == Some(0) {
        return Err("--rows, --rounds and --minutes start at 1".into());
    }
    let scale = match (flags.quick, flags.full, flags.all) {
        (true, ..) => Scale::Quick,
        (_, _, true) => Scale::All,
        (_, true, _) => Scale::Full,
        _ => Scale::Ordinary,
    };
    let contenders = takes_part(workload, flags)?;
    let names_settings = !(flags.promises.is_empty() && flags.media.is_empty());
    if names_settings && !workload.chooses_settings() {
        return Err(format!("{} takes no --promise and no --medium", workload.name()).into());
    }
    Ok(Choice {
        scale,
        large: flags.large,
        rows: flags.rows,
        promises: all_named("promise", &flags.promises, Promise::ALL)?,
        media: all_named("medium", &flags.media, Medium::ALL)?,
        minutes: flags.minutes,
        rounds: flags.rounds.unwrap_or(scale.rounds()),
        contenders,
        out: flags.out.clone().unwrap_or_else(|| OUT.into()),
    })
}

/// Who takes part: those named, or the workload's own; with interfaces, the Rust one and those, and
/// whoever else is named.
fn takes_part(workload: &dyn Workload, flags: &Flags) -> Outcome<Vec<&'static Contender>> {
    let named = flags.contenders.as_deref().unwrap_or_default();
    if flags.interfaces.is_empty() {
        return match flags.contenders {
            None => Ok(workload.contenders()),
            Some(_) => named.iter().map(|name| contender(name)).collect(),
        };
    }
    if !workload.has_interfaces() {
        return Err(format!("{} does not compare interfaces", workload.name()).into());
    }
    let mut names = vec![contenders::INTERFACES[0].1];
    for word in &flags.interfaces {
        names.push(interface(word)?);
    }
    names.extend(named.iter().map(String::as_str));
    let mut chosen: Vec<&'static Contender> = Vec::new();
    for name in names {
        let contender = contender(name)?;
        if !chosen.iter().any(|known| known.name == name) {
            chosen.push(contender);
        }
    }
    Ok(chosen)
}

/// The contender that a word of `--interface` stands for.
fn interface(word: &str) -> Outcome<&'static str> {
    let known = contenders::INTERFACES.into_iter().find(|(known, _)| *known == word);
    known.map(|(_, name)| name).ok_or_else(|| {
        let words = contenders::INTERFACES.map(|(word, _)| word).join(", ");
        format!("no interface '{word}'; there is: {words}").into()
    })
}

/// What words name that are the words of `known`.
fn all_named<T: ToString + Copy, const N: usize>(
    what: &str,
    words: &[String],
    known: [T; N],
) -> Outcome<Vec<T>> {
    let named = words.iter().map(|word| {
        known.into_iter().find(|one| one.to_string() == *word).ok_or_else(|| {
            let known = known.map(|one| one.to_string()).join(", ");
            format!("no {what} '{word}'; there is: {known}").into()
        })
    });
    named.collect()
}

fn contender(name: &str) -> Outcome<&'static Contender> {
    contenders::find(name).ok_or_else(|| {
        let known: Vec<_> = contenders::all().iter().map(|known| known.name).collect();
        format!("no contender '{name}'; there is: {}", known.join(", ")).into()
    })
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
