//! Two things that are done at once: one by a thread beside, if there may be one.
//!
//! For what a query does in the end, when its pieces have been read: each of the two takes long,
//! and neither needs the other.

use std::panic::resume_unwind;
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::spare::Spare;
use super::team::spawn;
use crate::transaction::scope::Scope;

/// Does both, for a query that may have so many threads; what each gives.
pub(crate) fn do_both<A: Send, B>(
    threads: usize,
    one: impl FnOnce() -> A + Send,
    other: impl FnOnce() -> B,
) -> (A, B) {
    let spare = Spare::take(1, threads);
    let scope = Scope::current();
    // Whoever comes first does it: there may be no thread.
    let one = Mutex::new(Some(one));
    let do_one = || {
        let one = one.lock().unwrap_or_else(PoisonError::into_inner).take();
        one.map(|one| one())
    };
    thread::scope(|threads| {
        let begun = match spare.threads() {
            0 => None,
            _ => spawn(threads, scope.as_ref(), do_one),
        };
        let other = other();
        let beside = begun.map(|thread| thread.join().unwrap_or_else(|fault| resume_unwind(fault)));
        match beside.flatten().or_else(do_one) {
            Some(one) => (one, other),
            None => unreachable!("one of both does it"),
        }
    })
}

#[cfg(test)]
mod tests;
