//! A checker of isolation: random transactions on the engine, and what they were told, judged.
//!
//! In reading order: the command line (`flags`) asks for a `run` of histories. A `plan` is drawn
//! from a seed; `session`s carry it out on a `subject`, the table under test, `interleaved` in one
//! thread or in `threads`, and write a `history`. Two checks judge it and share nothing but the
//! model of the table in `state`: `replay` repeats all transactions in the order of their commits,
//! `phenomena` looks for Adya's anomalies in the `graph` of dependencies. `crashes` stops a disk
//! that is simulated, `powerloss` is the program that runs on real ones, `soak` keeps a database
//! almost full.
#![expect(clippy::print_stdout, reason = "a command line program answers on standard output")]

mod flags;
mod run;

mod plan;
mod random;

mod crashes;
mod powerloss;
mod soak;

mod session;
mod subject;

mod interleaved;
#[cfg(shuttle)]
mod schedules;
mod threads;

mod describe;
mod history;
mod state;

mod cycle;
mod finding;
mod graph;
mod phenomena;
mod replay;

#[cfg(test)]
mod script;

use std::process::ExitCode;

use flags::Command;

fn main() -> ExitCode {
    match flags::parse(std::env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", flags::help());
            ExitCode::SUCCESS
        }
        Ok(Command::Histories(run)) if run.run() => ExitCode::SUCCESS,
        Ok(Command::Crashes(crashes)) if crashes.run() => ExitCode::SUCCESS,
        Ok(Command::PowerLoss(command)) if command.run() => ExitCode::SUCCESS,
        Ok(Command::Soak(soak)) if soak.run() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("remanent-simulator: {error}");
            ExitCode::from(2)
        }
    }
}
