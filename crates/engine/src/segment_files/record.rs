//! The record of a block in a segment file: a table of its extents, then these.
//!
//! An extent is what the block's columns have in common, or one column: what is read and checked
//! by itself. They stand one behind the other in the order of the block, so that a record whose
//! extents are stored as they are has the block as it lies in memory behind its table.

use super::{checksum_of, number};
use crate::column::block::{BLOCK_LEN_MAX, Block};

/// Bytes of the table before the extents' entries, of an entry, and behind them.
pub(super) const FRONT: usize = 8;
pub(super) const ENTRY: usize = 16;
const BACK: usize = 4;
/// Extents of a block at most: one for each column, and what they have in common.
const EXTENTS_MAX: usize = 1 << 16;
/// The extent is stored as it is.
const PLAIN: u32 = 0;

/// The bytes before the extents of a block, which follow as they are.
pub(super) fn table_of(block: Block<'_>) -> Vec<u8> {
    let extents = block.extents();
    let mut table = Vec::with_capacity(table_len(extents.len()));
    table.extend((extents.len() as u32).to_le_bytes());
    table.extend((block.bytes().len() as u32).to_le_bytes());
    for extent in extents {
        let bytes = &block.bytes()[extent];
        let len = bytes.len() as u32;
        for number in [len, len, PLAIN, checksum_of(bytes)] {
            table.extend(number.to_le_bytes());
        }
    }
    let checksum = checksum_of(&table);
    table.extend(checksum.to_le_bytes());
    table
}

/// The checksum at the end of a table.
pub(super) fn checksum_in(table: &[u8]) -> u32 {
    number(table, table.len() - BACK).unwrap_or_default()
}

/// Checks that a table has this checksum.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn checked_table(table: &[u8], checksum: u32) -> Result<(), String> {
    let stored = checksum_in(table);
    if stored != checksum || stored != checksum_of(&table[..table.len() - BACK]) {
        return Err("the table of a record has a wrong checksum".to_owned());
    }
    Ok(())
}

/// The block in a record of which the table has this checksum.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn block_in(record: &[u8], checksum: u32) -> Result<&[u8], String> {
    let short = || "a record is too short".to_owned();
    let count = number(record, 0).ok_or_else(short)? as usize;
    if count > EXTENTS_MAX {
        return Err("a record has too many extents".to_owned());
    }
    let (table, block) = record.split_at_checked(table_len(count)).ok_or_else(short)?;
    checked_table(table, checksum)?;
    if block.len() > BLOCK_LEN_MAX || number(table, 4) != Some(block.len() as u32) {
        return Err("a record has another length than it says".to_owned());
    }
    let mut rest = block;
    for (place, entry) in table[FRONT..table.len() - BACK].chunks_exact(ENTRY).enumerate() {
        let field = |at| number(entry, at).unwrap_or_default();
        if field(8) != PLAIN || field(0) != field(4) {
            return Err(format!("extent {place} is stored in a way that is not known here"));
        }
        let (extent, others) = rest.split_at_checked(field(4) as usize).ok_or_else(short)?;
        if checksum_of(extent) != field(12) {
            return Err(format!("extent {place} has a wrong checksum"));
        }
        rest = others;
    }
    if rest.is_empty() { Ok(block) } else { Err("a record has bytes in no extent".to_owned()) }
}

/// Bytes of the table of so many extents.
pub(super) fn table_len(extents: usize) -> usize {
    FRONT + extents * ENTRY + BACK
}
