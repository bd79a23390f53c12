//! A PostgreSQL of the test's own: made in a temporary folder, started on a port that was free, and
//! ended with the test.
//!
//! It does not run as root, so that root starts it as the user `postgres`.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// Where Debian puts the programs of PostgreSQL 15.
const DEBIAN: &str = "/usr/lib/postgresql/15/bin";

/// The running server; dropping it ends it.
pub(crate) struct Judge {
    pub(crate) port: u16,
    programs: PathBuf,
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
        let judge = Self { port, programs, folder };
        let data = judge.data();
        let made = judge.run("initdb", &["-D", &data, "-A", "trust", "-U", "judge", "-N"], |it| {
            it.args(["--locale=C", "-E", "UTF8"])
        });
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let settings = format!(
            "-p {port} -k {} -c listen_addresses=127.0.0.1 -c fsync=off -c autovacuum=off \
             -c synchronous_commit=off -c full_page_writes=off -c timezone=UTC",
            judge.folder.path().display()
        );
        let log = judge.folder.path().join("log").display().to_string();
        let start = ["-D", &data, "-l", &log, "-w", "-t", "60", "-o", &settings, "start"];
        let started = judge.run("pg_ctl", &start, |it| it);
        assert!(started.status.success(), "pg_ctl: {}", String::from_utf8_lossy(&started.stdout));
        Some(judge)
    }

    /// How clients reach it.
    pub(crate) fn settings(&self) -> String {
        format!("host=127.0.0.1 port={} user=judge dbname=postgres", self.port)
    }

    fn data(&self) -> String {
        self.folder.path().join("data").display().to_string()
    }

    fn run(
        &self,
        program: &str,
        arguments: &[&str],
        more: impl FnOnce(&mut Command) -> &mut Command,
    ) -> Output {
        let program = self.programs.join(program);
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", "postgres", "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        // A server that outlives the command must not hold on to its pipes.
        let (out, err) = (self.folder.path().join("out"), self.folder.path().join("err"));
        let file = |path: &Path| std::fs::File::create(path).expect("a file");
        let status = more(&mut command).stdout(file(&out)).stderr(file(&err)).status();
        let status = status.expect("the program starts");
        let read = |path: &Path| std::fs::read(path).unwrap_or_default();
        Output { status, stdout: read(&out), stderr: read(&err) }
    }
}

impl Drop for Judge {
    fn drop(&mut self) {
        let data = self.data();
        self.run("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"], |it| it);
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn programs() -> Option<PathBuf> {
    let asked = Command::new("pg_config").arg("--bindir").output().ok();
    let told = asked.map(|answer| String::from_utf8_lossy(&answer.stdout).trim().to_owned());
    let known = [told.unwrap_or_default(), DEBIAN.to_owned()];
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
