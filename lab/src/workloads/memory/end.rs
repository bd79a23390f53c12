//! A process that exits with everything allocated, and how long it takes until it is gone.
//!
//! The process fills its memory, says with one line that it is ready and what CPU time it has used,
//! and waits; when its standard input is closed it exits at once and frees nothing. Time runs from
//! closing that until the process has been waited for; CPU time, nearly all the kernel's, is what
//! the kernel says it has used in all less what it had used before.

use std::io::{self, Read, Write};

use lab_harness::blocks::BlockStore;
use lab_harness::clock::{self, Clock};
use lab_harness::{Outcome, Setting};
use serde_json::Value;
use wait4::Wait4;

use super::ENDS;
use crate::parameters::block_bytes;
use crate::protocol::{self, CaseRequest, Line, PhaseSample};

/// How the line of a process begins that is ready.
const READY: &str = "ready ";

/// Fills memory, says so, and exits when its input is closed.
pub(super) fn fill_and_end(
    request: &CaseRequest,
    open: impl Fn(&Setting, u64, usize) -> Outcome<Box<dyn BlockStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let bytes = block_bytes(&request.parameters).ok_or("a case without a size of blocks")?;
    let mut store = open(setting, request.rows, usize::try_from(bytes)?)?;
    store.prepare();
    store.allocate()?;
    store.touch();
    let wrong = store.wrong();
    if wrong > 0 {
        return Err(format!("{wrong} of {} blocks are not as written", request.rows).into());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{READY}{}", clock::process_cpu_ns())?;
    out.flush()?;
    // Nothing is ever sent: this returns when the parent has closed its end, or is gone.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    std::process::exit(0)
}

/// Measures the end of such a process.
pub(super) fn measure(request: &CaseRequest) -> Outcome<Line> {
    let mut request = request.clone();
    request.parameters.insert(ENDS.to_owned(), Value::Bool(true));
    let (mut child, said) = protocol::start(&request)?;
    let stdin = child.stdin.take();
    let clock = Clock::start();
    drop(stdin);
    let ended = child.wait4()?;
    let elapsed = clock.elapsed();
    let Some(used) = said.strip_prefix(READY) else {
        let reason = match serde_json::from_str(&said) {
            Ok(Line::Failed { reason }) => reason,
            _ => format!("the process ended with {}", ended.status),
        };
        return Err(reason.into());
    };
    if !ended.status.success() {
        return Err(format!("the process ended with {}", ended.status).into());
    }
    let before_ns: u64 = used.trim().parse()?;
    let all = ended.rusage.utime + ended.rusage.stime;
    let all_ns = u64::try_from(all.as_nanos())?;
    Ok(Line::Phase(PhaseSample {
        phase: "end".to_owned(),
        per_transaction: 1,
        operations: 1,
        wall_ns: elapsed.wall_ns,
        cpu_ns: all_ns.saturating_sub(before_ns),
        verified: true,
        ..PhaseSample::default()
    }))
}
