//! Rows that a transaction inserted one behind the other: all of them at once.
//!
//! Taking a large run back costs a few nanoseconds a row, not an insertion's time once more.
//! Ordered indexes are gone through once from end to end, where that is less than a look-up for
//! each row; then the rows are marked dead, which makes them rows no more (`rows/segment.rs`). The
//! run is one note in the retire queue; when its last reader is gone, whole pages of versions are
//! given back, and row ids a stretch at a time.

use std::ops::Range;

use remanent_schema::KeyBuffer;

use crate::index::sweep;
use crate::memory::Allocator;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed};
use crate::memory::row_blocks::Freeing;
use crate::table::rows::change::Change;
use crate::table::rows::segment::{Directory, last_of, newest_of};
use crate::table::rows::version::{Kept, Version, bytes_at, chain};
use crate::table::table::{IndexCore, TableAt};

/// Rows from which on a run is taken back as one.
pub(crate) const LONG: u32 = if cfg!(shuttle) { 2 } else { 256 };

/// An ordered index is gone through as a whole if it has at most so many rows for each of the run.
const SWEEP_FACTOR: u64 = 16;

/// Rows whose versions are prefetched.
const AHEAD: usize = 16;

impl<'m> TableAt<'m> {
    /// The oldest version of a row that is there: of a row that its transaction is inserting, the
    /// one that the insertion made.
    #[inline]
    pub(crate) fn oldest_version(&self, row: u32) -> u64 {
        let newest = self.directory().newest(self.memory, row);
        chain(self.memory, newest).last().map_or(newest, |(at, _)| at)
    }

    /// Calls `visit` with the newest version of each of so many rows from `first` on that has one.
    #[inline]
    pub(crate) fn each_newest(&self, first: u32, count: u32, mut visit: impl FnMut(u32, u64)) {
        self.each_stretch(first, count, |row, slots| {
            for (i, slot) in slots.iter().enumerate() {
                if let Some(ahead) = slots.get(i + AHEAD) {
                    let at = newest_of(ahead.load(Relaxed));
                    self.memory.region().prefetch_to_write(at, size_of::<Version>());
                }
                let newest = newest_of(slot.load(Acquire));
                if newest != 0 {
                    visit(row + i as u32, newest);
                }
            }
        });
    }

    /// Takes the insertion of so many rows from `first` on back; each has the version that its
    /// insertion made and no other. Needs no memory but the queue entries that were reserved, of
    /// which it takes two.
    pub(crate) fn undo_run(&self, alloc: Allocator<'m>, first: u32, count: u32, reservations: u64) {
        if count < LONG {
            for row in (first..first + count).rev() {
                let version = self.directory().newest(self.memory, row);
                self.undo_insertion(alloc, Change::new(row, version));
            }
        } else {
            for index in self.core.indexes() {
                self.drop_entries_of(alloc, index, first..first + count, |row, key| {
                    let version = self.directory().newest(self.memory, row);
                    index.plan.encode_row(bytes_at(self.memory, version), key).is_ok()
                });
            }
            self.each_stretch(first, count, |_, slots| slots.iter().for_each(Directory::mark_dead));
        }
        // About how much waits: rows that come together mostly have one size.
        let version = last_of(self.directory().slot(self.memory, first).load(Relaxed));
        let bytes = Version::at(self.memory, version).length() as u64 * u64::from(count);
        let waiting = &alloc.cache.retired_bytes;
        waiting.store(waiting.load(Relaxed) + bytes, Relaxed);
        alloc.cache.retired.release_many(reservations);
        alloc.retire_rows((self.core.id, first, count));
    }

    /// Takes the index entries of an inserted row out and marks it dead.
    fn undo_insertion(&self, alloc: Allocator<'m>, change: Change) {
        self.drop_entries(alloc, change.row, change.version, Kept::NONE);
        Directory::mark_dead(self.directory().slot(self.memory, change.row));
    }

    /// Takes the entries of inserted rows out of an index. `encode` writes a row's key, or says
    /// that there is none.
    pub(in crate::table) fn drop_entries_of(
        &self,
        alloc: Allocator<'m>,
        index: &IndexCore,
        rows: Range<u32>,
        encode: impl Fn(u32, &mut KeyBuffer) -> bool,
    ) {
        let count = u64::from(rows.end - rows.start);
        if index.is_ordered() && self.directory().limit() <= count * SWEEP_FACTOR {
            let removed = sweep::remove_rows(self.ordered(index), alloc, &rows);
            if removed == count {
                return;
            }
        }
        // Also if others changed the tree under the sweep, which then has missed some.
        let mut key = KeyBuffer::new();
        for row in rows.rev() {
            if encode(row, &mut key) {
                self.remove_entry(alloc, index, key.as_slice(), row);
            }
        }
    }

    /// Clears the next rows of a run away whose last reader is gone: versions are freed, row ids
    /// given back.
    pub(crate) fn free_rows(&self, alloc: Allocator<'m>, first: u32, count: u32) {
        let mut freeing = Freeing::begin(alloc);
        self.each_stretch(first, count, |row, slots| {
            for (i, slot) in slots.iter().enumerate() {
                if let Some(ahead) = slots.get(i + AHEAD) {
                    self.memory.region().prefetch(last_of(ahead.load(Relaxed)));
                }
                let version = last_of(slot.load(Relaxed));
                let length = Version::at(self.memory, version).length();
                freeing.free(version, size_of::<Version>() + length);
            }
            self.directory().give_back_all(row, slots);
        });
        freeing.finish();
    }

    /// Calls `visit` with the slots of so many rows from `first` on, as many at a time as lie side
    /// by side, and the first of their rows.
    fn each_stretch(&self, first: u32, count: u32, mut visit: impl FnMut(u32, &'m [AtomicU64])) {
        let end = u64::from(first) + u64::from(count);
        let mut row = u64::from(first);
        while row < end {
            let slots = self.directory().slots_beside(self.memory, row as u32, end);
            visit(row as u32, slots);
            row += slots.len() as u64;
        }
    }
}
