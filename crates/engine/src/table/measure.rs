//! How much memory a table takes: gone through on request, for it is not counted as it changes.
//!
//! The caller holds a snapshot from before it knew that the table is live, so the table stays. Each
//! call of the reader goes through a batch of rows, of nodes or of chains, so that reclaimers need
//! not wait for more than that. Versions are counted as long as a row leads to them, whoever sees
//! them; what was cut and waits to be freed is in no table any more. Versions behind the one that
//! the snapshot sees are freed under the row's latch as soon as no older snapshot needs them. So a
//! row that has some is latched while they are counted, unless somebody else has it just then.

use super::read::reader::Reader;
use super::read::scan::sees_frozen;
use super::rows::segment::{is_frozen, newest_of};
use super::rows::version::{Version, chain};
use super::table::{IndexCore, TableAt};
use crate::index::size::IndexSize;
use crate::memory::atomic::{Acquire, Relaxed};
use crate::memory::row_blocks;
use crate::snapshot::Snapshot;

/// Slots that are gone through in one call; few for models.
const AT_ONCE: u64 = if cfg!(shuttle) { 2 } else { 1024 };
/// Rows that are prefetched.
const AHEAD: usize = 16;

/// The memory of a table's rows.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct RowsMeasure {
    /// Rows that the snapshot sees, and how many of them are as they were frozen.
    pub(crate) rows: u64,
    pub(crate) frozen: u64,
    /// Versions of rows, deletions included, and their bytes.
    pub(crate) versions: u64,
    pub(crate) bytes: u64,
}

impl RowsMeasure {
    fn count(&mut self, version: &Version) {
        self.versions += 1;
        self.bytes += row_blocks::occupied(size_of::<Version>() + version.length()) as u64;
    }

    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        self.frozen += other.frozen;
        self.versions += other.versions;
        self.bytes += other.bytes;
    }
}

impl TableAt<'_> {
    /// Adds up what the rows take.
    pub(crate) fn measure_rows(&self, reader: Reader<'_>) -> RowsMeasure {
        let (directory, memory) = (self.directory(), self.memory);
        let mut measure = RowsMeasure::default();
        let (mut next, limit) = (0, directory.limit());
        while next < limit {
            let _operation = reader.enter(memory);
            let slots = directory.stretch(memory, &mut next, limit, AT_ONCE);
            for (i, slot) in slots.iter().enumerate() {
                // Whatever else the word may be, to ask for it does no harm.
                let ahead = slots.get(i + AHEAD).unwrap_or(slot);
                memory.region().prefetch(ahead.load(Relaxed));
                let (row, word) = (next as u32 + i as u32, slot.load(Acquire));
                if is_frozen(word) {
                    let frozen = u64::from(sees_frozen(*self, reader, row));
                    measure.add(RowsMeasure { rows: frozen, frozen, ..RowsMeasure::default() });
                    continue;
                }
                measure.add(self.measure_row(row, newest_of(word), reader.snapshot));
            }
            next += slots.len() as u64;
        }
        measure
    }

    /// Adds up what a row takes whose newest version lies there.
    fn measure_row(&self, row: u32, newest: u64, snapshot: Snapshot) -> RowsMeasure {
        let (mut own, mut at) = (RowsMeasure::default(), newest);
        while at != 0 {
            let version = Version::at(self.memory, at);
            own.count(version);
            at = version.older();
            if snapshot.sees(self.memory, &version.begin) {
                own.rows = u64::from(!version.is_gone(self.memory, snapshot));
                break;
            }
        }
        if at != 0
            && let Some(latched) = self.directory().try_latch(self.memory, row)
        {
            own = RowsMeasure { rows: own.rows, ..RowsMeasure::default() };
            chain(self.memory, latched.newest()).for_each(|(_, version)| own.count(version));
        }
        own
    }

    /// Bytes of the table's directory.
    pub(crate) fn measure_directory(&self, reader: Reader<'_>) -> u64 {
        let _operation = reader.enter(self.memory);
        self.directory().bytes(self.memory)
    }

    /// Bytes of the columns of the table's frozen segments, and of these what was evicted.
    pub(crate) fn measure_columns(&self, reader: Reader<'_>) -> [u64; 2] {
        let _operation = reader.enter(self.memory);
        self.directory().column_bytes(self.memory)
    }

    /// Adds up what one of the table's indexes takes.
    pub(crate) fn measure_index(&self, reader: Reader<'_>, index: &IndexCore) -> u64 {
        let mut size = IndexSize::new();
        let mut more = true;
        while more {
            let _operation = reader.enter(self.memory);
            more = match index.is_ordered() {
                true => size.step_ordered(self.memory, self.ordered(index)),
                false => size.step_hash(self.memory, self.hash(index)),
            };
        }
        size.bytes
    }
}
