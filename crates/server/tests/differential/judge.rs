//! A PostgreSQL of the test's own: made in a temporary folder, started on a port that was free, and
//! ended with the test.
//!
//! It does not run as root, so that root starts it as the user `postgres`.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian puts the programs of PostgreSQL 15.
const DEBIAN: &str = "/usr/lib/postgresql/15/bin";

/// Runs the server until nobody writes to the program's input any more: the server ends with the
/// test, however that ends.
const WHILE_HELD: &str = "\"$@\" & cat; kill -INT $!; wait";

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(60);

/// The running server; dropping it ends it.
pub(crate) struct Judge {
    port: u16,
    running: Child,
    folder: tempfile::TempDir,
}

impl Judge {
    /// Starts one; `None` where PostgreSQL is not installed.
    pub(crate) fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = tempfile::Builder::new().prefix("judge").tempdir().expect("a folder");
        own(folder.path());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its number").port();
        drop(listener);
        let data = folder.path().join("data").display().to_string();
        let made = command(folder.path(), &programs.join("initdb"))
            .args(["-D", &data, "-A", "trust", "-U", "judge", "-N", "--locale=C", "-E", "UTF8"])
            .output();
        let made = made.expect("initdb starts");
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let log = std::fs::File::create(folder.path().join("log")).expect("a log");
        let mut command = command(folder.path(), Path::new("sh"));
        command.args(["-c", WHILE_HELD, "sh"]).arg(programs.join("postgres"));
        command.args(["-D", &data, "-p", &port.to_string(), "-k", ""]);
        // Tables come and go all the time: its catalog has to forget them soon.
        let settings =
            ["listen_addresses=127.0.0.1", "fsync=off", "autovacuum_naptime=5", "timezone=UTC"];
        settings.iter().for_each(|setting| _ = command.args(["-c", setting]));
        let running = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).spawn();
        let judge = Self { port, running: running.expect("postgres starts"), folder };
        judge.wait();
        Some(judge)
    }

    fn wait(&self) {
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = || std::fs::read_to_string(self.folder.path().join("log"));
            assert!(begun.elapsed() < PATIENCE, "postgres: {}", log().unwrap_or_default());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// How clients reach it.
    pub(crate) fn settings(&self) -> String {
        format!("host=127.0.0.1 port={} user=judge dbname=postgres", self.port)
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        drop(self.running.stdin.take());
        let _ = self.running.wait();
    }
}

/// A program that is run in the folder, by a user who may.
fn command(folder: &Path, program: &Path) -> Command {
    let mut command = match is_root() {
        true => {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        }
        false => Command::new(program),
    };
    command.current_dir(folder);
    command
}

fn programs() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let report = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    let known = [report.unwrap_or_default(), DEBIAN.to_owned()];
    known.into_iter().map(PathBuf::from).find(|folder| folder.join("initdb").exists())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id");
    String::from_utf8_lossy(&id.stdout).trim() == "0"
}

fn own(folder: &Path) {
    if is_root() {
        let owned = Command::new("chown").arg("postgres").arg(folder).status().expect("chown");
        assert!(owned.success(), "the user postgres is there");
    }
}
