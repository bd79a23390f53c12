//! The benchmark laboratory: one command, your machine, real contenders.
//!
//! In reading order: the command line becomes a `command`; a `run` asks its workload for a
//! plan, measures every `case` of it in a process of its own, interleaved over the rounds, and
//! turns the samples into records; `table`, `grid`, `time_series`, `text_table`, `bursts`,
//! `by_size` and `report` show records.
//! The harness knows no workload; the workloads know no contender; both meet in `lab_harness`.

mod flags;

mod command;

mod choice;

mod contenders;

mod list;

mod run;

mod remaining;

mod case;

mod protocol;

mod scratch;

mod samples;

mod record;

mod parameters;

mod figure;

mod quantity;

mod table;

mod grid;

mod time_series;

mod text_table;

mod bursts;

mod by_size;

mod growth;

mod report;

mod workloads;

mod tpch;

mod conflicts;

mod program;

#[cfg(test)]
mod testing;

use std::io::{self, Write};
use std::process::ExitCode;

use lab_harness::Outcome;

use crate::command::Command;

fn main() -> ExitCode {
    match command() {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "lab: {failure}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Outcome<ExitCode> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if let Some(first) = arguments.first().and_then(|first| first.to_str()) {
        if tpch::has(first) {
            return program::run(tpch::NAME, first, &arguments);
        }
        if first == program::PYTHON.0 {
            return program::run_python(&arguments[1..]);
        }
        if first == conflicts::NAME || first == program::REPLICAS.0 {
            return program::run(first, first, &arguments[1..]);
        }
    }
    let command = command::understand(flags::parse(arguments)?)?;
    let mut out = io::stdout().lock();
    match command {
        Command::Help => out.write_all(flags::help().as_bytes())?,
        Command::Version => writeln!(out, "lab {}", env!("CARGO_PKG_VERSION"))?,
        Command::List => list::list(&mut out)?,
        Command::Report { directory } => {
            let page = report::write(&directory)?;
            writeln!(out, "report: {}", page.display())?;
        }
        Command::Case { request } => case::measure_here(&request, &mut out)?,
        Command::Run { runs } => {
            drop(out);
            return run::run_all(&runs);
        }
    }
    Ok(ExitCode::SUCCESS)
}
