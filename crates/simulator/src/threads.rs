//! Sessions in threads of their own, at the same time.
//!
//! The seed fixes what each session would like to do, not who is first: a seed gives similar
//! histories, and what is found may take a number of runs to be found again. Now and then a thread
//! yields or spins, so that transactions overlap on a machine of few cores too.

use std::sync::Barrier;

use remanent_engine::Result;

use crate::history::{History, Transaction};
use crate::plan::Plan;
use crate::random::Random;
use crate::session::{Events, Session};
use crate::subject::Subject;

const SPINS_MAX: u64 = 300;

/// Runs the history of a plan.
///
/// # Errors
///
/// An error of the engine outside of statements.
pub(crate) fn run(plan: &Plan, random: &mut Random) -> Result<History> {
    let subject = Subject::open()?;
    let events = Events::default();
    let mut first = Session::new(0, &subject, plan, &events, Random::new(random.word()));
    first.fill()?;
    let start = Barrier::new(plan.sessions);
    let outcomes: Vec<Result<Vec<Transaction>>> = std::thread::scope(|scope| {
        let work = |number| {
            let session = Random::new(random.word());
            let session = Session::new(number, &subject, plan, &events, session);
            let (pauses, start) = (Random::new(random.word()), &start);
            scope.spawn(move || {
                start.wait();
                work(session, plan, pauses)
            })
        };
        let threads: Vec<_> = (1..=plan.sessions).map(work).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(resume)).collect()
    });
    let mut transactions = Vec::new();
    for outcome in outcomes {
        transactions.extend(outcome?);
    }
    first.look_at_all()?;
    transactions.extend(first.finish());
    transactions.sort_by_key(|transaction| transaction.begun);
    Ok(History { transactions, is_timed: true })
}

/// Runs a session's share of the transactions.
fn work(mut session: Session<'_>, plan: &Plan, mut pauses: Random) -> Result<Vec<Transaction>> {
    let share = plan.transactions.div_ceil(plan.sessions);
    while session.ended() < share || !session.is_idle() {
        session.step()?;
        match pauses.below(8) {
            0 | 1 => std::thread::yield_now(),
            2 => (0..pauses.below(SPINS_MAX)).for_each(|_| std::hint::spin_loop()),
            _ => {}
        }
    }
    Ok(session.finish())
}

fn resume<T>(panic: Box<dyn std::any::Any + Send>) -> T {
    std::panic::resume_unwind(panic)
}
