//! Bulk segments beside readers and writers, and taken back.

use super::{Rows, check, content, race};
use crate::error::Result;
use crate::memory::modelled;
use crate::schema::ColumnValues;
use crate::transaction::WriteTransaction;

/// Inserts a segment of rows with these keys and value 0.
fn insert_bulk(rows: &Rows, tx: &WriteTransaction<'_>, keys: &[u32]) -> Result<()> {
    let column = |leaf: usize| move |row: usize| content(keys[row], 0)[leaf];
    let values = [column(0), column(1), column(2)];
    let columns: Vec<_> = values.iter().map(|values| ColumnValues::Any(values)).collect();
    tx.insert_segment(&rows.table, &columns, keys.len()).map(|_| ())
}

/// A bulk segment is inserted, a row of it changed, and another one changed and taken back, by a
/// transaction that commits, beside one that takes its own segment back: readers see all of the
/// first or nothing, and writers meet what is committed.
#[test]
fn shuttle_bulk_rows_are_seen_whole() {
    check(|| {
        let rows = Rows::unique(&[]);
        let commit = || {
            let tx = rows.db.begin_write().expect("there are slots");
            insert_bulk(&rows, &tx, &[1, 2, 3]).expect("nobody else has these keys");
            let second = rows.find(&tx, 2).expect("it is there").id();
            tx.update_values(&rows.table, second, &rows.changes(2, 1)).expect("it is its own");
            let (third, before) = (rows.find(&tx, 3).expect("it is there").id(), tx.savepoint());
            tx.update_values(&rows.table, third, &rows.changes(3, 1)).expect("it is its own");
            tx.roll_back_to(before).expect("it is its own");
            tx.commit().expect("nobody is in the way");
        };
        let take_back = || {
            let tx = rows.db.begin_write().expect("there are slots");
            insert_bulk(&rows, &tx, &[11, 12]).expect("nobody else has these keys");
            let first = rows.find(&tx, 11).expect("it is there").id();
            tx.update_values(&rows.table, first, &rows.changes(11, 1)).expect("it is its own");
        };
        let read = || {
            for _ in 0..2 {
                let tx = rows.db.begin_read().expect("there are slots");
                let scan = tx.scan(&rows.table).expect("the table is there");
                let mut read: Vec<(u32, u64)> = scan.map(|row| rows.read(row)).collect();
                read.sort_unstable();
                let keys: Vec<u32> = read.iter().map(|(key, _)| *key).collect();
                assert!(keys.is_empty() || keys == [1, 2, 3], "all or nothing, not {read:?}");
                assert!(read.iter().all(|&(key, value)| key != 2 || value > 0), "{read:?}");
                assert_eq!(rows.find(&tx, 3).is_some(), !keys.is_empty());
                assert!(rows.find(&tx, 11).is_none());
            }
        };
        let change = || {
            let changed = rows.db.write(|tx| {
                let Some(row) = rows.find(tx, 2) else { return Ok(()) };
                let (_, value) = rows.read(row);
                tx.update_values(&rows.table, row.id(), &rows.changes(2, value + 1))
            });
            changed.expect("it is retried");
        };
        race(vec![Box::new(commit), Box::new(take_back), Box::new(read), Box::new(change)]);
        let all = rows.all();
        assert!(all == [(1, 0), (2, 1), (3, 0)] || all == [(1, 0), (2, 2), (3, 0)], "{all:?}");
        assert_eq!(rows.leaves(), 3, "no entry is left of what was taken back");
    });
}

/// Two transactions bulk insert rows with one key: one of them wins, if not both were refused. What
/// was taken back makes room for the next.
#[test]
fn shuttle_one_of_two_bulk_rows_has_the_key() {
    check(|| {
        let rows = Rows::unique(&[]);
        let attempt = |keys: [u32; 2]| {
            let rows = &rows;
            move || {
                let tx = rows.db.begin_write().expect("there are slots");
                if insert_bulk(rows, &tx, &keys).is_ok() {
                    tx.commit().expect("nobody is in the way");
                }
            }
        };
        race(vec![Box::new(attempt([1, 2])), Box::new(attempt([2, 3]))]);
        let keys: Vec<u32> = rows.all().iter().map(|(key, _)| *key).collect();
        assert!([vec![], vec![1, 2], vec![2, 3]].contains(&keys), "{keys:?}");
        modelled::quietly(|| {
            rows.db.reclaim();
            let inserted = rows.db.write(|tx| insert_bulk(&rows, tx, &[7, 8]));
            inserted.expect("nobody else is there");
        });
        assert_eq!(rows.all().len(), keys.len() + 2);
    });
}
