//! The block of an image that holds a frozen segment: its columns as they lie in memory, and for
//! which rows they were what the image's snapshot saw.
//!
//! Rows of the segment that have changed since it was frozen follow as rows. Nothing of the payload
//! is believed before it was checked against the layout of its table.

use remanent_schema::RowLayout;

use super::reader::number;
use crate::column::block::{Block, bit};
use crate::column::check::is_well_formed;
use crate::segment_files::StoredBlock;

/// Bytes before the bitmap.
const HEAD: usize = 16;
/// Segments that a table can have.
const SEGMENTS: u32 = 1 << 16;
/// Words of a bitmap at most.
const WORDS_MAX: usize = 1 << 10;

/// The content of a columns block, behind the number of its table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'p> {
    /// The segment: its first row id is 65,536 times this.
    pub(crate) segment: u32,
    /// A bit for each row that is seen; empty if all that are there are.
    visible: &'p [u8],
    bytes: &'p [u8],
}

impl<'p> Columns<'p> {
    /// Parses a payload; `None` if it is not one.
    pub(crate) fn of_payload(payload: &'p [u8]) -> Option<Self> {
        let (segment, words) = (number(payload, 4).ok()?, number(payload, 8).ok()? as usize);
        if segment >= SEGMENTS || words > WORDS_MAX {
            return None;
        }
        let (visible, bytes) = payload.get(HEAD..)?.split_at_checked(words * 8)?;
        Some(Self { segment, visible, bytes })
    }

    /// Parses the payload of one that stands in a segment file: its bytes are to be
    /// [`filled`](Self::filled) in.
    pub(crate) fn of_stored(payload: &'p [u8]) -> Option<(Self, StoredBlock)> {
        let columns = Self::of_payload(payload)?;
        Some((columns, StoredBlock::of_bytes(columns.bytes)?))
    }

    /// The same with these bytes.
    pub(crate) fn filled(self, bytes: &'p [u8]) -> Self {
        Self { bytes, ..self }
    }

    /// Begins a payload.
    pub(super) fn put(payload: &mut Vec<u8>, table: u32, segment: u32, visible: &[u64]) {
        for number in [table, segment, visible.len() as u32, 0] {
            payload.extend(number.to_le_bytes());
        }
        visible.iter().for_each(|word| payload.extend(word.to_le_bytes()));
    }

    /// The columns, if they are of rows with this layout.
    pub(crate) fn checked(self, layout: &RowLayout) -> Option<Block<'p>> {
        if !is_well_formed(self.bytes, layout) {
            return None;
        }
        let block = Block::new(self.bytes);
        let fits = self.visible.is_empty() || self.visible.len() == block.bitmap_len();
        fits.then_some(block)
    }

    /// The ordinals of rows that are there in `block`, and whether each is seen.
    pub(crate) fn ordinals(self, block: Block<'p>) -> impl Iterator<Item = (u32, bool)> {
        let visible = self.visible;
        let there = (0..block.rows()).filter(move |&ordinal| block.has(ordinal));
        there.map(move |ordinal| (ordinal, visible.is_empty() || bit(visible, ordinal as usize)))
    }

    /// The bytes of the columns.
    pub(crate) fn bytes(self) -> &'p [u8] {
        self.bytes
    }

    /// Calls `visit` with the id and the bytes of each row that is seen, for `block` of these.
    ///
    /// # Errors
    /// The error of `visit`.
    pub(crate) fn each_row<E>(
        self,
        block: Block<'p>,
        layout: &RowLayout,
        mut visit: impl FnMut(u32, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut row = Vec::new();
        for (ordinal, _) in self.ordinals(block).filter(|(_, is_seen)| *is_seen) {
            row.resize(block.row_len(layout, ordinal), 0);
            block.write_row(layout, ordinal, &mut row);
            visit(self.segment << 16 | ordinal, &row)?;
        }
        Ok(())
    }
}
