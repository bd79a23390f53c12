//! The hash index: buckets split, overflow and close gaps under look-ups.

use super::{Rows, check, race};
use crate::memory::modelled;
use crate::schema::{IndexSchema, KeyBuffer, KeyPlan, RowLayout, hash_key};
use crate::seed::draw_seed;

/// Buckets of a new index.
const BUCKETS: u64 = 8;

/// The first keys that lie in bucket 0 of a new index.
fn colliding_keys<const N: usize>() -> [u32; N] {
    let index = IndexSchema::new("by_key", ["key"]).hash();
    let plan = KeyPlan::new(&RowLayout::new(&super::schema()), &index).expect("it has the column");
    let collides = |key: u32| {
        let mut bytes = KeyBuffer::new();
        plan.encode_values(&[key.into()], &mut bytes).expect("it is short");
        hash_key(draw_seed(), bytes.as_slice()) % BUCKETS == 0
    };
    let mut keys = (0..).filter(|&key| collides(key));
    std::array::from_fn(|_| keys.next().unwrap_or_default())
}

fn look_up(rows: &Rows, committed: &[u32]) {
    let tx = rows.db.begin_read().expect("there are slots");
    for &key in committed {
        let found = rows.find(&tx, key).map(|row| rows.read(row).0);
        assert_eq!(found, Some(key), "a committed key is found");
    }
}

/// A bucket fills and is split by one thread while another inserts into it as well, and others
/// look up what lies in it.
#[test]
fn shuttle_hash_splits_under_readers() {
    let keys = colliding_keys::<11>();
    check(move || {
        let (committed, inserted) = keys.split_at(8);
        let rows = Rows::hashed(committed);
        let insert = |keys: &[u32]| {
            keys.iter().for_each(|&key| {
                rows.insert(key, 1).expect("there is memory");
            });
        };
        race(vec![
            Box::new(|| insert(&inserted[..2])),
            Box::new(|| insert(&inserted[2..])),
            Box::new(|| look_up(&rows, &committed[..3])),
            Box::new(|| look_up(&rows, &committed[5..])),
        ]);
        assert_eq!(rows.all().len(), keys.len());
    });
}

/// Deletions close gaps in a chain with an overflow bucket, and a split moves entries out of it,
/// while others look up what stays.
#[test]
fn shuttle_hash_closes_gaps_under_readers() {
    let keys = colliding_keys::<13>();
    check(move || {
        let rows = Rows::hashed(&keys);
        let stay = [keys[1], keys[11], keys[12]];
        let delete = |key: u32| {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, key).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else changes it");
            rows.db.reclaim();
        };
        race(vec![
            Box::new(|| delete(keys[0])),
            Box::new(|| delete(keys[2])),
            Box::new(|| {
                rows.insert(1000, 1).expect("there is memory");
            }),
            Box::new(|| look_up(&rows, &stay)),
        ]);
        assert_eq!(rows.all().len(), keys.len() - 1);
    });
}

/// Many rows have one key. While some of them go and others come, a reader meets each of those
/// that stay once, in a chain that its first look does not see to the end.
#[test]
fn shuttle_hash_meets_each_of_many_rows_once() {
    check(|| {
        let rows = Rows::hashed(&[]);
        modelled::quietly(|| {
            for value in 0..12 {
                rows.insert(7, value).expect("there is memory");
            }
        });
        let change = |value: u64| {
            let changed = rows.db.write(|tx| {
                let mut scan = tx.scan(&rows.table)?;
                let row = scan.find(|&row| rows.read(row).1 == value).expect("it is there").id();
                tx.delete(&rows.table, row)?;
                tx.insert_values(&rows.table, &super::content(7, value + 100))
            });
            changed.expect("nobody else changes it");
            rows.db.reclaim();
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let mut met = Vec::new();
            let each = tx.each(&rows.table, rows.index, &[7.into()], |row| {
                met.push(rows.read(row).1);
                Ok(())
            });
            each.expect("the table is there");
            met.sort_unstable_by_key(|value| value % 100);
            let known: Vec<u64> = met.iter().map(|value| value % 100).collect();
            assert!(known.iter().copied().eq(0..12), "each row is met once: {met:?}");
        };
        race(vec![Box::new(|| change(0)), Box::new(|| change(5)), Box::new(read)]);
        assert_eq!(rows.all().len(), 12);
    });
}

/// A row changes its key while others look it and its neighbours up.
#[test]
fn shuttle_hash_rows_change_keys() {
    let keys = colliding_keys::<10>();
    check(move || {
        let (committed, free) = keys.split_at(8);
        let rows = Rows::unique_hashed(committed);
        let change = || {
            for (from, to) in [(committed[0], free[0]), (free[0], committed[0])] {
                let moved = rows.db.write(|tx| {
                    let row = rows.find(tx, from).expect("nobody else moves it").id();
                    tx.update_values(&rows.table, row, &rows.all_changes(to, 1))
                });
                moved.expect("nobody else changes it");
            }
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let found = [committed[0], free[0]].map(|key| rows.find(&tx, key).is_some());
            assert!(found[0] != found[1], "the row has one key in a snapshot: {found:?}");
            assert!(rows.find(&tx, committed[7]).is_some());
        };
        race(vec![
            Box::new(change),
            Box::new(|| {
                rows.insert(free[1], 1).expect("nobody else inserts it");
            }),
            Box::new(read),
            Box::new(|| look_up(&rows, &committed[3..5])),
        ]);
        assert_eq!(rows.all().len(), 9);
    });
}

/// The rows of one key that are there all the time are met once each, while so many come that all
/// move to a tree, or so many go that one comes back from it.
fn meets_those_that_stay(quietly: impl Fn(&Rows), values: &[u64], changes: [fn(&Rows); 2]) {
    let rows = Rows::hashed(&[]);
    modelled::quietly(|| quietly(&rows));
    let read = || {
        let tx = rows.db.begin_read().expect("there are slots");
        let mut met = Vec::new();
        let each = tx.each(&rows.table, rows.index, &[7.into()], |row| {
            met.push(rows.read(row).1);
            Ok(())
        });
        each.expect("the table is there");
        let times = |value| met.iter().filter(|&&other| other == value).count();
        assert!(values.iter().all(|&value| times(value) == 1), "each row is met once: {met:?}");
        assert!(met.iter().all(|&value| times(value) == 1), "no row is met twice: {met:?}");
    };
    let [one, other] = changes;
    race(vec![Box::new(|| one(&rows)), Box::new(|| other(&rows)), Box::new(read)]);
}

fn delete_value(rows: &Rows, value: u64) {
    let deleted = rows.db.write(|tx| {
        let mut scan = tx.scan(&rows.table)?;
        let row = scan.find(|&row| rows.read(row).1 == value).expect("it is there").id();
        tx.delete(&rows.table, row)
    });
    deleted.expect("nobody else changes it");
    rows.db.reclaim();
}

fn insert_value(rows: &Rows, value: u64) {
    rows.insert(7, value).expect("there is memory");
}

/// The thirteenth row moves all to a tree.
#[test]
fn shuttle_hash_rows_move_to_a_tree() {
    check(|| {
        let twelve = |rows: &Rows| (0..12).for_each(|value| insert_value(rows, value));
        let stay: Vec<u64> = (1..12).collect();
        let insert: fn(&Rows) = |rows| insert_value(rows, 20);
        let exchange: fn(&Rows) = |rows| {
            delete_value(rows, 0);
            insert_value(rows, 21);
        };
        meets_those_that_stay(twelve, &stay, [insert, exchange]);
    });
}

/// One row is left in the tree and has a plain entry again, beside which others come.
#[test]
fn shuttle_hash_rows_come_back_from_a_tree() {
    check(|| {
        let two = |rows: &Rows| {
            (0..13).for_each(|value| insert_value(rows, value));
            (2..13).for_each(|value| delete_value(rows, value));
        };
        let delete: fn(&Rows) = |rows| delete_value(rows, 0);
        let insert: fn(&Rows) = |rows| insert_value(rows, 20);
        meets_those_that_stay(two, &[1], [delete, insert]);
    });
}
