//! The command line, second step: what the flags mean together.
//!
//! Unknown contenders and queries are refused here, so that everything later works with things
//! that exist.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use lab_harness::{Outcome, cores};

use crate::benchmark::Benchmark;
use crate::contenders::{self, Contender, Setting};
use crate::data::{Data, Kind};
use crate::flags::Flags;

/// Where records go unless `--out` says otherwise.
const OUT: &str = "target/lab";

/// What is to be done.
pub(crate) enum Command {
    Help,
    List,
    /// Answer requests as a measured process.
    Serve {
        contender: String,
        data: Data,
        setting: Setting,
    },
    Explain {
        contender: &'static Contender,
        choice: Choice,
    },
    /// Statements about one key.
    Points {
        out: PathBuf,
        rounds: u32,
        quick: bool,
    },
    /// Rows of a paged table, by their keys.
    PagedPoints {
        out: PathBuf,
        rounds: u32,
        quick: bool,
    },
    /// What planning costs.
    Plans {
        choice: Choice,
    },
    /// What checkpoints write.
    Checkpoints {
        choice: Choice,
    },
    Run {
        choice: Choice,
    },
}

/// What is to be run.
#[derive(Clone)]
pub(crate) struct Choice {
    pub(crate) benchmark: &'static Benchmark,
    pub(crate) scales: Vec<f64>,
    pub(crate) rounds: u32,
    pub(crate) contenders: Vec<&'static Contender>,
    pub(crate) queries: Vec<usize>,
    /// Threads that a query may have, on as many cores.
    pub(crate) threads: usize,
    /// The most memory of each contender that can be told.
    pub(crate) budget: Option<u64>,
    /// Bytes that the device of paged tables gives in a second, if that is said.
    pub(crate) device: Option<u64>,
    pub(crate) data: Kind,
    pub(crate) out: PathBuf,
}

/// Decides what the flags mean.
///
/// # Errors
///
/// When they contradict each other or name what does not exist.
pub(crate) fn understand(flags: &Flags) -> Outcome<Command> {
    if flags.help {
        return Ok(Command::Help);
    }
    let words: Vec<&str> = flags.words.iter().map(String::as_str).collect();
    let named = words.first().and_then(|word| Benchmark::find(word));
    let benchmark = named.unwrap_or(Benchmark::tpch());
    match words[usize::from(named.is_some())..] {
        [] => Ok(Command::Run { choice: choice(flags, benchmark)? }),
        ["list"] => Ok(Command::List),
        ["points"] => {
            let Choice { out, rounds, .. } = choice(flags, benchmark)?;
            Ok(Command::Points { out, rounds, quick: flags.quick })
        }
        ["paged-points"] => {
            let Choice { out, rounds, .. } = choice(flags, benchmark)?;
            Ok(Command::PagedPoints { out, rounds, quick: flags.quick })
        }
        ["plans"] => Ok(Command::Plans { choice: choice(flags, benchmark)? }),
        ["checkpoints"] => Ok(Command::Checkpoints { choice: choice(flags, benchmark)? }),
        ["serve", contender, directory] => {
            let data = Data { benchmark, directory: directory.into() };
            let folder = flags.folder.clone().unwrap_or_else(std::env::temp_dir);
            let (threads, budget, device) = (threads(flags)?, flags.budget, flags.device);
            let setting = Setting { threads, budget, folder, device };
            Ok(Command::Serve { contender: contender.to_owned(), data, setting })
        }
        ["explain", contender] => {
            let contender = contenders::find(contender)?;
            Ok(Command::Explain { contender, choice: choice(flags, benchmark)? })
        }
        _ => Err(format!("not understood: {}; see --help", words.join(" ")).into()),
    }
}

fn choice(flags: &Flags, benchmark: &'static Benchmark) -> Outcome<Choice> {
    if flags.quick && flags.scales.is_some() {
        return Err("--quick has its own scale; leave out --scale".into());
    }
    if flags.quick && flags.full {
        return Err("--quick contradicts --full".into());
    }
    let scales = match &flags.scales {
        Some(scales) => scales.clone(),
        None if flags.quick => vec![0.01],
        None if flags.full => vec![1.0],
        None => vec![0.1],
    };
    if scales.iter().any(|scale| !(0.001..=100.0).contains(scale)) {
        return Err("scale factors lie between 0.001 and 100".into());
    }
    let rounds = flags.rounds.unwrap_or(match (flags.quick, flags.full) {
        (true, _) => 1,
        (_, true) => 5,
        _ => 3,
    });
    if rounds == 0 {
        return Err("--rounds starts at 1".into());
    }
    let all = (benchmark.numbers)();
    if let Some(unknown) = flags.queries.iter().flatten().find(|query| !all.contains(query)) {
        return Err(format!("{} has no query {unknown}; there are {all:?}", benchmark.title).into());
    }
    let queries = flags.queries.clone().unwrap_or(all);
    let contenders = match (&flags.contenders, &flags.storage) {
        (Some(_), Some(_)) => return Err("--storage names contenders; leave one out".into()),
        (Some(names), None) => {
            names.iter().map(|name| contenders::find(name)).collect::<Outcome<_>>()?
        }
        (None, Some(storages)) => of_storages(storages)?,
        (None, None) => contenders::ALL.iter().collect(),
    };
    let out = flags.out.clone().unwrap_or_else(|| OUT.into());
    let threads = threads(flags)?;
    let data = if flags.scramble { Kind::Scrambled } else { Kind::Specified };
    let Flags { budget, device, .. } = *flags;
    if device == Some(0) {
        return Err("--device starts at 1".into());
    }
    Ok(Choice {
        benchmark,
        scales,
        rounds,
        contenders,
        queries,
        threads,
        budget,
        device,
        data,
        out,
    })
}

/// This database with its rows where they are said to be, beside others in files and in memory.
fn of_storages(storages: &[String]) -> Outcome<Vec<&'static Contender>> {
    let beside = ["duckdb-file", "hyper"].into_iter().map(contenders::find);
    let own = storages.iter().map(|storage| match storage.as_str() {
        "memory" => contenders::find("remanent"),
        "paged-warm" | "paged-cold" => contenders::find(&format!("remanent-{storage}")),
        other => Err(format!("no storage '{other}': memory, paged-warm, paged-cold").into()),
    });
    beside.chain(own).collect()
}

/// Threads that a query may have.
fn threads(flags: &Flags) -> Outcome<usize> {
    let threads = flags.threads.unwrap_or(1);
    let cores = cores()?.len();
    match threads {
        0 => Err("--threads starts at 1".into()),
        _ if threads > cores => {
            Err(format!("there are {cores} cores for {threads} threads").into())
        }
        _ => Ok(threads),
    }
}
