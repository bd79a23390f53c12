//! Calls that fail: each call of a trace in turn, once with an error, once because the disk is
//! full, and once as a write that is short, which is none.
//!
//! Whatever fails, the database says so and nothing that it promised is lost, before or after: work
//! goes on as far as it can, then what is on the disk opens, with all that was acknowledged. A
//! commit that failed may be there or not. What a sync was for that failed is lost for good: that
//! is what systems do (Rebello et al., Can Applications Recover from fsync Failures?, 2020).

use std::sync::Arc;

use remanent_engine::Database;

use super::Wrong;
use super::disk::{Call, Disk, Failure, Note};
use super::judge::{Allowed, digest, judge};
use super::survival::{Manner, Survival};
use super::work::{Work, options};
use crate::random::Random;

/// Fails every call of a seed's trace: how many there were.
pub(super) fn run(seed: u64) -> Result<u64, Wrong> {
    let calls = {
        let disk = Disk::default();
        let fault = |error: remanent_engine::Error| Wrong { state: 0, what: error.to_string() };
        let mut work = Work::begin(&disk, seed).map_err(fault)?;
        work.run().map_err(fault)?;
        disk.calls().iter().filter(|call| !matches!(call, Call::Note(_))).count() as u64
    };
    let mut count = 0;
    for number in 1..=calls {
        for (failure, lasts) in [
            (Failure::Io, false),
            (Failure::Io, true),
            (Failure::Full, false),
            (Failure::Full, true),
            (Failure::Short, true),
        ] {
            count += 1;
            let tried = fail(seed, number, failure, lasts);
            tried.map_err(|what| {
                let what = format!("call {number}, {failure:?}, lasting: {lasts}: {what}");
                Wrong { state: count, what }
            })?;
        }
    }
    Ok(count)
}

fn fail(seed: u64, number: u64, failure: Failure, lasts: bool) -> Result<(), String> {
    let disk = Disk::default();
    disk.fail_at(number, failure, lasts);
    let states = match Work::begin(&disk, seed) {
        Ok(mut work) => {
            match work.run() {
                Err(error) if !disk.has_failed() => {
                    return Err(format!("nothing failed, but: {error}"));
                }
                // The step that failed was to open the database once more.
                Ok(()) | Err(_) => work.close(),
            }
            work.states
        }
        Err(error) if !disk.has_failed() => return Err(format!("nothing failed, but: {error}")),
        Err(_) => vec![digest_of_nothing(seed)?],
    };
    let (mut survival, mut begun, mut written, mut synced) = (Survival::default(), 0, 0, 0);
    for call in disk.calls() {
        match call {
            Call::Note(Note::Begun(state)) => begun = state.max(begun),
            Call::Note(Note::Written(state)) => written = state.max(written),
            Call::Note(Note::Synced(state)) => synced = state.max(synced),
            call => survival.call(&call),
        }
    }
    let highest = begun.min(states.len() - 1);
    let mut random = Random::new(seed);
    for (manner, lowest) in [(Manner::Kept, written.max(synced)), (Manner::Lost, synced)] {
        let left = Disk::with(survival.after(manner, &mut random));
        let db = Database::open_in(Arc::new(left), options(seed))
            .map_err(|error| format!("{manner:?}: it cannot be opened afterwards: {error}"))?;
        if let Some(damage) = db.damage() {
            return Err(format!("{manner:?}: it is said to be damaged: {damage}"));
        }
        judge(&db, &states, Allowed { lowest, highest })
            .map_err(|what| format!("{manner:?}: {what}"))?;
    }
    Ok(())
}

fn digest_of_nothing(seed: u64) -> Result<u64, String> {
    let db = Database::open_in(Arc::new(Disk::default()), options(seed));
    db.and_then(|db| digest(&db)).map_err(|error| error.to_string())
}
