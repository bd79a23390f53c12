//! Each phenomenon is found in a history that has it, and nothing in one that has not.

use super::check;
use crate::finding::Phenomenon;
use crate::history::{Level, Transaction};
use crate::script::{history, row, row_of};

use Level::{ReadOnly, Serializable, Snapshot};

fn t(level: Level, snapshot: u64) -> Transaction {
    Transaction::new(level, snapshot)
}

/// The phenomena of a history that begins with two rows.
fn found<const N: usize>(transactions: [Transaction; N]) -> Vec<Phenomenon> {
    let found = check(&history(2, transactions));
    found.findings.iter().map(|finding| finding.phenomenon).collect()
}

#[test]
fn a_serial_history_has_none() {
    let first = t(Serializable, 1).reads(1, 1).writes(1, 101).inserts(3, 103).commits(2);
    let second = t(Snapshot, 2).scans(&[row(1, 101), row(2, 2), row_of(3, 103, 103)]);
    let second = second.writes(2, 202).deletes(3).commits(3);
    let third = t(ReadOnly, 3).scans(&[row(1, 101), row(2, 202)]).misses(3).commits(3);
    assert_eq!(found([first, second, third]), []);
}

#[test]
fn write_cycle() {
    // The lists tell in which order the rows were written.
    let first = t(Snapshot, 1).lists(1, &[1, 101]).lists(2, &[2, 202, 102]).commits(2);
    let second = t(Snapshot, 1).lists(1, &[1, 101, 201]).lists(2, &[2, 202]).commits(3);
    assert_eq!(found([first, second]), [Phenomenon::G0]);
    let first = t(Snapshot, 1).lists(1, &[1, 101]).lists(2, &[2, 102]).commits(2);
    let second = t(Snapshot, 2).lists(1, &[1, 101, 201]).lists(2, &[2, 102, 202]).commits(3);
    assert_eq!(found([first, second]), []);
}

#[test]
fn aborted_read() {
    let reader = t(Snapshot, 1).reads(1, 101).commits(1);
    let writer = t(Snapshot, 1).writes(1, 101);
    assert_eq!(found([writer, reader.clone()]), [Phenomenon::G1a]);
    let refused = t(Snapshot, 1).writes(1, 101).refused();
    assert_eq!(found([refused, reader]), [Phenomenon::G1a]);
}

#[test]
fn intermediate_read() {
    let writer = t(Snapshot, 1).writes(1, 101).writes(1, 102).commits(2);
    let reader = t(Snapshot, 2).reads(1, 101).commits(2);
    assert_eq!(found([writer.clone(), reader]), [Phenomenon::G1b]);
    assert_eq!(found([writer, t(Snapshot, 2).reads(1, 102).commits(2)]), []);
}

#[test]
fn read_of_what_nobody_wrote() {
    let reader = t(ReadOnly, 1).reads(1, 777).commits(1);
    assert_eq!(found([reader]), [Phenomenon::Garbage]);
}

#[test]
fn circular_information_flow() {
    let first = t(Snapshot, 1).writes(1, 101).reads(2, 202).commits(2);
    let second = t(Snapshot, 1).writes(2, 202).reads(1, 101).commits(3);
    assert_eq!(found([first, second]), [Phenomenon::G1c]);
}

#[test]
fn lost_update() {
    let first = t(Snapshot, 1).reads(1, 1).writes(1, 101).commits(2);
    let second = t(Snapshot, 1).reads(1, 1).writes(1, 201).commits(3);
    assert_eq!(found([first.clone(), second]), [Phenomenon::LostUpdate]);
    let later = t(Snapshot, 2).reads(1, 101).writes(1, 201).commits(3);
    assert_eq!(found([first, later]), []);
}

#[test]
fn read_skew() {
    let writer = t(Snapshot, 1).writes(1, 201).writes(2, 202).commits(2);
    let torn = t(ReadOnly, 1).reads(1, 1).reads(2, 202).commits(1);
    assert_eq!(found([writer.clone(), torn]), [Phenomenon::GSingle]);
    let whole = t(ReadOnly, 1).reads(1, 1).reads(2, 2).commits(1);
    assert_eq!(found([writer, whole]), []);
}

#[test]
fn read_skew_by_a_predicate() {
    let writer = t(Snapshot, 1).inserts(3, 203).writes(2, 202).commits(2);
    let torn = t(ReadOnly, 2).scans(&[row(1, 1), row(2, 202)]).commits(2);
    assert_eq!(found([writer.clone(), torn]), [Phenomenon::GSingle]);
    let torn = t(ReadOnly, 1).misses(3).reads(2, 202).commits(1);
    assert_eq!(found([writer, torn]), [Phenomenon::GSingle]);
    let remover = t(Snapshot, 1).deletes(1).writes(2, 202).commits(2);
    let torn = t(ReadOnly, 2).misses(1).reads(2, 2).commits(2);
    assert_eq!(found([remover, torn]), [Phenomenon::GSingle]);
}

/// Both read both rows, and each changes one.
fn skewed(first: Level, second: Level) -> [Transaction; 2] {
    let first = t(first, 1).reads(1, 1).reads(2, 2).writes(1, 101).commits(2);
    [first, t(second, 1).reads(1, 1).reads(2, 2).writes(2, 202).commits(3)]
}

#[test]
fn write_skew_is_for_snapshot_alone() {
    assert_eq!(found(skewed(Serializable, Serializable)), [Phenomenon::G2Item]);
    let allowed = check(&history(2, skewed(Snapshot, Snapshot)));
    assert!(allowed.findings.is_empty());
    assert_eq!(allowed.allowed, Some(Phenomenon::G2Item));
    // One who promises nothing about what it has read is enough.
    assert_eq!(found(skewed(Serializable, Snapshot)), []);
}

#[test]
fn phantoms() {
    let both = [row(1, 1), row(2, 2)];
    let two = |level| {
        let first = t(level, 1).scans(&both).inserts(3, 103).commits(2);
        [first, t(level, 1).scans(&both).inserts(4, 204).commits(3)]
    };
    assert_eq!(found(two(Serializable)), [Phenomenon::G2]);
    assert_eq!(found(two(Snapshot)), []);
    let keys = |level| {
        let first = t(level, 1).misses(4).inserts(3, 103).commits(2);
        [first, t(level, 1).misses(3).inserts(4, 204).commits(3)]
    };
    assert_eq!(found(keys(Serializable)), [Phenomenon::G2]);
    assert_eq!(check(&history(2, keys(Snapshot))).allowed, Some(Phenomenon::G2));
}

#[test]
fn a_predicate_cut_off_does_not_reach_further() {
    use crate::history::{Answer, Query, Statement};
    let first_row = Statement::Read(Query::Scan { limit: 1, typed: true });
    let seen = Answer::Rows(vec![row(1, 1)]);
    let scan = |t: Transaction| t.step(first_row.clone(), seen.clone());
    let first = scan(t(Serializable, 1)).writes(2, 102).commits(2);
    let second = t(Serializable, 1).reads(2, 2).inserts(3, 203).commits(3);
    assert_eq!(found([first, second]), []);
}

#[test]
fn read_only_transaction_anomaly() {
    let three = |level| {
        let deposit = t(level, 1).reads(2, 2).writes(2, 102).commits(2);
        let withdrawal = t(level, 1).reads(1, 1).reads(2, 2).writes(1, 201).commits(3);
        let report = t(ReadOnly, 2).reads(1, 1).reads(2, 102).commits(2);
        [deposit, withdrawal, report]
    };
    assert_eq!(found(three(Serializable)), [Phenomenon::G2Item]);
    assert_eq!(found(three(Snapshot)), []);
}

#[test]
fn a_stale_read_closes_a_cycle_with_time() {
    let writer = t(Snapshot, 1).writes(1, 101).commits(2).during(1, 5);
    let stale = t(ReadOnly, 1).reads(1, 1).commits(1).during(6, 7);
    assert_eq!(found([writer.clone(), stale]), [Phenomenon::GSingle]);
    let overlapping = t(ReadOnly, 1).reads(1, 1).commits(1).during(4, 7);
    assert_eq!(found([writer, overlapping]), []);
}

#[test]
fn what_a_savepoint_took_back_is_not_final() {
    use crate::history::{Answer, Statement};
    let writer = t(Snapshot, 1).writes(1, 101).step(Statement::Savepoint, Answer::Done);
    let writer = writer.writes(1, 102).step(Statement::RollBackTo(0), Answer::Done).commits(2);
    assert_eq!(found([writer.clone(), t(ReadOnly, 2).reads(1, 101).commits(2)]), []);
    let reader = t(ReadOnly, 2).reads(1, 102).commits(2);
    assert_eq!(found([writer, reader]), [Phenomenon::G1b]);
}

/// A row comes and goes between the snapshot and the commit of a transaction that does not meet it:
/// both times it is not there, so that the transaction stands at its commit.
#[test]
fn a_row_that_came_and_went_is_no_phantom() {
    let adds = t(Serializable, 1).misses(4).inserts(3, 103).commits(2);
    let removes = t(Serializable, 2).deletes(3).commits(3);
    let reader = t(Serializable, 1).misses(3).inserts(4, 304).commits(4);
    assert_eq!(found([adds.clone(), removes, reader.clone()]), []);
    assert_eq!(found([adds, reader]), [Phenomenon::G2]);
}
