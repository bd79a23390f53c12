//! Serializable transactions: what was read holds at the commit, and nobody waits for ever.

use std::time::Duration;

use super::{Rows, check, content, race};
use crate::error::ErrorKind;
use crate::memory::modelled;
use crate::transaction::{TransactionOptions, WriteTransaction};
use crate::{Find, Result};

/// Sets a row to 1 if the other is 0.
fn set_if_other_is_not(rows: &Rows, tx: &WriteTransaction<'_>, own: u32) -> Result<()> {
    let other = rows.find(tx, 3 - own).expect("it is there");
    let (_, set) = rows.read(other);
    if set == 0 {
        let row = rows.find(tx, own).expect("it is there").id();
        tx.update_values(&rows.table, row, &rows.changes(own, 1))?;
    }
    Ok(())
}

/// Two transactions each read both rows and change one, which is right after the other only if one
/// of them sees what the other did; a third moves the recent commits on.
#[test]
fn shuttle_write_skew_is_prevented() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 5]);
        let set = |own: u32| rows.db.write(|tx| set_if_other_is_not(&rows, tx, own));
        let others = || {
            for value in 1..4 {
                let done = rows.db.write(|tx| {
                    let row = rows.find(tx, 5).expect("it is there").id();
                    tx.update_values(&rows.table, row, &rows.changes(5, value))
                });
                done.expect("nobody else changes it");
            }
        };
        race(vec![
            Box::new(|| set(1).expect("tried again")),
            Box::new(|| set(2).expect("tried again")),
            Box::new(others),
        ]);
        let left = rows.all();
        assert_eq!(left.iter().filter(|&&(key, value)| key < 3 && value == 1).count(), 1);
    });
}

/// Two transactions each insert a row where they found none: by a scan, by a key, by a range.
#[test]
fn shuttle_phantoms_are_prevented() {
    check(|| {
        let rows = Rows::ordered(&[1]);
        let insert_if_alone = |key: u32| {
            let done = rows.db.write(|tx| {
                let alone = match key % 3 {
                    0 => tx.scan(&rows.table)?.count() == 1,
                    1 => {
                        let mut cursor = tx.cursor(&rows.table, rows.index)?;
                        cursor.find(Find::AtLeast, &[7.into()])?.is_none()
                    }
                    _ => (7..10).all(|key| rows.find(tx, key).is_none()),
                };
                if alone {
                    tx.insert_values(&rows.table, &content(key, 0))?;
                }
                Ok(())
            });
            done.expect("tried again");
        };
        race(vec![
            Box::new(|| insert_if_alone(7)),
            Box::new(|| insert_if_alone(8)),
            Box::new(|| insert_if_alone(9)),
        ]);
        assert_eq!(rows.all().len(), 2, "the second finds the first's row");
    });
}

/// Two transactions change two rows in opposite orders and wait for each other: one yields, and
/// both commit in the end.
#[test]
fn shuttle_deadlocks_are_broken() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let add = |order: [u32; 2]| {
            let options = TransactionOptions::new().wait(Duration::from_secs(600));
            let done = rows.db.write_with(&options, |tx| {
                for key in order {
                    let row = rows.find(tx, key).expect("it is there");
                    let (_, value) = rows.read(row);
                    tx.update_values(&rows.table, row.id(), &rows.changes(key, value + 1))?;
                }
                Ok(())
            });
            done.expect("one yields, and is tried again");
        };
        race(vec![Box::new(|| add([1, 2])), Box::new(|| add([2, 1]))]);
        assert_eq!(rows.all(), [(1, 2), (2, 2)]);
    });
}

/// A transaction that only says it is serializable when it commits: it has read a row, another one
/// changes that and commits, and the first must be refused, however the two commits meet.
#[test]
fn shuttle_a_commit_is_refused_if_its_read_is_outdated() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let begun = modelled::quietly(|| (rows.db.begin_write(), rows.db.begin_write()));
        let (first, second) = (begun.0.expect("slots"), begun.1.expect("slots"));
        let step = |tx: WriteTransaction<'_>, read: u32, write: u32| {
            let (_, seen) = rows.read(rows.find(&tx, read).expect("it is there"));
            let row = rows.find(&tx, write).expect("it is there").id();
            let done = tx.update_values(&rows.table, row, &rows.changes(write, seen + 1));
            match done.and_then(|()| tx.commit()) {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Conflict);
                    0
                }
            }
        };
        let (mut one, mut two) = (0, 0);
        race(vec![Box::new(|| one += step(first, 1, 2)), Box::new(|| two += step(second, 2, 1))]);
        assert_eq!(one + two, 1, "both had the snapshot from before either");
    });
}
