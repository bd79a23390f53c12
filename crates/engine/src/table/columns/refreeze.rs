//! Freezing a frozen segment again: columns and the versions beside them become new columns.
//!
//! A segment is *worn* when many of its rows were changed, and so are versions beside the columns,
//! or deleted. It gets a new block if every version is the only one of its row, committed before
//! every snapshot that is held, and everybody sees every deletion. To every snapshot the new block
//! says what the old segment says, so it does no harm to be led to either.
//!
//! *Who exchanges them* latches each version, as it was inspected, then takes the latch of the
//! ends, under which alone a row becomes a version or takes a bit; if anything has changed, all is
//! taken back. Else the old segment is *replaced*, and the directory leads to the new one. *Who
//! writes* waits for a version, which stays latched for ever, or meets under the latch of the ends
//! that the segment is replaced; either looks again. *Who reads* goes on in the old one, which does
//! not change any more. It is freed, and its versions, when all have ended who were active then.

use std::ops::Range;

use super::freeze::{GAP, Gaps, Inspected, Outcome, put_block, segment_of};
use super::frozen::{FrozenSegment, GROUP};
use crate::column::block::{BLOCK_LEN_MAX, EncodedBlock};
use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release};
use crate::memory::row_blocks::{self, Freeing};
use crate::memory::{AllocationClass, Allocator, Memory, Ref};
use crate::snapshot::{Begin, resolve};
use crate::table::cleanup::prune::{Pruned, prune};
use crate::table::rows::segment::{FREE, FROZEN, LATCHED, Segment, is_frozen, last_of, newest_of};
use crate::table::rows::version::{Version, bytes_at};
use crate::table::table::TableAt;

/// A segment is worn if one row in so many was changed or deleted.
const WORN_PART: u64 = 10;

/// A segment of a table, its first row id, and what it was frozen to.
pub(super) struct FrozenAt<'m> {
    pub(super) table: TableAt<'m>,
    pub(super) first: u32,
    pub(super) segment: &'m Segment,
    pub(super) frozen: &'m FrozenSegment,
}

/// What was found in a segment, to be exchanged for a new one.
struct Wear<'m> {
    frozen: &'m FrozenSegment,
    groups: Vec<Group<'m>>,
    /// Rows that were gone.
    gone: u64,
    /// The newest row's timestamp.
    begin: u64,
    /// What versions take.
    bytes: u64,
}

/// The slots of a group in which rows have changed, and what they said.
struct Group<'m> {
    number: usize,
    slots: &'m [AtomicU64],
    words: [u64; GROUP],
}

/// Rows that are put together, behind one another, and where each is that is there.
struct Composed {
    bytes: Vec<u8>,
    rows: Vec<Option<Range<usize>>>,
}

impl FrozenSegment {
    /// Whether it is worn, if so many rows are not as they were frozen.
    pub(super) fn is_worn_by(&self, memory: &Memory, changed: u64) -> bool {
        let live = u64::from(self.block(memory).live());
        (changed + self.ends.gone_count()) * WORN_PART > live
    }

    fn is_worn(&self, memory: &Memory) -> bool {
        let slots = self.groups(memory, 0).flat_map(|(_, slots)| slots);
        let changed = slots.filter(|slot| !is_frozen(slot.load(Acquire)));
        self.is_worn_by(memory, changed.count() as u64)
    }
}

impl<'m> FrozenAt<'m> {
    /// As [`TableAt::inspect_segment`].
    pub(super) fn inspect(&self, horizon: u64) -> Inspected {
        if self.frozen.is_aborted() || !self.frozen.is_worn(self.table.memory) {
            return Inspected::Nothing;
        }
        match self.wear(horizon, |word| word & FREE != 0) {
            Some(_) => Inspected::Freezable,
            None => Inspected::Busy,
        }
    }

    /// As [`TableAt::freeze_segment`]: makes new columns if the segment is worn.
    ///
    /// # Errors
    /// As there.
    pub(super) fn refreeze(
        &self,
        alloc: Allocator<'m>,
        horizon: u64,
        gaps: Gaps,
    ) -> Result<Outcome> {
        let Self { table, segment, frozen, .. } = *self;
        let memory = table.memory;
        if frozen.is_aborted() || !frozen.is_worn(memory) {
            return Ok(Outcome::Nothing);
        }
        self.clean_up(alloc, horizon);
        let is_gap = |word| word == GAP && gaps == Gaps::Withdrawn;
        let Some(wear) = self.wear(horizon, is_gap) else { return Ok(Outcome::Busy) };
        let pin = table.pin_whole(frozen)?;
        let Some(composed) = self.compose(&wear) else { return Ok(Outcome::Busy) };
        drop(pin);
        let rows = wear.rows(memory, &composed);
        if rows.is_empty() {
            return Ok(Outcome::Nothing);
        }
        let encoded = EncodedBlock::of_rows(&table.core.layout, &rows);
        let Some(encoded) = encoded else { return Ok(Outcome::Busy) };
        let new = segment_of(alloc, put_block(alloc, &encoded)?, wear.begin)?;
        let room = alloc.cache.moved.make_room(alloc, 1, AllocationClass::Normal);
        room.inspect_err(|_| memory.get(new).destroy(alloc))?;
        let bytes_before = wear.bytes + frozen.block_bytes() + frozen.directory_bytes(memory);
        if !wear.latch(memory) {
            memory.get(new).destroy(alloc);
            return Ok(Outcome::Busy);
        }
        if !wear.exchange(table, segment, new) {
            wear.unlatch(usize::MAX);
            memory.get(new).destroy(alloc);
            return Ok(Outcome::Busy);
        }
        alloc.retire_replaced(alloc.region().offset_of(frozen));
        let new = memory.get(new);
        let bytes_after = new.block_bytes() + new.directory_bytes(memory);
        Ok(Outcome::Refrozen { rows: encoded.live().into(), bytes_before, bytes_after })
    }

    /// Does what writers would do by and by, since there may be none for long: cuts old versions
    /// that no snapshot sees, and marks deletions in the columns dead that all of them see.
    fn clean_up(&self, alloc: Allocator<'m>, horizon: u64) {
        let Self { table, frozen, .. } = *self;
        for slot in frozen.groups(table.memory, 0).flat_map(|(_, slots)| slots) {
            let newest = newest_of(slot.load(Acquire));
            if newest == 0 || Version::at(table.memory, newest).older() == 0 {
                continue;
            }
            let row = Version::at(table.memory, newest).row();
            if prune(table, alloc, row, horizon) == Pruned::NoRoom {
                return;
            }
        }
        let _ = table.mark_ends_dead(alloc, self.first, horizon, u64::MAX);
    }

    /// What the segment looks like; `None` if some snapshot may see anything in it otherwise. Of a
    /// row that is no version and not as it was frozen, `is_gap` says whether it is passed over.
    fn wear(&self, horizon: u64, is_gap: impl Fn(u64) -> bool) -> Option<Wear<'m>> {
        let Self { table, frozen, .. } = *self;
        // Before the layers: what leaves them for the gone ones meanwhile is missed in neither.
        let gone = frozen.ends.gone_count();
        let Begin::Committed(begin) = resolve(table.memory, &frozen.begin) else { return None };
        if begin > horizon || !frozen.ends.are_all_gone() {
            return None;
        }
        let mut wear = Wear { frozen, groups: Vec::new(), gone, begin, bytes: 0 };
        for (number, slots) in frozen.groups(table.memory, 0) {
            let mut group = Group { number, slots, words: [FROZEN; GROUP] };
            for (word, slot) in group.words.iter_mut().zip(slots) {
                *word = slot.load(Acquire);
                if is_frozen(*word) || is_gap(*word) {
                    continue;
                }
                let (bytes, begin) = table.freezable_row(*word, horizon)?;
                let size = size_of::<Version>() + bytes.len();
                wear.bytes += row_blocks::occupied(size) as u64;
                wear.begin = wear.begin.max(begin);
            }
            wear.groups.push(group);
        }
        Some(wear)
    }

    /// The rows that are as they were frozen, put together; `None` if that takes too much memory.
    fn compose(&self, wear: &Wear<'m>) -> Option<Composed> {
        let Self { table, frozen, .. } = *self;
        let (block, layout) = (frozen.block(table.memory), &table.core.layout);
        let mut composed = Composed { bytes: Vec::new(), rows: Vec::new() };
        let mut groups = wear.groups.iter().peekable();
        for number in 0..block.rows().div_ceil(GROUP as u32) {
            let changed = groups.next_if(|group| group.number == number as usize);
            for i in 0..GROUP {
                let ordinal = number * GROUP as u32 + i as u32;
                let is_here = changed.is_none_or(|group| is_frozen(group.words[i]))
                    && block.has(ordinal)
                    && !frozen.ends.is_gone(table.memory, ordinal);
                let start = composed.bytes.len();
                if is_here {
                    composed.bytes.resize(start + block.row_len(layout, ordinal), 0);
                    block.write_row(layout, ordinal, &mut composed.bytes[start..]);
                }
                composed.rows.push(is_here.then_some(start..composed.bytes.len()));
            }
            if composed.bytes.len() > BLOCK_LEN_MAX {
                return None;
            }
        }
        Some(composed)
    }
}

impl<'m> Wear<'m> {
    /// The bytes of every row up to the last that is there: of a last segment that was not full
    /// nobody can have the ids behind.
    fn rows<'r>(&self, memory: &'r Memory, composed: &'r Composed) -> Vec<Option<&'r [u8]>>
    where
        'm: 'r,
    {
        let of = |row: &Option<Range<usize>>| row.clone().map(|row| &composed.bytes[row]);
        let mut rows: Vec<Option<&[u8]>> = composed.rows.iter().map(of).collect();
        for group in &self.groups {
            for (ordinal, &word) in (group.number * GROUP..).zip(&group.words) {
                let newest = newest_of(word);
                if newest != 0 {
                    rows.resize(rows.len().max(ordinal + 1), None);
                    rows[ordinal] = Some(bytes_at(memory, newest));
                }
            }
        }
        rows.truncate(rows.iter().rposition(Option::is_some).map_or(0, |last| last + 1));
        rows
    }

    /// Latches every version, as it was inspected, and finalizes it; `false` if one has changed,
    /// and none is latched. One that has ended in place meanwhile has still the same word.
    fn latch(&self, memory: &Memory) -> bool {
        for (i, (slot, word)) in self.versions().enumerate() {
            let latched = slot.compare_exchange(word, word | LATCHED, Acquire, Relaxed).is_ok();
            let version = Version::at(memory, newest_of(word));
            if !latched || version.has_end() {
                self.unlatch(i + usize::from(latched));
                return false;
            }
            if let Begin::Committed(begin) = resolve(memory, &version.begin) {
                version.finalize_begin(begin);
            }
        }
        true
    }

    /// Unlatches the first `count` versions.
    fn unlatch(&self, count: usize) {
        self.versions().take(count).for_each(|(slot, word)| slot.store(word, Release));
    }

    /// Lets the directory lead to a new segment instead; `false` if something has changed that was
    /// not latched. All versions are.
    fn exchange(&self, table: TableAt<'_>, segment: &Segment, new: Ref<FrozenSegment>) -> bool {
        let (memory, frozen) = (table.memory, self.frozen);
        let _latched = frozen.ends.latch.lock();
        let ended = !frozen.ends.are_all_gone() || frozen.ends.gone_count() != self.gone;
        if ended || frozen.is_aborted() || self.rows_frozen_changed(memory) {
            return false;
        }
        if let Begin::Committed(begin) = resolve(memory, &frozen.begin) {
            frozen.finalize_begin(begin);
        }
        frozen.set_replaced();
        table.directory().replace_frozen(segment, new);
        true
    }

    /// Whether a row that was as it was frozen is so no more. The latch of the ends is held.
    fn rows_frozen_changed(&self, memory: &Memory) -> bool {
        let mut inspected = self.groups.iter().peekable();
        self.frozen.groups(memory, 0).any(|(number, slots)| {
            let before = inspected.next_if(|group| group.number == number);
            let was_frozen = |ordinal: usize| before.is_none_or(|it| is_frozen(it.words[ordinal]));
            let mut slots = slots.iter().enumerate();
            slots.any(|(ordinal, slot)| was_frozen(ordinal) && slot.load(Acquire) != FROZEN)
        })
    }

    /// The slots of the versions, and what they said.
    fn versions(&self) -> impl Iterator<Item = (&AtomicU64, u64)> {
        let slots = self.groups.iter().flat_map(|group| group.slots.iter().zip(group.words));
        slots.filter(|(_, word)| newest_of(*word) != 0)
    }
}

/// Frees a segment that was replaced, and the versions in it; nobody refers to them any more.
pub(crate) fn free_replaced(alloc: Allocator<'_>, offset: u64) {
    let frozen = FrozenSegment::at(alloc.memory, offset);
    let mut freeing = Freeing::begin(alloc);
    for (_, slots) in frozen.groups(alloc.memory, 0) {
        for version in slots.iter().map(|slot| last_of(slot.load(Relaxed))).filter(|at| *at != 0) {
            let length = Version::at(alloc.memory, version).length();
            freeing.free(version, size_of::<Version>() + length);
        }
    }
    freeing.finish();
    frozen.destroy(alloc);
}
