//! The process that a task belongs to, which a simulator can let stand still.
//!
//! A process that stands still does nothing: its tasks are not polled, so its timers ring late and
//! what arrives waits, and then it goes on as if nothing had been. A task is of the process whose
//! task has begun it. Where nobody simulates, there is none, and nothing is looked at but once when
//! a task begins.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures::future::Either;
use rand::seq::SliceRandom;

use crate::draws::Draws;

thread_local! {
    /// The process whose task is being polled.
    static CURRENT: RefCell<Option<Process>> = const { RefCell::new(None) };
}

/// A process of a simulation, in whose thread everything happens.
///
/// # Examples
/// ```
/// use remanent_replication::Process;
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
/// # runtime.block_on(async {
/// let process = Process::default();
/// process.stand_still();
/// let task = tokio::spawn(process.run(async { 1 }));
/// tokio::task::yield_now().await;
/// assert!(!task.is_finished());
/// process.go_on();
/// assert_eq!(task.await.ok(), Some(1));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Process(Arc<Mutex<Standing>>);

#[derive(Debug, Default)]
struct Standing {
    stands: bool,
    /// The tasks that are to go on.
    tasks: Vec<Waker>,
}

impl Process {
    /// Nothing of it runs from now on.
    pub fn stand_still(&self) {
        self.lock().stands = true;
    }

    /// It goes on, its tasks in an order that the seed of the thread says.
    pub fn go_on(&self) {
        let mut tasks = {
            let mut standing = self.lock();
            standing.stands = false;
            std::mem::take(&mut standing.tasks)
        };
        tasks.shuffle(&mut Draws);
        tasks.into_iter().for_each(Waker::wake);
    }

    /// Whether it stands still.
    pub fn stands(&self) -> bool {
        self.lock().stands
    }

    /// Does something in this process, all tasks that it begins among it, whether or not it stands.
    pub fn enter<T>(&self, work: impl FnOnce() -> T) -> T {
        let _entered = Entered::new(self.clone());
        work()
    }

    /// Does something in this process: a future, and all tasks that it begins.
    pub fn run<F: Future>(&self, future: F) -> impl Future<Output = F::Output> + use<F> {
        let (process, mut future) = (self.clone(), Box::pin(future));
        poll_fn(move |context| {
            if process.waits(context) {
                return Poll::Pending;
            }
            let _entered = Entered::new(process.clone());
            future.as_mut().poll(context)
        })
    }

    fn waits(&self, context: &Context<'_>) -> bool {
        let mut standing = self.lock();
        if standing.stands {
            standing.tasks.push(context.waker().clone());
        }
        standing.stands
    }

    fn lock(&self) -> MutexGuard<'_, Standing> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The same future, as one of the process that begins it, if there is one.
pub(crate) fn of_process<F: Future>(future: F) -> impl Future<Output = F::Output> {
    match CURRENT.with_borrow(Clone::clone) {
        Some(process) => Either::Right(process.run(future)),
        None => Either::Left(future),
    }
}

/// While it is there, tasks that begin are of its process.
struct Entered(Option<Process>);

impl Entered {
    fn new(process: Process) -> Self {
        Self(CURRENT.replace(Some(process)))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}
