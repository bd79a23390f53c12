//! Where statements work that may take long: in a thread of their session, while the caller waits.
//!
//! Python handles Ctrl-C in its main thread, between steps of its own. So the caller waits there in
//! short pieces and asks Python in between; if there is something, the statement is cancelled, its
//! end waited for, and what Python raised goes on. The thread has a stack as deep as the planner of
//! nested statements needs, whatever thread the caller has.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use remanent_sql::{Cancel, SqlState};
use tokio::runtime::Runtime;

use crate::error::{InternalError, OperationalError};

/// As threads of the server's connections have.
const STACK_BYTES: usize = 8 << 20;
/// How long Ctrl-C may wait.
const PIECE: Duration = Duration::from_millis(50);

type Job = Box<dyn FnOnce(&Runtime) + Send>;

/// The thread of a session, once there was work for it.
#[derive(Default)]
pub(crate) struct Working {
    jobs: Mutex<Option<Sender<Job>>>,
    stopped: AtomicBool,
}

impl Working {
    /// Has a job done, and waits for it.
    ///
    /// # Errors
    /// What Python raises while it waits, such as `KeyboardInterrupt`; if there is no thread.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        cancel: &Arc<Cancel>,
        job: impl FnOnce(&Runtime) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (answer, answered) = channel();
        let job = Box::new(move |runtime: &Runtime| drop(answer.send(job(runtime))));
        self.stopped.store(false, Ordering::SeqCst);
        self.jobs()?.send(job).map_err(|_| ended())?;
        self.wait(py, cancel, answered)
    }

    /// Has a job stop that is between two statements, where there is nothing to cancel.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// Whether the job that runs is to stop.
    ///
    /// # Errors
    /// `CANCELLED`, then.
    pub(crate) fn check(&self) -> remanent_sql::Result<()> {
        match self.stopped.load(Ordering::SeqCst) {
            true => Err(remanent_sql::Error::new(SqlState::CANCELLED, "cancelled on request")),
            false => Ok(()),
        }
    }

    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        cancel: &Arc<Cancel>,
        answered: Receiver<T>,
    ) -> PyResult<T> {
        // A receiver is of one thread at a time, which this is.
        let answered = Mutex::new(answered);
        let next = |time| {
            py.detach(|| answered.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(time))
        };
        let mut raised = None;
        loop {
            match (next(PIECE), raised.take()) {
                (Ok(answer), None) => return Ok(answer),
                (Ok(_), Some(raised)) => return Err(raised),
                (Err(RecvTimeoutError::Disconnected), _) => return Err(panicked()),
                (Err(RecvTimeoutError::Timeout), before) => raised = before,
            }
            raised = raised.or(py.check_signals().err());
            if raised.is_some() {
                // Once more each time: another statement of the job may run by now.
                self.stop();
                cancel.cancel();
            }
        }
    }

    fn jobs(&self) -> PyResult<Sender<Job>> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(jobs) = &*jobs {
            return Ok(jobs.clone());
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
        let (sender, receiver) = channel::<Job>();
        let thread = std::thread::Builder::new().name("remanent".to_owned());
        thread.stack_size(STACK_BYTES).spawn(move || {
            // It ends when its session is gone.
            receiver.iter().for_each(|job| job(&runtime));
        })?;
        *jobs = Some(sender.clone());
        Ok(sender)
    }
}

fn ended() -> PyErr {
    OperationalError::new_err("the thread of the session has ended")
}

fn panicked() -> PyErr {
    InternalError::new_err(
        "a statement ended by a defect of the program; standard error says where",
    )
}
