//! Replicas in the laboratory: groups of three processes on loopback, beside those of Berkeley DB
//! and PostgreSQL.
//!
//! In reading order: the command line becomes a `choice`; a `run` starts `groups`, each of which is
//! three processes of this program that are a `member` each, has them commit, catch up, and be read
//! while they apply, counts the rows of all replicas, and writes `record`s. A member of our own is
//! `remanent`; the others are `berkeley_db` and `postgresql`.

mod berkeley_db;
mod choice;
mod groups;
mod member;
mod postgresql;
mod record;
mod remanent;
mod run;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use lab_berkeley_db::replica::Site;
use lab_harness::Outcome;

use crate::groups::{MEMBER, System};
use crate::postgresql::Cluster;
use crate::remanent::Replica;

fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let _ = writeln!(io::stderr(), "lab replicas: {failure}");
            ExitCode::from(2)
        }
    }
}

fn command() -> Outcome<()> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == MEMBER) {
        let words = arguments[1..].iter().map(|word| word.to_string_lossy().into_owned());
        return serve(&words.collect::<Vec<_>>());
    }
    match choice::understand(arguments)? {
        Some(choice) => run::run(&choice),
        None => Ok(io::stdout().write_all(choice::help().as_bytes())?),
    }
}

/// Serves a process whose arguments are the system, the folder, its place, the ports of all, and
/// where commits are to be.
fn serve(words: &[String]) -> Outcome<()> {
    let [system, folder, place, ports, medium] = words else {
        return Err("a member is started by `lab replicas` alone".into());
    };
    let place: usize = place.parse()?;
    let ports = ports.split(',').map(str::parse).collect::<Result<Vec<u16>, _>>()?;
    match System::of_name(system).ok_or("there is no such system")? {
        System::Remanent => member::answer(&Replica::start(folder, place, &ports)?),
        System::BerkeleyDb => member::answer(&Site::open(folder, place, &ports, medium == "disk")?),
        System::PostgreSql => member::answer(&Cluster::start(Path::new(folder), place, &ports)?),
    }
}
