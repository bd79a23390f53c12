//! Rows of a frozen segment that have ended, as bits: deletions that take no memory.
//!
//! Beside its columns a segment has bitmaps of its rows, made with it: two *layers*, each of one
//! transaction at a time, and one of the rows that are *gone* for everybody. Who deletes rows takes
//! a layer with its stamp and sets their bits; they are as deleted as the stamp is committed. When
//! every snapshot sees that, the rows leave their indexes and their bits go on to `gone`. Two
//! layers between whose commits no snapshot lies become one. Where no layer is free, a row becomes
//! a version first (`TableAt::thaw`), and is deleted as such.
//!
//! *Who writes* takes the segment's latch to take a layer, to set bits, to move them, and to thaw a
//! row; an owner clears its bits and exchanges its stamp without. *Who reads* takes none. It looks
//! at the first layer, the second, and `gone`: bits only move on in this order, and are set in the
//! new place before they are cleared in the old. A layer's stamp is asked before its bit and again
//! after it: if the layer has changed hands, the bit may have been of either.

use super::frozen::{FrozenRow, FrozenSegment};
use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release, acquire_fence};
use crate::memory::class::occupied;
use crate::memory::latch::{Latch, Latched};
use crate::memory::retire::Retired;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::snapshot::{Begin, FinalStamp, Snapshot, resolve};
use crate::table::cleanup::pins::Pins;
use crate::table::cleanup::prune::ordered_indexes;
use crate::table::rows::change::Change;
use crate::table::rows::segment::is_frozen;
use crate::table::table::TableAt;

const LAYERS: usize = 2;
/// Entries that rows may add to the retire queue, of nodes mostly, before others are marked dead.
const ADDED_MAX: u64 = if cfg!(shuttle) { 1 } else { 256 };
/// Of no slot.
const NOBODY: usize = usize::MAX;

/// The result of marking ends dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum MarkedEnds {
    /// All are, that every snapshot sees as deleted.
    All,
    /// As many as were to be.
    Some,
    /// There was no room in the retire queue.
    NoRoom,
}

/// Rows that one transaction has ended.
#[repr(C)]
pub(crate) struct Layer {
    /// The transaction's stamp or timestamp; 0 if the layer is free: then no bit is set.
    stamp: AtomicU64,
    bits: AtomicU64,
    words: AtomicU64,
    /// For the owner: the entry of its write set that is about these rows, 0 for none yet, and how
    /// many changes were before that.
    pub(crate) entry: AtomicU64,
    pub(crate) since: AtomicU64,
}

/// Which rows of a segment have ended; part of what it was frozen to.
#[repr(C)]
pub(super) struct FrozenEnds {
    pub(super) latch: Latch,
    /// Whether any row has ever ended.
    any: AtomicU32,
    layers: [Layer; LAYERS],
    gone: AtomicU64,
    gone_count: AtomicU64,
}

/// Fresh bitmaps for a segment, and how many words each has.
#[derive(Clone, Copy)]
pub(super) struct Bitmaps {
    at: [u64; LAYERS + 1],
    words: usize,
}

impl Bitmaps {
    /// Bitmaps for so many rows.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(super) fn allocate(alloc: Allocator<'_>, rows: u32) -> Result<Self> {
        let mut made = Self { at: [0; LAYERS + 1], words: rows.div_ceil(64) as usize };
        for number in 0..made.at.len() {
            let size = made.words * 8;
            let at = alloc.allocate(size, Purpose::Segments, AllocationClass::Normal);
            made.at[number] = at.inspect_err(|_| made.free(alloc))?;
            alloc.region().fresh_bytes(made.at[number], size).fill(0);
        }
        Ok(made)
    }

    pub(super) fn free(&self, alloc: Allocator<'_>) {
        for at in self.at.into_iter().filter(|at| *at != 0) {
            alloc.free(at, self.words * 8, Purpose::Segments);
        }
    }
}

impl Layer {
    /// The layer at an offset.
    pub(crate) fn at(memory: &Memory, at: u64) -> &Self {
        memory.get(Ref::new(at))
    }

    fn bits<'m>(&self, memory: &'m Memory) -> &'m [AtomicU64] {
        let words = self.words.load(Relaxed) as usize;
        memory.region().words(self.bits.load(Relaxed), words)
    }

    /// The commit whose deletions are here, if it is one.
    fn committed(&self, memory: &Memory) -> Option<u64> {
        if self.stamp.load(Acquire) == 0 {
            return None;
        }
        match resolve(memory, &self.stamp) {
            Begin::Committed(0) | Begin::InFlight(_) => None,
            Begin::Committed(timestamp) => Some(timestamp),
        }
    }

    fn is_finalized(&self, memory: &Memory, horizon: u64) -> bool {
        self.committed(memory).is_some_and(|timestamp| timestamp <= horizon)
    }

    /// Whether a row has its bit here, and whose the layer was then.
    fn end(&self, memory: &Memory, ordinal: u32) -> Option<Begin> {
        loop {
            let stamp = self.stamp.load(Acquire);
            if stamp == 0 {
                return None;
            }
            let whose = resolve(memory, &self.stamp);
            let word = self.bits(memory)[ordinal as usize / 64].load(Acquire);
            acquire_fence();
            if self.stamp.load(Relaxed) == stamp {
                return (word >> (ordinal % 64) & 1 != 0).then_some(whose);
            }
        }
    }

    /// Calls `visit` with each row that has its bit here, of the segment that begins with `first`.
    pub(crate) fn each(&self, memory: &Memory, first: u32, mut visit: impl FnMut(u32)) {
        for (number, word) in self.bits(memory).iter().enumerate() {
            let mut bits = word.load(Acquire);
            while bits != 0 {
                visit(first + number as u32 * 64 + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }

    /// Exchanges the stamp `own` for a timestamp.
    pub(crate) fn finalize(&self, own: u64, timestamp: u64) {
        let _ = self.stamp.compare_exchange(own, timestamp, Release, Relaxed);
    }

    /// Takes all ends back that the owner with this stamp has made here.
    pub(crate) fn take_back(&self, memory: &Memory, own: u64) {
        debug_assert_eq!(self.stamp.load(Relaxed), own);
        self.bits(memory).iter().for_each(|word| word.store(0, Release));
        self.free();
    }

    fn free(&self) {
        self.entry.store(0, Relaxed);
        self.stamp.store(0, Release);
    }
}

impl FrozenEnds {
    /// Puts fresh bitmaps in place; no row has ended.
    pub(super) fn put(&self, bitmaps: Bitmaps) {
        for (layer, at) in self.layers.iter().zip(bitmaps.at) {
            layer.bits.store(at, Relaxed);
            layer.words.store(bitmaps.words as u64, Relaxed);
            layer.free();
        }
        self.gone.store(bitmaps.at[LAYERS], Relaxed);
        self.gone_count.store(0, Relaxed);
        self.any.store(0, Relaxed);
    }

    /// Frees the bitmaps; nobody refers to them any more.
    pub(super) fn clear(&self, alloc: Allocator<'_>) {
        self.any.store(0, Relaxed);
        self.bitmaps().free(alloc);
        self.put(Bitmaps { at: [0; LAYERS + 1], words: 0 });
    }

    /// Bytes of the bitmaps.
    pub(super) fn bytes(&self) -> usize {
        match self.bitmaps() {
            Bitmaps { at: [0, ..], .. } => 0,
            made => made.at.len() * occupied(made.words * 8),
        }
    }

    fn bitmaps(&self) -> Bitmaps {
        let mut at = [self.gone.load(Relaxed); LAYERS + 1];
        at.iter_mut().zip(&self.layers).for_each(|(at, it)| *at = it.bits.load(Relaxed));
        Bitmaps { at, words: self.layers[0].words.load(Relaxed) as usize }
    }

    fn gone<'m>(&self, memory: &'m Memory) -> &'m [AtomicU64] {
        let words = self.layers[0].words.load(Relaxed) as usize;
        memory.region().words(self.gone.load(Relaxed), words)
    }

    /// Rows that are gone for everybody.
    pub(super) fn gone_count(&self) -> u64 {
        self.gone_count.load(Acquire)
    }

    /// Whether every row that has ended is gone for everybody.
    pub(super) fn are_all_gone(&self) -> bool {
        self.layers.iter().all(|layer| layer.stamp.load(Acquire) == 0)
    }

    /// Whether no row has ever ended.
    #[inline]
    pub(super) fn is_none(&self) -> bool {
        self.any.load(Acquire) == 0
    }

    /// Whether a row is gone for everybody.
    #[inline]
    pub(super) fn is_gone(&self, memory: &Memory, ordinal: u32) -> bool {
        !self.is_none()
            && self.gone(memory)[ordinal as usize / 64].load(Acquire) >> (ordinal % 64) & 1 == 1
    }

    /// How a row has ended, if it has; at 0 if every snapshot sees that.
    pub(super) fn end(&self, memory: &Memory, ordinal: u32) -> Option<Begin> {
        if self.is_none() {
            return None;
        }
        let ended = self.layers.iter().find_map(|layer| layer.end(memory, ordinal));
        ended.or_else(|| self.is_gone(memory, ordinal).then_some(Begin::Committed(0)))
    }

    /// Takes the rows that a snapshot sees as ended out of `visible`.
    pub(super) fn hide(&self, memory: &Memory, snapshot: Snapshot, visible: &mut [u64]) {
        if self.is_none() {
            return;
        }
        let mut ended = vec![0; visible.len()];
        for layer in &self.layers {
            loop {
                ended.fill(0);
                let stamp = layer.stamp.load(Acquire);
                if stamp == 0 || !snapshot.sees(memory, &layer.stamp) {
                    break;
                }
                for (ended, word) in ended.iter_mut().zip(layer.bits(memory)) {
                    *ended = word.load(Acquire);
                }
                acquire_fence();
                if layer.stamp.load(Relaxed) == stamp {
                    break;
                }
            }
            visible.iter_mut().zip(&ended).for_each(|(visible, ended)| *visible &= !ended);
        }
        for (visible, gone) in visible.iter_mut().zip(self.gone(memory)) {
            *visible &= !gone.load(Acquire);
        }
    }

    /// Says that a row is gone. Nobody else uses the table.
    pub(super) fn set_gone(&self, memory: &Memory, ordinal: u32) {
        self.any.store(1, Release);
        self.add_gone(memory, ordinal as usize / 64, 1 << (ordinal % 64));
    }

    fn add_gone(&self, memory: &Memory, number: usize, bits: u64) {
        let word = &self.gone(memory)[number];
        word.store(word.load(Relaxed) | bits, Release);
        let count = self.gone_count.load(Relaxed) + u64::from(bits.count_ones());
        self.gone_count.store(count, Release);
    }

    /// Calls `change` unless the row has ended, in some transaction at least; no row ends
    /// meanwhile.
    pub(super) fn unless_ended(&self, memory: &Memory, ordinal: u32, change: impl FnOnce()) {
        let _latched = self.latch.lock();
        if self.end(memory, ordinal).is_none() {
            change();
        }
    }

    /// The layer of the transaction with this stamp, or a free one. The latch is held.
    fn layer(&self, memory: &Memory, own: u64) -> Option<&Layer> {
        let of = |stamp| self.layers.iter().find(|layer| layer.stamp.load(Relaxed) == stamp);
        of(own).or_else(|| of(0)).or_else(|| self.join(memory).then(|| &self.layers[0]))
    }

    /// Makes the layers one if both are committed and no snapshot separates them; the first is
    /// free then. The latch is held.
    #[cold]
    fn join(&self, memory: &Memory) -> bool {
        let [one, other] = &self.layers;
        let (Some(first), Some(second)) = (one.committed(memory), other.committed(memory)) else {
            return false;
        };
        let (low, high) = (first.min(second), first.max(second));
        let pins = Pins::collect(memory, NOBODY);
        if high > pins.clock() || pins.tell_apart(low, high) {
            return false;
        }
        // The later of both first: who validates must not take a deletion for an older one.
        other.stamp.store(high, Release);
        for (from, to) in one.bits(memory).iter().zip(other.bits(memory)) {
            to.store(to.load(Relaxed) | from.load(Relaxed), Release);
            from.store(0, Release);
        }
        one.free();
        true
    }
}

impl FrozenRow<'_> {
    /// The end of the row, if it has ended.
    pub(crate) fn end(&self, memory: &Memory) -> Option<Begin> {
        self.segment.ends.end(memory, self.ordinal)
    }

    /// Whether a snapshot sees the row.
    pub(crate) fn is_seen(&self, memory: &Memory, snapshot: Snapshot) -> bool {
        snapshot.sees(memory, &self.segment.begin)
            && match self.end(memory) {
                None => true,
                Some(Begin::InFlight(stamp)) => stamp != snapshot.own,
                Some(Begin::Committed(timestamp)) => timestamp > snapshot.timestamp,
            }
    }
}

impl<'m> TableAt<'m> {
    /// Ends a row that is as it was frozen; `None` if it is not, or no layer is free. Leaves a
    /// reservation of room in the retire queue behind if the layer is new.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, and memory only when the reserve too is used up.
    #[cold]
    pub(in crate::table) fn end_in_columns(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
    ) -> Result<Option<Change>> {
        let Some(frozen) = self.frozen_row(row) else { return Ok(None) };
        let begin = snapshot.may_follow(resolve(self.memory, &frozen.segment.begin));
        if begin.is_err() {
            return Ok(None);
        }
        let queue = &alloc.cache.retired;
        queue.reserve(alloc, AllocationClass::Emergency)?;
        let Some((frozen, latched)) = self.latch_ends(row) else {
            queue.release();
            return Ok(None);
        };
        let ends = &frozen.segment.ends;
        let ended = match is_frozen(frozen.segment.slot(self.memory, row).load(Acquire)) {
            false => Ok(None),
            true => self
                .check_frozen_end(snapshot, frozen, row)
                .map(|()| ends.layer(self.memory, snapshot.own)),
        };
        let is_new = matches!(ended, Ok(Some(layer)) if layer.stamp.load(Relaxed) == 0);
        if let Ok(Some(layer)) = ended {
            ends.any.store(1, Release);
            if is_new {
                layer.stamp.store(snapshot.own, Release);
            }
            let word = &layer.bits(self.memory)[frozen.ordinal as usize / 64];
            word.store(word.load(Relaxed) | 1 << (frozen.ordinal % 64), Release);
        }
        drop(latched);
        if !is_new {
            queue.release();
        }
        let at = |layer: &Layer| self.memory.region().offset_of(layer);
        ended.map(|layer| layer.map(|layer| Change::end_in_columns(row, at(layer))))
    }

    /// A row that is as it was frozen, with the latch of the ends of its segment, which is not
    /// replaced meanwhile; `None` if there is no such row.
    fn latch_ends(&self, row: u32) -> Option<(FrozenRow<'m>, Latched<'m>)> {
        loop {
            let frozen = self.frozen_row(row)?;
            let latched = frozen.segment.ends.latch.lock();
            // Else the directory led to another one before the latch was free.
            if !frozen.segment.is_replaced() {
                return Some((frozen, latched));
            }
        }
    }

    /// Makes a row a version that is as it was frozen and that this transaction may change.
    #[cold]
    pub(in crate::table) fn thaw_for_change(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        class: AllocationClass,
    ) -> Result<()> {
        self.check_frozen_change(snapshot, row)?;
        match self.thaw(alloc, row, class)? {
            true => Ok(()),
            false => Err(self.row_not_found(row)),
        }
    }

    /// Fails if a row is as it was frozen and this transaction does not see the segment, or
    /// somebody has deleted it.
    ///
    /// # Errors
    /// `Conflict`, `RowNotFound`.
    #[cold]
    fn check_frozen_change(&self, snapshot: Snapshot, row: u32) -> Result<()> {
        let Some(frozen) = self.frozen_row(row) else { return Ok(()) };
        let begin = snapshot.may_follow(resolve(self.memory, &frozen.segment.begin));
        begin.map_err(|holder| self.conflict(row, 0, holder))?;
        match is_frozen(self.directory().word(self.memory, row)) {
            true => self.check_frozen_end(snapshot, frozen, row),
            false => Ok(()),
        }
    }

    /// Fails if somebody has deleted a row that is as it was frozen.
    ///
    /// # Errors
    /// `Conflict`, `RowNotFound`.
    fn check_frozen_end(&self, snapshot: Snapshot, frozen: FrozenRow<'m>, row: u32) -> Result<()> {
        match frozen.end(self.memory).map(|end| snapshot.may_follow(end)) {
            None => Ok(()),
            Some(Ok(())) => Err(self.row_not_found(row)),
            Some(Err(holder)) => Err(self.conflict(row, 0, holder)),
        }
    }

    /// Exchanges the stamp of the ends that a transaction has left in a segment for a timestamp.
    /// The layer is looked for: it may be free by now, and the segment replaced.
    pub(crate) fn stamp_ends(&self, first: u32, stamp: FinalStamp) {
        let Some(frozen) = self.directory().frozen(self.memory, first) else { return };
        frozen.ends.layers.iter().for_each(|layer| layer.finalize(stamp.own, stamp.timestamp));
    }

    /// Takes the ends of some rows back that the transaction with this stamp has made.
    pub(crate) fn undo_ends(&self, first: u32, bits: u64, own: u64) {
        let Some(frozen) = self.directory().frozen(self.memory, first) else { return };
        let mut layers = frozen.ends.layers.iter();
        if let Some(layer) = layers.find(|layer| layer.stamp.load(Relaxed) == own) {
            let word = &layer.bits(self.memory)[first as usize % (1 << 16) / 64];
            word.store(word.load(Relaxed) & !bits, Release);
        }
    }

    /// Takes rows of a segment that have ended for every snapshot from `horizon` on out of their
    /// indexes, 64 at a time and at most `most` times, or until what that leaves in the retire
    /// queue is much. If no row is left, the columns are freed
    /// when nobody refers to them any more.
    pub(crate) fn mark_ends_dead(
        &self,
        alloc: Allocator<'m>,
        first: u32,
        horizon: u64,
        most: u64,
    ) -> MarkedEnds {
        let frozen = self.directory().frozen(self.memory, first);
        let Some(frozen) = frozen.filter(|frozen| !frozen.is_aborted()) else {
            return MarkedEnds::All;
        };
        let mut left = most;
        let added_max = alloc.cache.retired.count() + ADDED_MAX;
        for layer in &frozen.ends.layers {
            let words = layer.bits(self.memory).iter().enumerate();
            for (number, _) in words.filter(|(_, word)| word.load(Relaxed) != 0) {
                if left == 0 || alloc.cache.retired.count() >= added_max {
                    return MarkedEnds::Some;
                }
                left -= 1;
                if !self.mark_word_dead(alloc, frozen, layer, first, number, horizon) {
                    return MarkedEnds::NoRoom;
                }
            }
            let _latched = frozen.ends.latch.lock();
            let is_empty = layer.bits(self.memory).iter().all(|word| word.load(Relaxed) == 0);
            if is_empty && layer.is_finalized(self.memory, horizon) {
                layer.free();
            }
        }
        self.let_columns_go(alloc, frozen, first)
    }

    fn mark_word_dead(
        &self,
        alloc: Allocator<'m>,
        frozen: &FrozenSegment,
        layer: &Layer,
        first: u32,
        number: usize,
        horizon: u64,
    ) -> bool {
        let (queue, keyed) = (&alloc.cache.retired, ordered_indexes(*self));
        let _latched = frozen.ends.latch.lock();
        if !layer.is_finalized(self.memory, horizon) {
            return true;
        }
        let word = &layer.bits(self.memory)[number];
        let mut left = word.load(Relaxed);
        while left != 0 {
            if queue.reserve_many(alloc, keyed, AllocationClass::Emergency).is_err() {
                return false;
            }
            let bit = left & left.wrapping_neg();
            queue.allow_keyed(keyed);
            self.drop_frozen_entries(alloc, first + number as u32 * 64 + bit.trailing_zeros());
            queue.end_keyed();
            frozen.ends.add_gone(self.memory, number, bit);
            left &= !bit;
            word.store(left, Release);
        }
        true
    }

    /// Removes the entries of a row that is as it was frozen.
    fn drop_frozen_entries(&self, alloc: Allocator<'m>, row: u32) {
        let mut key = remanent_schema::KeyBuffer::new();
        for index in self.core.indexes() {
            let encode = |bytes: &[u8]| index.plan.encode_row(bytes, &mut key).is_ok();
            if self.with_frozen_key(row, &index.plan, encode) == Some(true) {
                self.remove_entry(alloc, index, key.as_slice(), row);
            }
        }
    }

    /// Frees the columns of a segment whose rows are all gone, none of which was ever a version:
    /// every snapshot sees that they are, so nobody has been given any of them.
    fn let_columns_go(
        &self,
        alloc: Allocator<'m>,
        frozen: &FrozenSegment,
        first: u32,
    ) -> MarkedEnds {
        let live = u64::from(frozen.block(self.memory).live());
        if frozen.ends.gone_count.load(Acquire) < live || frozen.is_changed() {
            return MarkedEnds::All;
        }
        // Apart there is room for blocks alone.
        let queue = &alloc.cache.retired;
        if queue.is_pressed() || queue.make_room(alloc, 1, AllocationClass::Emergency).is_err() {
            return MarkedEnds::NoRoom;
        }
        let latched = frozen.ends.latch.lock();
        let is_first = !frozen.is_aborted() && !frozen.is_replaced();
        if is_first {
            frozen.abort();
        }
        drop(latched);
        if is_first {
            alloc.retire_item(Retired::Segment { table: self.core.id, row: first });
        }
        MarkedEnds::All
    }
}
