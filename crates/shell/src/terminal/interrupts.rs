//! Ctrl-C while a statement runs: it is cancelled, and a script ends.
//!
//! A thread waits for the signal. At a prompt the terminal hands Ctrl-C on as a key, and there is
//! no signal. A statement looks whether it is to stop when it reads rows; one that computes long
//! between two of them is ended, with the program, by a second Ctrl-C. What was committed stays.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use remanent_sql::Cancel;
use signal_hook::consts::SIGINT;
use signal_hook::iterator::{Handle, Signals};

/// The status of a program that Ctrl-C ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// Whether somebody wants all to stop.
pub(crate) struct Interrupts {
    requested: Arc<AtomicBool>,
    waiting: Option<Handle>,
}

impl Interrupts {
    /// Cancels what runs whenever the signal comes.
    pub(crate) fn watch(cancel: Arc<Cancel>) -> Self {
        let requested = Arc::new(AtomicBool::new(false));
        let Ok(mut signals) = Signals::new([SIGINT]) else {
            return Self { requested, waiting: None };
        };
        let waiting = Some(signals.handle());
        let flag = Arc::clone(&requested);
        std::thread::spawn(move || {
            for _ in signals.forever() {
                if flag.swap(true, Ordering::Relaxed) {
                    std::process::exit(INTERRUPTED);
                }
                cancel.cancel();
            }
        });
        Self { requested, waiting }
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// What was wanted has been done.
    pub(crate) fn clear(&self) {
        self.requested.store(false, Ordering::Relaxed);
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        if let Some(waiting) = &self.waiting {
            waiting.close();
        }
    }
}
