//! Transaction slots: what a transaction shows to others, as words in the region.
//!
//! A slot has one holder at a time, who writes most of it with plain stores; what others write says
//! so. Words about one transaction outlive it and are distinguished from the next one's by the
//! *serial*, the number of the transaction in its slot, so that a begin need not clear them. Slots
//! are made a block at a time, when all others are taken, and stay; the number of one is shown to
//! others only when its block is there. The protocols are explained where they are used:
//! `snapshot.rs` (whose a version is), `transaction/begin/clock.rs` (what may be reclaimed),
//! `transaction/begin/precedence.rs` (who yields), `table/cleanup/pins.rs` and
//! `transaction/cleanup/snapshots.rs` (old snapshots).

use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release, SeqCst};
use crate::memory::class::BLOCK_SIZE_MAX;
use crate::memory::region::{ALIGNMENT_MAX, SLOT_BLOCKS};
use crate::memory::{Cache, Memory, Ref, barrier};

/// Set in a stamp, never in a timestamp.
pub(crate) const IN_FLIGHT: u64 = 1 << 63;
const STAMP_SLOT_SHIFT: u32 = 48;
/// Most transaction slots a database can have.
pub(crate) const SLOTS_MAX: usize = 1 << 14;
/// Slots that are made at once; few for models.
pub(crate) const SLOTS_PER_BLOCK: usize = if cfg!(shuttle) { 4 } else { SLOTS_MAX / SLOT_BLOCKS };
/// Words of a name.
pub(crate) const NAME_WORDS: usize = 4;

/// The state words of a slot.
pub(crate) const SLOT_FREE: u64 = 0;
pub(crate) const SLOT_TAKEN: u64 = 1;
pub(crate) const SLOT_WRITES: u64 = 2;
/// The state of a slot whose transaction has committed and ended, while versions of it still carry
/// its stamp (`transaction/commit/finalize.rs`). It holds no snapshot.
pub(crate) const SLOT_UNSTAMPED: u64 = u64::MAX << SLOT_SNAPSHOT_SHIFT;
const SLOT_SNAPSHOT_SHIFT: u32 = 2;

/// Among the operations of a slot: its holder is in the midst of something that writes.
pub(crate) const WRITING: u64 = 1 << 32;

/// Bytes of pinned versions that are counted, in the low bits of `pinned`.
const PINNED_MASK: u64 = (1 << 48) - 1;

/// A transaction slot in the region.
#[repr(C, align(64))]
pub(crate) struct Slot {
    /// Free, or the published snapshot with flags. Holds back reclamation while it is not free.
    pub(crate) state: AtomicU64,
    /// The stamp of the slot's newest writing transaction.
    pub(crate) stamp: AtomicU64,
    /// Its timestamp from just before it is published until all its versions are stamped; else 0.
    pub(crate) committed: AtomicU64,
    /// The slot's cache; 0 until it first writes.
    pub(crate) cache: AtomicU64,
    /// The first chunk of the write set, kept from one transaction to the next.
    pub(crate) write_set: AtomicU64,
    /// The block of the read set, kept as well.
    pub(crate) read_set: AtomicU64,
    /// Counts the transactions that held the slot and have ended.
    ended: AtomicU64,
    /// How many reading calls are under way, one within the other, and `WRITING`.
    pub(crate) operations: AtomicU64,

    /// How often a reclaimer has relied on no call being under way; written by reclaimers.
    pub(crate) epoch: AtomicU64,
    /// Bytes of old versions kept for this snapshot, tagged with the serial; by reclaimers.
    pinned: AtomicU64,
    /// The serial whose snapshot has expired; by reclaimers and the holder.
    pub(crate) expired: AtomicU64,
    /// The serial whose expired snapshot is no longer honoured; by reclaimers.
    pub(crate) released: AtomicU64,
    /// The stamp of the transaction that the holder waits for; 0 for none.
    pub(crate) waits_for: AtomicU64,
    /// The stamp of the transaction that was wounded: it is to yield. Written by those it yields
    /// to.
    pub(crate) wounded: AtomicU64,
    /// Who goes first: the smaller.
    pub(crate) precedence: AtomicU64,
    /// Twice the serial that the words below are about; one more if somebody else wrote them, who
    /// knows only since when.
    pub(crate) described: AtomicU64,

    /// When the transaction began, in nanoseconds since the database was opened.
    pub(crate) since_ns: AtomicU64,
    /// The limits of its snapshot; `u64::MAX` is none.
    pub(crate) age_max_ns: AtomicU64,
    pub(crate) pinned_max: AtomicU64,
    pub(crate) name: [AtomicU64; NAME_WORDS],
    /// The serial whose transaction retains all states since its snapshot; by the holder.
    retains: AtomicU64,
}

const _: () = assert!(size_of::<Slot>() == 192);
const _: () = assert!(SLOTS_MAX <= 1 << (63 - STAMP_SLOT_SHIFT));
const _: () = assert!(align_of::<Slot>() <= ALIGNMENT_MAX);
// Two blocks to a page, so that slots lie on lines of their own: those of 5,456 bytes would not.
const _: () = assert!(cfg!(shuttle) || SLOTS_PER_BLOCK * size_of::<Slot>() > 5456);
const _: () = assert!(SLOTS_PER_BLOCK * size_of::<Slot>() <= BLOCK_SIZE_MAX);

impl Slot {
    /// The number of the transaction that holds the slot: never 0, and never used again.
    #[inline]
    pub(crate) fn serial(&self) -> u64 {
        self.ended.load(Relaxed) + 1
    }

    /// Says that the holder is in the midst of something that writes: nothing that it comes by may
    /// be freed.
    #[inline]
    pub(crate) fn enter_writing(&self, memory: &Memory) {
        self.operations.store(self.operations.load(Relaxed) | WRITING, Relaxed);
        barrier::light(memory);
    }

    /// Says that it is not any more: as a reader between two calls, it refers to nothing but
    /// versions that it sees.
    #[inline]
    pub(crate) fn leave_writing(&self) {
        self.operations.store(self.operations.load(Relaxed) & !WRITING, Release);
    }

    /// Leaves the slot to whoever stamps the rest of its versions.
    pub(crate) fn leave_unstamped(&self) {
        self.operations.store(0, Relaxed);
        self.state.store(SLOT_UNSTAMPED, Release);
    }

    /// Gives the slot back. The serial first, so that nothing said of this transaction is ever
    /// taken as said of the next.
    #[inline]
    pub(crate) fn give_back(&self) {
        self.ended.store(self.ended.load(Relaxed) + 1, Relaxed);
        self.operations.store(0, Relaxed);
        self.state.store(SLOT_FREE, Release);
    }

    /// Says that the holder retains what any snapshot since its own sees.
    pub(crate) fn retain(&self) {
        self.retains.store(self.serial(), SeqCst);
    }

    /// Whether the holder does.
    pub(crate) fn retains(&self) -> bool {
        self.retains.load(SeqCst) == self.serial()
    }

    /// Adds to the bytes pinned by the transaction with this serial.
    pub(crate) fn add_pinned(&self, serial: u64, bytes: u64) {
        loop {
            let word = self.pinned.load(Relaxed);
            let before = if word >> 48 == serial & 0xffff { word & PINNED_MASK } else { 0 };
            let new = (serial & 0xffff) << 48 | (before + bytes).min(PINNED_MASK);
            if self.pinned.compare_exchange(word, new, Relaxed, Relaxed).is_ok() {
                return;
            }
        }
    }

    /// Bytes pinned by the transaction with this serial.
    pub(crate) fn pinned(&self, serial: u64) -> u64 {
        let word = self.pinned.load(Relaxed);
        if word >> 48 == serial & 0xffff { word & PINNED_MASK } else { 0 }
    }
}

/// The slot with this number.
#[inline]
pub(crate) fn slot(memory: &Memory, number: usize) -> &Slot {
    slot_in(memory, block_of(memory, number), number)
}

/// The slot with this number, if there is one.
#[inline]
pub(crate) fn made(memory: &Memory, number: usize) -> Option<&Slot> {
    let block = block_of(memory, number);
    (block != 0).then(|| slot_in(memory, block, number))
}

/// Where the block of a slot lies, 0 if it was not made.
#[inline]
fn block_of(memory: &Memory, number: usize) -> u64 {
    memory.header().slots[number / SLOTS_PER_BLOCK % SLOT_BLOCKS].load(Acquire)
}

#[inline]
fn slot_in(memory: &Memory, block: u64, number: usize) -> &Slot {
    memory.get(Ref::new(block + (number % SLOTS_PER_BLOCK * size_of::<Slot>()) as u64))
}

/// Makes the slot with this number, with the others of its block, unless somebody has. From the
/// reserve, for it may be to delete.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
#[cold]
pub(crate) fn make(memory: &Memory, number: usize) -> Result<()> {
    let _latched = memory.header().slots_latch.lock();
    if block_of(memory, number) == 0 {
        let size = SLOTS_PER_BLOCK * size_of::<Slot>();
        let block = memory.create_block(size)?;
        memory.header().slots[number / SLOTS_PER_BLOCK].store(block, Release);
    }
    Ok(())
}

/// The cache of a slot, if it ever wrote.
#[inline]
pub(crate) fn cache<'m>(memory: &'m Memory, slot: &Slot) -> Option<&'m Cache> {
    let at = slot.cache.load(Acquire);
    (at != 0).then(|| memory.get(Ref::new(at)))
}

/// The cache of a slot that the caller holds, made if there is none.
///
/// # Errors
/// `BudgetReached`, `OutOfMachineMemory`.
pub(crate) fn make_cache<'m>(memory: &'m Memory, slot: &Slot) -> Result<&'m Cache> {
    let mut at = slot.cache.load(Relaxed);
    if at == 0 {
        at = memory.create_cache()?.offset();
        slot.cache.store(at, Release);
    }
    Ok(memory.get(Ref::new(at)))
}

/// The stamp that follows `stamp` in the slot with this number.
pub(crate) fn next_stamp(stamp: u64, number: usize) -> u64 {
    let sequence = (stamp + 1) & ((1 << STAMP_SLOT_SHIFT) - 1);
    IN_FLIGHT | (number as u64) << STAMP_SLOT_SHIFT | sequence
}

/// The number of the slot whose stamp this is.
pub(crate) fn slot_of_stamp(stamp: u64) -> usize {
    ((stamp & !IN_FLIGHT) >> STAMP_SLOT_SHIFT) as usize
}

/// The state of a slot that holds a snapshot.
#[inline]
pub(crate) fn taken_state(timestamp: u64, writes: bool) -> u64 {
    timestamp << SLOT_SNAPSHOT_SHIFT | SLOT_TAKEN | if writes { SLOT_WRITES } else { 0 }
}

/// Whether a slot in this state holds a snapshot.
#[inline]
pub(crate) fn is_held(state: u64) -> bool {
    state & SLOT_TAKEN != 0
}

/// The snapshot in a slot's state.
#[inline]
pub(crate) fn snapshot_of_state(state: u64) -> u64 {
    state >> SLOT_SNAPSHOT_SHIFT
}
