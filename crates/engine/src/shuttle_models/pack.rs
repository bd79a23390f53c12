//! Nodes become bundles while others look up, scan, and change what is in them.

use super::{Rows, check, content, race};
use crate::memory::modelled;

/// Keys that differ in their last byte, and one beside them: their node can be a bundle.
const KEYS: [u32; 4] = [0x0101, 0x0102, 0x0103, 0x0200];

/// Goes over all keys both ways; one snapshot has one set of them.
fn scan(rows: &Rows) -> Vec<u32> {
    let tx = rows.db.begin_read().expect("there are slots");
    let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is an ordered index");
    let (mut forwards, mut backwards) = (Vec::new(), Vec::new());
    let mut next = cursor.first();
    while let Some(row) = next {
        forwards.push(rows.read(row).0);
        next = cursor.next();
    }
    let mut next = cursor.last();
    while let Some(row) = next {
        backwards.push(rows.read(row).0);
        next = cursor.previous();
    }
    backwards.reverse();
    assert!(forwards.is_sorted_by(|a, b| a < b), "each key once, in order: {forwards:x?}");
    assert_eq!(forwards, backwards, "a snapshot does not change");
    forwards
}

/// A node is made a bundle of beside one who adds a key to it, deletes one and changes one, and one
/// who looks keys up and goes through them.
#[test]
fn shuttle_bundles_are_made_and_unmade_under_readers() {
    check(|| {
        let rows = Rows::unique(&KEYS);
        let pack = || {
            rows.db.freeze_all(&rows.table).expect("there is memory");
        };
        let change = || {
            rows.insert(0x0104, 0).expect("nobody has the key");
            let written = rows.db.write(|tx| {
                let row = rows.find(tx, 0x0102).expect("nobody deletes it").id();
                tx.delete(&rows.table, row)?;
                let row = rows.find(tx, 0x0103).expect("nobody deletes it").id();
                tx.update_values(&rows.table, row, &rows.all_changes(0x0105, 1))
            });
            written.expect("it is retried");
        };
        let read = || {
            let keys = scan(&rows);
            assert!([0x0101, 0x0200].iter().all(|key| keys.contains(key)), "{keys:x?}");
            let tx = rows.db.begin_read().expect("there are slots");
            assert!(rows.find(&tx, 0x0101).is_some());
        };
        race(vec![Box::new(pack), Box::new(change), Box::new(read)]);
        assert_eq!(rows.all(), [(0x0101, 0), (0x0104, 0), (0x0105, 1), (0x0200, 0)]);
    });
}

/// A node whose rows are frozen is made a bundle of while an entry comes to it: the entry is in the
/// tree afterwards, or the node stays.
#[test]
fn shuttle_no_entry_is_lost_where_a_bundle_is_made() {
    check(|| {
        let rows = Rows::unique(&KEYS);
        modelled::quietly(|| {
            rows.db.freeze_all(&rows.table).expect("there is memory");
            // What is inserted and taken back leaves a node.
            let tx = rows.db.begin_write().expect("there are slots");
            tx.insert_values(&rows.table, &content(0x0104, 0)).expect("there is memory");
            drop(tx);
            rows.db.reclaim();
        });
        let pack = || {
            rows.db.freeze_all(&rows.table).expect("there is memory");
        };
        let insert = || {
            rows.insert(0x0104, 0).expect("nobody has the key");
        };
        let read = || assert!(KEYS.iter().all(|key| scan(&rows).contains(key)));
        race(vec![Box::new(pack), Box::new(insert), Box::new(read)]);
        assert_eq!(rows.all(), [(0x0101, 0), (0x0102, 0), (0x0103, 0), (0x0104, 0), (0x0200, 0)]);
    });
}

/// Two threads take entries out of a bundle at once, and one adds to it.
#[test]
fn shuttle_a_bundle_is_changed_by_many() {
    check(|| {
        let rows = Rows::unique(&KEYS);
        modelled::quietly(|| rows.db.freeze_all(&rows.table).expect("there is memory"));
        let rows = &rows;
        let delete = |key| {
            move || {
                let written = rows.db.write(|tx| {
                    let row = rows.find(tx, key).expect("nobody else deletes it").id();
                    tx.delete(&rows.table, row)
                });
                written.expect("it is retried");
                rows.db.reclaim();
            }
        };
        let insert = || {
            rows.insert(0x0104, 0).expect("nobody has the key");
        };
        race(vec![Box::new(delete(0x0101)), Box::new(delete(0x0103)), Box::new(insert)]);
        assert_eq!(rows.all(), [(0x0102, 0), (0x0104, 0), (0x0200, 0)]);
    });
}
