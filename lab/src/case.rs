//! One case: one contender in one setting at one size, measured in a process of its own.
//!
//! The laboratory starts itself again with the hidden word `case` and a request in JSON, and
//! reads one JSON line per sample from the child's standard output. A fresh process pinned to
//! one core makes memory and CPU time honest: nothing an earlier contender left behind counts.
//! A child that crashes, hangs or prints nonsense is a failed case with a reason, not the end
//! of the run.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use lab_harness::{Outcome, Setting, clock};

use crate::contenders;
use crate::protocol::{CaseRequest, Line};
use crate::workloads;

/// A case that takes longer than this is stopped, unless one of its phases may.
const CELL_SECONDS_MAX: u64 = 900;

/// Measures a case in this process and prints its lines: the child's side.
pub(crate) fn measure_here(request: &CaseRequest, out: &mut dyn Write) -> Outcome<()> {
    let lines = measure(request)
        .unwrap_or_else(|failure| vec![Line::Failed { reason: failure.to_string() }]);
    for line in lines {
        writeln!(out, "{}", serde_json::to_string(&line)?)?;
    }
    Ok(())
}

fn measure(request: &CaseRequest) -> Outcome<Vec<Line>> {
    if let Some(core) = request.core {
        clock::pin_to(core)?;
    }
    let workload = workloads::find(&request.workload).ok_or("no such workload")?;
    let contender = contenders::find(&request.contender).ok_or("no such contender")?;
    let setting = setting(request, workload.settings(contender))?;
    workload.measure(request, contender, setting)
}

fn setting(request: &CaseRequest, settings: &'static [Setting]) -> Outcome<&'static Setting> {
    let matches = |setting: &&Setting| {
        setting.variant == request.variant
            && setting.promise == request.promise
            && setting.medium == request.medium
    };
    settings.iter().find(matches).ok_or_else(|| "no such setting".into())
}

/// Measures a case in a process of its own: the run's side.
pub(crate) fn measure_in_child(request: &CaseRequest) -> Outcome<Vec<Line>> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("case")
        .arg(serde_json::to_string(request)?)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = collect(&mut child, seconds_max(request));
    if lines.is_err() {
        let _ = child.kill();
    }
    let complaint = complaint(&mut child);
    let status = child.wait()?;
    match lines {
        Ok(_) if !status.success() => Err(format!("ended with {status}{complaint}").into()),
        Ok(lines) if lines.is_empty() => Err(format!("measured nothing{complaint}").into()),
        lines => lines,
    }
}

/// How long a case may take: what is usual, or half as long again as its longest phase.
fn seconds_max(request: &CaseRequest) -> u64 {
    CELL_SECONDS_MAX.max((request.seconds_max.unwrap_or(0.0) * 1.5) as u64)
}

fn collect(child: &mut Child, seconds_max: u64) -> Outcome<Vec<Line>> {
    let stdout = child.stdout.take().ok_or("no standard output")?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines() {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    let deadline = Instant::now() + Duration::from_secs(seconds_max);
    let mut lines = Vec::new();
    loop {
        match receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => lines.push(serde_json::from_str(&line?)?),
            Err(RecvTimeoutError::Disconnected) => return Ok(lines),
            Err(RecvTimeoutError::Timeout) => {
                return Err(format!("stopped after {seconds_max} s").into());
            }
        }
    }
}

/// The last thing a child said on its standard error, to be put behind a reason.
fn complaint(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut text);
    }
    match text.lines().rfind(|line| !line.trim().is_empty()) {
        Some(line) => format!(": {}", line.trim()),
        None => String::new(),
    }
}
