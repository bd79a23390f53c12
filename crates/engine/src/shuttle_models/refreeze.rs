//! Frozen segments that get new columns while others read, change and delete their rows.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Rows, check, race};
use crate::RowId;
use crate::memory::modelled;

impl Rows {
    /// Rows in columns with these keys, of which the first was changed to the value 5 since.
    fn worn<const N: usize>(self, keys: [u32; N]) -> (Self, [RowId; N]) {
        let ids = modelled::quietly(|| {
            self.db.freeze_all(&self.table).expect("there is memory");
            self.set(keys[0], 5);
            self.db.reclaim();
            let tx = self.db.begin_read().expect("there are slots");
            keys.map(|key| self.find(&tx, key).expect("it is there").id())
        });
        (self, ids)
    }

    fn set(&self, key: u32, value: u64) {
        let written = self.db.write(|tx| {
            let row = self.find(tx, key).expect("nobody deletes it").id();
            tx.update_values(&self.table, row, &self.changes(key, value))
        });
        written.expect("it is retried");
    }

    fn add_one(&self, key: u32) {
        let written = self.db.write(|tx| {
            let row = self.find(tx, key).expect("nobody deletes it");
            let (_, value) = self.read(row);
            tx.update_values(&self.table, row.id(), &self.changes(key, value + 1))
        });
        written.expect("it is retried");
    }

    /// Freezes again, if nobody is in the way.
    fn refreeze(&self) {
        self.db.freeze_all(&self.table).expect("there is memory");
    }

    /// As [`Rows::refreeze`], without waiting for who else freezes.
    fn refreeze_first(&self) {
        self.db.freeze_segments(&self.table, &[0], || true).expect("there is memory");
    }
}

/// New columns beside a reader, who holds on to what it was given, and a writer who changes a row
/// that is a version, one that is not, and deletes a third: before, after, or while they wait.
#[test]
fn shuttle_worn_segments_are_frozen_under_readers_and_writers() {
    check(|| {
        let (rows, ids) = Rows::ordered(&[1, 2, 3]).worn([1, 2, 3]);
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let first = rows.find(&tx, 1).expect("nobody deletes it");
            let second = rows.find(&tx, 2).expect("nobody deletes it");
            let before = (rows.read(first), rows.read(second));
            let third = rows.find(&tx, 3).map(|row| rows.read(row));
            assert_eq!((rows.read(first), rows.read(second)), before, "what was read stays");
            assert_eq!(rows.read(rows.find(&tx, 1).expect("it is there")), before.0);
            assert_eq!(rows.read(rows.find(&tx, 2).expect("it is there")), before.1);
            assert_eq!(rows.find(&tx, 3).map(|row| rows.read(row)), third, "one snapshot");
        };
        let write = || {
            rows.set(1, 7);
            rows.set(2, 8);
            rows.db.write(|tx| tx.delete(&rows.table, ids[2])).expect("nobody else deletes it");
        };
        race(vec![Box::new(|| rows.refreeze_first()), Box::new(read), Box::new(write)]);
        modelled::quietly(|| rows.refreeze());
        assert_eq!(rows.all(), [(1, 7), (2, 8)]);
    });
}

/// Two count on in one row, which is a version at first, and in another, which is in the columns,
/// while new columns are made twice: no change is lost, nor made to what was replaced.
#[test]
fn shuttle_changes_beside_new_columns_are_not_lost() {
    check(|| {
        let (rows, _) = Rows::unique_hashed(&[1, 2]).worn([1, 2]);
        let add = || {
            rows.add_one(1);
            rows.add_one(2);
        };
        let freeze = || {
            rows.refreeze_first();
            rows.refreeze_first();
        };
        race(vec![Box::new(freeze), Box::new(add), Box::new(add)]);
        assert_eq!(rows.all(), [(1, 7), (2, 2)]);
    });
}

/// A row in the columns becomes a version while new columns are made, and another is made one by a
/// change that is taken back.
#[test]
fn shuttle_rows_in_columns_change_beside_new_ones() {
    check(|| {
        let (rows, ids) = Rows::unique_hashed(&[1, 2, 3]).worn([1, 2, 3]);
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            let changed = tx.update_values(&rows.table, ids[2], &rows.changes(3, 9));
            changed.expect("nobody else changes it");
        };
        race(vec![
            Box::new(|| rows.refreeze_first()),
            Box::new(|| rows.add_one(2)),
            Box::new(take_back),
        ]);
        assert_eq!(rows.all(), [(1, 5), (2, 1), (3, 0)]);
    });
}

/// A row becomes a version whose neighbours are all in the columns, so that slots are made for
/// them, while new columns are made: no version is put where all such rows have their slots in
/// common.
#[test]
fn shuttle_slots_are_made_beside_new_columns() {
    check(|| {
        let keys: [u32; 66] = std::array::from_fn(|i| i as u32 + 1);
        let (rows, _) = Rows::unique_hashed(&keys).worn(keys);
        modelled::quietly(|| {
            (2..8).for_each(|key| rows.set(key, 5));
            rows.db.reclaim();
        });
        race(vec![Box::new(|| rows.refreeze_first()), Box::new(|| rows.add_one(66))]);
        let all = rows.all();
        assert_eq!((all.len(), all[0], all[65]), (66, (1, 5), (66, 1)));
        modelled::quietly(|| {
            rows.db.drop_table(&rows.table).expect("nobody uses it");
            rows.db.reclaim();
        });
        assert_eq!(rows.db.memory().rows, 0, "no version is left behind");
    });
}

/// A row in the columns is deleted by two, one of whom takes that back, while new columns are made:
/// it is deleted once, and stays so.
#[test]
fn shuttle_deletions_beside_new_columns_are_not_lost() {
    check(|| {
        let (rows, ids) = Rows::unique(&[1, 2, 3]).worn([1, 2, 3]);
        let deleted = AtomicU32::new(0);
        let delete = || {
            let tx = rows.db.begin_write().expect("there are slots");
            if tx.delete(&rows.table, ids[1]).is_ok() && tx.commit().is_ok() {
                deleted.fetch_add(1, Relaxed);
            }
            rows.db.reclaim();
        };
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            if tx.delete(&rows.table, ids[1]).is_ok() {
                assert!(rows.find(&tx, 2).is_none(), "it has deleted it");
            }
        };
        race(vec![
            Box::new(|| rows.refreeze_first()),
            Box::new(delete),
            Box::new(delete),
            Box::new(take_back),
        ]);
        let left: &[(u32, u64)] = match deleted.load(Relaxed) {
            0 => &[(1, 5), (2, 0), (3, 0)],
            1 => &[(1, 5), (3, 0)],
            often => panic!("it was deleted {often} times"),
        };
        assert_eq!(rows.all(), left);
        modelled::quietly(|| {
            rows.refreeze();
            rows.db.reclaim();
        });
        assert_eq!(rows.all(), left);
        assert_eq!(rows.leaves(), left.len());
    });
}

/// Two make new columns at once, beside one who changes rows and one who reads them by pieces.
#[test]
fn shuttle_two_make_new_columns_beside_pieces() {
    check(|| {
        let (rows, _) = Rows::unique(&[1, 2, 3]).worn([1, 2, 3]);
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let mut sums = [0; 2];
            for sum in &mut sums {
                let mut pieces = tx.scan_pieces(&rows.table).expect("the table is there");
                let mut count = 0;
                while let Some(piece) = pieces.next_piece() {
                    match piece {
                        crate::Piece::Rows(met) => {
                            count += met.len();
                            *sum += met.iter().map(|row| rows.read(*row).1).sum::<u64>();
                        }
                        crate::Piece::Frozen(columns) => {
                            let column = columns.column(rows.value).expect("it is its column");
                            for i in (0..columns.len()).filter(|i| columns.sees(*i)) {
                                modelled::scheduling_point();
                                let value = column.value(i, &mut Vec::new()).as_integer();
                                *sum += value.expect("it is a number") as u64;
                            }
                            count += columns.visible_count();
                        }
                    }
                }
                assert_eq!(count, 3, "every row comes once");
            }
            assert_eq!(sums[0], sums[1], "one snapshot");
        };
        let write = || rows.add_one(2);
        race(vec![
            Box::new(|| rows.refreeze()),
            Box::new(|| rows.refreeze_first()),
            Box::new(write),
            Box::new(read),
        ]);
        assert_eq!(rows.all(), [(1, 5), (2, 1), (3, 0)]);
    });
}

/// A transaction that deletes rows in the columns leaves its stamp to others, who find the segment
/// replaced by then.
#[test]
fn shuttle_what_is_left_unstamped_meets_new_columns() {
    check(|| {
        let (rows, ids) = Rows::unique(&[1, 2, 3, 4]).worn([1, 2, 3, 4]);
        let delete = || {
            let deleted = rows.db.write(|tx| {
                tx.update_values(&rows.table, ids[0], &rows.changes(1, 6))?;
                ids[1..3].iter().try_for_each(|id| tx.delete(&rows.table, *id))
            });
            deleted.expect("nobody else changes them");
        };
        let freeze = || {
            rows.db.reclaim();
            rows.refreeze_first();
            rows.refreeze_first();
        };
        race(vec![Box::new(freeze), Box::new(delete), Box::new(|| rows.add_one(4))]);
        modelled::quietly(|| {
            rows.refreeze();
            rows.db.reclaim();
        });
        assert_eq!(rows.all(), [(1, 6), (4, 1)]);
        assert_eq!(rows.leaves(), 2);
    });
}

/// Rows come under ids that are free in a segment, while new columns are made: each is seen, and no
/// id is given out twice.
#[test]
fn shuttle_rows_come_beside_new_columns() {
    check(|| {
        let (rows, ids) = Rows::unique(&[1, 2, 3]).worn([1, 2, 3]);
        modelled::quietly(|| {
            rows.db.write(|tx| tx.delete(&rows.table, ids[0])).expect("nobody else is there");
            rows.db.reclaim();
        });
        let insert = |key| {
            let rows = &rows;
            move || {
                rows.insert(key, 0).expect("there is memory");
            }
        };
        race(vec![
            Box::new(|| rows.refreeze_first()),
            Box::new(|| rows.refreeze()),
            Box::new(insert(4)),
            Box::new(insert(5)),
        ]);
        assert_eq!(rows.all(), [(2, 0), (3, 0), (4, 0), (5, 0)]);
    });
}
