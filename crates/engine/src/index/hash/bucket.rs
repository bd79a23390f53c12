//! Buckets of the hash index: entries, read and changed one by one, and the version latch.
//!
//! Which bucket is locked when, and what makes a change whole, is `hash.rs`'s to say.

use super::super::node::Restart;
use crate::memory::atomic::{
    Acquire, AtomicU32, AtomicU64, Relaxed, Release, acquire_fence, pause,
};

pub(super) const BUCKET_ENTRIES: usize = 9;
const LOCKED: u32 = 1;

/// Two cache lines of entries. The first one of a chain has the latch of all.
#[repr(C)]
pub(super) struct Bucket {
    version: AtomicU32,
    pub(super) count: AtomicU32,
    pub(super) overflow: AtomicU64,
    hashes: [AtomicU32; BUCKET_ENTRIES],
    rows: [AtomicU32; BUCKET_ENTRIES],
    hints: [AtomicU32; BUCKET_ENTRIES],
}

pub(super) const BUCKET_SIZE: usize = 128;
const _: () = assert!(size_of::<Bucket>() <= BUCKET_SIZE);

/// An entry: of a row, or of all rows with a hash, if its row id is none.
#[derive(Clone, Copy)]
pub(in crate::index) struct Entry {
    pub(in crate::index) hash: u32,
    pub(in crate::index) row: u32,
    pub(in crate::index) hint: u32,
}

impl Bucket {
    pub(super) fn is_full(&self) -> bool {
        self.count() == BUCKET_ENTRIES
    }

    #[inline]
    pub(super) fn count(&self) -> usize {
        (self.count.load(Acquire) as usize).min(BUCKET_ENTRIES)
    }

    #[inline]
    pub(super) fn entry(&self, i: usize) -> Entry {
        Entry {
            hash: self.hashes[i].load(Relaxed),
            row: self.rows[i].load(Relaxed),
            hint: self.hints[i].load(Relaxed),
        }
    }

    /// The places that hold `hash`, found by comparing all of them without a branch.
    #[inline]
    pub(super) fn entries_of(&self, hash: u32) -> impl Iterator<Item = usize> {
        let mut found = 0u32;
        for (i, other) in self.hashes.iter().enumerate() {
            found |= u32::from(other.load(Relaxed) == hash) << i;
        }
        found &= (1 << self.count()) - 1;
        std::iter::from_fn(move || {
            let place = found.trailing_zeros() as usize;
            found &= found.wrapping_sub(1);
            (place < BUCKET_ENTRIES).then_some(place)
        })
    }

    pub(super) fn set(&self, i: usize, entry: Entry) {
        self.hashes[i].store(entry.hash, Relaxed);
        self.rows[i].store(entry.row, Relaxed);
        self.hints[i].store(entry.hint, Relaxed);
    }

    #[inline]
    pub(super) fn read(&self) -> u32 {
        let mut turn = 0;
        loop {
            let version = self.version.load(Acquire);
            if version & LOCKED == 0 {
                return version;
            }
            pause(turn);
            turn += 1;
        }
    }

    #[inline]
    pub(super) fn validate(&self, version: u32) -> Result<(), Restart> {
        acquire_fence();
        if self.version.load(Relaxed) == version { Ok(()) } else { Err(Restart) }
    }

    pub(super) fn lock(&self) {
        loop {
            let version = self.read();
            let locked = version | LOCKED;
            if self.version.compare_exchange(version, locked, Acquire, Relaxed).is_ok() {
                std::sync::atomic::fence(Release);
                return;
            }
        }
    }

    /// Ends a lock under which nothing was changed.
    pub(super) fn unlock_unchanged(&self) {
        self.version.store(self.version.load(Relaxed) & !LOCKED, Release);
    }

    pub(super) fn unlock(&self) {
        self.version.store(self.version.load(Relaxed).wrapping_add(1), Release);
    }
}
