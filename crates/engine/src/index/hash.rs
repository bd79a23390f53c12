//! The hash index: linear hashing over buckets of two cache lines.
//!
//! The table grows by one bucket at a time (Litwin: Linear Hashing, VLDB 1980), so no insert ever
//! pays for rehashing the whole. An entry is 32 bits of hash, the row id, and a hint to prefetch
//! the row by; the key is verified in the row. The hash has a seed that each database draws. Where
//! more than a few rows have one hash, one entry stands for all and leads to a tree of them
//! (`postings.rs`), so that no chain is long because keys are equal. The first bucket of a chain
//! carries the version latch of the whole chain, with the protocol of `index/node.rs`: *writers*
//! lock it, *readers* check that it did not change. A split copies entries to the new bucket,
//! publishes the new state, then removes them from the old one, all under the old bucket's latch; a
//! reader who used the old state sees that it changed and looks again.

mod bucket;

use std::ops::ControlFlow;

pub(super) use bucket::Entry;
use bucket::{BUCKET_ENTRIES, BUCKET_SIZE, Bucket};
use remanent_schema::hash_key;

use super::ROWS_MAX;
use super::node::Restart;
use super::ordered::{Placement, RETIRED_PER_CHANGE};
use super::postings::{Left, Postings};
use crate::error::Result;
use crate::memory::atomic::{Acquire, AtomicU32, AtomicU64, Relaxed, Release};
use crate::memory::class::occupied;
use crate::memory::latch::Latch;
use crate::memory::region::Region;
use crate::memory::{AllocationClass, Allocator, Purpose, Ref};

const FIRST_BUCKETS_SHIFT: u32 = 3;
const SEGMENTS: usize = 29;
/// Buckets are split only while one chain in so many is full. That is always so while an index of
/// different keys grows, but keys that come and go, many of them equal, would split without end.
const CHAINS_PER_FULL_MAX: u64 = 16;
/// Attempts to read a long chain that is changed meanwhile.
const ATTEMPTS_MAX: usize = 8;
/// Entries with one hash that a chain has at most; more rows are in a tree. Few for models.
const EQUAL_MAX: usize = if cfg!(shuttle) { 12 } else { 128 };
/// Rows that one look into a chain brings out.
pub(crate) const MATCHES: usize = 4;

/// A hash index, by its root.
#[derive(Clone, Copy)]
pub(crate) struct HashIndex<'m> {
    region: &'m Region,
    root: &'m HashRoot,
}

/// The root of a hash index in the region.
#[repr(C)]
pub(crate) struct HashRoot {
    /// level << 32 | next bucket to split.
    state: AtomicU64,
    split: Latch,
    /// Chains whose first bucket is full.
    full: AtomicU32,
    /// Of the hash function, as the header has it: here it is on a line that look-ups read anyway.
    seed: AtomicU64,
    /// Segment 0 and 1 hold 8 buckets, each further one as many as all before it.
    segments: [AtomicU64; SEGMENTS],
}

/// Candidates for a key: rows whose keys have the same hash.
pub(crate) struct Matches {
    rows: [(u32, u32); MATCHES],
    len: usize,
    /// Whether the chain holds more.
    pub(crate) more: bool,
}

/// The entries of a hash in a locked chain.
struct Sought<'m> {
    /// The entry of the row that was looked for, or of the tree that has all rows of the hash.
    found: Option<(&'m Bucket, usize)>,
    /// The number of entries.
    equal: usize,
    /// The chain's last bucket.
    last: &'m Bucket,
}

const HINT_UNIT_SHIFT: u32 = 6;

impl<'m> HashIndex<'m> {
    /// The index with this root.
    #[inline]
    pub(crate) fn at(region: &'m Region, root: u64) -> Self {
        Self { region, root: region.get(Ref::new(root)) }
    }

    /// The root of a new, empty index.
    pub(crate) fn create_root(alloc: Allocator<'_>) -> Result<u64> {
        let root = alloc.create::<HashRoot>(Purpose::Indexes)?;
        let size = BUCKET_SIZE << FIRST_BUCKETS_SHIFT;
        match alloc.allocate(size, Purpose::Indexes, AllocationClass::Normal) {
            Ok(segment) => {
                alloc.region().fresh_bytes(segment, size).fill(0);
                alloc.memory.get(root).segments[0].store(segment, Relaxed);
                let seed = alloc.memory.header().hash_seed.load(Relaxed);
                alloc.memory.get(root).seed.store(seed, Relaxed);
                Ok(root.offset())
            }
            Err(error) => {
                alloc.free(root.offset(), size_of::<HashRoot>(), Purpose::Indexes);
                Err(error)
            }
        }
    }

    /// The part of a key's hash that this index keeps.
    #[inline]
    pub(crate) fn hash_of(&self, key: &[u8]) -> u32 {
        hash_key(self.root.seed.load(Relaxed), key) as u32
    }

    /// The first rows whose keys have this hash.
    #[inline]
    pub(crate) fn matches(&self, hash: u32) -> Matches {
        loop {
            if let Ok(matches) = self.try_matches(hash) {
                return matches;
            }
        }
    }

    /// All entries with this hash, few as they are, or the one of all rows. Only for long chains:
    /// it takes memory from the heap, and the chain's latch if the chain is changed again and again
    /// while it is read.
    #[cold]
    fn all_matches(&self, hash: u32) -> Vec<Entry> {
        let mut entries = Vec::new();
        for _ in 0..ATTEMPTS_MAX {
            if self.try_all_matches(hash, &mut entries).is_ok() {
                return entries;
            }
        }
        let first = self.lock(hash);
        self.collect(first, hash, &mut entries);
        first.unlock_unchanged();
        entries
    }

    fn try_all_matches(&self, hash: u32, entries: &mut Vec<Entry>) -> Result<(), Restart> {
        let state = self.root.state.load(Acquire);
        let first = self.bucket(self.bucket_at(state, hash));
        let version = first.read();
        self.collect(first, hash, entries);
        self.validate(first, version, state, hash)
    }

    fn collect(&self, first: &'m Bucket, hash: u32, entries: &mut Vec<Entry>) {
        entries.clear();
        for bucket in std::iter::successors(Some(first), |bucket| self.next(bucket)) {
            let all = (0..bucket.count()).map(|i| bucket.entry(i));
            entries.extend(all.filter(|entry| entry.hash == hash));
        }
    }

    /// Whether the chain, read since its latch had this version, is still that of the hash.
    fn validate(&self, first: &Bucket, version: u32, state: u64, hash: u32) -> Result<(), Restart> {
        first.validate(version)?;
        let now = self.root.state.load(Acquire);
        if now != state && self.bucket_at(now, hash) != self.bucket_at(state, hash) {
            return Err(Restart);
        }
        Ok(())
    }

    /// Asks the processor for the bucket of a hash.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u32) {
        let at = self.bucket_at(self.root.state.load(Acquire), hash);
        self.region.prefetch(at);
        self.region.prefetch(at + 64);
    }

    /// Adds an entry; the newest version of `row` lies at `version`.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    pub(crate) fn insert(
        &self,
        alloc: Allocator<'_>,
        hash: u32,
        row: u32,
        version: u64,
    ) -> Result<Placement> {
        alloc.cache.retired.make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Normal)?;
        alloc.stock(BUCKET_SIZE, AllocationClass::Normal)?;
        let entry = Entry { hash, row, hint: (version >> HINT_UNIT_SHIFT) as u32 };
        let first = self.lock(hash);
        let Sought { found, equal, last: spare } = self.seek(first, hash, row);
        if let Some((bucket, i)) = found {
            let placement = match self.postings(bucket.entry(i)) {
                Some(postings) => postings.insert(alloc, row, version),
                None => Ok(Placement::Present),
            };
            first.unlock_unchanged();
            return placement;
        }
        if equal >= EQUAL_MAX && self.move_to_tree(alloc, first, entry).is_ok() {
            first.unlock();
            return Ok(Placement::Shared);
        }
        // Splitting whenever a bucket fills keeps about 5.5 entries in a bucket: few overflow.
        let count = spare.count() + 1;
        let added = self.append(alloc, spare, entry);
        if count == BUCKET_ENTRIES && std::ptr::eq(spare, first) {
            self.root.full.fetch_add(1, Relaxed);
        }
        first.unlock();
        added?;
        if count >= BUCKET_ENTRIES && self.is_crowded() {
            self.split_one(alloc);
        }
        Ok(if equal == 0 { Placement::Alone } else { Placement::Shared })
    }

    /// Looks for the entry of a row, or of all rows with the hash, in a locked chain.
    fn seek(&self, first: &'m Bucket, hash: u32, row: u32) -> Sought<'m> {
        let mut sought = Sought { found: None, equal: 0, last: first };
        loop {
            let bucket = sought.last;
            for i in 0..bucket.count() {
                let other = bucket.entry(i);
                if other.hash == hash {
                    sought.equal += 1;
                    if other.row == row || other.row >= ROWS_MAX {
                        sought.found = Some((bucket, i));
                        return sought;
                    }
                }
            }
            match self.next(bucket) {
                Some(next) => sought.last = next,
                None => return sought,
            }
        }
    }

    /// Moves the rows of a locked chain that have the hash of `entry` to a tree, and adds `entry`.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`; then nothing changed.
    #[cold]
    fn move_to_tree(&self, alloc: Allocator<'m>, first: &'m Bucket, entry: Entry) -> Result<()> {
        let chain = || std::iter::successors(Some(first), |bucket| self.next(bucket));
        let entries = |bucket: &'m Bucket| (0..bucket.count()).map(move |i| (bucket, i));
        let equal = || {
            let all = chain().flat_map(entries);
            all.filter(|(bucket, i)| bucket.entry(*i).hash == entry.hash)
        };
        let postings = Postings::create(alloc)?;
        let moved = equal().map(|(bucket, i)| bucket.entry(i)).chain([entry]);
        let made = moved
            .map(|entry| (entry.row, u64::from(entry.hint) << HINT_UNIT_SHIFT))
            .try_for_each(|(row, hint)| postings.insert(alloc, row, hint).map(|_| ()))
            .and_then(|()| {
                let emptied = chain().count() as u64;
                alloc.cache.retired.make_room(alloc, emptied, AllocationClass::Normal)
            });
        if let Err(error) = made {
            postings.destroy(alloc);
            return Err(error);
        }
        // The first of them becomes the entry of the tree; the others go.
        let Some((bucket, i)) = equal().next() else { return Ok(()) };
        bucket.set(i, postings.entry(entry.hash));
        let full = u32::from(first.is_full());
        let moves = |other: Entry| other.hash == entry.hash && other.row < ROWS_MAX;
        self.remove_moved(alloc, first, moves);
        let now = u32::from(first.is_full());
        self.root.full.fetch_add(now.wrapping_sub(full), Relaxed);
        Ok(())
    }

    /// The tree that an entry leads to, if it is of many rows.
    #[inline]
    pub(super) fn postings(&self, entry: Entry) -> Option<Postings<'m>> {
        (entry.row >= ROWS_MAX).then(|| Postings::of_entry(self.region, entry))
    }

    /// Removes the entry of `row`, if it is there.
    pub(crate) fn remove(&self, alloc: Allocator<'_>, hash: u32, row: u32) -> bool {
        let room = alloc
            .cache
            .retired
            .make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Emergency)
            .is_ok();
        let first = self.lock(hash);
        let Some((bucket, entry_index)) = self.seek(first, hash, row).found else {
            first.unlock_unchanged();
            return false;
        };
        if let Some(postings) = self.postings(bucket.entry(entry_index)) {
            let removed = postings.remove(alloc, row);
            match self.shorten(alloc, first, bucket, entry_index, postings) {
                true => first.unlock(),
                false => first.unlock_unchanged(),
            }
            return removed;
        }
        self.fill_gap(alloc, room, first, bucket, entry_index);
        first.unlock();
        true
    }

    /// Gives the tree up to which an entry of a locked chain leads if at most one row
    /// is left in it, and there is room to retire it; whether it was so. Who is on its way through
    /// the tree finds that row.
    fn shorten(
        &self,
        alloc: Allocator<'m>,
        first: &'m Bucket,
        bucket: &'m Bucket,
        entry_index: usize,
        postings: Postings<'m>,
    ) -> bool {
        let left = postings.left();
        let queue = &alloc.cache.retired;
        if left == Left::More
            || queue.make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Emergency).is_err()
        {
            return false;
        }
        match left {
            Left::One { row, hint } => {
                let Entry { hash, .. } = bucket.entry(entry_index);
                bucket
                    .set(entry_index, Entry { hash, row, hint: (hint >> HINT_UNIT_SHIFT) as u32 });
            }
            _ => self.fill_gap(alloc, true, first, bucket, entry_index),
        }
        postings.retire(alloc);
        true
    }

    /// Frees everything; nobody may use the index any more.
    pub(crate) fn destroy(&self, alloc: Allocator<'_>, root: u64) {
        let (level, next) = level_of(self.root.state.load(Relaxed));
        let buckets = (1u64 << (FIRST_BUCKETS_SHIFT + level)) + u64::from(next);
        for number in 0..buckets {
            let first = self.bucket(self.address(number as u32));
            self.trees(first).for_each(|(_, postings)| postings.destroy(alloc));
            let mut overflow = first.overflow.load(Relaxed);
            while overflow != 0 {
                let next = self.bucket(overflow).overflow.load(Relaxed);
                alloc.free(overflow, BUCKET_SIZE, Purpose::Indexes);
                overflow = next;
            }
        }
        for (i, segment) in self.root.segments.iter().enumerate() {
            let segment = segment.load(Relaxed);
            if segment != 0 {
                alloc.free(segment, segment_size(i), Purpose::Indexes);
            }
        }
        alloc.free(root, size_of::<HashRoot>(), Purpose::Indexes);
    }

    /// Bytes of the index but for its overflowing buckets.
    pub(crate) fn fixed_bytes(&self) -> u64 {
        let made = |i: &usize| self.root.segments[*i].load(Acquire) != 0;
        let segments = (0..SEGMENTS).filter(made).map(|i| occupied(segment_size(i)) as u64);
        occupied(size_of::<HashRoot>()) as u64 + segments.sum::<u64>()
    }

    /// The number of chains.
    pub(crate) fn chains(&self) -> u64 {
        let (level, next) = level_of(self.root.state.load(Acquire));
        (1u64 << (FIRST_BUCKETS_SHIFT + level)) + u64::from(next)
    }

    /// Bytes of the overflowing buckets of a chain.
    pub(crate) fn overflow_bytes(&self, chain: u64) -> u64 {
        let first = self.bucket(self.address(chain as u32));
        let overflow = std::iter::successors(self.next(first), |bucket| self.next(bucket));
        (overflow.count() * occupied(BUCKET_SIZE)) as u64
    }

    /// Of the trees that a chain leads to, the one of the least hash from `from` on.
    pub(super) fn next_tree(&self, chain: u64, from: u32) -> Option<(u32, Postings<'m>)> {
        let first = self.bucket(self.address(chain as u32));
        loop {
            let version = first.read();
            let trees = self.trees(first).filter(|(hash, _)| *hash >= from);
            let least = trees.min_by_key(|(hash, _)| *hash);
            if first.validate(version).is_ok() {
                return least;
            }
        }
    }

    fn trees(&self, first: &'m Bucket) -> impl Iterator<Item = (u32, Postings<'m>)> {
        let index = *self;
        let chain = std::iter::successors(Some(first), move |bucket| index.next(bucket));
        let entries = chain.flat_map(|bucket| (0..bucket.count()).map(|i| bucket.entry(i)));
        entries.filter_map(move |entry| Some((entry.hash, index.postings(entry)?)))
    }

    #[inline]
    fn try_matches(&self, hash: u32) -> Result<Matches, Restart> {
        let state = self.root.state.load(Acquire);
        let at = self.bucket_at(state, hash);
        // Both lines at once: which words of the second are needed is known only after the first.
        self.region.prefetch(at + 64);
        let first = self.bucket(at);
        let version = first.read();
        let mut matches = Matches { rows: [(0, 0); MATCHES], len: 0, more: false };
        let mut bucket = first;
        'chain: loop {
            for i in bucket.entries_of(hash) {
                if matches.len == MATCHES {
                    matches.more = true;
                    break 'chain;
                } else {
                    let entry = bucket.entry(i);
                    matches.rows[matches.len] = (entry.row, entry.hint);
                    matches.len += 1;
                }
            }
            match self.next(bucket) {
                // Often the first bucket has what is wanted: the rest of the chain can wait.
                Some(_) if matches.len > 0 => {
                    matches.more = true;
                    break;
                }
                Some(next) => bucket = next,
                None => break,
            }
        }
        self.validate(first, version, state, hash)?;
        Ok(matches)
    }

    /// Locks the chain that holds `hash`.
    fn lock(&self, hash: u32) -> &'m Bucket {
        loop {
            let at = self.bucket_at(self.root.state.load(Acquire), hash);
            let bucket = self.bucket(at);
            bucket.lock();
            if self.bucket_at(self.root.state.load(Acquire), hash) == at {
                return bucket;
            }
            bucket.unlock();
        }
    }

    /// Adds an entry at the end of a locked chain whose last bucket is `last`.
    fn append(&self, alloc: Allocator<'_>, last: &Bucket, entry: Entry) -> Result<()> {
        let count = last.count();
        if count < BUCKET_ENTRIES {
            last.set(count, entry);
            last.count.store(count as u32 + 1, Release);
            return Ok(());
        }
        let at = alloc.allocate(BUCKET_SIZE, Purpose::Indexes, AllocationClass::Normal)?;
        alloc.region().fresh_bytes(at, BUCKET_SIZE).fill(0);
        let overflow = self.bucket(at);
        overflow.set(0, entry);
        overflow.count.store(1, Relaxed);
        last.overflow.store(at, Release);
        Ok(())
    }

    /// Moves the last entry of a locked chain into the gap, and drops an emptied last bucket.
    fn fill_gap(
        &self,
        alloc: Allocator<'_>,
        room: bool,
        first: &Bucket,
        gap: &Bucket,
        entry_index: usize,
    ) {
        let (mut before, mut last) = (first, first);
        let mut bucket = first;
        // Emptied buckets stay in the chain if there was no room to retire them.
        while let Some(next) = self.next(bucket) {
            if next.count() > 0 {
                (before, last) = (bucket, next);
            }
            bucket = next;
        }
        let count = last.count() - 1;
        gap.set(entry_index, last.entry(count));
        last.count.store(count as u32, Release);
        if count + 1 == BUCKET_ENTRIES && std::ptr::eq(last, first) {
            self.root.full.fetch_sub(1, Relaxed);
        }
        if count == 0 && !std::ptr::eq(last, first) && room {
            let at = before.overflow.load(Relaxed);
            before.overflow.store(last.overflow.load(Relaxed), Release);
            alloc.retire(at, Purpose::Indexes);
        }
    }

    /// Splits the next bucket in turn; leaves it for later if somebody else does or memory is out.
    fn split_one(&self, alloc: Allocator<'_>) {
        let Some(_latched) = self.root.split.try_lock() else { return };
        let state = self.root.state.load(Relaxed);
        let (level, next) = level_of(state);
        let buckets = 1u32 << (FIRST_BUCKETS_SHIFT + level);
        let target = buckets + next;
        if self.make_segment(alloc, target).is_err() {
            return;
        }
        let old = self.bucket(self.address(next));
        let new = self.bucket(self.address(target));
        // Memory for most chains is there before readers of this one have to wait.
        let stocked = alloc.stock(BUCKET_SIZE, AllocationClass::Normal);
        let ahead =
            alloc.cache.retired.make_room(alloc, RETIRED_PER_CHANGE, AllocationClass::Normal);
        if stocked.and(ahead).is_err() {
            return;
        }
        old.lock();
        let chain = std::iter::successors(Some(old), |bucket| self.next(bucket)).count() as u64;
        let room = alloc.cache.retired.make_room(alloc, chain, AllocationClass::Normal);
        let moves = |entry: Entry| entry.hash & (buckets * 2 - 1) == target;
        let full = old.is_full();
        if room.is_ok() && self.copy_moving(alloc, old, new, moves).is_ok() {
            let state = if next + 1 == buckets {
                u64::from(level + 1) << 32
            } else {
                u64::from(level) << 32 | u64::from(next + 1)
            };
            let now = u32::from(new.is_full());
            self.root.state.store(state, Release);
            self.remove_moved(alloc, old, moves);
            let now = now + u32::from(old.is_full());
            self.root.full.fetch_add(now.wrapping_sub(u32::from(full)), Relaxed);
        }
        old.unlock();
    }

    /// Whether enough chains are full for a split to be worth it.
    fn is_crowded(&self) -> bool {
        let (level, next) = level_of(self.root.state.load(Relaxed));
        let chains = (1u64 << (FIRST_BUCKETS_SHIFT + level)) + u64::from(next);
        chains <= u64::from(self.root.full.load(Relaxed)) * CHAINS_PER_FULL_MAX
    }

    /// Copies the entries that move to the new chain; on failure the new chain is empty again.
    fn copy_moving(
        &self,
        alloc: Allocator<'_>,
        old: &Bucket,
        new: &'m Bucket,
        moves: impl Fn(Entry) -> bool,
    ) -> Result<()> {
        let mut last = new;
        let mut bucket = old;
        loop {
            for i in 0..bucket.count() {
                let entry = bucket.entry(i);
                if !moves(entry) {
                    continue;
                }
                if let Err(error) = self.append(alloc, last, entry) {
                    self.empty_unpublished(alloc, new);
                    return Err(error);
                }
                last = self.next(last).unwrap_or(last);
            }
            match self.next(bucket) {
                Some(next) => bucket = next,
                None => return Ok(()),
            }
        }
    }

    fn empty_unpublished(&self, alloc: Allocator<'_>, new: &Bucket) {
        let mut overflow = new.overflow.load(Relaxed);
        while overflow != 0 {
            let next = self.bucket(overflow).overflow.load(Relaxed);
            alloc.free(overflow, BUCKET_SIZE, Purpose::Indexes);
            overflow = next;
        }
        new.overflow.store(0, Relaxed);
        new.count.store(0, Relaxed);
    }

    /// Closes the gaps that moved entries leave in a locked chain.
    fn remove_moved(&self, alloc: Allocator<'_>, old: &'m Bucket, moves: impl Fn(Entry) -> bool) {
        let (mut to, mut to_entry) = (old, 0);
        let mut from = old;
        loop {
            let next = self.next(from);
            for i in 0..from.count() {
                let entry = from.entry(i);
                if moves(entry) {
                    continue;
                }
                if to_entry == BUCKET_ENTRIES {
                    to.count.store(BUCKET_ENTRIES as u32, Release);
                    let Some(following) = self.next(to) else { break };
                    (to, to_entry) = (following, 0);
                }
                to.set(to_entry, entry);
                to_entry += 1;
            }
            match next {
                Some(next) => from = next,
                None => break,
            }
        }
        to.count.store(to_entry as u32, Release);
        let mut emptied = to.overflow.load(Relaxed);
        to.overflow.store(0, Release);
        while emptied != 0 {
            let next = self.bucket(emptied).overflow.load(Relaxed);
            alloc.retire(emptied, Purpose::Indexes);
            emptied = next;
        }
    }

    fn make_segment(&self, alloc: Allocator<'_>, bucket: u32) -> Result<()> {
        let segment = segment_of(bucket);
        let word = &self.root.segments[segment.min(SEGMENTS - 1)];
        if segment >= SEGMENTS || word.load(Relaxed) != 0 {
            return Ok(());
        }
        let size = segment_size(segment);
        let at = alloc.allocate(size, Purpose::Indexes, AllocationClass::Normal)?;
        alloc.region().fresh_bytes(at, size).fill(0);
        word.store(at, Release);
        Ok(())
    }

    #[inline]
    fn bucket_at(&self, state: u64, hash: u32) -> u64 {
        let (level, next) = level_of(state);
        let mask = (1u32 << (FIRST_BUCKETS_SHIFT + level)) - 1;
        let number = hash & mask;
        let number = if number < next { hash & (mask << 1 | 1) } else { number };
        self.address(number)
    }

    #[inline]
    fn address(&self, number: u32) -> u64 {
        let segment = segment_of(number);
        let first = if segment == 0 { 0 } else { 1 << (FIRST_BUCKETS_SHIFT + segment as u32 - 1) };
        let base = self.root.segments[segment].load(Acquire);
        base + u64::from(number - first) * BUCKET_SIZE as u64
    }

    #[inline]
    fn bucket(&self, at: u64) -> &'m Bucket {
        self.region.get(Ref::new(at))
    }

    #[inline]
    fn next(&self, bucket: &Bucket) -> Option<&'m Bucket> {
        let at = bucket.overflow.load(Acquire);
        (at != 0).then(|| self.bucket(at))
    }
}

impl Matches {
    /// The rows found, each with an offset near which its newest version probably lies.
    #[inline]
    fn rows(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        let rows = self.rows[..self.len].iter();
        rows.map(|&(row, hint)| (row, u64::from(hint) << HINT_UNIT_SHIFT))
    }

    /// The first row found, unless there are many, and an offset near which it probably lies.
    #[inline]
    pub(crate) fn first_row(&self) -> Option<(u32, u64)> {
        self.rows().next().filter(|&(row, _)| row < ROWS_MAX)
    }

    /// The entry of all rows of a hash, if that is what was found.
    #[inline]
    fn of_many(&self, hash: u32) -> Option<Entry> {
        let (row, hint) = self.rows[0];
        (self.len > 0 && row >= ROWS_MAX).then_some(Entry { hash, row, hint })
    }
}

/// Calls `visit` with every row whose key has this hash until it breaks. Entries that are there all
/// the time are met once each: where rows move to a tree meanwhile, or one comes back from it, the
/// tree that was met has all of these.
pub(crate) fn for_each_match<B>(
    index: HashIndex<'_>,
    hash: u32,
    mut visit: impl FnMut(u32, u64) -> ControlFlow<B>,
) -> Option<B> {
    let matches = index.matches(hash);
    if let Some(postings) = matches.of_many(hash).and_then(|entry| index.postings(entry)) {
        return postings.for_each(&mut |_| false, &mut visit);
    }
    for (row, hint) in matches.rows() {
        if let ControlFlow::Break(found) = visit(row, hint) {
            return Some(found);
        }
    }
    if !matches.more {
        return None;
    }
    // Entries move within a chain when others go: the rest is read whole, at one moment.
    let mut seen = |row: u32| matches.rows().any(|(other, _)| other == row);
    let rest = index.all_matches(hash);
    if let Some(postings) = rest.first().and_then(|&entry| index.postings(entry)) {
        return postings.for_each(&mut seen, &mut visit);
    }
    let mut rest = rest.into_iter().filter(|entry| !seen(entry.row));
    rest.find_map(|entry| match visit(entry.row, u64::from(entry.hint) << HINT_UNIT_SHIFT) {
        ControlFlow::Break(found) => Some(found),
        ControlFlow::Continue(()) => None,
    })
}

#[inline]
fn level_of(state: u64) -> (u32, u32) {
    ((state >> 32) as u32, state as u32)
}

#[inline]
fn segment_of(bucket: u32) -> usize {
    match bucket >> FIRST_BUCKETS_SHIFT {
        0 => 0,
        groups => groups.ilog2() as usize + 1,
    }
}

fn segment_size(segment: usize) -> usize {
    BUCKET_SIZE << (FIRST_BUCKETS_SHIFT as usize + segment.saturating_sub(1))
}

#[cfg(test)]
mod tests;
