//! The ordered index: nodes grow, shrink, split and merge under look-ups and cursors.
//!
//! Keys are 32-bit numbers, so a key's four bytes lead from the root, one level each.

use super::{Rows, check, race};
use crate::memory::modelled;
use crate::{Find, ReadTransaction};

/// Under the root's child 1: the node that these models change most.
const NODE: u32 = 0x0100_0000;

fn keys(last_bytes: std::ops::Range<u32>) -> Vec<u32> {
    last_bytes.map(|byte| NODE | byte * 2).collect()
}

/// The keys that a cursor meets from the first to the last row, each once and in order.
fn keys_forward(rows: &Rows, tx: &ReadTransaction<'_>) -> Vec<u32> {
    let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is an ordered index");
    let mut keys = Vec::new();
    let mut next = cursor.first();
    while let Some(row) = next {
        keys.push(rows.read(row).0);
        next = cursor.next();
    }
    assert!(keys.is_sorted_by(|a, b| a < b), "a cursor meets each key once, in order: {keys:x?}");
    keys
}

/// The same from the last row to the first.
fn keys_backward(rows: &Rows, tx: &ReadTransaction<'_>) -> Vec<u32> {
    let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is an ordered index");
    let mut keys = Vec::new();
    let mut next = cursor.last();
    while let Some(row) = next {
        keys.push(rows.read(row).0);
        next = cursor.previous();
    }
    assert!(keys.is_sorted_by(|a, b| a > b), "a cursor meets each key once, in order: {keys:x?}");
    keys.reverse();
    keys
}

/// Looks committed keys up that nobody deletes.
fn look_up(rows: &Rows, committed: &[u32]) {
    let tx = rows.db.begin_read().expect("there are slots");
    for &key in committed {
        let found = rows.find(&tx, key).map(|row| rows.read(row).0);
        assert_eq!(found, Some(key), "a committed key is found");
    }
}

/// Scans both ways: one snapshot has one set of keys, and all that were committed before.
fn scan(rows: &Rows, committed: &[u32]) {
    let tx = rows.db.begin_read().expect("there are slots");
    let keys = keys_forward(rows, &tx);
    assert!(committed.iter().all(|key| keys.contains(key)), "{keys:x?} misses of {committed:x?}");
    assert_eq!(keys_backward(rows, &tx), keys, "a snapshot does not change");
}

/// Two threads insert into one place while others look committed keys up and scan.
fn insert_beside(committed: &[u32], first: &[u32], second: &[u32]) {
    let rows = Rows::unique(committed);
    let insert = |keys: &[u32]| {
        keys.iter().for_each(|&key| {
            rows.insert(key, 1).expect("no key is inserted twice");
        });
    };
    // A few keys suffice, the rest is there to fill nodes.
    let some: Vec<u32> = committed.iter().copied().step_by(committed.len().div_ceil(3)).collect();
    race(vec![
        Box::new(|| insert(first)),
        Box::new(|| insert(second)),
        Box::new(|| look_up(&rows, &some)),
        Box::new(|| scan(&rows, &some)),
    ]);
    let mut all = [committed, first, second].concat();
    all.sort_unstable();
    let met: Vec<u32> = rows.all().iter().map(|row| row.0).collect();
    assert_eq!(met, all);
}

/// A node of 4 becomes one of 8.
#[test]
fn shuttle_tree_grows_to_8() {
    check(|| insert_beside(&keys(0..3), &[NODE | 1, NODE | 9], &[NODE | 3, NODE | 2 + 5]));
}

/// A node of 16 becomes one of 32.
#[test]
fn shuttle_tree_grows_to_32() {
    check(|| insert_beside(&keys(0..15), &[NODE | 1, NODE | 41], &[NODE | 21]));
}

/// A node of 32 takes children between others, and becomes one of 64.
#[test]
fn shuttle_tree_grows_to_64() {
    check(|| insert_beside(&keys(0..31), &[NODE | 1, NODE | 101], &[NODE | 51]));
}

/// A node of 128 becomes one of 256.
#[test]
fn shuttle_tree_grows_to_256() {
    check(|| insert_beside(&keys(0..127), &[NODE | 1, NODE | 201], &[NODE | 101]));
}

/// A prefix is split at two places, and a leaf at the root becomes a node.
#[test]
fn shuttle_tree_splits_prefixes_and_leaves() {
    check(|| {
        let committed = [NODE | 1, NODE | 2, 0x0500_0000];
        let (first, second) = ([NODE | 0x0100, 0x0500_0001], [NODE | 0x01_0000, 0x0501_0000]);
        insert_beside(&committed, &first, &second);
    });
}

/// Deletes a row and cleans up behind it, so that its entry goes too.
fn delete(rows: &Rows, key: u32) {
    let deleted = rows.db.write(|tx| {
        let row = rows.find(tx, key).expect("nobody else deletes it").id();
        tx.delete(&rows.table, row)
    });
    deleted.expect("nobody else changes it");
    rows.db.reclaim();
}

/// Deletes rows while another thread inserts in the same place; the others are found throughout.
fn delete_beside(committed: &[u32], deleted: &[u32], inserted: &[u32]) {
    let rows = Rows::unique(committed);
    let stay: Vec<u32> = committed.iter().copied().filter(|key| !deleted.contains(key)).collect();
    let some: Vec<u32> = stay.iter().copied().step_by(stay.len().div_ceil(3)).collect();
    race(vec![
        Box::new(|| deleted.iter().for_each(|&key| delete(&rows, key))),
        Box::new(|| {
            inserted.iter().for_each(|&key| {
                rows.insert(key, 1).expect("no key is inserted twice");
            });
        }),
        Box::new(|| look_up(&rows, &some)),
        Box::new(|| scan(&rows, &some)),
    ]);
    modelled::quietly(|| rows.db.reclaim());
    let mut all = [&stay, inserted].concat();
    all.sort_unstable();
    let met: Vec<u32> = rows.all().iter().map(|row| row.0).collect();
    assert_eq!(met, all);
}

/// A node loses its second child: the last one takes its place.
#[test]
fn shuttle_tree_merges_leaves() {
    check(|| delete_beside(&[NODE | 1, NODE | 2], &[NODE | 1], &[NODE | 3]));
}

/// A node loses its second child, and the last one is a node that takes on its prefix.
#[test]
fn shuttle_tree_merges_nodes() {
    check(|| {
        let committed = [NODE | 0x0101, NODE | 0x0102, NODE | 0x0201];
        delete_beside(&committed, &[NODE | 0x0201], &[NODE | 0x0103, NODE | 0x0301]);
    });
}

/// A node of 8 becomes one of 4 while somebody inserts into it.
#[test]
fn shuttle_tree_shrinks_to_4() {
    check(|| delete_beside(&keys(0..5), &keys(3..5), &[NODE | 1]));
}

/// A node of 32 becomes one of 16, and is needed larger again.
#[test]
fn shuttle_tree_shrinks_to_16() {
    check(|| {
        let rows = Rows::unique(&keys(0..17));
        modelled::quietly(|| keys(13..17).iter().for_each(|&key| delete(&rows, key)));
        let some = [NODE, NODE | 10, NODE | 22];
        race(vec![
            Box::new(|| delete(&rows, NODE | 24)),
            Box::new(|| {
                rows.insert(NODE | 1, 1).expect("nobody else inserts it");
            }),
            Box::new(|| look_up(&rows, &some)),
            Box::new(|| scan(&rows, &some)),
        ]);
        let mut all = keys(0..12);
        all.insert(1, NODE | 1);
        let met: Vec<u32> = rows.all().iter().map(|row| row.0).collect();
        assert_eq!(met, all);
    });
}

/// Rows change their keys, back and forth: a snapshot finds each row under one key.
#[test]
fn shuttle_tree_rows_change_keys() {
    check(|| {
        let (here, there, beside) = (NODE | 1, NODE | 0x0100, NODE | 2);
        let rows = Rows::unique(&[here, beside]);
        let change = || {
            for (from, to) in [(here, there), (there, here)] {
                let moved = rows.db.write(|tx| {
                    let row = rows.find(tx, from).expect("nobody else moves it").id();
                    tx.update_values(&rows.table, row, &rows.all_changes(to, 1))
                });
                moved.expect("nobody else changes it");
            }
        };
        let insert = || {
            rows.insert(NODE | 3, 1).expect("nobody else inserts it");
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let found = [here, there].map(|key| rows.find(&tx, key).is_some());
            assert!(found[0] != found[1], "the row has one key in a snapshot: {found:?}");
            let keys = keys_forward(&rows, &tx);
            assert!(keys.contains(if found[0] { &here } else { &there }), "{keys:x?}, {found:?}");
            assert!(!keys.contains(if found[0] { &there } else { &here }), "{keys:x?}, {found:?}");
            assert_eq!(keys_backward(&rows, &tx), keys);
            let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is an ordered index");
            let above = cursor.find(Find::Above, &[here.into()]).expect("the key is whole");
            assert_eq!(above.map(|row| rows.read(row).0), Some(beside));
        };
        race(vec![Box::new(change), Box::new(insert), Box::new(read)]);
        let met: Vec<u32> = rows.all().iter().map(|row| row.0).collect();
        assert_eq!(met, [here, beside, NODE | 3]);
    });
}
