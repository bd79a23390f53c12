//! What is left is opened, timed until it has answered once, and compared pair by pair.
//!
//! The answer belongs to the time, since an engine may postpone work until it is asked. Bytes are
//! those of the files that are gone through, their lengths before they are opened; they lie in the
//! operating system's cache, as after the death of a process and not of a machine.

use std::fs;
use std::path::Path;

use lab_harness::clock::Clock;
use lab_harness::pairs::{PairStore, VALUE_LEN};
use lab_harness::{Location, Outcome, Setting};

use super::{crash_child, is_image};
use crate::protocol::{CaseRequest, Line, PhaseSample};
use crate::workloads::ladder::content::{self, key};

/// Measures one return.
pub(super) fn measure(
    request: &CaseRequest,
    reopen: impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn PairStore>>,
    reads: fn(&str) -> bool,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let location = crash_child::location(request);
    let bytes = bytes_of(location.files()?, reads)?;
    let mut found = [0; VALUE_LEN];
    let clock = Clock::start();
    let mut store = reopen(setting, &location)?;
    let answered = store.read(&key(request.rows.saturating_sub(1)), &mut found)?;
    let elapsed = clock.elapsed();
    let generations = vec![0; usize::try_from(request.rows)?];
    let difference = match answered {
        true => content::difference(store.as_mut(), &generations)?,
        false => Some("the last pair is not there".to_owned()),
    };
    store.close()?;
    Ok(vec![Line::Phase(PhaseSample {
        phase: if is_image(setting) { "load" } else { "replay" }.to_owned(),
        per_transaction: request.per_transaction,
        operations: request.rows,
        wall_ns: elapsed.wall_ns,
        cpu_ns: elapsed.cpu_ns,
        bytes: Some(bytes),
        verified: difference.is_none(),
        note: difference.unwrap_or_default(),
        ..PhaseSample::default()
    })])
}

/// The lengths of the files below a directory that are gone through.
fn bytes_of(directory: &Path, reads: fn(&str) -> bool) -> Outcome<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if reads(&entry.file_name().to_string_lossy()) {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
