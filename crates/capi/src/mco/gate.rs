//! Who may write beside whom: exclusive transactions keep other writers of a database out.
//!
//! One word: the number of writers, and a bit that an exclusive transaction sets before it waits
//! for them to end. New writers wait while it is set. Readers never come here. Waiting is patient:
//! a thread must not wait here for itself, which its caller checks.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

const EXCLUSIVE: u32 = 1 << 31;

#[derive(Default)]
pub(super) struct Gate {
    word: AtomicU32,
}

/// What a transaction holds of the gate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Pass {
    #[default]
    None,
    Shared,
    Exclusive,
}

impl Gate {
    /// Passes at once, or says that it cannot.
    #[inline]
    pub(super) fn try_pass(&self, pass: Pass) -> bool {
        match pass {
            Pass::None => true,
            Pass::Shared => {
                let seen = self.word.fetch_add(1, Acquire);
                if seen & EXCLUSIVE != 0 {
                    self.word.fetch_sub(1, Relaxed);
                }
                seen & EXCLUSIVE == 0
            }
            Pass::Exclusive => self.word.compare_exchange(0, EXCLUSIVE, Acquire, Relaxed).is_ok(),
        }
    }

    /// Passes when that is possible.
    #[cold]
    pub(super) fn wait(&self, pass: Pass) {
        let mut turn = 0;
        if pass == Pass::Exclusive {
            while self.word.fetch_or(EXCLUSIVE, Acquire) & EXCLUSIVE != 0 {
                pause(&mut turn);
            }
            while self.word.load(Acquire) != EXCLUSIVE {
                pause(&mut turn);
            }
            return;
        }
        while !self.try_pass(pass) {
            pause(&mut turn);
        }
    }

    #[inline]
    pub(super) fn leave(&self, pass: Pass) {
        match pass {
            Pass::None => {}
            Pass::Shared => {
                self.word.fetch_sub(1, Release);
            }
            // Writers that try to pass meanwhile have counted themselves in for a moment.
            Pass::Exclusive => {
                self.word.fetch_and(!EXCLUSIVE, Release);
            }
        }
    }
}

fn pause(turn: &mut u32) {
    *turn += 1;
    if *turn < 50 {
        std::thread::yield_now();
    } else {
        std::thread::sleep(Duration::from_micros(100));
    }
}
