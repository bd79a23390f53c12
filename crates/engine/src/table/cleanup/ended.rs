//! Rows that end in place: deletions that take no memory.
//!
//! What an end is, `rows/version.rs` says. It is found by row ids, 64 to a note: in the write set,
//! and in the retire queue behind the commit. When no snapshot sees such a row any more it leaves
//! its indexes and is marked *dead* in its slot, and so it is nobody's but of whoever has the note;
//! when all have ended who may still be on their way to its version, that is freed. Neither step
//! needs memory, but room for key blocks that entries may carry.

use super::pins::Pins;
use super::prune::ordered_indexes;
use crate::memory::atomic::Relaxed;
use crate::memory::{AllocationClass, Allocator};
use crate::snapshot::{Begin, FinalStamp, resolve};
use crate::table::rows::segment::last_of;
use crate::table::rows::version::{Kept, Version};
use crate::table::table::TableAt;

/// What became of a row that has ended and was to be marked dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum MarkOutcome {
    /// It is dead.
    Dead,
    /// There is no such row any more.
    Nothing,
    /// A snapshot sees it.
    Needed,
    /// There was no room in the retire queue.
    NoRoom,
}

/// The rows whose bits are set, of the 64 from `first` on.
pub(crate) fn rows_of(first: u32, bits: u64) -> impl DoubleEndedIterator<Item = u32> {
    (0..64).filter(move |bit| bits >> bit & 1 != 0).map(move |bit| first + bit)
}

impl<'m> TableAt<'m> {
    /// Takes the end of a row back that the transaction with this stamp made. Nothing happens if
    /// its insertion was taken back before.
    pub(crate) fn undo_end(&self, row: u32, stamp: u64) {
        if let Some(latched) = self.directory().latch(self.memory, row) {
            Version::at(self.memory, latched.newest()).clear_end(stamp);
        }
    }

    /// Exchanges the stamp of a row's end for a timestamp. If the transaction that made it still
    /// holds its snapshot, the row stays meanwhile; else it must be latched.
    pub(crate) fn stamp_end(&self, row: u32, stamp: FinalStamp, held: bool) {
        let latched = if held { None } else { self.directory().latch(self.memory, row) };
        let newest = match &latched {
            Some(latched) => latched.newest(),
            None if held => self.directory().newest(self.memory, row),
            None => 0,
        };
        if newest != 0 {
            Version::at(self.memory, newest).stamp_end(stamp.own, stamp.timestamp);
        }
    }

    /// Bytes of a row that has ended.
    pub(crate) fn ended_bytes(&self, row: u32) -> u64 {
        match self.directory().newest(self.memory, row) {
            0 => 0,
            newest => Version::at(self.memory, newest).length() as u64,
        }
    }

    /// Marks a row dead that has ended, if no snapshot from `horizon` on sees it, or none of
    /// `pins`.
    pub(crate) fn mark_ended_dead(
        &self,
        alloc: Allocator<'m>,
        row: u32,
        horizon: u64,
        pins: Option<&Pins<'m>>,
    ) -> MarkOutcome {
        let Some(latched) = self.directory().latch(self.memory, row) else {
            // Marked once, it is so until its note is drained.
            let word = self.directory().slot(self.memory, row).load(Relaxed);
            return if last_of(word) != 0 { MarkOutcome::Dead } else { MarkOutcome::Nothing };
        };
        let version = Version::at(self.memory, latched.newest());
        let Some(Begin::Committed(end)) = version.end(self.memory) else {
            return MarkOutcome::Nothing;
        };
        if end > pins.map_or(horizon, Pins::clock) {
            return MarkOutcome::Needed;
        }
        if let (Some(pins), Begin::Committed(begin)) = (pins, resolve(self.memory, &version.begin))
            && pins.need(self.core.id, row, begin, end)
        {
            if !version.is_noted() {
                version.set_noted();
                pins.count(size_of::<Version>() + version.length(), begin, end);
            }
            return MarkOutcome::Needed;
        }
        let (queue, keyed) = (&alloc.cache.retired, ordered_indexes(*self));
        if queue.reserve_many(alloc, keyed, AllocationClass::Emergency).is_err() {
            return MarkOutcome::NoRoom;
        }
        queue.allow_keyed(keyed);
        self.drop_entries(alloc, row, latched.newest(), Kept::NONE);
        queue.end_keyed();
        version.finalize_end(end);
        latched.mark_dead();
        MarkOutcome::Dead
    }

    /// Frees the version of a dead row whose last reader is gone, and gives its id back.
    pub(crate) fn free_dead(&self, alloc: Allocator<'m>, row: u32) {
        let version = last_of(self.directory().slot(self.memory, row).load(Relaxed));
        Version::free(alloc, version);
        self.directory().give_back(self.memory, row);
    }
}
