//! Rows: commits become visible whole, conflicts have one winner, chains are walked while they
//! change, and a key belongs to one row.

use super::{Rows, check, content, race};
use crate::error::ErrorKind;
use crate::memory::modelled;
use crate::transaction::WriteTransaction;

const SUM: u64 = 100;

/// Moves an amount from row 1 to row 2.
fn transfer(rows: &Rows, tx: &WriteTransaction<'_>, amount: u64) -> crate::Result<()> {
    let (from, to) = (rows.find(tx, 1).expect("it is there"), rows.find(tx, 2).expect("it is too"));
    let (_, from_value) = rows.read(from);
    let (_, to_value) = rows.read(to);
    tx.update_values(&rows.table, from.id(), &rows.changes(1, from_value - amount))?;
    tx.update_values(&rows.table, to.id(), &rows.changes(2, to_value + amount))
}

/// Two writers transfer between two rows; readers always find the same sum, and never fewer
/// transfers than when they looked before.
#[test]
fn shuttle_commits_are_seen_whole() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        modelled::quietly(|| {
            rows.db.write(|tx| {
                let row = rows.find(tx, 1).expect("it is there").id();
                tx.update_values(&rows.table, row, &rows.changes(1, SUM))
            })
        })
        .expect("nobody else writes");
        let write = || {
            let (_, ticket) =
                rows.db.write_with_ticket(|tx| transfer(&rows, tx, 10)).expect("retried");
            let tx = rows.db.begin_read().expect("there are slots");
            assert!(tx.timestamp() >= ticket.timestamp(), "a commit is there once it returns");
            assert!(rows.read(rows.find(&tx, 2).expect("it is there")).1 >= 10);
        };
        let read = || {
            let mut moved = 0;
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let (_, from) = rows.read(rows.find(&tx, 1).expect("it is there"));
                let (_, to) = rows.read(rows.find(&tx, 2).expect("it is there"));
                assert_eq!(from + to, SUM, "a transfer is seen whole or not at all");
                assert!(to >= moved, "a later snapshot sees no less");
                moved = to;
            }
        };
        race(vec![Box::new(write), Box::new(write), Box::new(read)]);
        assert_eq!(rows.all(), [(1, SUM - 20), (2, 20)]);
    });
}

/// Two transactions that began together update one row: the first to do so commits, the other gets
/// a conflict.
#[test]
fn shuttle_first_updater_wins() {
    check(|| {
        let rows = Rows::ordered(&[1]);
        let (first, second) = modelled::quietly(|| (rows.db.begin_write(), rows.db.begin_write()));
        let (first, second) = (first.expect("there are slots"), second.expect("there are slots"));
        let update = |tx: WriteTransaction<'_>, value: u64| {
            let row = rows.find(&tx, 1).expect("it is there").id();
            match tx.update_values(&rows.table, row, &rows.changes(1, value)) {
                Ok(()) => {
                    tx.commit().expect("it is active");
                    1
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict);
                    0
                }
            }
        };
        let (mut winners, mut others) = (0, 0);
        race(vec![
            Box::new(|| winners += update(first, 1)),
            Box::new(|| others += update(second, 2)),
        ]);
        assert_eq!(winners + others, 1, "one of two conflicting updates commits");
        let winner = if winners == 1 { 1 } else { 2 };
        assert_eq!(rows.all(), [(1, winner)]);
    });
}

/// Writers of one row commit, roll back, roll back to savepoints and delete, all reclaiming as they
/// go; a reader sees one committed value throughout its snapshot.
#[test]
fn shuttle_version_chains_change_under_readers() {
    check(|| {
        let rows = Rows::ordered(&[1]);
        let roll_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            let row = rows.find(&tx, 1).expect("it is there").id();
            if tx.update_values(&rows.table, row, &rows.changes(1, 1000)).is_ok() {
                tx.roll_back();
            }
        };
        let savepoint = || {
            let done = rows.db.write(|tx| {
                let (row, old) =
                    rows.find(tx, 1).map(|row| (row.id(), rows.read(row).1)).expect("it is");
                tx.update_values(&rows.table, row, &rows.changes(1, old + 1))?;
                let savepoint = tx.savepoint();
                tx.update_values(&rows.table, row, &rows.changes(1, 2000))?;
                tx.roll_back_to(savepoint)
            });
            done.expect("retried");
        };
        let update = || {
            let done = rows.db.write(|tx| {
                let row = rows.find(tx, 1).expect("it is there");
                let old = rows.read(row).1;
                tx.update_values(&rows.table, row.id(), &rows.changes(1, 1001))?;
                tx.update_values(&rows.table, row.id(), &rows.changes(1, old + 1))
            });
            done.expect("retried");
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let row = rows.find(&tx, 1).expect("it is there");
            let seen = rows.read(row);
            assert!(seen.1 <= 2, "only committed values are seen: {}", seen.1);
            for _ in 0..2 {
                let again = tx.row(&rows.table, row.id()).expect("the table is there");
                assert_eq!(again.map(|row| rows.read(row)), Some(seen));
            }
            assert_eq!(rows.read(row), seen);
        };
        race(vec![Box::new(roll_back), Box::new(savepoint), Box::new(update), Box::new(read)]);
        assert_eq!(rows.all(), [(1, 2)], "no update is lost");
    });
}

fn insert_the_same_key(rows: &Rows) {
    let insert = || {
        let tx = rows.db.begin_write().expect("there are slots");
        match tx.insert_values(&rows.table, &content(5, 1)) {
            Ok(_) => {
                tx.commit().expect("it is active");
                1
            }
            Err(error) => {
                let kind = error.kind();
                assert!(matches!(kind, ErrorKind::Conflict | ErrorKind::DuplicateKey), "{kind:?}");
                0
            }
        }
    };
    let retry = || match rows.insert(5, 2) {
        Ok(_) => 1,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::DuplicateKey);
            0
        }
    };
    let (mut first, mut second, mut third) = (0, 0, 0);
    race(vec![
        Box::new(|| first = insert()),
        Box::new(|| second = insert()),
        Box::new(|| third = retry()),
    ]);
    assert_eq!(first + second + third, 1, "a key belongs to one row");
    let count = rows.all().iter().filter(|(key, _)| *key == 5).count();
    assert_eq!(count, 1);
}

/// Three transactions insert the same key into a unique ordered index: one commits. One of them
/// tries until it has or somebody else has.
#[test]
fn shuttle_unique_ordered_keys_have_one_row() {
    check(|| insert_the_same_key(&Rows::unique(&[4, 6])));
}

/// The same in a hash index.
#[test]
fn shuttle_unique_hashed_keys_have_one_row() {
    check(|| insert_the_same_key(&Rows::unique_hashed(&[4, 6])));
}

/// A row gives its unique key up, by deletion or by another key, while two others want it.
#[test]
fn shuttle_unique_keys_change_hands() {
    check(|| {
        let rows = Rows::unique(&[4, 5]);
        let delete = || {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, 5).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("retried");
        };
        let insert = || match rows.insert(5, 1) {
            Ok(_) => 1,
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::DuplicateKey);
                0
            }
        };
        let change = || {
            let changed = rows.db.write(|tx| {
                let row = rows.find(tx, 4).expect("nobody else changes it").id();
                tx.update_values(&rows.table, row, &rows.all_changes(5, 2))
            });
            match changed {
                Ok(()) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
                    0
                }
            }
        };
        let (mut inserted, mut changed) = (0, 0);
        race(vec![
            Box::new(delete),
            Box::new(|| inserted = insert()),
            Box::new(|| changed = change()),
        ]);
        assert!(inserted + changed <= 1, "a key belongs to one row");
        let count = rows.all().iter().filter(|(key, _)| *key == 5).count();
        assert_eq!(count, inserted + changed);
    });
}

/// A row takes a key for good while another change of the row is rolled back and that transaction's
/// slot is used again; somebody who began before wants the key too and meets all of it half way.
#[test]
fn shuttle_unique_keys_outlast_rollbacks() {
    check(|| {
        let rows = Rows::unique(&[4]);
        let take = || {
            let taken = rows.db.write(|tx| {
                let row = rows.find(tx, 4).expect("nobody else moves it").id();
                tx.update_values(&rows.table, row, &rows.all_changes(5, 1))
            });
            match taken {
                Ok(()) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
                    0
                }
            }
        };
        let roll_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            let row = tx.scan(&rows.table).expect("the table is there").next();
            let row = row.expect("it is never deleted").id();
            let _ = tx.update_values(&rows.table, row, &rows.all_changes(9, 1));
            tx.roll_back();
            drop(tx);
            rows.insert(7, 1).expect("nobody else inserts it");
        };
        let insert = || {
            let tx = rows.db.begin_write().expect("there are slots");
            match tx.insert_values(&rows.table, &content(5, 2)) {
                Ok(_) => {
                    tx.commit().expect("it is active");
                    1
                }
                Err(_) => 0,
            }
        };
        let (mut taken, mut inserted) = (0, 0);
        race(vec![
            Box::new(|| taken = take()),
            Box::new(roll_back),
            Box::new(|| inserted = insert()),
        ]);
        let count = rows.all().iter().filter(|(key, _)| *key == 5).count();
        assert!(taken + inserted <= 1, "a key belongs to one row");
        assert_eq!(count, taken + inserted);
    });
}
