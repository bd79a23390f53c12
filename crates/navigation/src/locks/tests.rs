use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use super::{Patience, RecordLock, Want};
use crate::status::Status;

const NOT_AT_ALL: Patience = Patience::Until(Duration::ZERO);

#[test]
fn readers_share_and_writers_do_not() {
    let lock = RecordLock::default();
    lock.take(Want::Read, NOT_AT_ALL).expect("free");
    lock.take(Want::Read, NOT_AT_ALL).expect("read by another");
    let refused = lock.take(Want::Write, NOT_AT_ALL).unwrap_err();
    assert_eq!(refused.status, Status::UNAVAILABLE);
    assert!(lock.take(Want::Upgrade, NOT_AT_ALL).is_err());
    lock.free_read();
    lock.take(Want::Upgrade, NOT_AT_ALL).expect("the only reader");
    assert!(lock.take(Want::Read, NOT_AT_ALL).is_err());
    lock.downgrade();
    lock.take(Want::Read, NOT_AT_ALL).expect("read by another");
    lock.free_read();
    lock.free_read();
    lock.take(Want::Write, NOT_AT_ALL).expect("free");
    lock.free_write();
}

#[test]
fn of_two_that_upgrade_the_second_is_refused_at_once() {
    let lock = RecordLock::default();
    lock.take(Want::Read, NOT_AT_ALL).expect("free");
    lock.take(Want::Read, NOT_AT_ALL).expect("free");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            lock.take(Want::Upgrade, Patience::Forever).expect("the other gives up");
            lock.free_write();
        });
        while lock.state.load(Relaxed) & super::WAITING == 0 {
            std::thread::yield_now();
        }
        assert!(lock.take(Want::Upgrade, Patience::Forever).is_err());
        lock.free_read();
    });
    lock.take(Want::Write, NOT_AT_ALL).expect("free");
}

/// Ten readers come and go without a moment when nobody reads, and a writer does the same: all of
/// them get their turn, again and again.
#[test]
fn nobody_starves() {
    const TURNS: u64 = 50;
    let lock = RecordLock::default();
    let patience = Patience::Until(Duration::from_secs(60));
    let turns: Vec<AtomicU64> = (0..11).map(|_| AtomicU64::new(0)).collect();
    let all_done = || turns.iter().all(|turns| turns.load(Relaxed) >= TURNS);
    std::thread::scope(|scope| {
        for (number, mine) in turns.iter().enumerate() {
            let (lock, all_done) = (&lock, &all_done);
            scope.spawn(move || {
                while !all_done() {
                    if number == 0 {
                        lock.take(Want::Write, patience).expect("a turn");
                        lock.free_write();
                    } else {
                        lock.take(Want::Read, patience).expect("a turn");
                        std::thread::yield_now();
                        lock.free_read();
                    }
                    mine.fetch_add(1, Relaxed);
                }
            });
        }
    });
}

/// Writers and readers count what they meet: a writer is alone, readers meet no writer.
#[test]
fn a_writer_is_alone() {
    let lock = RecordLock::default();
    let inside = std::sync::atomic::AtomicI64::new(0);
    let patience = Patience::Until(Duration::from_secs(60));
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (lock, inside) = (&lock, &inside);
            scope.spawn(move || {
                for round in 0..3000 {
                    if (round + thread) % 3 == 0 {
                        lock.take(Want::Write, patience).expect("a turn");
                        assert_eq!(inside.swap(-1000, Relaxed), 0);
                        assert_eq!(inside.swap(0, Relaxed), -1000);
                        lock.free_write();
                    } else {
                        lock.take(Want::Read, patience).expect("a turn");
                        assert!(inside.fetch_add(1, Relaxed) >= 0);
                        inside.fetch_sub(1, Relaxed);
                        lock.free_read();
                    }
                }
            });
        }
    });
    assert_eq!(lock.state.load(Relaxed), 0);
}
