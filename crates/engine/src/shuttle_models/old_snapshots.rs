//! Old snapshots: versions between them are cut, quiescent readers are not waited for, and what
//! expires lets go.

use super::{Rows, check, content, race};
use crate::error::ErrorKind;
use crate::memory::modelled;
use crate::table::read::lookup::Find;
use crate::transaction::{Isolation, ReadTransaction, TransactionOptions};

/// Changes a row's value so often.
fn update(rows: &Rows, key: u32, times: u64) {
    for value in 1..=times {
        let done = rows.db.write(|tx| {
            let row = rows.find(tx, key).expect("nobody deletes it").id();
            tx.update_values(&rows.table, row, &rows.changes(key, value))
        });
        done.expect("nobody else changes it");
    }
}

/// A reader looks again and again in an old snapshot, by key and with a cursor that stands still
/// in between, while versions are cut out between its snapshot and the newest and nodes of the
/// index come and go.
#[test]
fn shuttle_old_quiescent_readers_hold_no_blocks() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let (_, seen) = rows.read(rows.find(&tx, 1).expect("it is there"));
            let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is there");
            let first = cursor.first().expect("row 1");
            for key in [2, 3] {
                assert_eq!(rows.read(cursor.next().expect("it is seen")).0, key);
                let (_, again) = rows.read(rows.find(&tx, 1).expect("it is there"));
                assert_eq!(again, seen, "a snapshot does not change");
            }
            assert_eq!(rows.read(first).1, seen, "what was read stays readable");
        };
        let insert_and_delete = || {
            // More than the node has room for: it is replaced and retired.
            let inserted = [4, 5].map(|key| rows.insert(key, 0).expect("there is memory"));
            for row in inserted {
                let deleted = rows.db.write(|tx| tx.delete(&rows.table, row));
                deleted.expect("nobody else changes it");
            }
        };
        race(vec![Box::new(read), Box::new(|| update(&rows, 1, 4)), Box::new(insert_and_delete)]);
        assert_eq!(rows.all(), [(1, 4), (2, 0), (3, 0)]);
    });
}

/// Two readers with snapshots of different age, between which and after which a row moves in the
/// index: each finds it under its own key.
#[test]
fn shuttle_keys_between_snapshots_are_cut() {
    check(|| {
        let rows = Rows::ordered(&[1, 9]);
        let move_to = |keys: [u32; 3]| {
            let row = rows.db.read(|tx| Ok(rows.find(tx, 1).expect("it is there").id()));
            let row = row.expect("there are slots");
            for key in keys {
                let changes = rows.all_changes(key, 0);
                let done = rows.db.write(|tx| tx.update_values(&rows.table, row, &changes));
                done.expect("nobody else changes it");
            }
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let scan = tx.scan(&rows.table).expect("the table is there");
            let keys: Vec<u32> = scan.map(|row| rows.read(row).0).collect();
            assert_eq!(keys.len(), 2);
            for key in 1..=4 {
                assert_eq!(rows.find(&tx, key).is_some(), keys.contains(&key), "key {key}");
            }
        };
        race(vec![Box::new(|| move_to([2, 3, 4])), Box::new(read), Box::new(read)]);
        assert_eq!(rows.all(), [(4, 0), (9, 0)]);
    });
}

/// A snapshot that may keep nothing expires as soon as a row it sees is changed. What it was given
/// before stays readable; what it finds afterwards is right, or the error.
#[test]
fn shuttle_expired_snapshots_keep_what_they_gave() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let options = TransactionOptions::new().snapshot_pinned_max(0);
        let tx = modelled::quietly(|| rows.db.begin_read_with(&options)).expect("there are slots");
        let key = |key: u32| [key.into()];
        let reader = &rows;
        let read = move || {
            let given = tx.find(&reader.table, reader.index, &key(1));
            for _ in 0..3 {
                match tx.find(&reader.table, reader.index, &key(2)) {
                    Ok(row) => assert_eq!(reader.read(row.expect("it is seen")), (2, 0)),
                    Err(error) => assert_eq!(error.kind(), ErrorKind::SnapshotExpired),
                }
                if let Ok(given) = &given {
                    let given = given.expect("it is seen");
                    assert_eq!(reader.read(given), (1, 0), "a reference stays valid");
                }
            }
        };
        let write = || {
            update(&rows, 1, 2);
            update(&rows, 2, 3);
        };
        race(vec![Box::new(write), Box::new(read)]);
        assert_eq!(rows.all(), [(1, 2), (2, 3)]);
    });
}

/// A transaction begins to retain states while others change a row and clear away what no snapshot
/// sees: what was seen since can be read again by its timestamp.
#[test]
fn shuttle_retained_states_stay() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let retain = || {
            let options = TransactionOptions::new().retain(true);
            let retaining = rows.db.begin_read_with(&options).expect("there are slots");
            let value =
                |tx: &ReadTransaction<'_>| rows.read(rows.find(tx, 1).expect("it is there")).1;
            let seen = [(); 2].map(|()| {
                let tx = rows.db.begin_read().expect("there are slots");
                (tx.timestamp(), value(&tx))
            });
            update(&rows, 2, 2);
            for (timestamp, seen) in seen {
                let then = retaining.begin_read_at(timestamp).expect("it is retained");
                assert_eq!(value(&then), seen, "the state at a timestamp does not change");
            }
        };
        race(vec![Box::new(retain), Box::new(|| update(&rows, 1, 5))]);
        assert_eq!(rows.all(), [(1, 5), (2, 2)]);
    });
}

/// A writer that has changed a row moves on to newer states, while another changes rows and clears
/// away what nobody sees: each state it reads is whole, and none is older than the one before. What
/// it has read and has to hold does, though the versions of then are gone.
#[test]
fn shuttle_writers_move_on_to_newer_states() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3, 4]);
        let move_on = || {
            let mut tx = rows.db.begin_write().expect("there are slots");
            let mut cursor = tx.cursor(&rows.table, rows.index).expect("it is there");
            // A range that ends in versions of rows that nobody changes.
            cursor.find(Find::AtLeast, &[3.into()]).expect("it can be looked for");
            cursor.next();
            drop(cursor);
            let own = rows.find(&tx, 2).expect("it is there").id();
            let changed = tx.update_values(&rows.table, own, &rows.changes(2, 9));
            changed.expect("nobody else changes it");
            for _ in 0..2 {
                tx.refresh().expect("nobody changes what was read");
                assert_eq!(rows.read(rows.find(&tx, 2).expect("it is there")), (2, 9));
            }
            tx.commit().expect("what was read holds");
        };
        let look = || {
            let options = TransactionOptions::new().isolation(Isolation::Snapshot);
            let mut tx = rows.db.begin_write_with(&options).expect("there are slots");
            let mut newest = 0;
            for _ in 0..3 {
                let (_, seen) = rows.read(rows.find(&tx, 1).expect("it is there"));
                let (_, again) = rows.read(rows.find(&tx, 1).expect("it is there"));
                assert!(seen == again && seen >= newest, "{newest}, then {seen} and {again}");
                newest = seen;
                tx.refresh().expect("nothing has to hold");
            }
        };
        race(vec![Box::new(move_on), Box::new(look), Box::new(|| update(&rows, 1, 4))]);
        assert_eq!(rows.all().len(), 4);
    });
}

/// A writer is quiescent between its calls while others change keys and delete: what it comes by
/// in a call stays until that has ended, and its changes are made or taken back.
#[test]
fn shuttle_a_quiescent_writer_holds_no_blocks() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        let write = || {
            let tx = rows.db.begin_write().expect("there are slots");
            tx.insert_values(&rows.table, &content(10, 0)).expect("there is memory");
            let seen = rows.find(&tx, 2).map(|row| rows.read(row));
            tx.insert_values(&rows.table, &content(11, 0)).expect("there is memory");
            assert_eq!(rows.find(&tx, 2).map(|row| rows.read(row)), seen, "one snapshot");
            let point = tx.savepoint();
            tx.insert_values(&rows.table, &content(12, 0)).expect("there is memory");
            tx.roll_back_to(point).expect("it is a savepoint of its own");
            drop(tx);
        };
        let change = |key: u32| {
            let rows = &rows;
            move || {
                for to in [key + 20, key] {
                    let changed = rows.db.write(|tx| {
                        let from = if to == key { key + 20 } else { key };
                        let row = rows.find(tx, from).expect("nobody else changes it").id();
                        tx.update_values(&rows.table, row, &rows.all_changes(to, 0))
                    });
                    changed.expect("it is retried");
                    rows.db.reclaim();
                }
            }
        };
        race(vec![Box::new(write), Box::new(change(2)), Box::new(change(3))]);
        modelled::quietly(|| rows.db.reclaim());
        assert_eq!(rows.all(), [(1, 0), (2, 0), (3, 0)]);
        assert_eq!(rows.leaves(), 3);
    });
}
