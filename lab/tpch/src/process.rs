//! A measured process, from outside: asks it, waits for the answer, and ends it.
//!
//! It stays on one core, or on as many as a query has threads, from its beginning, with whatever
//! it starts. What always holds: one request is under way at a time, and nobody is left running
//! when the value is dropped.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use lab_harness::Outcome;

use crate::benchmark::Benchmark;
use crate::contenders::{Contender, Setting};
use crate::data::Data;
use crate::protocol::{Hello, Reply, Request};

/// For how long mimalloc keeps freed memory before the kernel gets it back: as `remanent` says it,
/// and as long as DuckDB's jemalloc does. Else each answer begins with faults of its pages.
const PURGE_DELAY_MS: &str = "10000";

/// A contender that is ready to be asked.
pub(crate) struct Process {
    pub(crate) contender: &'static Contender,
    pub(crate) version: String,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Process {
    /// Starts a contender on some cores, one for each thread that a query may have.
    ///
    /// # Errors
    ///
    /// When it is not installed or says nothing.
    pub(crate) fn start(
        contender: &'static Contender,
        out: &Path,
        data: &Data,
        setting: &Setting,
        cores: &[usize],
    ) -> Outcome<Process> {
        std::fs::create_dir_all(&setting.folder)?;
        let command = contender.command(out, data, setting)?;
        let mut pinned = Command::new("taskset");
        let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
        pinned.arg("-c").arg(cores.join(",")).arg(command.get_program()).args(command.get_args());
        pinned.env("MIMALLOC_PURGE_DELAY", PURGE_DELAY_MS);
        let mut child = pinned.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or("no standard output")?;
        let mut process = Process {
            contender,
            version: String::new(),
            child,
            input,
            output: BufReader::new(output),
        };
        process.version = serde_json::from_str::<Hello>(&process.line()?)?.version;
        Ok(process)
    }

    /// Creates and fills all tables of a benchmark.
    ///
    /// # Errors
    ///
    /// What the contender reports.
    pub(crate) fn load(&mut self, benchmark: &Benchmark) -> Outcome<Reply> {
        let statements =
            benchmark.tables().iter().map(|table| (table.name.to_owned(), table.sql()));
        self.ask(&Request::Load { load: statements.collect::<BTreeMap<_, _>>() })
    }

    /// Runs a query.
    ///
    /// # Errors
    ///
    /// What the contender reports.
    pub(crate) fn query(&mut self, text: &str, rows: bool) -> Outcome<Reply> {
        self.ask(&Request::Query { query: text.to_owned(), rows })
    }

    fn ask(&mut self, request: &Request) -> Outcome<Reply> {
        let input = self.input.as_mut().ok_or("the process has ended")?;
        writeln!(input, "{}", serde_json::to_string(request)?)?;
        input.flush()?;
        let reply: Reply = serde_json::from_str(&self.line()?)?;
        match reply.error {
            Some(error) => Err(error.into()),
            None => Ok(reply),
        }
    }

    fn line(&mut self) -> Outcome<String> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(format!("{} has ended without an answer", self.contender.name).into());
        }
        Ok(line)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends when there is nothing more to read.
        self.input = None;
        let _ = self.child.wait();
    }
}
