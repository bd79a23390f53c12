//! Rows that become columns while others read, change, insert and delete them.

use super::{Rows, check, race};
use crate::memory::modelled;

/// Rows are frozen beside a reader, who holds on to what he was given, and a writer who changes one
/// row and deletes another: before, after, or while they wait for the latch that the freezer has.
#[test]
fn shuttle_rows_are_frozen_under_readers_and_writers() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let first = rows.find(&tx, 1).expect("nobody deletes it");
            let before = rows.read(first);
            let third = rows.find(&tx, 3).map(|row| rows.read(row));
            assert_eq!(rows.read(first), before, "what was read stays");
            assert_eq!(rows.read(rows.find(&tx, 1).expect("it is there")), before);
            assert_eq!(rows.find(&tx, 3).map(|row| rows.read(row)), third, "one snapshot");
        };
        let write = || {
            let written = rows.db.write(|tx| {
                let row = rows.find(tx, 1).expect("nobody deletes it").id();
                tx.update_values(&rows.table, row, &rows.changes(1, 7))?;
                rows.find(tx, 3).map_or(Ok(()), |row| tx.delete(&rows.table, row.id()))
            });
            written.expect("it is retried");
        };
        let freeze = || {
            rows.db.freeze_all(&rows.table).expect("there is memory");
        };
        race(vec![Box::new(freeze), Box::new(read), Box::new(write)]);
        assert_eq!(rows.all(), [(1, 7), (2, 0)]);
    });
}

/// Two writers change a frozen row at once, and a third takes a change of another back: the frozen
/// content becomes one version, and no change is lost.
#[test]
fn shuttle_frozen_rows_are_changed_once_each() {
    check(|| {
        let rows = Rows::unique_hashed(&[1, 2]);
        modelled::quietly(|| rows.db.freeze_all(&rows.table).expect("there is memory"));
        let add = || {
            let written = rows.db.write(|tx| {
                let row = rows.find(tx, 1).expect("nobody deletes it");
                let (_, value) = rows.read(row);
                tx.update_values(&rows.table, row.id(), &rows.changes(1, value + 1))
            });
            written.expect("it is retried");
        };
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            let row = rows.find(&tx, 2).expect("nobody deletes it").id();
            tx.delete(&rows.table, row).expect("nobody else changes it");
        };
        race(vec![Box::new(add), Box::new(add), Box::new(take_back)]);
        assert_eq!(rows.all(), [(1, 2), (2, 0)]);
    });
}

/// Rows are inserted into a segment that is being frozen, and deleted in it: each is in the columns
/// or beside them, and no row id is given out twice.
#[test]
fn shuttle_rows_come_and_go_beside_a_freezer() {
    check(|| {
        let rows = Rows::unique(&[1, 2]);
        modelled::quietly(|| {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, 2).expect("it is there").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else is there");
            rows.db.reclaim();
        });
        let insert = |key| {
            let rows = &rows;
            move || {
                rows.insert(key, 0).expect("there is memory");
            }
        };
        let freeze = || {
            rows.db.freeze_all(&rows.table).expect("there is memory");
        };
        race(vec![Box::new(freeze), Box::new(insert(3)), Box::new(insert(4))]);
        assert_eq!(rows.all(), [(1, 0), (3, 0), (4, 0)]);
    });
}
