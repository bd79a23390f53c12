//! A contender: a server that was started for the run, its clients, and the program `remanent`.
//!
//! Dropping a contender ends its server. CPU time is that of the server's processes, in the ticks
//! in which the operating system shows it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use lab_harness::clock::cpu_ns_of;
use lab_harness::{Failure, Outcome};
use postgres::{Client, NoTls};
use serde_json::Value;

/// How many clients there are at a time.
pub(crate) const CLIENTS: usize = 4;

/// A server and those who are connected to it.
pub(crate) struct Contender {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// How it was started.
    pub(crate) note: String,
    /// What it is told once the rows are there.
    pub(crate) after_load: &'static [&'static str],
    pub(crate) clients: Vec<Client>,
    /// The processes that do the clients' work.
    pub(crate) processes: Vec<u32>,
    /// Ends the server when it is dropped, after the clients have gone.
    #[expect(dead_code, reason = "it is there to be dropped")]
    pub(crate) server: Box<dyn Send>,
}

impl Contender {
    /// CPU time of the server so far.
    pub(crate) fn cpu_ns(&self) -> u64 {
        self.processes.iter().map(|&process| cpu_ns_of(process).unwrap_or(0)).sum()
    }
}

/// Connects all clients.
///
/// # Errors
///
/// When one is not let in.
pub(crate) fn connect(settings: &str) -> Outcome<Vec<Client>> {
    (0..CLIENTS).map(|_| Ok(Client::connect(settings, NoTls)?)).collect()
}

/// A process that is ended when nobody wants it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Builds the program with the profile that people are told to use.
///
/// # Errors
///
/// When it does not build.
pub(crate) fn build() -> Outcome<PathBuf> {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "--profile", "analytics", "--package", "remanent-cli"]);
    command.args(["--bin", "remanent", "--manifest-path", workspace]);
    let built = command.arg("--message-format=json").stderr(Stdio::inherit()).output()?;
    let program = String::from_utf8_lossy(&built.stdout).lines().rev().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        message.get("executable")?.as_str().map(PathBuf::from)
    });
    program.ok_or_else(|| "the program `remanent` was not built".into())
}

/// Starts the program's server, with a database in memory.
///
/// # Errors
///
/// When it does not start, or lets nobody in.
pub(crate) fn remanent(program: &Path) -> Outcome<Contender> {
    let words = ["serve", ":memory:", "--listen", "127.0.0.1:0", "--trust", "--log-level", "warn"];
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
    let failed = |error| format!("{}: {error}", program.display());
    let mut running = Running(command.spawn().map_err(failed)?);
    let mut lines = BufReader::new(running.0.stdout.take().ok_or("no messages")?);
    let mut told = String::new();
    let address = loop {
        let from = told.len();
        if lines.read_line(&mut told)? == 0 {
            return Err(format!("{} does not serve:\n{told}", program.display()).into());
        }
        if let Some((_, address)) = told[from..].trim_end().split_once("connections at ") {
            break address.to_owned();
        }
    };
    // It must not wait for somebody to read what it says.
    thread::spawn(move || lines.read_to_end(&mut Vec::new()));
    let process = running.0.id();
    let note = format!("serve :memory:, {}", profile(program));
    of_remanent(&address, note, vec![process], Box::new(running))
}

/// A server that listens there.
///
/// # Errors
///
/// When it lets nobody in.
pub(crate) fn of_remanent(
    address: &str,
    note: String,
    processes: Vec<u32>,
    server: Box<dyn Send>,
) -> Outcome<Contender> {
    let (host, port) = address.rsplit_once(':').ok_or_else(|| Failure::from("no port"))?;
    let clients = connect(&format!("host={host} port={port} user=tester dbname=db"))?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let name = "remanent";
    Ok(Contender { name, version, note, after_load: &[], clients, processes, server })
}

/// With which profile a program was built, by the folder in which cargo puts it.
fn profile(program: &Path) -> String {
    let folder = program.parent().and_then(Path::file_name).unwrap_or_default();
    match folder.to_string_lossy().as_ref() {
        known @ ("analytics" | "release" | "debug") => format!("profile {known}"),
        _ => format!("of {}", program.display()),
    }
}
