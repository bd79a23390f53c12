//! Rows that one transaction inserts under all ids of a segment, in their order: they are gathered
//! and inserted as columns, as they probably came. What does not go on so long is inserted row by
//! row, before anything else is changed.

use super::{Replay, check_row, not_repeated};
use crate::error::Result;
use crate::log::record::Operation;
use crate::table::Table;
use crate::table::columns::bulk_segment::SEGMENT_ROWS;
use crate::table::rows::row::RowId;
use crate::table::table::TableAt;

/// Bytes of rows that are gathered at most, about the longest columns of a segment.
const GATHERED_MAX: usize = 64 << 20;

/// Rows of one table, from the first of a segment on.
#[derive(Default)]
pub(super) struct Filling {
    /// Where they belong; nowhere if none are gathered.
    place: Option<Place>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

struct Place {
    table: Table,
    /// The id of the first row.
    first: u32,
}

impl Filling {
    /// Gathers none any longer.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Whether this row is the next.
    fn goes_on(&self, table: &Table, row: u32) -> bool {
        self.place.as_ref().is_some_and(|place| {
            place.table.core.id == table.core.id && place.first + self.ends.len() as u32 == row
        })
    }

    /// The bytes of each row.
    fn slices(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts.zip(&self.ends).map(|(&start, &end)| &self.bytes[start..end])
    }
}

impl Replay<'_> {
    /// Gathers a row that is to be inserted if it may belong to columns. Those of a whole segment
    /// are inserted.
    pub(super) fn gather(&mut self, table: &Table, row: u32, bytes: &[u8]) -> Result<bool> {
        let is_first = (row as usize).is_multiple_of(SEGMENT_ROWS);
        if is_first && self.freezes && table.core.schema.set.is_none() {
            self.insert_gathered()?;
            let at = TableAt { memory: self.db.instance.memory(), core: &table.core };
            if at.directory().is_vacant(at.memory, row) {
                self.filling.place = Some(Place { table: table.clone(), first: row });
            }
        }
        let fits = self.filling.bytes.len() + bytes.len() <= GATHERED_MAX;
        if !fits || !self.filling.goes_on(table, row) {
            return Ok(false);
        }
        check_row(table, bytes)?;
        self.filling.bytes.extend_from_slice(bytes);
        self.filling.ends.push(self.filling.bytes.len());
        if self.filling.ends.len() == SEGMENT_ROWS {
            self.insert_segment().map_err(not_repeated)?;
        }
        Ok(true)
    }

    /// Inserts what was gathered and is no whole segment, row by row.
    pub(super) fn insert_gathered(&mut self) -> Result<()> {
        let filling = std::mem::take(&mut self.filling);
        let Some(Place { table, first }) = &filling.place else { return Ok(()) };
        for (row, bytes) in (*first..).zip(filling.slices()) {
            self.make_vacant(table, row)?;
            let operation = Operation::Insert { table: table.core.id, row, bytes };
            self.change(table, &operation).map_err(not_repeated)?;
        }
        Ok(())
    }

    /// Inserts a whole segment as columns, or as rows where these find no room.
    fn insert_segment(&mut self) -> Result<()> {
        let Some(Place { table, first }) = &self.filling.place else { return Ok(()) };
        let (table, first) = (table.clone(), *first);
        let filling = std::mem::take(&mut self.filling);
        let rows: Vec<_> = filling.slices().map(Some).collect();
        let placed = self.transaction()?.insert_segment_at(&table, RowId(first), &rows)?;
        if !placed {
            self.filling = filling;
            return self.insert_gathered();
        }
        self.changes += SEGMENT_ROWS;
        Ok(())
    }
}
