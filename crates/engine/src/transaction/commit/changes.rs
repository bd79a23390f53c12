//! What the entries of a write set are about: the changes one by one, and their versions.
//!
//! A run of inserted rows stands in the write set by its row ids. The version that an insertion
//! made is the oldest of its row, for a row id is given out when no version of it is left; those
//! that the same transaction put in front of it carry the same stamp.

use crate::instance::Instance;
use crate::memory::Memory;
use crate::memory::atomic::{Relaxed, Release};
use crate::snapshot::FinalStamp;
use crate::table::cleanup::ended::rows_of;
use crate::table::columns::frozen_ends::Layer;
use crate::table::rows::change::Change;
use crate::table::rows::version::{Version, chain};
use crate::table::table::TableAt;
use crate::transaction::write::write_set::{WriteSet, Written};

/// A transaction's change of a row.
#[derive(Clone, Copy)]
pub(crate) enum RowChange<'b> {
    /// It made this version.
    Version(Change),
    /// It inserted the row with these bytes, which lie in columns.
    BulkInserted { row: u32, bytes: &'b [u8] },
    /// It deleted the row, which has ended in place.
    Ended { row: u32 },
}

/// Calls `visit` with each change, oldest first. The versions of runs are looked up, so none of
/// them is published yet.
#[inline]
pub(crate) fn each_row_change(
    db: &Instance,
    writes: &WriteSet<'_>,
    mut visit: impl FnMut(u32, RowChange<'_>),
) {
    writes.each(|table, written| {
        // Others say of these rows what there is to be said.
        if !matches!(written, Written::Later { .. }) {
            each_of(db, table, written, &mut visit);
        }
    });
}

/// As [`each_row_change`], of the changes behind the oldest `len`, and perhaps more deletions.
pub(crate) fn each_behind(
    db: &Instance,
    writes: &WriteSet<'_>,
    len: u64,
    mut visit: impl FnMut(u32, RowChange<'_>),
) {
    writes.each_behind(len, |table, written| each_of(db, table, written, &mut visit));
}

#[inline]
fn each_of(
    db: &Instance,
    table: u32,
    written: Written,
    visit: &mut impl FnMut(u32, RowChange<'_>),
) {
    match written {
        Written::One(change) => visit(table, RowChange::Version(change)),
        Written::Run { first, count } => {
            let Some(core) = db.catalog().by_id(table) else { return };
            let at = TableAt { memory: db.memory(), core: &core };
            for row in first..first + count {
                let change = Change::new(row, at.oldest_version(row));
                visit(table, RowChange::Version(change));
            }
        }
        Written::Segment { first, count } => {
            let Some(core) = db.catalog().by_id(table) else { return };
            let at = TableAt { memory: db.memory(), core: &core };
            at.each_bulk_row(first, count, |row, bytes| {
                visit(table, RowChange::BulkInserted { row, bytes })
            });
        }
        Written::Ended { first, bits } | Written::Later { first, bits } => {
            rows_of(first, bits).for_each(|row| visit(table, RowChange::Ended { row }));
        }
        Written::InColumns { first, layer, .. } => {
            let layer = Layer::at(db.memory(), layer);
            layer.each(db.memory(), first, |row| visit(table, RowChange::Ended { row }));
        }
    }
}

/// Writes the timestamp into the versions of an entry that carry the stamp `own`. A change's own
/// version is written to directly if the transaction's snapshot still holds it.
#[inline]
pub(crate) fn stamp(
    db: &Instance,
    table: u32,
    written: Written,
    stamp: FinalStamp,
    versions_are_held: bool,
) {
    let memory = db.memory();
    let (first, count) = match written {
        Written::One(change) if versions_are_held => {
            return Version::at(memory, change.version).begin.store(stamp.timestamp, Release);
        }
        Written::One(change) => (change.row, 1),
        Written::Run { first, count } => (first, count),
        Written::Segment { first, .. } => {
            let Some(core) = db.catalog().by_id(table) else { return };
            let at = TableAt { memory, core: &core };
            return at.stamp_segment(first, stamp, |newest| {
                stamp_chain(memory, newest, stamp);
            });
        }
        Written::InColumns { layer, .. } if versions_are_held => {
            return Layer::at(memory, layer).finalize(stamp.own, stamp.timestamp);
        }
        Written::InColumns { first, .. } => {
            let Some(core) = db.catalog().by_id(table) else { return };
            return TableAt { memory, core: &core }.stamp_ends(first, stamp);
        }
        Written::Later { .. } => return,
        Written::Ended { first, bits } => {
            let Some(core) = db.catalog().by_id(table) else { return };
            let at = TableAt { memory, core: &core };
            return rows_of(first, bits)
                .for_each(|row| at.stamp_end(row, stamp, versions_are_held));
        }
    };
    let Some(core) = db.catalog().by_id(table) else { return };
    let at = TableAt { memory, core: &core };
    if versions_are_held {
        return at.each_newest(first, count, |_, newest| stamp_chain(memory, newest, stamp));
    }
    for row in first..first + count {
        // Behind the version that a snapshot sees, older ones are freed at once, under the latch.
        if let Some(latched) = at.directory().latch(memory, row) {
            stamp_chain(memory, latched.newest(), stamp);
        }
    }
}

/// Stamps a row's versions that carry the stamp `own`.
#[inline]
fn stamp_chain(memory: &Memory, newest: u64, stamp: FinalStamp) {
    let mut found = false;
    // Others may have put theirs in front, and versions that nobody needs may be cut out.
    for (_, version) in chain(memory, newest) {
        if version.begin.load(Relaxed) == stamp.own {
            version.begin.store(stamp.timestamp, Release);
            found = true;
        } else if found {
            return;
        }
    }
}
