//! Putting many new rows into a table's indexes at once.
//!
//! The rows are inserted unindexed first, one behind the other; then each index gets all their
//! entries, in the order of its keys. An ordered index takes them as one run (`index/merge.rs`), so
//! nodes are met once for all their entries and made at the size they need. Until then the rows are
//! seen by who goes through all rows, not by who looks a key up: which nobody can tell but their
//! own transaction, in the midst of one statement.

use remanent_schema::KeyBuffer;

use crate::error::Result;
use crate::index::merge::{self, AddOne, RunEntry, RunKeys, word_of_key};
use crate::index::node::Leaf;
use crate::memory::Allocator;
use crate::memory::atomic::Relaxed;
use crate::memory::scratch::Scratch;
use crate::snapshot::Snapshot;
use crate::table::rows::change::Change;
use crate::table::rows::version::bytes_at;
use crate::table::table::{IndexCore, TableAt};

/// Rows of a batch at most: their entries fit a processor's own cache.
const ROWS_MAX: usize = if cfg!(shuttle) { 4 } else { 64 << 10 };
/// Rows of a batch where memory is scarce.
const ROWS_MIN: usize = if cfg!(shuttle) { 2 } else { 256 };

/// A batch takes at most this part of the budget, as a power of two.
const BUDGET_SHIFT: u32 = 7;

/// The bytes of rows of a bulk segment, to compare keys with.
#[derive(Clone, Copy)]
pub(crate) struct BulkRows<'a> {
    pub(crate) first: u32,
    pub(crate) rows: &'a [Option<&'a [u8]>],
}

/// New rows that are in no index yet.
pub(crate) struct RowBatch<'m> {
    scratch: Scratch<'m>,
    len: usize,
}

impl<'m> RowBatch<'m> {
    /// Room for about so many rows, or fewer.
    ///
    /// # Errors
    /// `BudgetReached`, `OutOfMachineMemory`.
    pub(crate) fn new(alloc: Allocator<'m>, rows: usize) -> Result<Self> {
        // Half of the pairs are the rows, the other half is where an index's entries are sorted.
        let budget = alloc.memory.header().account.budget.load(Relaxed);
        let allowed = (budget >> BUDGET_SHIFT) as usize / size_of::<[[u64; 2]; 2]>();
        let rows = rows.min(allowed).clamp(ROWS_MIN, ROWS_MAX);
        let scratch = Scratch::new(alloc, rows * 2);
        let scratch = scratch.or_else(|_| Scratch::new(alloc, ROWS_MIN * 2))?;
        Ok(Self { scratch, len: 0 })
    }

    /// Adds a row that was inserted unindexed, and says whether the batch is full then.
    #[inline]
    pub(crate) fn push(&mut self, change: Change) -> bool {
        let pairs = self.scratch.pairs();
        pairs[self.len] = [u64::from(change.row), change.version];
        self.len += 1;
        self.len * 2 == pairs.len()
    }

    /// The rows in it, each by the insertion that made it.
    pub(crate) fn rows(&mut self) -> impl Iterator<Item = Change> {
        self.scratch.pairs()[..self.len].iter().copied().map(change_of)
    }

    /// Forgets the rows.
    pub(crate) fn clear(&mut self) {
        self.len = 0;
    }

    /// Puts the rows into all indexes of their table; those without a version are of `bulk`.
    ///
    /// # Errors
    /// As [`TableAt::insert`]; then some entries are there and others not: each can be added by
    /// itself ([`TableAt::add_entry`]), or all rows taken back.
    pub(crate) fn index<'t>(
        &mut self,
        table: TableAt<'t>,
        alloc: Allocator<'t>,
        snapshot: Snapshot,
        bulk: Option<BulkRows<'_>>,
    ) -> Result<()> {
        let half = self.scratch.pairs().len() / 2;
        let (rows, entries) = self.scratch.pairs().split_at_mut(half);
        let (rows, entries) = (&rows[..self.len], &mut entries[..self.len]);
        for index in table.core.indexes() {
            let mut one = One { table, index, alloc, snapshot, bulk };
            if index.is_ordered() {
                one.merge(rows, entries)?;
            } else {
                rows.iter().try_for_each(|&row| one.add(change_of(row)))?;
            }
        }
        Ok(())
    }
}

fn change_of([row, version]: [u64; 2]) -> Change {
    Change::new(row as u32, version)
}

/// Adds entries to one index.
struct One<'m, 'a> {
    table: TableAt<'m>,
    index: &'m IndexCore,
    alloc: Allocator<'m>,
    snapshot: Snapshot,
    bulk: Option<BulkRows<'a>>,
}

impl One<'_, '_> {
    fn add(&self, change: Change) -> Result<()> {
        let (table, index) = (self.table, self.index);
        match self.bulk_bytes(change) {
            Some(bytes) => table.add_entry_of(self.alloc, index, change, bytes, self.snapshot),
            None => table.add_entry(self.alloc, index, change, self.snapshot),
        }
    }

    /// The bytes of a row of a bulk segment.
    fn bulk_bytes(&self, change: Change) -> Option<&[u8]> {
        let bulk = self.bulk.filter(|_| change.version == 0)?;
        bulk.rows.get(change.row.checked_sub(bulk.first)? as usize).copied().flatten()
    }

    fn merge(&mut self, rows: &[[u64; 2]], entries: &mut [RunEntry]) -> Result<()> {
        let Some(first) = rows.first() else { return Ok(()) };
        let mut first_key = KeyBuffer::new();
        self.encode(*first, &mut first_key)?;
        let keys = self.collect(first_key.as_slice(), rows, entries)?;
        if !entries.is_sorted_by_key(|entry| entry[0]) {
            entries.sort_unstable_by_key(|entry| entry[0]);
        }
        merge::merge(self.table.ordered(self.index), self.alloc, keys, entries, self)
    }

    /// Makes the entries of the rows.
    fn collect<'k>(
        &self,
        first: &'k [u8],
        rows: &[[u64; 2]],
        entries: &mut [RunEntry],
    ) -> Result<RunKeys<'k>> {
        let mut key = KeyBuffer::new();
        let (mut shortest, mut longest, mut differing) = (usize::MAX, 0, 0);
        let first_word = word_of_key(first, 0, 0);
        for (entry, &row) in entries.iter_mut().zip(rows) {
            self.encode(row, &mut key)?;
            let (key, change) = (key.as_slice(), change_of(row));
            *entry = [word_of_key(key, 0, 0), Leaf::plain(change.row, change.version).to_word()];
            (shortest, longest) = (shortest.min(key.len()), longest.max(key.len()));
            differing |= entry[0] ^ first_word;
        }
        let mut skip = (differing.leading_zeros() / 8) as usize;
        if longest <= 8 {
            // All of each key is known already.
            skip = skip.min(7);
            entries.iter_mut().for_each(|entry| entry[0] <<= 8 * skip);
            return Ok(RunKeys { first, skip, shortest });
        }
        if skip == 8 {
            skip = self.common_prefix(first, rows, &mut key)?;
        }
        for (entry, &row) in entries.iter_mut().zip(rows) {
            self.encode(row, &mut key)?;
            entry[0] = word_of_key(key.as_slice(), change_of(row).row, skip);
        }
        Ok(RunKeys { first, skip, shortest })
    }

    /// How many bytes the keys of all rows share.
    fn common_prefix(&self, first: &[u8], rows: &[[u64; 2]], key: &mut KeyBuffer) -> Result<usize> {
        let mut common = first.len();
        for &row in rows {
            self.encode(row, key)?;
            if !key.as_slice().starts_with(&first[..common]) {
                let pairs = key.as_slice().iter().zip(&first[..common]);
                common = pairs.take_while(|(a, b)| a == b).count();
            }
        }
        Ok(common)
    }

    fn encode(&self, row: [u64; 2], key: &mut KeyBuffer) -> Result<()> {
        let plan = &self.index.plan;
        let change = change_of(row);
        let encoded = match (change.version, self.bulk_bytes(change)) {
            (0, Some(bytes)) => plan.encode_row(bytes, key),
            (0, None) => {
                let encode = |bytes: &[u8]| plan.encode_row(bytes, key);
                self.table.with_frozen_key(change.row, plan, encode).unwrap_or(Ok(()))
            }
            (version, _) => plan.encode_row(bytes_at(self.table.memory, version), key),
        };
        encoded.map_err(|error| self.index.key_error(error))
    }
}

impl AddOne for One<'_, '_> {
    fn add_one(&mut self, entry: RunEntry) -> Result<()> {
        let row = Leaf::of_word(entry[1]).plain_row().unwrap_or(u32::MAX);
        let version = self.table.directory().newest(self.table.memory, row);
        self.add(Change::new(row, version))
    }
}
