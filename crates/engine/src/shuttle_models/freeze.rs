//! Rows that become columns while others read, change, insert and delete them.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::{Rows, check, race};
use crate::memory::modelled;
use crate::{ReadTransaction, RowId};

impl Rows {
    /// Rows in columns, with the ids of those with these keys.
    fn frozen<const N: usize>(keys: [u32; N]) -> (Self, [RowId; N]) {
        let rows = Self::unique(&keys);
        let ids = modelled::quietly(|| {
            rows.db.freeze_all(&rows.table).expect("there is memory");
            let tx = rows.db.begin_read().expect("there are slots");
            keys.map(|key| rows.find(&tx, key).expect("it is there").id())
        });
        (rows, ids)
    }

    fn delete(&self, ids: &[RowId]) {
        let deleted = self.db.write(|tx| ids.iter().try_for_each(|id| tx.delete(&self.table, *id)));
        deleted.expect("nobody else deletes them");
    }

    /// Which of these rows a snapshot sees, by their ids; as many are met by a scan.
    fn seen<const N: usize>(&self, tx: &ReadTransaction<'_>, ids: [RowId; N]) -> [bool; N] {
        let seen = ids.map(|id| tx.row(&self.table, id).expect("the table is there").is_some());
        let count = tx.scan(&self.table).expect("the table is there").count();
        assert_eq!(count, seen.iter().filter(|it| **it).count(), "a scan sees the same");
        seen
    }
}

/// Rows are frozen beside a reader, who holds on to what it was given, and a writer who changes one
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

/// One changes a frozen row that two others delete and a fourth deletes and takes that back, to
/// delete another: it is deleted once, and nobody has changed it without knowing of that.
#[test]
fn shuttle_a_frozen_row_is_changed_or_deleted() {
    check(|| {
        let rows = Rows::unique_hashed(&[1, 2]);
        modelled::quietly(|| rows.db.freeze_all(&rows.table).expect("there is memory"));
        let [row, other] = modelled::quietly(|| {
            let tx = rows.db.begin_read().expect("there are slots");
            [1, 2].map(|key| rows.find(&tx, key).expect("it is there").id())
        });
        let (updated, deleted) = (AtomicBool::new(false), AtomicU32::new(0));
        let update = || {
            let tx = rows.db.begin_write().expect("there are slots");
            let done = tx.update_values(&rows.table, row, &rows.changes(1, 7));
            done.is_ok() && tx.commit().is_ok()
        };
        let delete = || {
            let tx = rows.db.begin_write().expect("there are slots");
            if tx.delete(&rows.table, row).is_ok() && tx.commit().is_ok() {
                deleted.fetch_add(1, Relaxed);
            }
        };
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            if tx.delete(&rows.table, row).is_ok() {
                assert!(rows.find(&tx, 1).is_none(), "it has deleted it");
            }
            drop(tx);
            rows.delete(&[other]);
        };
        race(vec![
            Box::new(|| updated.store(update(), Relaxed)),
            Box::new(delete),
            Box::new(delete),
            Box::new(take_back),
        ]);
        let expected: &[(u32, u64)] = match (updated.load(Relaxed), deleted.load(Relaxed)) {
            (_, 1) => &[],
            (true, 0) => &[(1, 7)],
            (false, 0) => &[(1, 0)],
            (_, often) => panic!("it was deleted {often} times"),
        };
        assert_eq!(rows.all(), expected);
    });
}

/// Two rows in columns are deleted by one transaction and a third by another, and marked dead,
/// beside those who read: one sees both or none, and the same as long as it lasts.
#[test]
fn shuttle_frozen_rows_end_under_readers() {
    check(|| {
        let (rows, ids) = Rows::frozen([1, 2, 3]);
        let read = || {
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let before = rows.seen(&tx, ids);
                assert_eq!(before[0], before[1], "one transaction has deleted both");
                assert_eq!(rows.seen(&tx, ids), before, "one snapshot");
                assert_eq!(rows.find(&tx, 1).is_some(), before[0]);
            }
        };
        let delete = || {
            rows.delete(&ids[..2]);
            rows.db.reclaim();
            rows.delete(&ids[2..]);
            rows.db.reclaim();
        };
        race(vec![Box::new(delete), Box::new(read), Box::new(read)]);
        modelled::quietly(|| rows.db.reclaim());
        assert_eq!(rows.all(), []);
        assert_eq!(rows.leaves(), 0);
    });
}

/// A third deletion makes those before it one, unless a snapshot separates them.
#[test]
fn shuttle_two_deletions_in_columns_become_one() {
    check(|| {
        let (rows, ids) = Rows::frozen([1, 2, 3, 4]);
        let read = || {
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let seen = rows.seen(&tx, ids);
                assert!(seen.is_sorted(), "they are deleted one after the other: {seen:?}");
                assert_eq!(rows.seen(&tx, ids), seen, "one snapshot");
            }
        };
        let delete = || {
            let old = rows.db.begin_read().expect("there are slots");
            rows.delete(&ids[..1]);
            let between = rows.db.begin_read().expect("there are slots");
            rows.delete(&ids[1..2]);
            rows.delete(&ids[2..3]);
            assert_eq!(rows.seen(&between, ids), [false, true, true, true]);
            drop(between);
            rows.delete(&ids[3..]);
            assert_eq!(rows.seen(&old, ids), [true; 4]);
        };
        race(vec![Box::new(delete), Box::new(read), Box::new(read)]);
        modelled::quietly(|| rows.db.reclaim());
        assert_eq!(rows.all(), []);
        assert_eq!(rows.leaves(), 0);
    });
}
