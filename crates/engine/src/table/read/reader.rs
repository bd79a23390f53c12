//! Who reads: a snapshot, the slot that shows when a call is under way, and what is remembered.
//!
//! Between two reading calls a transaction holds references to row versions that its snapshot sees,
//! and to nothing else in the region. So a reclaimer that finds no call under way, after
//! `memory/barrier.rs`'s heavy half, may free what was taken out before, however old the snapshot
//! is. It advances the slot's `epoch` first: a cursor that finds that changed forgets the node
//! that it stood at and goes there again from the root.

use super::read_set::{ReadSet, Remember};
use crate::memory::atomic::{Acquire, Relaxed, Release};
use crate::memory::{Memory, barrier};
use crate::slot::Slot;
use crate::snapshot::Snapshot;
use crate::table::columns::copies::RowCopies;
use crate::table::rows::segment::{is_frozen, newest_of};
use crate::table::rows::version::visible;
use crate::table::table::TableAt;

/// A transaction as the calls that read know it.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'t> {
    pub(crate) snapshot: Snapshot,
    pub(crate) slot: &'t Slot,
    /// Its read set, if it is needed.
    pub(crate) reads: Option<&'t ReadSet<'t>>,
    /// The frozen rows that it was given.
    pub(crate) copies: &'t RowCopies<'t>,
}

/// A reading call that is under way, until it is dropped.
pub(crate) struct Operation<'t>(&'t Slot);

impl<'t> Reader<'t> {
    /// Says that a call is under way.
    #[inline]
    pub(crate) fn enter(&self, memory: &Memory) -> Operation<'t> {
        let depth = self.slot.operations.load(Relaxed);
        self.slot.operations.store(depth + 1, Relaxed);
        barrier::light(memory);
        Operation(self.slot)
    }

    /// The version that is seen of a row whose slot holds `word`: of one that is as it was frozen,
    /// a copy.
    #[inline(always)]
    pub(crate) fn see(&self, table: &TableAt<'_>, row: u32, word: u64) -> Option<u64> {
        let found = visible(table.memory, newest_of(word), self.snapshot);
        if found.is_none() && is_frozen(word) {
            return self.copies.row(table, self.snapshot, row);
        }
        found
    }

    /// The reader's epoch, which reclaimers advance when they look whether it is quiescent. To be
    /// asked while a call is under way.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.slot.epoch.load(Acquire)
    }

    /// Whether the snapshot has expired: nothing new may be handed out.
    #[inline]
    pub(crate) fn is_expired(&self) -> bool {
        let can_expire = |reads: &ReadSet<'_>| reads.purpose() == Remember::HandedOut;
        self.reads.is_some_and(can_expire) && self.slot.expired.load(Acquire) == self.slot.serial()
    }
}

impl Drop for Operation<'_> {
    #[inline]
    fn drop(&mut self) {
        let depth = self.0.operations.load(Relaxed);
        self.0.operations.store(depth - 1, Release);
    }
}
