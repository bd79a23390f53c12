//! Sessions as threads of the model checker, which decides at every access of shared memory who
//! goes on; only in builds with `--cfg shuttle`.
//!
//! The seed fixes the schedule too, so a history is the same whenever it is run. The engine then
//! works on its modelled machine, whose stores reach other threads late: that a commit was reported
//! says nothing about when another session sees it, for the sessions do not talk to each other.

use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::Result;
use shuttle::scheduler::{Schedule, Scheduler, Task, TaskId};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::history::{History, Transaction};
use crate::plan::Plan;
use crate::random::Random;
use crate::session::{Events, Session};
use crate::subject::Subject;

const STACK_SIZE: usize = 512 << 10;
const STEPS_MAX: usize = 2_000_000;
/// Bits of the modelled machine's random word by which a thread gets its store buffer.
const BUFFER_BITS_PER_TASK: u64 = 3;
/// A thread goes on unless the bits of a random word under the mask are all 0: from a change at
/// every access to whole transactions without one.
const PERSISTENCE: [u64; 5] = [0, 3, 15, 63, 1023];

/// Runs the history of a plan on the schedule of its seed.
///
/// # Errors
///
/// An error of the engine outside of statements.
pub(crate) fn run(plan: &Plan, random: &mut Random) -> Result<History> {
    let mut config = Config::new();
    config.stack_size = STACK_SIZE;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    config.failure_persistence = FailurePersistence::None;
    let result = Arc::new(Mutex::new(None));
    let (plan, sessions, given) = (plan.clone(), random.clone(), Arc::clone(&result));
    let scheduler = Bursts::new(Random::new(random.word()));
    Runner::new(scheduler, config).run(move || {
        let history = history(&plan, &mut sessions.clone());
        *given.lock().unwrap_or_else(PoisonError::into_inner) = Some(history);
    });
    let mut result = result.lock().unwrap_or_else(PoisonError::into_inner);
    result.take().expect("the schedule ran to its end")
}

fn history(plan: &Plan, random: &mut Random) -> Result<History> {
    let subject = Subject::open()?;
    let events = Events::default();
    let mut first = Session::new(0, &subject, plan, &events, Random::new(random.word()));
    first.fill()?;
    let outcomes: Vec<Result<Vec<Transaction>>> = shuttle::thread::scope(|scope| {
        let work = |number| {
            let session = Random::new(random.word());
            let session = Session::new(number, &subject, plan, &events, session);
            scope.spawn(move || work(session, plan))
        };
        let threads: Vec<_> = (1..=plan.sessions).map(work).collect();
        threads.into_iter().map(|thread| thread.join().expect("a panic ends the run")).collect()
    });
    let mut transactions = Vec::new();
    for outcome in outcomes {
        transactions.extend(outcome?);
    }
    first.look_at_all()?;
    transactions.extend(first.finish());
    transactions.sort_by_key(|transaction| transaction.begun);
    Ok(History { transactions, is_timed: false })
}

/// Runs a session's share of the transactions.
fn work(mut session: Session<'_>, plan: &Plan) -> Result<Vec<Transaction>> {
    let share = plan.transactions.div_ceil(plan.sessions);
    while session.ended() < share || !session.is_idle() {
        session.step()?;
    }
    Ok(session.finish())
}

/// A scheduler of one execution that lets threads run for a while.
struct Bursts {
    random: Random,
    persistence: u64,
    is_begun: bool,
    has_drawn: bool,
}

impl Bursts {
    fn new(mut random: Random) -> Self {
        let persistence = random.pick(&PERSISTENCE).unwrap_or(0);
        Self { random, persistence, is_begun: false, has_drawn: false }
    }
}

impl Scheduler for Bursts {
    fn new_execution(&mut self) -> Option<Schedule> {
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        is_first.then(|| Schedule::new(0))
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let goes_on = !is_yielding && self.random.word() & self.persistence != 0;
        let same = runnable.iter().map(|task| task.id()).find(|&id| Some(id) == current);
        let chosen = runnable[self.random.below(runnable.len() as u64) as usize].id();
        Some(same.filter(|_| goes_on).unwrap_or(chosen))
    }

    fn next_u64(&mut self) -> u64 {
        // The first word decides about store buffers. The first thread, whose bits are the lowest,
        // goes without: it opens the database, which moves words that are not in the region yet.
        let is_first = !std::mem::replace(&mut self.has_drawn, true);
        let word = self.random.word();
        if is_first { word & !BUFFER_BITS_PER_TASK } else { word }
    }
}
