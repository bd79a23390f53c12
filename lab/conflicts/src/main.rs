//! Refusals in the laboratory: four clients on keys of their own, beside PostgreSQL.
//!
//! In reading order: the command line becomes a `choice`; a `run` starts the `contenders`, each a
//! server in a process of its own, lets `clients` do each of the `statements` with both in turn,
//! and writes records and a table.
//! It is a package of its own, so that the rest of the laboratory needs no client. Neither does it
//! link a database: it measures the program `remanent` as people have it.

mod choice;

mod statements;

mod contenders;

mod postgresql;

mod clients;

mod run;

mod record;

mod table;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::process::ExitCode;

use lab_harness::Outcome;

use crate::choice::Choice;

fn main() -> ExitCode {
    match command() {
        Ok(code) => code,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "lab conflicts: {failure}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Outcome<ExitCode> {
    match choice::understand(std::env::args_os().skip(1))? {
        Some(choice) => run_chosen(&choice),
        None => {
            io::stdout().write_all(choice::help().as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn run_chosen(choice: &Choice) -> Outcome<ExitCode> {
    let program = match &choice.server {
        Some(program) => program.clone(),
        None => contenders::build()?,
    };
    let mut contenders = vec![contenders::remanent(&program)?];
    let mut missing = None;
    match postgresql::start()? {
        Some(postgresql) => contenders.push(postgresql),
        None => missing = Some(lab_postgresql::MISSING),
    }
    run::run(choice, &mut contenders, missing, &mut io::stdout().lock())
}
