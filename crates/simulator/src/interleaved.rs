//! Transactions of several sessions interleaved in one thread, as the seed says.
//!
//! Nothing depends on time or on other threads: a seed gives the same history whenever it is run,
//! and a history that is cut short is the beginning of the same one.

use remanent_engine::Result;

use crate::history::{History, Transaction};
use crate::plan::Plan;
use crate::random::Random;
use crate::session::{Events, Session};
use crate::subject::Subject;

/// Runs the history of a plan; of its steps at most so many.
///
/// # Errors
///
/// An error of the engine outside of statements.
pub(crate) fn run(plan: &Plan, random: &mut Random, steps_max: usize) -> Result<History> {
    let subject = Subject::open()?;
    let events = Events::default();
    let mut session = |number| {
        let random = Random::new(random.word());
        Session::new(number, &subject, plan, &events, random)
    };
    let mut first = session(0);
    first.fill()?;
    let mut sessions: Vec<_> = (1..=plan.sessions).map(session).collect();
    // The schedule has numbers of its own, so that it does not depend on what sessions draw.
    let mut schedule = Random::new(random.word());
    let mut freezing = Random::new(random.word());
    for _ in 0..steps_max {
        let ended: usize = sessions.iter().map(Session::ended).sum();
        let chosen = schedule.below(plan.sessions as u64) as usize;
        if ended >= plan.transactions && sessions.iter().all(Session::is_idle) {
            break;
        }
        // Nobody begins any more once there are enough; what is open goes on.
        if ended < plan.transactions || !sessions[chosen].is_idle() {
            sessions[chosen].step()?;
        }
        if schedule.percent(plan.reclaiming) {
            subject.db.reclaim();
        }
        if freezing.percent(plan.freezing) {
            subject.freeze()?;
        }
    }
    let mut transactions: Vec<Transaction> = Vec::new();
    transactions.extend(sessions.into_iter().flat_map(Session::finish));
    first.look_at_all()?;
    transactions.extend(first.finish());
    transactions.sort_by_key(|transaction| transaction.begun);
    Ok(History { transactions, is_timed: true })
}
