//! Clients at work: each in a thread of its own, on keys of its own, one transaction behind the
//! other.
//!
//! A transaction begins, reads, changes and commits, a message each, and is tried once: one that is
//! refused is counted and the client goes on with its next key. Any other error ends the run.

use std::collections::HashSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use lab_harness::Outcome;
use lab_postgresql::told;
use postgres::Client;
use postgres::error::SqlState;

use crate::contenders::{CLIENTS, Contender};
use crate::statements::{Effect, Statement};

const BEGIN: &str = "begin isolation level serializable";

/// What clients did in their time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Work {
    pub(crate) committed: u64,
    pub(crate) refused: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
    /// What must have become of the sum, with the transactions before the clock started.
    pub(crate) effect: i64,
}

/// One client's counts.
#[derive(Default)]
struct Done {
    committed: u64,
    refused: u64,
    /// Also of transactions off the clock.
    commits: i64,
    keys: HashSet<usize>,
}

/// Lets all clients do transactions for this time, after one each off the clock.
///
/// # Errors
///
/// When a statement fails in another way than by being refused.
pub(crate) fn work(
    contender: &mut Contender,
    statement: &Statement,
    rows: usize,
    time: Duration,
) -> Outcome<Work> {
    let ready = Barrier::new(CLIENTS + 1);
    let mut clients = std::mem::take(&mut contender.clients);
    let (mut wall_ns, mut cpu_ns) = (0, 0);
    let done: Vec<Outcome<Done>> = thread::scope(|scope| {
        let threads = clients.iter_mut().enumerate().map(|(number, client)| {
            let ready = &ready;
            scope.spawn(move || run(client, keys(number, rows), statement, ready, time))
        });
        let threads: Vec<_> = threads.collect();
        ready.wait();
        let (begun, cpu) = (Instant::now(), contender.cpu_ns());
        let panicked = |_| Err("a client has panicked".into());
        let done = threads.into_iter().map(|it| it.join().unwrap_or_else(panicked)).collect();
        wall_ns = begun.elapsed().as_nanos() as u64;
        cpu_ns = contender.cpu_ns() - cpu;
        done
    });
    contender.clients = clients;
    let mut work = Work { wall_ns, cpu_ns, ..Work::default() };
    for done in done {
        let done = done?;
        work.committed += done.committed;
        work.refused += done.refused;
        work.effect += match statement.effect {
            Effect::Each(by) => by * done.commits,
            Effect::FirstOfKey(by) => by * done.keys.len() as i64,
        };
    }
    Ok(work)
}

/// The keys of a client: every tenth of its part of the rows.
fn keys(client: usize, rows: usize) -> impl Iterator<Item = usize> + Clone {
    let part = rows / CLIENTS / 10;
    (0..part).map(move |place| (client * part + place) * 10)
}

fn run(
    client: &mut Client,
    keys: impl Iterator<Item = usize> + Clone,
    statement: &Statement,
    ready: &Barrier,
    time: Duration,
) -> Outcome<Done> {
    let mut done = Done::default();
    let mut keys = keys.cycle();
    let mut next = |done: &mut Done| -> Outcome<bool> {
        let key = keys.next().ok_or("no keys")?;
        let commits = transaction(client, &statement.of_key(key))?;
        if commits {
            done.commits += 1;
            done.keys.insert(key);
        }
        Ok(commits)
    };
    let first = next(&mut done);
    ready.wait();
    first?;
    let begun = Instant::now();
    while begun.elapsed() < time {
        match next(&mut done)? {
            true => done.committed += 1,
            false => done.refused += 1,
        }
    }
    Ok(done)
}

/// Whether it commits; one that is refused has left nothing.
fn transaction(client: &mut Client, statements: &[String]) -> Outcome<bool> {
    let texts = [BEGIN].into_iter().chain(statements.iter().map(String::as_str)).chain(["commit"]);
    for text in texts {
        let Err(error) = client.simple_query(text) else { continue };
        let refused = [SqlState::T_R_SERIALIZATION_FAILURE, SqlState::T_R_DEADLOCK_DETECTED];
        if !error.code().is_some_and(|code| refused.contains(code)) {
            let _ = client.simple_query("rollback");
            return Err(told(text, &error).into());
        }
        let _ = client.simple_query("rollback");
        return Ok(false);
    }
    Ok(true)
}

/// Does one transaction alone, so that a server can say that it does not know the statement.
///
/// # Errors
///
/// With what the server says.
pub(crate) fn trial(contender: &mut Contender, statement: &Statement) -> Outcome<()> {
    let client = contender.clients.first_mut().ok_or("no clients")?;
    match transaction(client, &statement.of_key(0))? {
        true => Ok(()),
        false => Err("one transaction alone is refused".into()),
    }
}
