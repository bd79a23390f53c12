//! What a table consists of in the region: made, filled from its rows, and given back.
//!
//! An index is built over every version of every row, so that older snapshots can use it too;
//! nobody else changes rows meanwhile or cleans up after them. What is given back, nobody may use
//! any more. Whether all that is to be is decided in `transaction/`.

use remanent_schema::{IndexKind, IndexSchema, KeyBuffer, TableSchema};

use super::columns::paging::keep_key;
use super::rows::segment::{is_frozen, last_of, newest_of};
use super::rows::version::{Version, bytes_at, chain, visible};
use super::table::{IndexCore, IndexHead, TableAt, TableCore, TableRoot};
use super::write::constraint::check_unique;
use crate::error::Result;
use crate::index::build::{self, BuildEntry};
use crate::index::key_block::KeyBlock;
use crate::index::node::Leaf;
use crate::index::ordered::Placement;
use crate::memory::atomic::{Relaxed, Release};
use crate::memory::{AllocationClass, Allocator, Purpose, Ref};
use crate::snapshot::Snapshot;

/// The root of a table with this number, without rows and indexes.
///
/// # Errors
/// Memory.
pub(crate) fn create_root(
    alloc: Allocator<'_>,
    id: u32,
    schema: &TableSchema,
) -> Result<Ref<TableRoot>> {
    let bytes = schema.to_bytes();
    let root = alloc.create::<TableRoot>(Purpose::Internal)?;
    let at = alloc
        .allocate(beside_roots(alloc, bytes.len()), Purpose::Internal, AllocationClass::Normal)
        .inspect_err(|_| alloc.free_block(root.offset(), Purpose::Internal))?;
    alloc.region().fresh_bytes(at, bytes.len()).copy_from_slice(&bytes);
    let words = alloc.memory.get(root);
    words.schema.store(at, Relaxed);
    words.schema_len.store(bytes.len() as u32, Relaxed);
    words.id.store(id, Relaxed);
    Ok(root)
}

/// How large a block for so many bytes is: where memory is scarce as large as a table's root, so
/// that all of these share a page.
fn beside_roots(alloc: Allocator<'_>, bytes: usize) -> usize {
    const SCARCE: u64 = 4 << 20;
    let account = &alloc.memory.header().account;
    if account.budget.load(Relaxed) <= SCARCE && !account.is_small() {
        bytes.max(size_of::<TableRoot>())
    } else {
        bytes
    }
}

/// The head of an index in the region: its root and its schema.
fn create_head(alloc: Allocator<'_>, core: &TableCore, index: &IndexCore) -> Result<u64> {
    let indexes = vec![index.schema.clone()];
    let bytes = TableSchema { indexes, ..core.schema.clone() }.to_bytes();
    let size = beside_roots(alloc, size_of::<IndexHead>() + bytes.len());
    let at = alloc.allocate(size, Purpose::Internal, AllocationClass::Normal)?;
    let head = alloc.memory.get(Ref::<IndexHead>::new(at));
    head.root.store(index.root, Relaxed);
    head.schema_len.store(bytes.len() as u64, Relaxed);
    let place = at + size_of::<IndexHead>() as u64;
    alloc.region().fresh_bytes(place, bytes.len()).copy_from_slice(&bytes);
    Ok(at)
}

/// Frees an index whose head lies there; nobody may use it any more.
pub(crate) fn destroy_index(alloc: Allocator<'_>, kind: IndexKind, head: u64) {
    let root = alloc.memory.get(Ref::<IndexHead>::new(head)).root.load(Relaxed);
    IndexCore::destroy(alloc, kind, root);
    alloc.free_block(head, Purpose::Internal);
}

/// Puts a table into the list of tables, or takes it out.
pub(crate) fn link_root(table: TableAt<'_>) {
    let header = table.memory.header();
    table.root().next.store(header.tables.load(Relaxed), Relaxed);
    header.tables.store(table.core.root.offset(), Release);
}

/// Takes a table out of the list of tables.
pub(crate) fn unlink_root(table: TableAt<'_>) {
    let memory = table.memory;
    let mut link = &memory.header().tables;
    while link.load(Relaxed) != table.core.root.offset() {
        link = &memory.get(Ref::<TableRoot>::new(link.load(Relaxed))).next;
    }
    link.store(table.root().next.load(Relaxed), Release);
}

impl<'m> TableAt<'m> {
    /// Gives the table an index, with every row that it has.
    ///
    /// # Errors
    /// `LimitReached`, `DuplicateKey`, `KeyTooLong`, memory; then there is nothing of it.
    pub(crate) fn add_index(
        &self,
        alloc: Allocator<'m>,
        snapshot: Snapshot,
        schema: IndexSchema,
    ) -> Result<&'m IndexCore> {
        let core = self.core;
        let numbers = core.next_index()?;
        let index = IndexCore::new(core, numbers, schema, 0)?;
        keep_key(*self, &index.plan)?;
        let builder = Builder { table: *self, alloc, snapshot };
        let root = match index.schema.kind {
            IndexKind::Ordered => builder.build_ordered(&index)?,
            IndexKind::Hash => builder.build_hash(&index)?,
        };
        let kind = index.schema.kind;
        let built = IndexCore::new(core, numbers, index.schema, root).and_then(|index| {
            if index.schema.unique {
                builder.check_all_unique(&index)?;
            }
            Ok(index)
        });
        let built = built.and_then(|index| Ok((create_head(alloc, core, &index)?, index)));
        let (head, index) = built.inspect_err(|_| IndexCore::destroy(alloc, kind, root))?;
        self.root().indexes[index.ordinal].store(head, Release);
        let ordinal = index.ordinal;
        core.put_index(index);
        let Some(index) = core.index(ordinal) else { unreachable!("it was put there") };
        Ok(index)
    }

    /// Frees all that the table has in the region.
    pub(crate) fn destroy(&self, alloc: Allocator<'_>) {
        let freed = self.each_word(|_, word| {
            let mut at = last_of(word);
            while at != 0 {
                let older = Version::at(alloc.memory, at).older();
                Version::free(alloc, at);
                at = older;
            }
            Ok(())
        });
        debug_assert!(freed.is_ok());
        let words = alloc.memory.get(self.core.root);
        words.directory.destroy(alloc);
        for index in self.core.indexes() {
            let head = words.indexes[index.ordinal].load(Relaxed);
            destroy_index(alloc, index.schema.kind, head);
        }
        alloc.free_block(words.schema.load(Relaxed), Purpose::Internal);
        alloc.free_block(self.core.root.offset(), Purpose::Internal);
    }

    /// Calls `visit` with each row and its newest version, or 0 if it is as it was frozen.
    fn each_row(&self, mut visit: impl FnMut(u32, u64) -> Result<()>) -> Result<()> {
        self.each_word(|row, word| match newest_of(word) {
            0 if !is_frozen(word) => Ok(()),
            newest => visit(row, newest),
        })
    }

    /// Calls `visit` with the word of each row's slot.
    fn each_word(&self, mut visit: impl FnMut(u32, u64) -> Result<()>) -> Result<()> {
        let limit = self.directory().limit();
        let mut next = 0;
        while next < limit {
            let slots = self.directory().stretch(self.memory, &mut next, limit, u64::MAX);
            for (row, slot) in (next as u32..).zip(slots) {
                visit(row, slot.load(Relaxed))?;
                next = u64::from(row) + 1;
            }
        }
        Ok(())
    }
}

/// Builds one index.
struct Builder<'m> {
    table: TableAt<'m>,
    alloc: Allocator<'m>,
    snapshot: Snapshot,
}

impl Builder<'_> {
    fn build_ordered(&self, index: &IndexCore) -> Result<u64> {
        let mut entries: Vec<BuildEntry> = Vec::new();
        let collected = self.each_key(index, |key, row, version, keyed| {
            let leaf = if keyed {
                KeyBlock::create(self.alloc, key, row)?
            } else {
                Leaf::plain(row, version)
            };
            entries.push(BuildEntry { key: key.to_vec(), row, leaf });
            Ok(())
        });
        entries.sort_unstable_by(|a, b| (&a.key, a.row).cmp(&(&b.key, b.row)));
        collected.and_then(|()| build::build(self.alloc, &entries)).inspect_err(|_| {
            for block in entries.iter().filter_map(|entry| entry.leaf.block()) {
                self.alloc.free_block(block, Purpose::Indexes);
            }
        })
    }

    fn build_hash(&self, index: &IndexCore) -> Result<u64> {
        let root = IndexCore::create_root(self.alloc, IndexKind::Hash)?;
        let hash = crate::index::hash::HashIndex::at(self.alloc.region(), root);
        let built = self.each_key(index, |key, row, version, _| {
            hash.insert(self.alloc, hash.hash_of(key), row, version).map(|_| ())
        });
        built.inspect_err(|_| hash.destroy(self.alloc, root))?;
        Ok(root)
    }

    /// Calls `add` with every different key of every row, its newest version, and whether the row
    /// has more than one key.
    fn each_key(
        &self,
        index: &IndexCore,
        mut add: impl FnMut(&[u8], u32, u64, bool) -> Result<()>,
    ) -> Result<()> {
        let (memory, table) = (self.alloc.memory, self.table);
        let mut key = KeyBuffer::new();
        table.each_row(|row, newest| {
            if newest == 0 {
                let add = |bytes: &[u8]| {
                    let encoded = index.plan.encode_row(bytes, &mut key);
                    encoded.map_err(|error| index.key_error(error))?;
                    add(key.as_slice(), row, 0, false)
                };
                return table.with_frozen_key(row, &index.plan, add).unwrap_or(Ok(()));
            }
            let mut keys: Vec<Vec<u8>> = Vec::new();
            for (at, version) in chain(memory, newest) {
                if version.is_tombstone() {
                    continue;
                }
                let encoded = index.plan.encode_row(bytes_at(memory, at), &mut key);
                encoded.map_err(|error| index.key_error(error))?;
                if !keys.iter().any(|other| other == key.as_slice()) {
                    keys.push(key.as_slice().to_vec());
                }
            }
            let keyed = keys.len() > 1;
            keys.iter().try_for_each(|key| add(key, row, newest, keyed))
        })
    }

    fn check_all_unique(&self, index: &IndexCore) -> Result<()> {
        let (memory, table) = (self.alloc.memory, self.table);
        let mut key = KeyBuffer::new();
        table.each_row(|row, newest| {
            let mut check = |bytes: &[u8]| {
                if index.plan.has_null(bytes) {
                    return Ok(());
                }
                index.plan.encode_row(bytes, &mut key).map_err(|error| index.key_error(error))?;
                let (changed, placement) = ((row, bytes), Placement::Shared);
                check_unique(table, index, key.as_slice(), changed, placement, self.snapshot)
            };
            if newest == 0 {
                let frozen = table.frozen_row(row);
                let is_seen = frozen.is_some_and(|frozen| frozen.is_seen(memory, self.snapshot));
                let checked = is_seen.then(|| table.with_frozen_key(row, &index.plan, check));
                return checked.flatten().unwrap_or(Ok(()));
            }
            let Some(at) = visible(memory, newest, self.snapshot) else { return Ok(()) };
            check(bytes_at(memory, at))
        })
    }
}

#[cfg(test)]
mod tests;
