//! Where a row's bytes lie, as a handle of C carries it from call to call.
//!
//! A row that was read stays where it is until its transaction ends; whether that has ended, the
//! slot of the transaction says (`slots.rs`), which is asked first.

use remanent_engine::{Row, RowId};

/// The address of a row's bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowAt {
    bytes: *const u8,
    length: u32,
    pub(crate) id: u32,
}

impl RowAt {
    #[inline]
    pub(crate) fn of(row: &Row<'_>) -> Self {
        let bytes = row.bytes();
        Self { bytes: bytes.as_ptr(), length: bytes.len() as u32, id: row.id().number() as u32 }
    }

    /// As a handle of C carried it.
    #[inline]
    pub(crate) fn from_parts(bytes: *const u8, length: u32, id: u32) -> Self {
        Self { bytes, length, id }
    }

    #[inline]
    pub(crate) fn parts(self) -> (*const u8, u32) {
        (self.bytes, self.length)
    }

    pub(crate) fn row_id(self) -> Option<RowId> {
        RowId::from_number(u64::from(self.id))
    }

    /// The row's bytes.
    ///
    /// # Safety
    /// They are of a row that was read in a transaction which has not ended.
    #[inline]
    pub(crate) unsafe fn bytes<'t>(self) -> &'t [u8] {
        // SAFETY: a version does not change and stays until the transaction that saw it ends.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length as usize) }
    }
}
