//! Checkpoints that are due, made by a thread of the server.
//!
//! The engine has no thread of its own: without this one, the transaction that begins next would
//! make the checkpoint first and wait for seconds, or none would be made while nobody writes.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use remanent_sql::CountingAllocator;

use crate::registry::Shared;

/// How often is looked whether one is due.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The thread.
pub(crate) struct Checkpoints(JoinHandle<()>);

impl Checkpoints {
    /// Begins it.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub(crate) fn begin(shared: &Arc<Shared>) -> io::Result<Self> {
        let shared = Arc::clone(shared);
        let thread = thread::Builder::new().name("checkpoints".to_owned());
        let make = move || {
            while !shared.is_stopping() {
                make_if_due(&shared);
                thread::park_timeout(LOOK_AGAIN);
            }
            CountingAllocator::<()>::thread_ends();
        };
        thread.spawn(make).map(Self)
    }

    /// Ends it, when the server stops; one that is under way is finished.
    pub(crate) fn end(self) {
        self.0.thread().unpark();
        // One that panicked makes none either.
        let _ = self.0.join();
    }
}

fn make_if_due(shared: &Shared) {
    match shared.database.engine().checkpoint_if_due() {
        Ok(None) => {}
        Ok(Some(bytes)) => tracing::debug!("has made a checkpoint of {bytes} bytes"),
        // The next is tried when as much again was logged.
        Err(error) => tracing::error!("cannot make a checkpoint: {error}"),
    }
}
