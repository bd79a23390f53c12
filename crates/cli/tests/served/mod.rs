//! A server that is a process of its own, and how much memory it has held.
//!
//! The system says how much that is; its allocator gives back at once what is freed.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use crate::raw::Raw;

/// The budget of the server.
const BUDGET: usize = 128 << 20;
/// What it may hold beside, and for each connection.
const BESIDE: usize = 64 << 20;
const EACH: usize = 2 << 20;

pub(crate) struct Served {
    child: Child,
    pub(crate) port: u16,
}

impl Served {
    /// Starts a server that may open so many files.
    pub(crate) fn start(files_max: usize) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -n {files_max}; exec \"$@\""), "sh"]);
        command.arg(env!("CARGO_BIN_EXE_remanent"));
        command.args(["serve", ":memory:", "--trust", "--listen", "127.0.0.1:0"]);
        command.env("MIMALLOC_PURGE_DELAY", "0");
        command.args(["--memory", "128M", "--log-level", "error"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| {
            let line = line.unwrap();
            Some(line.strip_prefix("ready for connections at ")?.to_owned())
        });
        let port = ready.unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
        Self { child, port }
    }

    /// Bytes of memory of its own that the process has held since this was asked for last, at
    /// most. Pages of the program's file are not its own.
    pub(crate) fn peak(&self) -> usize {
        let folder = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{folder}/status")).unwrap();
        let bytes = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
        };
        let peak = bytes("VmHWM") - bytes("RssFile");
        std::fs::write(format!("{folder}/clear_refs"), "5").unwrap();
        peak
    }

    /// Checks that the server held no more than it may.
    pub(crate) fn check_peak(&self, attack: &str, connections: usize) {
        let (peak, limit) = (self.peak(), BUDGET + BESIDE + connections * EACH);
        eprintln!("{attack}: {} MiB of {}", peak >> 20, limit >> 20);
        assert!(peak <= limit, "{attack}: {} MiB, not {}", peak >> 20, limit >> 20);
    }

    pub(crate) fn client(&self) -> Raw {
        Raw::ready(self.port, "attacker")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
