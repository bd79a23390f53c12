//! Definitions that somebody stops: by cancelling at some moment, by the clock, by giving the
//! statement up. REMANENT_ROWS says over how many rows; some thousand otherwise.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_sql::{SqlDatabase, Statement};

use super::cases::{DEFINITIONS, go_on, make, seen};
use super::folder::{is_chosen, run};

fn rows() -> usize {
    std::env::var("REMANENT_ROWS").ok().and_then(|text| text.parse().ok()).unwrap_or(3_000)
}

/// How a definition is stopped.
#[derive(Clone, Copy, Debug)]
enum Stop {
    /// Somebody cancels it, as a server does: what it waits for is given up.
    Cancel,
    Timeout,
    InBlock,
}

/// Runs a definition that is stopped after so long; whether it was done.
fn is_done(session: &mut remanent_sql::Session, text: &str, stop: Stop, after: Duration) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let statement = Statement::parse(text).unwrap();
    let cancel = session.cancel_handle();
    let ran = match stop {
        Stop::Timeout => {
            run(session, &format!("set statement_timeout = {}", after.as_millis().max(1)));
            let ran = runtime.block_on(session.run(&statement, &[])).map(drop);
            run(session, "set statement_timeout = 0");
            ran
        }
        Stop::Cancel | Stop::InBlock => {
            let canceller = Arc::clone(&cancel);
            let thread = std::thread::spawn(move || {
                std::thread::sleep(after);
                canceller.cancel();
            });
            let ran = runtime
                .block_on(async { cancel.stopping(session.run(&statement, &[])).await.map(drop) });
            thread.join().unwrap();
            ran
        }
    };
    match ran {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.state().as_str(), "57014", "{text}: {error:?}");
            false
        }
    }
}

#[test]
fn a_stopped_definition_has_done_all_or_nothing() {
    let mut stopped = 0;
    for (number, text) in DEFINITIONS.iter().enumerate() {
        if !is_chosen(number, 8) {
            continue;
        }
        for stop in [Stop::Cancel, Stop::Timeout, Stop::InBlock] {
            // Over few rows all is done before it could be stopped.
            let database = SqlDatabase::in_memory().unwrap();
            let (mut session, mut other) = (database.session(), database.session());
            make(&mut session, rows());
            let before = seen(&mut session);
            let mut after = Duration::from_micros(200);
            loop {
                if matches!(stop, Stop::InBlock) {
                    run(&mut session, "begin; create table first (a int)");
                }
                let started = Instant::now();
                let is_done = is_done(&mut session, text, stop, after);
                let what = format!("{number}: {text}, {stop:?} after {after:?}");
                if matches!(stop, Stop::InBlock) {
                    assert_eq!(seen(&mut other), before, "{what}: others see it");
                    run(&mut session, "drop table first; commit");
                }
                let now = seen(&mut session);
                assert_eq!(seen(&mut other), now, "{what}: others see something else");
                if is_done {
                    assert_ne!(now, before, "{what}: it is done and has done nothing");
                    break;
                }
                assert_eq!(now, before, "{what}: it was stopped and has done something");
                assert!(started.elapsed() < Duration::from_secs(5), "{what}: it does not stop");
                stopped += 1;
                // Others can write at once.
                run(&mut other, "begin; insert into t (a) values (5); rollback");
                after = after * 6 + Duration::from_micros(number as u64 * 13);
            }
            go_on(&mut other, text);
        }
    }
    assert!(stopped > 2, "only {stopped} were stopped");
}
