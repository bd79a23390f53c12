//! What a change to a row has left behind: as much as undoing it, logging it and stamping its
//! version need.
//!
//! It fits into an entry of the write set; the version word says which kind of
//! change it is.

use super::row::RowId;
use crate::memory::AllocationClass;

/// The row that a statement changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangedRow {
    /// `None` if it is to be there only then.
    pub(crate) id: Option<RowId>,
    /// The memory that may be taken for the change.
    pub(crate) class: AllocationClass,
}

impl ChangedRow {
    /// One that is inserted.
    pub(crate) const NEW: Self = Self { id: None, class: AllocationClass::Normal };

    /// One that gets a new version.
    pub(crate) fn to_update(row: RowId) -> Self {
        Self { id: Some(row), class: AllocationClass::Normal }
    }

    /// One that goes, for which the reserve may be taken.
    pub(crate) fn to_delete(row: RowId) -> Self {
        Self { id: Some(row), class: AllocationClass::Emergency }
    }
}

/// A change that was made, as much as undoing it needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change {
    pub(crate) row: u32,
    /// The version that the change put first, [`ENDED`], or [`ENDED_IN_COLUMNS`] with a layer.
    pub(crate) version: u64,
    /// Reservations of room in the retire queue beyond the first: for key blocks.
    pub(crate) reserved: u8,
}

/// What a change has in place of a version if the row's only version has ended in place.
const ENDED: u64 = 1;
/// What it has beside a layer (`columns/frozen_ends.rs`) if a row has ended that is as it was
/// frozen.
const ENDED_IN_COLUMNS: u64 = 2;

impl Change {
    /// The change that put a version first.
    #[inline]
    pub(crate) fn new(row: u32, version: u64) -> Self {
        Self { row, version, reserved: 0 }
    }

    /// The change that ended a row's only version in place.
    pub(crate) fn end(row: u32) -> Self {
        Self::new(row, ENDED)
    }

    /// The change that ended a row that is as it was frozen.
    pub(crate) fn end_in_columns(row: u32, layer: u64) -> Self {
        Self::new(row, layer | ENDED_IN_COLUMNS)
    }

    /// Whether the row has ended in place, as a version or in the columns.
    #[inline]
    pub(crate) fn is_end(self) -> bool {
        self.version & (ENDED | ENDED_IN_COLUMNS) != 0
    }

    /// The layer that says so, of a row that has ended in the columns.
    pub(crate) fn layer(self) -> Option<u64> {
        (self.version & ENDED_IN_COLUMNS != 0).then_some(self.version & !ENDED_IN_COLUMNS)
    }
}
