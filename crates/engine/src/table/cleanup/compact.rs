//! Moving rows together, out of pages in which little is left.
//!
//! A version is immutable and its row's slot is all that refers to it, so a row that has a single
//! version, which is committed, is moved by copying it and exchanging the word under the row's
//! latch. Who was given a reference to the old bytes keeps them: their block waits until all
//! transactions have ended that were active then, in a queue of its own. Hints in indexes still
//! lead to the old place; they are prefetches and nothing more.

use crate::error::Result;
use crate::memory::row_blocks::free_beside;
use crate::memory::{AllocationClass, Allocator};
use crate::snapshot::{Begin, resolve};
use crate::table::rows::segment::SEGMENT_SHIFT;
use crate::table::rows::version::{Version, bytes_at};
use crate::table::table::TableAt;

impl<'m> TableAt<'m> {
    /// Moves those of so many rows from `first` on that lie in a page with at least `free` bytes
    /// free, as long as that is fewer than `most` bytes; how many bytes it was. From `room` bytes
    /// on they are moved to where less is free, not to fresh memory.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; rows are where they were or where they are to be.
    pub(crate) fn move_rows(
        &self,
        alloc: Allocator<'m>,
        first: u32,
        count: u32,
        free: u64,
        most: u64,
        room: u64,
    ) -> Result<u64> {
        // A table that never had a row has no segment to look at.
        if count == 0 || self.is_all_frozen(first, count) {
            return Ok(0);
        }
        let mut moved = 0;
        let mut ended = Ok(());
        self.each_newest(first, count, |row, newest| {
            let region = self.memory.region();
            if moved < most
                && ended.is_ok()
                && free_beside(region, newest).is_some_and(|f| f >= free)
            {
                let short = (moved >= room).then_some(free);
                match self.move_row(alloc, row, short) {
                    Ok(bytes) => moved += bytes,
                    Err(error) => ended = Err(error),
                }
            }
        });
        ended.map(|()| moved)
    }

    /// Whether all these rows lie in columns, in one segment of which no row was changed.
    fn is_all_frozen(&self, first: u32, count: u32) -> bool {
        let last = first.saturating_add(count.saturating_sub(1));
        let frozen = self.directory().frozen(self.memory, first);
        last >> SEGMENT_SHIFT == first >> SEGMENT_SHIFT && frozen.is_some_and(|it| !it.is_changed())
    }

    /// Moves a row if it can be; how many bytes it has.
    fn move_row(&self, alloc: Allocator<'m>, row: u32, short: Option<u64>) -> Result<u64> {
        alloc.cache.moved.make_room(alloc, 1, AllocationClass::Emergency)?;
        let Some(latched) = self.directory().latch(self.memory, row) else { return Ok(0) };
        let old = latched.newest();
        let version = Version::at(self.memory, old);
        let committed = match resolve(self.memory, &version.begin) {
            Begin::Committed(timestamp) => timestamp,
            Begin::InFlight(_) => return Ok(0),
        };
        if version.older() != 0 || version.has_end() || version.is_tombstone() {
            return Ok(0);
        }
        let Some(copy) = Version::copy_packed(alloc, old, committed, short)? else { return Ok(0) };
        version.finalize_begin(committed);
        latched.set_newest(copy);
        alloc.retire_moved(old);
        Ok(bytes_at(self.memory, copy).len() as u64)
    }
}
