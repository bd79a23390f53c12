//! TPC-H in the laboratory: 22 queries, every contender in one thread on one core,
//! or in several on as many.
//!
//! In reading order: the command line becomes a `command`; a `run` makes the `data`, starts a
//! `process` for every contender, asks the `queries` in turn, compares each `answer` with DuckDB's,
//! and writes records and tables; `measures` are those of other things than queries. `serve` is the
//! other end of the lines that a process speaks.
//! It is a package of its own, so that the rest of the laboratory does not wait for DataFusion.

mod flags;

mod command;

mod benchmark;

mod python;

mod data;

mod answer;

mod contenders;

mod protocol;

mod process;

mod serve;

mod run;

mod record;

mod table;

mod measures;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;

use lab_harness::Outcome;

use crate::command::{Choice, Command};
use crate::contenders::{Contender, Setting};
use crate::data::Data;

/// DataFusion allocates and frees in every batch; its makers measure with this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match command() {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "lab tpch: {failure}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Outcome<ExitCode> {
    match command::understand(&flags::parse(std::env::args_os().skip(1))?)? {
        Command::Help => io::stdout().write_all(flags::help().as_bytes())?,
        Command::List => list(&mut io::stdout().lock())?,
        Command::Serve { contender, data, setting } => serve::serve(&contender, &data, &setting)?,
        Command::Explain { contender, choice } => explain(contender, &choice)?,
        Command::Points { out, rounds, quick } => {
            return measures::points::run(&out, rounds, quick);
        }
        Command::PagedPoints { out, rounds, quick } => {
            return measures::paged_points::run(&out, rounds, quick);
        }
        Command::Plans { choice } => return measures::plans::run(&choice),
        Command::Checkpoints { choice } => return measures::checkpoints::run(&choice),
        Command::Run { choice } => return run::run(&choice),
    }
    Ok(ExitCode::SUCCESS)
}

fn list(out: &mut dyn Write) -> Outcome<()> {
    for contender in contenders::ALL {
        writeln!(out, "{:<20} {:<7} {}", contender.name, contender.medium, contender.note)?;
    }
    Ok(())
}

fn explain(contender: &Contender, choice: &Choice) -> Outcome<()> {
    let mut out = io::stdout().lock();
    for &scale in &choice.scales {
        let folder = choice.out.join("explained");
        let mut engine = contender.open(&Setting::of_one_thread(folder)?)?;
        let data = Data::at(&choice.out, choice.benchmark, scale, choice.data)?;
        engine.load(&data)?;
        engine.prepare(&data)?;
        let queries = data.queries(scale)?.into_iter();
        for query in queries.filter(|query| choice.queries.contains(&query.number)) {
            let plan = engine.explain(&query.text)?;
            writeln!(out, "query {}, scale factor {scale}\n{plan}", query.number)?;
        }
    }
    Ok(())
}
