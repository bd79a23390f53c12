//! Versions that leave the directory before whoever stamps for others has come to them: a reader
//! who is on its way to one asks a slot that has forgotten by then.
//!
//! In a model a transaction with two changes leaves its versions unstamped, and `reclaim` stamps
//! them. The reader's two looks at a row must agree.

use super::{Rows, check, race};
use crate::memory::atomic::Relaxed;
use crate::memory::modelled;
use crate::table::columns::freeze::Gaps;
use crate::table::table::TableAt;
use crate::transaction::WriteTransaction;
use crate::transaction::begin::clock;
use crate::transaction::cleanup::compact;

/// Reads rows 1 and 3 twice under one snapshot.
fn read_twice(rows: &Rows) {
    let tx = rows.db.begin_read().expect("there are slots");
    let look = |key| rows.find(&tx, key).map(|row| rows.read(row));
    let third = look(3);
    let first = look(1).expect("nobody deletes it");
    assert_eq!(look(3), third, "one snapshot");
    assert_eq!(look(1), Some(first));
}

fn update(rows: &Rows, tx: &WriteTransaction<'_>, key: u32) -> crate::Result<()> {
    let row = rows.find(tx, key).expect("it is there").id();
    tx.update_values(&rows.table, row, &rows.changes(key, 7))
}

fn delete(rows: &Rows, tx: &WriteTransaction<'_>, key: u32) -> crate::Result<()> {
    let row = rows.find(tx, key).expect("it is there").id();
    tx.delete(&rows.table, row)
}

fn stamp(rows: &Rows) {
    rows.db.reclaim();
}

/// Changes row 1, deletes row 3, and stamps both when that is committed.
fn change_two(rows: &Rows) {
    let written = rows.db.write(|tx| {
        update(rows, tx, 1)?;
        delete(rows, tx, 3)
    });
    written.expect("nobody else writes");
    stamp(rows);
}

/// Commits changes of two rows, which are left unstamped.
fn leave_unstamped(rows: &Rows) {
    let written = rows.db.write(|tx| {
        update(rows, tx, 1)?;
        update(rows, tx, 3)
    });
    written.expect("nobody else writes");
    let left = rows.db.instance.memory().header().unstamped.load(Relaxed);
    assert_eq!(left, 1, "a slot is left unstamped");
}

/// Rows become columns: their transaction commits when the freezer has just stamped all.
#[test]
fn shuttle_unstamped_rows_are_frozen() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        modelled::quietly(|| leave_unstamped(&rows));
        let freeze = || {
            let memory = rows.db.instance.memory();
            let begun = clock::begin_past_gate(memory, rows.db.instance.slots());
            let (held, _) = begun.expect("there are slots");
            let horizon = clock::horizon(memory, held.number()).rows;
            let at = TableAt { memory, core: &rows.table.core };
            let alloc = memory.allocator(held.cache());
            at.freeze_segment(alloc, 0, horizon, Gaps::Withdrawn).expect("there is memory");
            drop(held);
            stamp(&rows);
        };
        race(vec![Box::new(freeze), Box::new(|| read_twice(&rows))]);
        assert_eq!(rows.all(), [(1, 7), (2, 0), (3, 7)]);
    });
}

/// Rows are moved to other pages, whose transaction commits when all has just been stamped.
#[test]
fn shuttle_unstamped_rows_are_moved() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3, 4, 5, 6]);
        modelled::quietly(|| {
            let deleted =
                rows.db.write(|tx| [2, 4, 6].iter().try_for_each(|key| delete(&rows, tx, *key)));
            deleted.expect("nobody else is there");
            rows.db.reclaim();
            leave_unstamped(&rows);
        });
        let compact = || {
            compact::move_all_rows(&rows.db.instance).expect("there is memory");
            stamp(&rows);
        };
        race(vec![Box::new(compact), Box::new(|| read_twice(&rows))]);
        assert_eq!(rows.all(), [(1, 7), (3, 7), (5, 0)]);
    });
}

/// A row is deleted that has one version, which ends in place.
#[test]
fn shuttle_unstamped_rows_end_in_place() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        race(vec![Box::new(|| change_two(&rows)), Box::new(|| read_twice(&rows))]);
        assert_eq!(rows.all(), [(1, 7), (2, 0)]);
    });
}

/// A row is deleted that has two versions, for an old snapshot, and so gets a tombstone.
#[test]
fn shuttle_unstamped_tombstones_go() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3]);
        modelled::quietly(|| {
            let old = rows.db.begin_read().expect("there are slots");
            rows.db.write(|tx| update(&rows, tx, 3)).expect("nobody else writes");
            drop(old);
        });
        race(vec![Box::new(|| change_two(&rows)), Box::new(|| read_twice(&rows))]);
        assert_eq!(rows.all(), [(1, 7), (2, 0)]);
    });
}
