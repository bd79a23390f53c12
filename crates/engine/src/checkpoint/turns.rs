//! Who makes a checkpoint, and when.
//!
//! Where a thread of the program asks for those that are due, or somebody for one now, it is made
//! at once. Else transactions make it as they begin: a slice each, as often as it takes for the
//! checkpoint to be made before half as much is logged again as made it due. So none of them does
//! all of it, unless they log so much that it is not made when all of that was logged: then the
//! next one makes the rest, so that the log does not grow without end. What waits for the slices'
//! snapshot to end ends it ([`Instance::end_checkpoint`]): the next one is made at once then.

use std::sync::PoisonError;

use super::parts::Parts;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::{CheckpointInParts, CheckpointStage, Instance, UnderWay};
use crate::log::writer::Log;
use crate::memory::atomic::{Relaxed, SeqCst};

/// Slices of a transaction at most, where the checkpoint is behind what is logged.
const SLICES_MAX: u32 = 2;

/// Goes on with a checkpoint that is due, as a transaction that is about to begin does.
pub(crate) fn make_in_turn(db: &Instance, log: &Log) {
    let Some(mut under_way) = db.checkpoints.try_lock() else { return };
    if under_way.is_none() {
        if !is_due(db, log) {
            return;
        }
        if db.checkpoints.at_once.load(Relaxed) {
            // What fails here is reported to whoever asks for a checkpoint, or writes.
            let _ = make_locked(db, log);
            return;
        }
        *under_way = Some(Box::new(Parts::begin(db)));
        // What was logged before is not to be caught up with.
        let now = log.written();
        db.checkpoints.begun_at.store(now, Relaxed);
        db.checkpoints.due_at.store(now, Relaxed);
    }
    match make_slices(db, log, &mut under_way) {
        Ok(None) => {
            let stage = under_way.as_ref().map(|parts| parts.stage());
            let holds = stage == Some(CheckpointStage::Writing);
            db.checkpoints.holds_snapshot.store(holds, SeqCst);
        }
        made => end_made(db, log, &mut under_way, made.ok().flatten()),
    }
}

/// Makes the slices that are due, and says when the next one is; the bytes of all, after the last.
fn make_slices(db: &Instance, log: &Log, under_way: &mut UnderWay) -> Result<Option<u64>> {
    let Some(parts) = under_way else { return Ok(None) };
    let checkpoints = &db.checkpoints;
    let most = checkpoints.slice.load(Relaxed).max(1);
    let window = checkpoints.after.load(Relaxed).max(checkpoints.size.load(Relaxed));
    if log.written() >= checkpoints.begun_at.load(Relaxed).saturating_add(window) {
        return all_of(db, log, &mut **parts).map(Some);
    }
    let count = db.memory().header().account.in_use() / most + 1;
    let mut next_at = checkpoints.due_at.load(Relaxed);
    for _ in 0..SLICES_MAX {
        if let Some(bytes) = parts.go_on(db, log, most)? {
            return Ok(Some(bytes));
        }
        // To remove files is soon done.
        let is_written = parts.stage() == CheckpointStage::Written;
        next_at = if is_written { log.written() } else { next_at + window / 2 / count };
        if log.written() < next_at {
            break;
        }
    }
    checkpoints.due_at.store(next_at, Relaxed);
    Ok(None)
}

/// Makes a checkpoint if one is due, unless somebody else does: all of it, or what is left of one
/// that transactions have begun. If it fails, nothing is lost and another is tried when as much
/// again was logged.
pub(super) fn make_if_due(db: &Instance, log: &Log) -> Result<Option<u64>> {
    let Some(mut under_way) = db.checkpoints.try_lock() else { return Ok(None) };
    if let Some(parts) = &mut *under_way {
        let size = all_of(db, log, &mut **parts);
        end_made(db, log, &mut under_way, size.as_ref().ok().copied());
        return size.map(Some);
    }
    if !is_due(db, log) {
        return Ok(None);
    }
    make_locked(db, log).map(Some)
}

/// Makes a checkpoint of what is committed now, and says how many bytes were written.
///
/// # Errors
/// `StorageFailed`, `LogFailed`, `TooManyTransactions`; `InvalidOptions` without a log.
pub(super) fn make(db: &Instance) -> Result<u64> {
    let Some(log) = db.log() else {
        return Err(Error::new(ErrorKind::InvalidOptions)
            .because("the database is in memory alone, it has no log"));
    };
    let mut under_way = db.checkpoints.making.lock().unwrap_or_else(PoisonError::into_inner);
    end(db, log, &mut under_way);
    make_locked(db, log)
}

/// Makes all of one at once. The lock is held, and none is under way.
fn make_locked(db: &Instance, log: &Log) -> Result<u64> {
    let mut parts = Parts::begin(db);
    let size = all_of(db, log, &mut parts);
    parts.end(db, log);
    db.checkpoints.at_once.store(false, Relaxed);
    put_off(db, log.end(), *size.as_ref().unwrap_or(&0));
    size
}

fn all_of(db: &Instance, log: &Log, parts: &mut dyn CheckpointInParts) -> Result<u64> {
    loop {
        if let Some(bytes) = parts.go_on(db, log, u64::MAX)? {
            return Ok(bytes);
        }
    }
}

/// Ends what was made in parts, of so many bytes, or has failed. The next one is due when so much
/// was logged since this one was begun.
fn end_made(db: &Instance, log: &Log, under_way: &mut UnderWay, size: Option<u64>) {
    end(db, log, under_way);
    let from = if size.is_some() { db.checkpoints.begun_at.load(Relaxed) } else { log.end() };
    put_off(db, from, size.unwrap_or(0));
}

/// Takes back what is under way, unless it is made.
fn end(db: &Instance, log: &Log, under_way: &mut UnderWay) {
    if let Some(mut parts) = under_way.take() {
        parts.end(db, log);
    }
    db.checkpoints.holds_snapshot.store(false, SeqCst);
}

/// Whether one is due. Not while tables are changed: who does may be waiting for all who read, as
/// the writer of an image does.
fn is_due(db: &Instance, log: &Log) -> bool {
    let checkpoints = &db.checkpoints;
    checkpoints.after.load(Relaxed) > 0
        && log.written() >= checkpoints.due_at.load(Relaxed)
        && !db.definition_turn().is_taken()
}

/// The next one is due when so much was logged from a position on.
fn put_off(db: &Instance, from: u64, size: u64) {
    let checkpoints = &db.checkpoints;
    checkpoints.size.store(size, Relaxed);
    checkpoints.due_at.store(from + checkpoints.after.load(Relaxed).max(size), Relaxed);
}
