//! Who may write beside whom: exclusive transactions keep other writers of a database out.
//!
//! A writer says in its slot which database it writes, then looks whether somebody wants that one
//! alone; who does says so, then inspects all slots until nobody is left. The two halves of a fence
//! (`asymmetric_fence.rs`) lie between these steps, so at least one sees the other. Readers never
//! come here. Waiting is patient: a thread must not wait here for itself, which its caller checks.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;

use super::session::Session;
use crate::asymmetric_fence;
use crate::slots::SlotState;

/// The gate of one database.
#[derive(Default)]
pub(super) struct Gate {
    /// Whether somebody has the database alone, or waits for the others to end.
    exclusive: AtomicBool,
}

/// How a transaction has passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Pass {
    #[default]
    None,
    Shared,
    Exclusive,
}

impl Gate {
    /// Passes, unless somebody is in the way. `writes_in` is the slot's, `number` the database's.
    #[inline]
    pub(super) fn try_pass(&self, pass: Pass, number: u64, writes_in: &AtomicU64) -> bool {
        match pass {
            Pass::None => true,
            Pass::Shared => {
                writes_in.store(number, Relaxed);
                asymmetric_fence::light();
                let passed = !self.exclusive.load(Acquire);
                if !passed {
                    writes_in.store(0, Relaxed);
                }
                passed
            }
            Pass::Exclusive => self.try_alone(number),
        }
    }

    #[cold]
    fn try_alone(&self, number: u64) -> bool {
        if self.exclusive.swap(true, Acquire) {
            return false;
        }
        let alone = asymmetric_fence::heavy() && !is_written(number);
        if !alone {
            self.exclusive.store(false, Release);
        }
        alone
    }

    /// Passes, however long it takes.
    #[cold]
    pub(super) fn wait(&self, pass: Pass, number: u64, writes_in: &AtomicU64) {
        let mut turn = 0;
        if pass == Pass::Exclusive {
            while self.exclusive.swap(true, Acquire) {
                pause(&mut turn);
            }
            while !asymmetric_fence::heavy() || is_written(number) {
                pause(&mut turn);
            }
            return;
        }
        while !self.try_pass(pass, number, writes_in) {
            pause(&mut turn);
        }
    }

    /// Undoes `try_pass` or `wait`.
    #[inline]
    pub(super) fn leave(&self, pass: Pass, writes_in: &AtomicU64) {
        match pass {
            Pass::None => {}
            Pass::Shared => writes_in.store(0, Release),
            Pass::Exclusive => self.exclusive.store(false, Release),
        }
    }
}

/// Whether somebody writes this database.
fn is_written(number: u64) -> bool {
    Session::slots().all().any(|slot| slot.writes_in.load(Acquire) == number)
}

fn pause(turn: &mut u32) {
    *turn += 1;
    if *turn < 50 {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(100));
    }
}

#[cfg(test)]
mod tests;
