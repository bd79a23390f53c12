//! PostgreSQL 15 of the run's own: made in a temporary folder, started on a port that was free,
//! and ended with the run.
//!
//! It keeps nothing (its documentation, Non-Durable Settings) and is set for serializable
//! transactions as its documentation says (Serializable Isolation Level): random pages cost little
//! so that indexes are used, and a page has room for many locks of rows. It does not run as root,
//! so that root starts it as the user `postgres`.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use lab_harness::Outcome;
use postgres::Client;

use crate::contenders::{Contender, connect, value};

/// What is said where it is not there.
pub(crate) const MISSING: &str = "PostgreSQL 15 is not installed: apt install postgresql-15";

/// Where Debian puts its programs.
const DEBIAN: &str = "/usr/lib/postgresql/15/bin";

const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=256MB",
    "random_page_cost=1.1",
    "max_pred_locks_per_transaction=256",
    "max_pred_locks_per_page=64",
];

/// Runs the server until nobody writes to the program's input any more: it ends with the run,
/// however that ends.
const WHILE_HELD: &str = "\"$@\" & cat; kill -INT $!; wait";

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

struct Server {
    running: Child,
    folder: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.running.stdin.take());
        let _ = self.running.wait();
    }
}

/// Starts one; `None` where it is not installed.
///
/// # Errors
///
/// When it does not start.
pub(crate) fn start() -> Outcome<Option<Contender>> {
    let Some(programs) = programs() else { return Ok(None) };
    let shared = Path::new("/dev/shm");
    let place = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("conflicts").tempdir_in(place)?;
    own(folder.path())?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let data = folder.path().join("data").display().to_string();
    let made = command(folder.path(), &programs.join("initdb"))
        .args(["-D", &data, "-A", "trust", "-U", "tester", "-N", "--locale=C", "-E", "UTF8"])
        .output()?;
    if !made.status.success() {
        return Err(format!("initdb: {}", String::from_utf8_lossy(&made.stderr)).into());
    }
    let mut command = command(folder.path(), Path::new("sh"));
    command.args(["-c", WHILE_HELD, "sh"]).arg(programs.join("postgres"));
    command.args(["-D", &data, "-p", &port.to_string(), "-k", ""]);
    for setting in ["listen_addresses=127.0.0.1"].iter().chain(SETTINGS) {
        command.args(["-c", setting]);
    }
    let log = File::create(folder.path().join("log"))?;
    let running = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn()?;
    let server = Server { running, folder };
    let mut clients =
        server.clients(&format!("host=127.0.0.1 port={port} user=tester dbname=postgres"))?;
    let version = value(&mut clients[0], "show server_version")?;
    let processes =
        clients.iter_mut().map(|client| Ok(value(client, "select pg_backend_pid()")?.parse()?));
    Ok(Some(Contender {
        name: "postgresql",
        version: version.split(' ').next().unwrap_or_default().to_owned(),
        note: format!("in memory, {}, analyzed", SETTINGS.join(", ")),
        after_load: &["vacuum analyze t", "vacuum analyze d"],
        processes: processes.collect::<Outcome<_>>()?,
        clients,
        server: Box::new(server),
    }))
}

impl Server {
    /// Connects; at first nobody listens, and then it is still starting.
    fn clients(&self, settings: &str) -> Outcome<Vec<Client>> {
        let begun = Instant::now();
        loop {
            match connect(settings) {
                Ok(clients) => return Ok(clients),
                Err(_) if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(50)),
                Err(error) => {
                    let log = fs::read_to_string(self.folder.path().join("log"));
                    return Err(format!("postgres: {error}\n{}", log.unwrap_or_default()).into());
                }
            }
        }
    }
}

/// A program that is run in the folder, by a user who may.
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

fn own(folder: &Path) -> Outcome<()> {
    match !is_root() || Command::new("chown").arg("postgres").arg(folder).status()?.success() {
        true => Ok(()),
        false => Err("root needs the user postgres".into()),
    }
}
