//! PostgreSQL 15 of a run's own: made in a folder of the run, started on a port that is free, and
//! ended with the run.
//!
//! A server does not run as root, so that root starts it as the user `postgres`. One that streams
//! from another begins with a copy of that one's files.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab_harness::Outcome;
use lab_harness::clock::cpu_ns_of_all;
use postgres::{Client, NoTls, SimpleQueryMessage};

/// What is said where it is not there.
pub const MISSING: &str = "PostgreSQL 15 is not installed: apt install postgresql-15";

/// Where Debian puts its programs.
const DEBIAN: &str = "/usr/lib/postgresql/15/bin";

/// Runs the server until nobody writes to the program's input any more: it ends with the run,
/// however that ends.
const WHILE_HELD: &str = "\"$@\" & cat; kill -INT $!; wait";

/// How long a server may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that runs.
#[derive(Debug)]
pub struct Server {
    running: Child,
    folder: PathBuf,
    port: u16,
}

/// Whether it is there.
#[must_use]
pub fn is_installed() -> bool {
    programs().is_some()
}

/// Makes the files of a new server in a folder, which is the server's from now on.
///
/// # Errors
///
/// When it is not installed or refuses.
pub fn create(folder: &Path) -> Outcome<()> {
    let settings = ["-A", "trust", "-U", "tester", "-N", "--locale=C", "-E", "UTF8", "-D", "data"];
    run(folder, "initdb", &settings)
}

/// Copies the files of a server that runs; who starts the copy streams from that server, which
/// knows it by this name.
///
/// # Errors
///
/// When it is not installed or refuses.
pub fn copy(folder: &Path, port: u16, name: &str) -> Outcome<()> {
    let (from, name) = (target(port), format!("application_name={name}"));
    let from = format!("{from} {name}");
    run(folder, "pg_basebackup", &["-R", "-c", "fast", "-d", &from, "-D", "data"])
}

/// Connects, and tries again as long as the server may still be starting.
///
/// # Errors
///
/// When nobody answers for long.
pub fn connect(port: u16) -> Outcome<Client> {
    let begun = Instant::now();
    loop {
        match Client::connect(&target(port), NoTls) {
            Ok(client) => return Ok(client),
            Err(_) if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(50)),
            Err(error) => return Err(format!("postgres: {error}").into()),
        }
    }
}

/// The one value of the one row.
///
/// # Errors
///
/// When the statement is refused or answers something else.
pub fn value(client: &mut Client, text: &str) -> Outcome<String> {
    let answer = client.simple_query(text).map_err(|error| told(text, &error))?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    row.map(str::to_owned).ok_or_else(|| format!("no value: {text}").into())
}

/// What a server says about a statement, in words.
#[must_use]
pub fn told(text: &str, error: &postgres::Error) -> String {
    match error.as_db_error() {
        Some(error) => format!("{text}: {} ({})", error.message(), error.code().code()),
        None => format!("{text}: {error}"),
    }
}

impl Server {
    /// Starts the server of a folder, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub fn start(folder: &Path, port: u16, settings: &[&str]) -> Outcome<Self> {
        let programs = programs().ok_or(MISSING)?;
        let mut command = command(folder, Path::new("sh"));
        command.args(["-c", WHILE_HELD, "sh"]).arg(programs.join("postgres"));
        command.args(["-D", "data", "-p", &port.to_string(), "-k", ""]);
        for setting in ["listen_addresses=127.0.0.1"].iter().chain(settings) {
            command.args(["-c", setting]);
        }
        let log = File::create(folder.join("log"))?;
        let running = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn()?;
        let server = Self { running, folder: folder.to_owned(), port };
        server.connect().map(|_| server)
    }

    /// Connects.
    ///
    /// # Errors
    ///
    /// When it is gone, with what it has said.
    pub fn connect(&self) -> Outcome<Client> {
        connect(self.port).map_err(|error| {
            let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
            format!("{error}\n{log}").into()
        })
    }

    /// CPU time of all its processes so far, in nanoseconds.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        cpu_ns_of_all(self.running.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.running.stdin.take());
        let _ = self.running.wait();
    }
}

fn target(port: u16) -> String {
    format!("host=127.0.0.1 port={port} user=tester dbname=postgres")
}

/// Runs one of its programs in a folder, to its end.
fn run(folder: &Path, program: &str, words: &[&str]) -> Outcome<()> {
    let programs = programs().ok_or(MISSING)?;
    give(folder)?;
    let done = command(folder, &programs.join(program)).args(words).output()?;
    match done.status.success() {
        true => Ok(()),
        false => Err(format!("{program}: {}", String::from_utf8_lossy(&done.stderr)).into()),
    }
}

/// A program that is run in a folder, by a user who may.
fn command(folder: &Path, program: &Path) -> Command {
    let mut command = Command::new("runuser");
    match is_root() {
        true => _ = command.args(["-u", "postgres", "--"]).arg(program),
        false => command = Command::new(program),
    }
    command.current_dir(folder);
    command
}

fn programs() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let told = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    let known = [told.unwrap_or_default(), DEBIAN.to_owned()];
    known.into_iter().map(PathBuf::from).find(|folder| folder.join("initdb").exists())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| String::from_utf8_lossy(&id.stdout).trim() == "0")
}

/// The folder becomes the server's.
fn give(folder: &Path) -> Outcome<()> {
    match !is_root() || Command::new("chown").arg("postgres").arg(folder).status()?.success() {
        true => Ok(()),
        false => Err("root needs the user postgres".into()),
    }
}
