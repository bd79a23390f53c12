//! A replay accepts what is right to the letter and finds each thing that is not.

use remanent_engine::ErrorKind;

use super::check;
use crate::finding::Phenomenon;
use crate::history::{Answer, Level, Query, Statement, Transaction};
use crate::script::{history, row, row_of};

use Level::{ReadOnly, Serializable, Snapshot};

fn t(level: Level, snapshot: u64) -> Transaction {
    Transaction::new(level, snapshot)
}

fn found<const N: usize>(transactions: [Transaction; N]) -> Vec<Phenomenon> {
    let replay = check(&history(2, transactions));
    replay.findings.iter().map(|finding| finding.phenomenon).collect()
}

fn insert_of_key_1(t: Transaction, answer: Answer) -> Transaction {
    let statement = t.clone().inserts(1, 900).steps.pop().expect("one step").statement;
    t.step(statement, answer)
}

#[test]
fn what_is_right_is_accepted() {
    let first = t(Serializable, 1).reads(1, 1).writes(1, 101).reads(1, 101).commits(2);
    let second = t(Serializable, 1).reads(2, 2).inserts(3, 203).commits(3);
    let snapshot = t(Snapshot, 1).reads(1, 1).misses(3).deletes(2).commits(4);
    let aborted = t(Snapshot, 2).writes(1, 301).reads(1, 301);
    let reader = t(ReadOnly, 4).scans(&[row(1, 101), row_of(3, 203, 203)]).commits(4);
    assert_eq!(found([first, second, snapshot, aborted, reader]), []);
}

#[test]
fn savepoints_take_changes_back() {
    let set = |t: Transaction| t.step(Statement::Savepoint, Answer::Done);
    let back = |t: Transaction, number| t.step(Statement::RollBackTo(number), Answer::Done);
    let one = set(t(Serializable, 1).writes(1, 101)).writes(1, 102).deletes(2);
    let one = back(one, 0).scans(&[row(1, 101), row(2, 2)]);
    let one = back(set(one.writes(2, 103)).writes(2, 104), 1).reads(2, 103);
    let one = back(one, 0).scans(&[row(1, 101), row(2, 2)]).commits(2);
    assert_eq!(found([one, t(ReadOnly, 2).scans(&[row(1, 101), row(2, 2)]).commits(2)]), []);
}

#[test]
fn a_snapshot_shows_its_state() {
    let writer = t(Snapshot, 1).writes(1, 101).commits(2);
    let early = t(ReadOnly, 1).reads(1, 101).commits(1);
    assert_eq!(found([writer.clone(), early]), [Phenomenon::Snapshot]);
    let late = t(ReadOnly, 2).reads(1, 1).commits(2);
    assert_eq!(found([writer.clone(), late]), [Phenomenon::Snapshot]);
    // One that rolled back was to be told the truth as well.
    assert_eq!(found([writer, t(Snapshot, 2).reads(1, 1)]), [Phenomenon::Snapshot]);
}

#[test]
fn a_serializable_transaction_holds_at_its_commit() {
    let writer = t(Serializable, 1).writes(1, 101).commits(2);
    let reader = |level| t(level, 1).reads(1, 1).writes(2, 202).commits(3);
    assert_eq!(found([writer.clone(), reader(Serializable)]), [Phenomenon::Serial]);
    assert_eq!(found([writer.clone(), reader(Snapshot)]), []);
    let without_change = t(Serializable, 1).reads(1, 1).commits(1);
    assert_eq!(found([writer, without_change]), []);
}

#[test]
fn an_update_must_see_what_it_replaces() {
    let first = t(Snapshot, 1).writes(1, 101).commits(2);
    let second = t(Snapshot, 1).writes(1, 201).commits(3);
    assert_eq!(found([first, second]), [Phenomenon::LostUpdate]);
}

#[test]
fn refusals_have_reasons() {
    let duplicate = Answer::Refused(ErrorKind::DuplicateKey);
    let held = insert_of_key_1(t(Snapshot, 1), duplicate.clone()).commits(1);
    assert_eq!(found([held]), []);
    let free = insert_of_key_1(t(Snapshot, 1).deletes(1), duplicate).commits(2);
    assert_eq!(found([free]), [Phenomenon::Snapshot]);
    let missing = Answer::Refused(ErrorKind::RowNotFound);
    let there = t(Snapshot, 1).step(Statement::Delete { row: 1 }, missing.clone()).commits(1);
    assert_eq!(found([there]), [Phenomenon::Snapshot]);
    let gone = t(Snapshot, 1).step(Statement::Delete { row: 9 }, missing).commits(1);
    assert_eq!(found([gone]), []);
    let read = Statement::Read(Query::Row { row: 1, typed: false });
    let refused = Answer::Refused(ErrorKind::Conflict);
    assert_eq!(found([t(ReadOnly, 1).step(read, refused).commits(1)]), [Phenomenon::Snapshot]);
}

#[test]
fn a_key_is_held_once() {
    let twice = insert_of_key_1(t(Snapshot, 1), Answer::Inserted(3)).commits(2);
    assert_eq!(found([twice]), [Phenomenon::Snapshot, Phenomenon::Rule]);
}

#[test]
fn timestamps_are_drawn_once_and_in_order() {
    let first = t(Snapshot, 1).writes(1, 101).commits(2);
    let same = t(Snapshot, 1).writes(2, 202).commits(2);
    assert_eq!(found([first, same]), [Phenomenon::Rule]);
    let unstamped = t(Snapshot, 1).writes(2, 202).commits(1);
    assert_eq!(found([unstamped]), [Phenomenon::Rule]);
}

#[test]
fn who_begins_after_a_commit_sees_it() {
    let writer = t(Snapshot, 1).writes(1, 101).commits(2).during(1, 5);
    let stale = t(ReadOnly, 1).reads(1, 1).commits(1).during(6, 7);
    assert_eq!(found([writer, stale]), [Phenomenon::Stale]);
}

#[test]
fn refusals_without_need_are_counted() {
    let writer = t(Serializable, 1).writes(1, 101).commits(2).during(1, 5);
    let needless = t(Serializable, 1).reads(2, 2).refused().during(2, 6);
    let needed = t(Serializable, 1).reads(1, 1).refused().during(2, 7);
    let replay = check(&history(2, [writer, needless, needed]));
    assert_eq!((replay.refused, replay.needless), (2, 1));
}

/// The id of a row that came and went is given to a transaction that was there before it. They have
/// changed one row and lost nothing.
#[test]
fn an_id_may_be_used_again() {
    let first = t(Snapshot, 1).inserts(3, 103).deletes(3).commits(2);
    let second = t(Snapshot, 2).inserts(3, 203).commits(3);
    let third = t(Snapshot, 3).deletes(3).commits(4);
    let fourth = t(Snapshot, 1).inserts(3, 403).commits(5);
    assert_eq!(found([first, second, third, fourth]), []);
}
