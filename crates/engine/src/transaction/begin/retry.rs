//! Running a program's work in transactions until one commits.
//!
//! After a conflict the work is run again, after pauses that grow. Its age stays that of the first
//! attempt, so that in a deadlock younger ones yield. Work that has failed often runs in
//! *exclusive* mode: other writers are kept out, each time for longer, so in the end it commits
//! however long it takes and however much the others write. If those that are active do not end in
//! time, it lets all others in again for three times as long before it asks once more: a writer
//! that is left open must not stop everybody.

use std::time::{Duration, Instant};

use super::clock::{self, HeldSlot};
use super::gate::{self, Closed, ClosedGate};
use super::options::TransactionOptions;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::memory::atomic::pause;
use crate::memory::counts::Counted;
use crate::snapshot::Snapshot;
use crate::transaction::commit::commit::CommitTicket;
use crate::transaction::commit::finalize;
use crate::transaction::write::transaction::WriteTransaction;

/// Attempts before a conflict is handed to the program.
const ATTEMPTS_MAX: u32 = 10_000;
/// Failed attempts from which on the work runs in exclusive mode.
const EXCLUSIVE_FROM: u32 = if cfg!(shuttle) { 3 } else { 12 };
/// For how long others are kept out the first time, at most; each further time doubles it, up to
/// 1.28 s.
const EXCLUSIVE_TIME: Duration = Duration::from_millis(20);
const EXCLUSIVE_DOUBLINGS_MAX: u32 = 6;
/// For how many times as long others are let in, if that was not long enough for them to end.
const EXCLUSIVE_PAUSES: u32 = 3;
/// Conflicts after which a thread only yields its time slice.
const YIELDS: u32 = 3;
const PAUSE_US_MAX: u64 = 1000;

/// An attempt's slot and snapshot, and the gate if it runs in exclusive mode.
type Begun<'db> = (HeldSlot<'db>, Snapshot, Option<ClosedGate<'db>>);

/// Runs `work` in a transaction and commits it; again after each conflict.
///
/// # Errors
/// The error of `work` or of the commit; `DeadlineReached` if there is no time for another attempt.
pub(crate) fn run_until_committed<T>(
    db: &Instance,
    options: &TransactionOptions,
    mut work: impl FnMut(&WriteTransaction<'_>) -> Result<T>,
) -> Result<(T, CommitTicket)> {
    let (mut age, mut failed, mut conflict) = (None, 0, None);
    loop {
        let (held, snapshot, gate) = begin(db, options, failed)?;
        let first = *age.get_or_insert(snapshot.timestamp);
        let transaction = WriteTransaction::with_slot(db, held, snapshot, options, first)?;
        transaction.exclusive.set(gate.is_some());
        gate.into_iter().for_each(ClosedGate::leave_closed);
        if failed > 0 {
            transaction.count(Counted::Retries);
        }
        let ended = work(&transaction)
            .and_then(|value| transaction.commit_in_place().map(|ticket| (value, ticket)));
        // Over, one way or the other, before the gate opens.
        let gate = transaction.exclusive.take().then(|| ClosedGate::left(db.memory()));
        drop(transaction);
        drop(gate);
        match ended {
            Err(error) if error.is_conflict() && failed < ATTEMPTS_MAX => {
                failed += 1;
                if options.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                    return Err(out_of_time(failed, &error));
                }
                conflict = Some(error);
                back_off(failed);
            }
            Err(error) if error.kind() == ErrorKind::DeadlineReached => {
                return Err(conflict.map_or(error, |conflict| out_of_time(failed, &conflict)));
            }
            ended => return ended,
        }
    }
}

/// Begins an attempt: in exclusive mode, if enough have failed and nobody else keeps writers out.
#[inline]
fn begin<'db>(db: &'db Instance, options: &TransactionOptions, failed: u32) -> Result<Begun<'db>> {
    if failed >= EXCLUSIVE_FROM
        && let Some(exclusive) = begin_exclusive(db, options, failed)?
    {
        return Ok(exclusive);
    }
    let begin = |memory, slots| clock::begin_write(memory, slots, options.patience);
    let (held, snapshot) = finalize::with_free_slot(db, begin)?;
    Ok((held, snapshot, None))
}

#[cold]
fn begin_exclusive<'db>(
    db: &'db Instance,
    options: &TransactionOptions,
    failed: u32,
) -> Result<Option<Begun<'db>>> {
    let (held, mut snapshot) = finalize::with_free_slot(db, clock::begin_past_gate)?;
    let left =
        || options.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    let time = EXCLUSIVE_TIME * (1 << (failed - EXCLUSIVE_FROM).min(EXCLUSIVE_DOUBLINGS_MAX));
    let time = time.min(left().unwrap_or(time));
    match gate::close_for_exclusive(db.memory(), held.number(), time) {
        Closed::Exclusive(gate) => {
            // What the others have committed while they were waited for is not to be missed.
            snapshot.timestamp = held.publish_clock(true);
            Ok(Some((held, snapshot, Some(gate))))
        }
        Closed::ByAnother => Ok(None),
        Closed::InVain => {
            drop(held);
            if !cfg!(shuttle) {
                let pause = time * EXCLUSIVE_PAUSES;
                std::thread::sleep(pause.min(left().unwrap_or(pause)));
            }
            Ok(None)
        }
    }
}

fn out_of_time(failed: u32, conflict: &Error) -> Error {
    Error::new(ErrorKind::DeadlineReached)
        .because(format!("attempt {failed} met a conflict: {conflict}"))
}

fn back_off(failed: u32) {
    if cfg!(shuttle) {
        return pause(failed);
    }
    // Different threads must not meet again in step: spread the pause by the thread's own address.
    let here = 0u8;
    let spread = (std::ptr::from_ref(&here) as u64 >> 12).wrapping_mul(0x9e37_79b9) % 8 + 1;
    if failed <= YIELDS {
        std::thread::yield_now();
    } else {
        let pause = (spread << failed.min(10)) % PAUSE_US_MAX;
        std::thread::sleep(Duration::from_micros(pause));
    }
}
