//! Calls that fail: each call of a trace in turn, once with an error, once because the disk is
//! full, and once as a write that is short, which is none.
//!
//! Whatever fails, the database says so and nothing that it promised is lost: what is on the disk
//! then opens, with all that was acknowledged before. A commit that failed may be there or not.

use std::sync::Arc;

use remanent_engine::Database;

use super::Wrong;
use super::disk::{Call, Disk, Failure, Note};
use super::judge::{Allowed, judge};
use super::work::{Work, options};

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
            let done = work.run();
            if let Err(error) = &done
                && !disk.has_failed()
            {
                return Err(format!("nothing failed, but: {error}"));
            }
            if done.is_err() {
                read_on(&mut work)?;
            }
            work.close();
            work.states
        }
        Err(error) if !disk.has_failed() => return Err(format!("nothing failed, but: {error}")),
        Err(_) => Vec::new(),
    };
    let mut allowed = Allowed::default();
    for call in disk.calls() {
        match call {
            Call::Note(Note::Begun(state)) => allowed.highest = allowed.highest.max(state),
            Call::Note(Note::Written(state) | Note::Synced(state)) => {
                allowed.lowest = allowed.lowest.max(state);
            }
            _ => {}
        }
    }
    let disk = Disk::with(disk.content());
    let db = Database::open_in(Arc::new(disk), options(seed))
        .map_err(|error| format!("it cannot be opened afterwards: {error}"))?;
    if let Some(damage) = db.damage() {
        return Err(format!("it is said to be damaged: {damage}"));
    }
    if states.is_empty() {
        return match db.table_names().is_empty() {
            true => Ok(()),
            false => Err("there are tables that nobody made".to_owned()),
        };
    }
    if allowed.highest >= states.len() {
        // What failed last has no digest, and may be there all the same.
        let judged = judge(&db, &states, Allowed { highest: states.len() - 1, ..allowed });
        let last = allowed.lowest < states.len();
        return match judged {
            Err(error) if !(last && error.starts_with("what was found never was")) => Err(error),
            _ => Ok(()),
        };
    }
    judge(&db, &states, allowed).map(|_| ())
}

/// A database whose log has failed can be read.
fn read_on(work: &mut Work<'_>) -> Result<(), String> {
    let Some(db) = work.open_db() else { return Ok(()) };
    let read = db.begin_read().and_then(|tx| {
        for name in db.table_names() {
            tx.scan(&db.table(&name)?)?.count();
        }
        Ok(())
    });
    read.map_err(|error| format!("it cannot be read any more: {error}"))
}
