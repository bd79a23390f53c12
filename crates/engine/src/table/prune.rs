//! Removing what no snapshot sees: old versions, their index entries, and dead rows.
//!
//! Works on a row, not on a record of what happened to it, so it may come late, twice, or in any
//! order. The horizon is a timestamp that every active snapshot has reached: of each row the
//! newest version committed at or before it stays, all behind that one go.

use remanent_schema::KeyBuffer;

use super::segment::LatchedRow;
use super::table::TableAt;
use super::version::{Version, bytes_at, chain};
use crate::index::node::Leaf;
use crate::memory::Heap;
use crate::memory::atomic::{Relaxed, Release};
use crate::memory::retire::Retired;
use crate::snapshot::{Begin, resolve};

/// Entries of the retire queue that pruning a row needs itself.
pub(crate) const RETIRED_PER_ROW: u64 = 1;

/// Prunes a row. [`RETIRED_PER_ROW`] entries of the retire queue were promised for it: no more than
/// the one that led here, so that a queue can be worked off however little memory there is.
pub(crate) fn prune<'m>(table: TableAt<'m>, heap: Heap<'m>, row: u32, horizon: u64) {
    if u64::from(row) >= table.directory().limit() {
        return;
    }
    let Some(latched) = table.directory().latch(table.memory, row) else { return };
    let seen_by_all = chain(table.memory, latched.newest()).find(|(_, version)| {
        matches!(resolve(table.memory, &version.begin), Begin::Committed(at) if at <= horizon)
    });
    let Some((at, version)) = seen_by_all else { return };
    let garbage = version.older.load(Relaxed);
    let dead = at == latched.newest() && version.is_tombstone();
    if garbage != 0 {
        drop_garbage_entries(table, heap, &latched, at, garbage);
        // Who sees a version looks no further. Only of a dead row does somebody look at the last
        // content, to tell its leaf from another key's (`RowKeys::load_key`): that is kept a while.
        let kept = if dead { Version::at(table.memory, garbage) } else { version };
        let rest = kept.older.load(Relaxed);
        kept.older.store(0, Release);
        free_chain(table, heap, rest);
    }
    if dead {
        latched.set_newest(0);
        heap.retire_item(Retired::Deletion { offset: at });
        table.directory().give_back(table.memory, row);
    }
}

/// Removes the index entries that only versions from `garbage` on need.
fn drop_garbage_entries<'m>(
    table: TableAt<'m>,
    heap: Heap<'m>,
    latched: &LatchedRow<'_>,
    last: u64,
    garbage: u64,
) {
    let last_version = Version::at(table.memory, last);
    let moved = last_version.key_changed()
        || chain(table.memory, garbage).any(|(_, version)| version.key_changed());
    if !moved && !last_version.is_tombstone() {
        return;
    }
    let row = last_version.row();
    // The chain stays whole meanwhile: as long as a dead row has an entry, somebody may look for
    // the key in its last content, and would look again and again if there was none.
    for (gone, _) in chain(table.memory, garbage).filter(|(_, version)| !version.is_tombstone()) {
        table.drop_entries(heap, row, gone, (latched.newest(), garbage));
    }
    if latched.newest() == last && !last_version.is_tombstone() {
        make_leaves_plain(table, heap, row, last);
    }
}

/// The row has one version again: its ordered entries need no keys of their own.
fn make_leaves_plain<'m>(table: TableAt<'m>, heap: Heap<'m>, row: u32, version: u64) {
    let mut key = KeyBuffer::new();
    for index in table.core.indexes().filter(|index| index.is_ordered()) {
        let room =
            heap.cache.retired.make_room(heap, 2, crate::memory::Entitlement::Reserve).is_ok();
        if room && index.plan.encode_row(bytes_at(table.memory, version), &mut key).is_ok() {
            let leaf = Leaf::plain(row, version);
            table.ordered(index).replace(heap, key.as_slice(), row, leaf);
        }
    }
}

fn free_chain(table: TableAt<'_>, heap: Heap<'_>, first: u64) {
    let mut at = first;
    while at != 0 {
        let older = Version::at(table.memory, at).older.load(Relaxed);
        Version::free(heap, at);
        at = older;
    }
}
