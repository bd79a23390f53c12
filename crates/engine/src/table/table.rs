//! One table: its root in the region, its compiled form in the process, and changes to its rows.
//!
//! A change touches the row's version chain and every index whose key it touches, in an order that
//! keeps this true for whoever looks in between: *an entry is in its index from before its version
//! is published until after its version is gone*. A change takes back what it did if it fails half
//! way; `undo` takes back a change that succeeded. Which transaction, which snapshot, when to
//! commit: those are arguments here, decided in `transaction/`.

use std::sync::Arc;

use remanent_schema::{
    IndexKind, IndexSchema, KeyBuffer, KeyError, KeyPlan, RowLayout, TableSchema,
};

use super::describe::write_conflict;
use super::life::first_life;
use super::read::read_set::ReadSet;
use super::rows::change::Change;
use super::rows::segment::{Directory, LatchedRow, is_frozen, newest_of};
use super::rows::version::{Content, Kept, Version, bytes_at, chain, fresh_bytes_at};
use super::write::constraint::check_unique;
use crate::error::{Error, ErrorKind, Result};
use crate::index::hash::HashIndex;
use crate::index::key_block::KeyBlock;
use crate::index::node::Leaf;
use crate::index::ordered::{OrderedIndex, Placement};
use crate::index::{LeafKeys, build};
use crate::memory::atomic::{Acquire, AtomicU8, AtomicU32, AtomicU64, Release, SeqCst};
use crate::memory::succession::Succession;
use crate::memory::{AllocationClass, Allocator, Memory, Purpose, Ref};
use crate::snapshot::{Snapshot, resolve};

/// Indexes that a table can have at a time.
pub(crate) const INDEXES_MAX: usize = 64;

/// Bytes of a version asked for ahead: of its fixed part at most, and of its variable part.
const FIXED_PREFETCH_LEN_MAX: usize = 256;
const VARIABLE_PREFETCH_LEN: usize = 512;

/// A table's root in the region.
#[repr(C)]
pub(crate) struct TableRoot {
    /// The next table's root; 0 ends the list.
    pub(crate) next: AtomicU64,
    /// The encoded schema and its length.
    pub(crate) schema: AtomicU64,
    pub(crate) schema_len: AtomicU32,
    pub(crate) id: AtomicU32,
    pub(crate) directory: Directory,
    /// Heads of the indexes by ordinal; 0 for a dropped one.
    pub(crate) indexes: [AtomicU64; INDEXES_MAX],
}

/// What the region says of an index; behind it the encoded schema of the table with this index
/// alone, as the log has it.
#[repr(C)]
pub(crate) struct IndexHead {
    pub(crate) root: AtomicU64,
    pub(crate) schema_len: AtomicU64,
}

/// A table as this process uses it.
#[derive(Debug)]
pub(crate) struct TableCore {
    pub(crate) id: u32,
    pub(crate) root: Ref<TableRoot>,
    /// The identity of the database that it lies in.
    pub(crate) owner: Arc<()>,
    pub(crate) schema: TableSchema,
    pub(crate) layout: RowLayout,
    /// Bytes of a version that are worth asking for before its header has come.
    pub(crate) prefetch_len: usize,
    indexes: [Succession<IndexCore>; INDEXES_MAX],
    /// Ordinals that were ever given out: those up to the highest.
    index_count: AtomicU32,
    /// Indexes that it ever had.
    index_serial: AtomicU32,
    /// `THERE`, the stamp of the transaction that creates it and has not committed, or the
    /// timestamp at which it was dropped.
    pub(super) life: AtomicU64,
    /// The timestamp at which it was created.
    pub(super) created: AtomicU64,
    /// `IN_SETS` and `IN_SORTED_SETS`, or 0.
    sets: AtomicU8,
    /// Which columns indexes that are being built need in memory (`columns/paging.rs`).
    pub(super) kept: AtomicU64,
}

/// Of a table: its rows can be owners or members of a set.
pub(crate) const IN_SETS: u8 = 1;
/// Of a table: its rows can be members of a set that is sorted by their columns.
pub(crate) const IN_SORTED_SETS: u8 = 2;

/// An index as this process uses it.
#[derive(Debug)]
pub(crate) struct IndexCore {
    /// Its place among the table's indexes, which another one may have later.
    pub(crate) ordinal: usize,
    /// Its number among all indexes that the table ever had.
    pub(crate) serial: u32,
    pub(crate) schema: IndexSchema,
    pub(crate) plan: KeyPlan,
    pub(crate) root: u64,
    /// `HIDDEN` and what follows it.
    pub(super) life: AtomicU8,
}

/// A table together with the memory it lies in: what the operations below work on.
#[derive(Clone, Copy)]
pub(crate) struct TableAt<'m> {
    pub(crate) memory: &'m Memory,
    pub(crate) core: &'m TableCore,
}

/// The key of a row in an index before a change, and after it.
struct MovedKey<'k> {
    old: &'k [u8],
    new: &'k [u8],
}

/// Reads the keys of a table's rows for one of its indexes.
pub(crate) struct RowKeys<'m> {
    pub(crate) table: TableAt<'m>,
    pub(crate) index: &'m IndexCore,
}

impl TableCore {
    /// Compiles a table's schema, for the transaction with this stamp. Its indexes are added one by
    /// one.
    pub(crate) fn new(
        id: u32,
        root: Ref<TableRoot>,
        owner: Arc<()>,
        schema: TableSchema,
        maker: u64,
    ) -> Self {
        let layout = RowLayout::new(&schema);
        let variable = if layout.is_fixed() { 0 } else { VARIABLE_PREFETCH_LEN };
        let fixed = size_of::<Version>() + layout.fixed_size();
        Self {
            id,
            root,
            owner,
            prefetch_len: fixed.min(FIXED_PREFETCH_LEN_MAX) + variable,
            schema,
            layout,
            indexes: [const { Succession::new() }; INDEXES_MAX],
            index_count: AtomicU32::new(0),
            index_serial: AtomicU32::new(0),
            life: AtomicU64::new(maker),
            created: AtomicU64::new(u64::MAX),
            sets: AtomicU8::new(0),
            kept: AtomicU64::new(0),
        }
    }

    /// Says in which sets the table's rows can be; never less than is so.
    pub(crate) fn set_sets(&self, sets: u8) {
        self.sets.store(sets, Release);
    }

    /// Whether the table's rows can be in sets of the kind.
    #[inline]
    pub(crate) fn is_in(&self, sets: u8) -> bool {
        self.sets.load(Acquire) & sets != 0
    }

    /// The indexes that changes of rows keep up: all but those that are gone.
    #[inline]
    pub(crate) fn indexes(&self) -> impl Iterator<Item = &IndexCore> {
        let count = self.index_count.load(Acquire) as usize;
        let indexes = self.indexes[..count].iter();
        indexes.filter_map(Succession::get).filter(|index| !index.is_gone())
    }

    /// The indexes that all may know of.
    pub(crate) fn known_indexes(&self) -> impl Iterator<Item = &IndexCore> {
        self.indexes().filter(|index| index.is_found(false))
    }

    /// The index with this name as the transaction sees it that changes indexes.
    pub(crate) fn own_index(&self, name: &str) -> Option<&IndexCore> {
        self.indexes().find(|index| index.is_found(true) && index.schema.name == name)
    }

    /// The table's schema with the indexes that are committed.
    pub(crate) fn current_schema(&self) -> TableSchema {
        let committed = self.indexes().filter(|index| !index.is_hidden());
        let indexes = committed.map(|index| index.schema.clone()).collect();
        TableSchema { indexes, ..self.schema.clone() }
    }

    /// The index that has this ordinal now, if it is there.
    #[inline]
    pub(crate) fn index(&self, ordinal: usize) -> Option<&IndexCore> {
        self.indexes.get(ordinal)?.get()
    }

    /// The numbers that the next index gets.
    ///
    /// # Errors
    /// `LimitReached`.
    pub(crate) fn next_index(&self) -> Result<IndexNumbers> {
        let is_free = |place: &Succession<IndexCore>| place.get().is_none_or(IndexCore::is_gone);
        let ordinal = self.indexes.iter().position(is_free);
        let serial = self.index_serial.load(Acquire);
        match ordinal.filter(|_| serial < u32::MAX) {
            Some(ordinal) => Ok(IndexNumbers { ordinal, serial }),
            None => Err(Error::new(ErrorKind::LimitReached)
                .because("the table has 64 indexes, with those that are not gone yet")),
        }
    }

    /// Makes an index known whose numbers came from [`TableCore::next_index`].
    pub(crate) fn put_index(&self, index: IndexCore) {
        let ordinal = index.ordinal as u32;
        self.index_serial.store(index.serial + 1, Release);
        self.indexes[index.ordinal].put(index);
        self.index_count.fetch_max(ordinal + 1, SeqCst);
    }
}

/// The numbers of an index: its place among those of the table, and how many were made before it.
#[derive(Clone, Copy)]
pub(crate) struct IndexNumbers {
    pub(crate) ordinal: usize,
    pub(crate) serial: u32,
}

impl IndexCore {
    /// Compiles an index whose root lies at `root`.
    pub(crate) fn new(
        core: &TableCore,
        numbers: IndexNumbers,
        schema: IndexSchema,
        root: u64,
    ) -> Result<Self> {
        let IndexNumbers { ordinal, serial } = numbers;
        let plan = KeyPlan::new(&core.layout, &schema)?;
        let life = AtomicU8::new(first_life(core));
        Ok(Self { ordinal, serial, schema, plan, root, life })
    }

    /// The error of a key that this index cannot have.
    #[cold]
    pub(crate) fn key_error(&self, error: KeyError) -> Error {
        let because = format!("index `{}`: {error}", self.schema.name);
        Error::from(error).because(because)
    }

    /// Whether it is ordered, not hashed.
    #[inline]
    pub(crate) fn is_ordered(&self) -> bool {
        self.schema.kind == IndexKind::Ordered
    }

    /// Makes an empty index's root in the region.
    pub(crate) fn create_root(alloc: Allocator<'_>, kind: IndexKind) -> Result<u64> {
        match kind {
            IndexKind::Ordered => OrderedIndex::create_root(alloc),
            IndexKind::Hash => HashIndex::create_root(alloc),
        }
    }

    /// Frees the index in the region; nobody may use it any more.
    pub(crate) fn destroy(alloc: Allocator<'_>, kind: IndexKind, root: u64) {
        match kind {
            IndexKind::Ordered => build::destroy(alloc, root),
            IndexKind::Hash => HashIndex::at(alloc.region(), root).destroy(alloc, root),
        }
    }
}

impl<'m> TableAt<'m> {
    /// The table's root.
    #[inline]
    pub(crate) fn root(&self) -> &'m TableRoot {
        self.memory.get(self.core.root)
    }

    /// The directory of the table's rows.
    #[inline]
    pub(crate) fn directory(&self) -> &'m Directory {
        &self.root().directory
    }

    /// Adds a row of `length` bytes that `fill` writes. As with the changes below, success leaves a
    /// reservation of room in the retire queue behind, for undoing the change or cleaning up after
    /// it.
    ///
    /// # Errors
    /// `DuplicateKey`, `Conflict`, `KeyTooLong`, `RowTooLong`, or memory; then nothing changed.
    #[inline]
    pub(crate) fn insert(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Change> {
        // The row id first: its locked instruction would wait for the stores of the copy.
        let row = self.directory().allocate(alloc)?;
        self.insert_as(alloc, snapshot, row, length, fill)
    }

    /// As [`TableAt::insert`], but the row is in no index yet: `write/batch.rs`.
    #[inline]
    pub(crate) fn insert_unindexed(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Change> {
        let row = self.directory().allocate(alloc)?;
        self.insert_unindexed_as(alloc, snapshot, row, length, fill)
    }

    /// As [`TableAt::insert`], under a row id that was allocated from the directory and has no
    /// version; it is given back if the insertion fails.
    #[inline]
    pub(crate) fn insert_as(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Change> {
        let change = self.insert_unindexed_as(alloc, snapshot, row, length, fill)?;
        for index in self.core.indexes() {
            if let Err(error) = self.add_entry(alloc, index, change, snapshot) {
                self.undo(alloc, change);
                return Err(error);
            }
        }
        Ok(change)
    }

    /// As [`TableAt::insert_as`], but the row is in no index yet: `write/batch.rs`.
    #[inline]
    pub(crate) fn insert_unindexed_as(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Change> {
        let queue = &alloc.cache.retired;
        queue
            .reserve(alloc, AllocationClass::Normal)
            .inspect_err(|_| self.directory().give_back(self.memory, row))?;
        let version = Version::create(alloc, snapshot.own, Content::Row(length))
            .and_then(|version| {
                fill(fresh_bytes_at(self.memory, version))
                    .inspect_err(|_| Version::free(alloc, version))?;
                Ok(version)
            })
            .inspect_err(|_| {
                self.directory().give_back(self.memory, row);
                queue.release();
            })?;
        Version::at(self.memory, version).set_row(row);
        self.directory().slot(self.memory, row).store(version, Release);
        Ok(Change::new(row, version))
    }

    /// Gives a row new content, `length` bytes that `fill` writes from the row's old bytes.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, `DuplicateKey`, or as [`TableAt::insert`].
    pub(crate) fn update(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        length: impl FnOnce(&[u8]) -> Result<usize>,
        fill: impl FnOnce(&[u8], &mut [u8]) -> Result<()>,
    ) -> Result<Change> {
        let latched = self.latch_for_change(alloc, snapshot, row, AllocationClass::Normal)?;
        let queue = &alloc.cache.retired;
        queue.reserve(alloc, AllocationClass::Normal)?;
        let old = latched.newest();
        let old_bytes = bytes_at(self.memory, old);
        let version = length(old_bytes)
            .and_then(|length| Version::create(alloc, snapshot.own, Content::Row(length)))
            .inspect_err(|_| queue.release())?;
        let head = Version::at(self.memory, version);
        head.set_row(row);
        head.set_older(old);
        let reserved = fill(old_bytes, fresh_bytes_at(self.memory, version))
            .and_then(|()| self.move_entries(alloc, snapshot, row, old, version))
            .inspect_err(|_| {
                Version::free(alloc, version);
                queue.release();
            })?;
        latched.set_newest(version);
        Ok(Change { row, version, reserved })
    }

    /// Deletes a row. One with a single version, or as it was frozen, ends in place, which needs no
    /// memory but so many `reservations` of room.
    ///
    /// # Errors
    /// `RowNotFound`, `Conflict`, and memory only when the reserve too is used up.
    pub(crate) fn delete(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        reservations: u64,
    ) -> Result<Change> {
        let latched = loop {
            if let Some(latched) = self.latch_given(row)? {
                break self.check_change(latched, snapshot, row)?;
            }
            if let Some(change) = self.end_in_columns(alloc, snapshot, row)? {
                return Ok(change);
            }
            self.thaw_for_change(alloc, snapshot, row, AllocationClass::Emergency)?;
        };
        let queue = &alloc.cache.retired;
        let newest = Version::at(self.memory, latched.newest());
        if newest.can_end() {
            queue.reserve_many(alloc, reservations, AllocationClass::Emergency)?;
            newest.set_end(snapshot.own);
            return Ok(Change::end(row));
        }
        queue.reserve(alloc, AllocationClass::Emergency)?;
        let version = Version::create(alloc, snapshot.own, Content::Tombstone)
            .inspect_err(|_| queue.release())?;
        let head = Version::at(self.memory, version);
        head.set_row(row);
        head.set_older(latched.newest());
        latched.set_newest(version);
        Ok(Change::new(row, version))
    }

    /// Remembers what a change that succeeded has shown: that its row was there, or that no other
    /// row had its unique keys.
    pub(crate) fn remember_change(&self, reads: &ReadSet<'_>, change: Change) {
        let version = Version::at(self.memory, change.version);
        let is_new = version.older() == 0;
        if !is_new {
            reads.add_row(self.core.id, change.row);
        }
        if version.is_tombstone() || !is_new && !version.key_changed() {
            return;
        }
        let mut key = KeyBuffer::new();
        let bytes = bytes_at(self.memory, change.version);
        for index in self.core.indexes().filter(|index| index.schema.unique) {
            if index.plan.encode_row(bytes, &mut key).is_ok() {
                reads.add_key(self.core.id, index, key.as_slice());
            }
        }
    }

    /// Takes a change back; it must be the newest of its row. Needs no memory but the queue entry
    /// that was reserved.
    pub(crate) fn undo(&self, alloc: Allocator<'m>, change: Change) {
        let Some(latched) = self.directory().latch(self.memory, change.row) else {
            unreachable!("the change's own version is there until it is taken back");
        };
        debug_assert_eq!(latched.newest(), change.version);
        let version = Version::at(self.memory, change.version);
        let (older, queue) = (version.older(), &alloc.cache.retired);
        if !version.is_tombstone() && (older == 0 || version.key_changed()) {
            queue.allow_keyed(change.reserved.into());
            self.drop_entries(alloc, change.row, change.version, Kept::from(older));
            queue.end_keyed();
        } else {
            queue.release_many(change.reserved.into());
        }
        latched.set_newest(older);
        if older == 0 {
            self.directory().give_back(self.memory, change.row);
        }
        alloc.cache.retired.release();
        alloc.retire(change.version, Purpose::Rows);
    }

    /// Removes the entries of the version at `gone` that none of the versions needs that stay.
    pub(crate) fn drop_entries(&self, alloc: Allocator<'m>, row: u32, gone: u64, kept: Kept) {
        self.core.indexes().for_each(|index| self.drop_entry(alloc, index, row, gone, kept));
    }

    /// As [`TableAt::drop_entries`], in one index. Unless it is needed, the entry must be there: an
    /// ordered index takes the row's only entry for the one that is looked for.
    fn drop_entry(&self, alloc: Allocator<'m>, index: &IndexCore, row: u32, gone: u64, kept: Kept) {
        let mut key = KeyBuffer::new();
        let mut other = KeyBuffer::new();
        if index.plan.encode_row(bytes_at(self.memory, gone), &mut key).is_err() {
            return;
        }
        let mut stay = chain(self.memory, kept.first).take_while(|&(at, _)| at != kept.end);
        let needed = stay.any(|(at, version)| {
            !version.is_tombstone()
                && index.plan.encode_row(bytes_at(self.memory, at), &mut other).is_ok()
                && self.same_entry(index, key.as_slice(), other.as_slice())
        });
        if needed {
            return;
        }
        self.remove_entry(alloc, index, key.as_slice(), row);
    }

    /// Takes the entry of a row under a key out of an index.
    pub(crate) fn remove_entry(
        &self,
        alloc: Allocator<'m>,
        index: &IndexCore,
        key: &[u8],
        row: u32,
    ) {
        if index.is_ordered() {
            self.ordered(index).remove(alloc, key, row);
        } else {
            let hashed = self.hash(index);
            hashed.remove(alloc, hashed.hash_of(key), row);
        }
    }

    /// The ordered index's tree.
    #[inline]
    pub(crate) fn ordered(&self, index: &IndexCore) -> OrderedIndex<'m> {
        OrderedIndex::at(self.memory.region(), index.root)
    }

    /// The hash index's buckets.
    #[inline]
    pub(crate) fn hash(&self, index: &IndexCore) -> HashIndex<'m> {
        HashIndex::at(self.memory.region(), index.root)
    }

    /// Latches a row whose newest version this transaction may follow with its own.
    fn latch_for_change(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        class: AllocationClass,
    ) -> Result<LatchedRow<'m>> {
        loop {
            if let Some(latched) = self.latch_given(row)? {
                return self.check_change(latched, snapshot, row);
            }
            self.thaw_for_change(alloc, snapshot, row, class)?;
        }
    }

    /// Latches a row; `None` if it has no version.
    ///
    /// # Errors
    /// `RowNotFound` if no row can have the id.
    #[inline]
    fn latch_given(&self, row: u32) -> Result<Option<LatchedRow<'m>>> {
        if u64::from(row) >= self.directory().limit() {
            return Err(self.row_not_found(row));
        }
        Ok(self.directory().latch(self.memory, row))
    }

    /// The latched row, if this transaction may follow its newest version.
    #[inline]
    fn check_change(
        &self,
        latched: LatchedRow<'m>,
        snapshot: Snapshot,
        row: u32,
    ) -> Result<LatchedRow<'m>> {
        let newest = Version::at(self.memory, latched.newest());
        match snapshot.may_follow(resolve(self.memory, &newest.begin)) {
            Err(holder) => Err(self.conflict(row, latched.newest(), holder)),
            Ok(()) if newest.is_tombstone() => Err(self.row_not_found(row)),
            Ok(()) => match newest.end(self.memory).map(|end| snapshot.may_follow(end)) {
                None => Ok(latched),
                Some(Ok(())) => Err(self.row_not_found(row)),
                Some(Err(holder)) => Err(self.conflict(row, latched.newest(), holder)),
            },
        }
    }

    /// Adds a new row's entry to one index; the row has a version, or 0 if it is as it was frozen.
    /// That the entry is there already is no error.
    ///
    /// # Errors
    /// As [`TableAt::insert`]; then the entry is not there.
    #[inline]
    pub(crate) fn add_entry(
        &self,
        alloc: Allocator<'m>,
        index: &'m IndexCore,
        change: Change,
        snapshot: Snapshot,
    ) -> Result<()> {
        if change.version == 0 {
            return self.add_frozen_entry(alloc, index, change.row, snapshot);
        }
        self.add_entry_of(alloc, index, change, bytes_at(self.memory, change.version), snapshot)
    }

    /// As [`TableAt::add_entry`], of a row that is as it was frozen.
    #[cold]
    fn add_frozen_entry(
        &self,
        alloc: Allocator<'m>,
        index: &'m IndexCore,
        row: u32,
        snapshot: Snapshot,
    ) -> Result<()> {
        let change = Change::new(row, 0);
        let add = |bytes: &[u8]| self.add_entry_of(alloc, index, change, bytes, snapshot);
        self.with_frozen_key(row, &index.plan, add).unwrap_or(Ok(()))
    }

    /// As [`TableAt::add_entry`], of a row with these bytes.
    ///
    /// # Errors
    /// As there.
    #[inline]
    pub(crate) fn add_entry_of(
        &self,
        alloc: Allocator<'m>,
        index: &'m IndexCore,
        change: Change,
        bytes: &[u8],
        snapshot: Snapshot,
    ) -> Result<()> {
        let mut key = KeyBuffer::new();
        index.plan.encode_row(bytes, &mut key).map_err(|error| index.key_error(error))?;
        let placement = if index.is_ordered() {
            let leaf = Leaf::plain(change.row, change.version);
            let keys = RowKeys { table: *self, index };
            self.ordered(index).insert(alloc, &keys, key.as_slice(), change.row, leaf)?
        } else {
            let hashed = self.hash(index);
            let hash = hashed.hash_of(key.as_slice());
            hashed.insert(alloc, hash, change.row, change.version)?
        };
        let shared = matches!(placement, Placement::Shared | Placement::SharedWith(_));
        if shared && index.is_enforced() && !index.plan.has_null(bytes) {
            let changed = (change.row, bytes);
            check_unique(*self, index, key.as_slice(), changed, placement, snapshot)
                .inspect_err(|_| self.remove_entry(alloc, index, key.as_slice(), change.row))?;
        }
        Ok(())
    }

    /// Adds the entries of an update's keys, for each index whose key it changes. Ordered entries
    /// of a row with several keys carry their keys, the one of the old version included. Gives how
    /// many reservations of room it leaves behind: one for each new entry that carries its key.
    fn move_entries(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        row: u32,
        old: u64,
        new: u64,
    ) -> Result<u8> {
        let mut old_key = KeyBuffer::new();
        let mut new_key = KeyBuffer::new();
        let (queue, mut reserved) = (&alloc.cache.retired, 0);
        for (moved_before, index) in self.core.indexes().enumerate() {
            let bytes = bytes_at(self.memory, new);
            let moved = index
                .plan
                .encode_row(bytes_at(self.memory, old), &mut old_key)
                .and_then(|()| index.plan.encode_row(bytes, &mut new_key))
                .map_err(|error| index.key_error(error))
                .and_then(|()| {
                    if old_key.as_slice() == new_key.as_slice() {
                        return Ok(());
                    }
                    let keys = MovedKey { old: old_key.as_slice(), new: new_key.as_slice() };
                    let more = u8::from(index.is_ordered());
                    queue.reserve_many(alloc, more.into(), AllocationClass::Normal)?;
                    reserved += more;
                    self.move_entry(alloc, snapshot, index, row, keys, new)
                });
            if let Err(error) = moved {
                queue.allow_keyed(reserved.into());
                for index in self.core.indexes().take(moved_before) {
                    self.drop_entry(alloc, index, row, new, Kept::from(old));
                }
                queue.end_keyed();
                return Err(error);
            }
        }
        Ok(reserved)
    }

    /// Gives a row the entry of its new key in an index, beside that of the old one.
    fn move_entry(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        index: &'m IndexCore,
        row: u32,
        keys: MovedKey<'_>,
        new: u64,
    ) -> Result<()> {
        let MovedKey { old: old_key, new: new_key } = keys;
        Version::at(self.memory, new).set_key_changed();
        let placement = if index.is_ordered() {
            let tree = self.ordered(index);
            let keyed = KeyBlock::create(alloc, new_key, row)?;
            let placement = self.key_leaf(alloc, index, old_key, row).and_then(|()| {
                tree.insert(alloc, &RowKeys { table: *self, index }, new_key, row, keyed)
            });
            if !matches!(placement, Ok(placed) if placed != Placement::Present) {
                alloc.free_block(keyed.block().unwrap_or(0), Purpose::Indexes);
            }
            placement?
        } else {
            let hashed = self.hash(index);
            hashed.insert(alloc, hashed.hash_of(new_key), row, new)?
        };
        let unique = index.is_enforced() && placement != Placement::Alone;
        if unique && !index.plan.has_null(bytes_at(self.memory, new)) {
            let older = Version::at(self.memory, new).older();
            let changed = (row, bytes_at(self.memory, new));
            check_unique(*self, index, new_key, changed, placement, snapshot)
                .inspect_err(|_| self.drop_entry(alloc, index, row, new, Kept::from(older)))?;
        }
        Ok(())
    }

    /// Makes the row's leaf under `key` a keyed one.
    fn key_leaf(
        &self,
        alloc: Allocator<'m>,
        index: &'m IndexCore,
        key: &[u8],
        row: u32,
    ) -> Result<()> {
        alloc.cache.retired.make_room(alloc, 1, AllocationClass::Normal)?;
        let keyed = KeyBlock::create(alloc, key, row)?;
        let replaced = self.ordered(index).replace(alloc, key, row, keyed);
        if !matches!(replaced, Ok(true)) {
            alloc.free_block(keyed.block().unwrap_or(0), Purpose::Indexes);
        }
        replaced.map(|_| ())
    }

    /// Whether two keys have one and the same entry for a row.
    fn same_entry(&self, index: &IndexCore, key: &[u8], other: &[u8]) -> bool {
        let hashed = || self.hash(index);
        key == other || (!index.is_ordered() && hashed().hash_of(key) == hashed().hash_of(other))
    }

    #[cold]
    pub(super) fn row_not_found(&self, row: u32) -> Error {
        Error::new(ErrorKind::RowNotFound)
            .because(format!("row {row} of `{}`", self.core.schema.name))
            .about_row(row)
    }

    #[cold]
    pub(super) fn conflict(&self, row: u32, newest: u64, holder: Option<u64>) -> Error {
        // A deletion has no key: the content behind it has.
        let mut versions = chain(self.memory, newest);
        let content = versions.find(|(_, version)| !version.is_tombstone()).map(|(at, _)| at);
        write_conflict(*self, row, content, holder)
    }
}

impl LeafKeys for RowKeys<'_> {
    fn load_key(&self, row: u32, key: &mut KeyBuffer) -> bool {
        let word = self.table.directory().word(self.table.memory, row);
        if is_frozen(word) {
            let encode = |bytes: &[u8]| self.index.plan.encode_row(bytes, key).is_ok();
            let plan = &self.index.plan;
            return self.table.with_frozen_key(row, plan, encode).unwrap_or(false);
        }
        let mut versions = chain(self.table.memory, newest_of(word));
        versions.find(|(_, version)| !version.is_tombstone()).is_some_and(|(at, _)| {
            self.index.plan.encode_row(bytes_at(self.table.memory, at), key).is_ok()
        })
    }
}
