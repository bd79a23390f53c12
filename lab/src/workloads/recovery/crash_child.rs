//! The process that is killed, and the one that kills it.
//!
//! The writer commits its pairs, says so with one line on its standard output and waits; it is then
//! killed by SIGKILL, so that nothing is closed, flushed or tidied up. It ends by itself if its
//! parent does. A writer that fails says why in a line of its own kind, which becomes the reason.

use std::io::{self, Read, Write};
use std::os::unix::process::ExitStatusExt;

use lab_harness::pairs::PairStore;
use lab_harness::{Location, Outcome, Setting};
use serde_json::Value;

use super::{LEAVES, is_image};
use crate::protocol::{self, CaseRequest, Line};
use crate::workloads::ladder::content::{self, PAIR_BYTES};

/// What a writer says when everything is written.
const WRITTEN: &str = "written";

const SIGKILL: i32 = 9;

/// Writes every pair, says so, and waits to be killed.
pub(super) fn write_and_wait(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn PairStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let location = location(request);
    let mut store = open(setting, &location)?;
    write_all(store.as_mut(), request, setting)?;
    writeln!(io::stdout().lock(), "{WRITTEN}")?;
    // Nothing is ever sent: this returns when the parent is gone.
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(Vec::new())
}

/// Commits every pair, and whatever else it takes for them to come back.
pub(super) fn write_all(
    store: &mut dyn PairStore,
    request: &CaseRequest,
    setting: &Setting,
) -> Outcome<()> {
    let step = request.per_transaction.max(1);
    let mut next = 0;
    while next < request.rows {
        let end = (next + step).min(request.rows);
        store.insert_many(&content::pairs(next..end))?;
        next = end;
    }
    if is_image(setting) { store.save() } else { store.finish() }
}

/// Starts a writer in the case's place, waits until everything is written, and kills it.
pub(super) fn kill_one(request: &CaseRequest) -> Outcome<()> {
    let mut request = request.clone();
    request.parameters.insert(LEAVES.to_owned(), Value::Bool(true));
    let (mut child, said) = protocol::start(&request)?;
    child.kill()?;
    let status = child.wait()?;
    if said.trim_end() != WRITTEN {
        let reason = match serde_json::from_str(&said) {
            Ok(Line::Failed { reason }) => reason,
            _ => format!("the writer ended with {status}"),
        };
        return Err(reason.into());
    }
    match status.signal() {
        Some(SIGKILL) => Ok(()),
        _ => Err(format!("the writer ended with {status} before it was killed").into()),
    }
}

/// Where writer and reader have the database.
pub(super) fn location(request: &CaseRequest) -> Location<'_> {
    Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: request.rows * PAIR_BYTES,
    }
}
