//! The rows beside a row, in the order of row ids.
//!
//! Whoever deletes the first row again and again would pass more deleted rows each time, so a
//! transaction keeps in mind how far the visible rows reach.

use super::reader::Reader;
use crate::memory::atomic::Acquire;
use crate::table::rows::row::RowId;
use crate::table::table::TableAt;

/// Where the visible rows of a table lie: none has an id below `start`, or `end` and above.
///
/// True for a snapshot as long as its transaction inserts nothing and takes nothing back.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    table: u32,
    start: u64,
    end: u64,
}

impl Extent {
    /// The extent of a table, from what is known of one.
    #[inline]
    pub(crate) fn of(table: TableAt<'_>, known: Option<Extent>) -> Extent {
        let id = table.core.id;
        let whole = || Extent { table: id, start: 0, end: table.directory().limit() };
        known.filter(|known| known.table == id).unwrap_or_else(whole)
    }

    /// The nearest visible row behind `row`; without one, the first.
    pub(crate) fn after(
        &mut self,
        table: TableAt<'_>,
        reader: Reader<'_>,
        row: Option<RowId>,
    ) -> Option<u64> {
        let (memory, directory) = (table.memory, table.directory());
        let from = row.map_or(0, |row| u64::from(row.0) + 1);
        let mut next = from.max(self.start);
        let is_first = next == self.start;
        let mut found = None;
        while found.is_none() && next < self.end {
            let slots = directory.stretch(memory, &mut next, self.end, u64::MAX);
            for (row, slot) in (next as u32..).zip(slots) {
                next = u64::from(row);
                found = reader.see(&table, row, slot.load(Acquire));
                if found.is_some() {
                    break;
                }
                next += 1;
            }
        }
        if is_first {
            self.start = next;
        }
        found
    }

    /// The nearest visible row before `row`; without one, the last.
    pub(crate) fn before(
        &mut self,
        table: TableAt<'_>,
        reader: Reader<'_>,
        row: Option<RowId>,
    ) -> Option<u64> {
        let (memory, directory) = (table.memory, table.directory());
        let to = row.map_or(self.end, |row| u64::from(row.0)).min(self.end);
        let sees = |row: u32| reader.see(&table, row, directory.word(memory, row));
        let found = (self.start..to).rev().find_map(|row| Some((row, sees(row as u32)?)));
        if to == self.end {
            self.end = found.map_or(self.start, |(row, _)| row + 1);
        }
        found.map(|(_, at)| at)
    }
}
