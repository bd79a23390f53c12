//! The signals upon which a server ends.
//!
//! The first asks for an orderly end, the second does not wait for it. They are asked for before
//! anybody may connect, since clients could take all the files that a process may open.

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// SIGTERM and SIGINT, which wait for whoever asks.
#[derive(Debug)]
pub struct EndSignals(Signals);

impl EndSignals {
    /// Asks for them: from now on neither ends the process by itself.
    ///
    /// # Errors
    /// As the system.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self(Signals::new([SIGTERM, SIGINT])?))
    }

    /// Whether one has come.
    pub fn has_come(&mut self) -> bool {
        self.0.pending().next().is_some()
    }

    /// From now on, the next one ends the process at once, with 130.
    pub fn end_at_next(self) {
        let Self(mut signals) = self;
        std::thread::spawn(move || {
            if signals.forever().next().is_some() {
                std::process::exit(130);
            }
        });
    }

    /// Waits for the first; a second one ends the process at once, with 130.
    pub fn wait(self) {
        let Self(mut signals) = self;
        let first = signals.forever().next();
        tracing::info!("signal {}", first.unwrap_or_default());
        Self(signals).end_at_next();
    }
}
