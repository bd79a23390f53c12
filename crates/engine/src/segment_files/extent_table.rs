//! The table of a record: what stands in a file before the extents of a block, and says of each how
//! many bytes it has, how it is stored, and its checksum.
//!
//! An extent is stored as it is, or compressed by the storage's library where that saves a quarter.
//! The checksum is that of the extent, not of what was made of it, so that it speaks for the
//! library, too.

use std::io;
use std::ops::Range;

use super::{checksum_of, number};
use crate::column::block::{BLOCK_LEN_MAX, Block};
use crate::storage::Compression;

/// Bytes of the table before the extents' entries, of an entry, and behind them.
const FRONT: usize = 8;
const ENTRY: usize = 16;
const BACK: usize = 4;
/// Extents of a block at most: one for each column, and what they have in common.
const EXTENTS_MAX: usize = 1 << 16;
/// The extent is stored as it is.
const PLAIN: u32 = 0;

/// A table that is there as a whole.
#[derive(Clone, Copy)]
pub(super) struct ExtentTable<'t>(&'t [u8]);

/// What a table says of an extent.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Bytes of the extent, and those in the file.
    pub(super) len: usize,
    pub(super) stored_len: usize,
    /// How it is compressed; [`PLAIN`] if it is not.
    method: u32,
    checksum: u32,
}

/// The record of a block: its table, and the extents behind it.
pub(super) struct Record<'b> {
    pub(super) table: Vec<u8>,
    extents: Extents<'b>,
}

/// Room for what is decompressed: one extent, and a block.
#[derive(Default)]
pub(super) struct Room {
    extent: Vec<u8>,
    block: Vec<u8>,
}

/// What stands behind a table.
enum Extents<'b> {
    /// The block as it lies in memory.
    Plain(&'b [u8]),
    Compressed(Vec<u8>),
}

impl<'b> Record<'b> {
    /// Makes the record of a block; so much of it is compressed as is worth while.
    pub(super) fn of_block(block: Block<'b>, compression: Option<&dyn Compression>) -> Self {
        let extents = block.extents();
        let mut table = Vec::with_capacity(ExtentTable::len_of(extents.len()));
        table.extend((extents.len() as u32).to_le_bytes());
        table.extend((block.bytes().len() as u32).to_le_bytes());
        let mut stored = Vec::new();
        let mut is_plain = true;
        for extent in extents {
            let bytes = &block.bytes()[extent];
            let start = stored.len();
            let method = compression.map_or(PLAIN, |library| {
                library.compress(bytes, &mut stored);
                let is_worth_it = (stored.len() - start) * 4 <= bytes.len() * 3;
                if is_worth_it && !bytes.is_empty() { library.method() } else { PLAIN }
            });
            is_plain &= method == PLAIN;
            if method == PLAIN {
                stored.truncate(start);
                stored.extend_from_slice(bytes);
            }
            let stored_len = (stored.len() - start) as u32;
            for number in [bytes.len() as u32, stored_len, method, checksum_of(bytes)] {
                table.extend(number.to_le_bytes());
            }
        }
        let checksum = checksum_of(&table);
        table.extend(checksum.to_le_bytes());
        let extents =
            if is_plain { Extents::Plain(block.bytes()) } else { Extents::Compressed(stored) };
        Self { table, extents }
    }

    /// The bytes behind the table.
    pub(super) fn extents(&self) -> &[u8] {
        match &self.extents {
            Extents::Plain(bytes) => bytes,
            Extents::Compressed(bytes) => bytes,
        }
    }

    /// The checksum of the table.
    pub(super) fn checksum(&self) -> u32 {
        ExtentTable(&self.table).stored_checksum()
    }
}

impl<'t> ExtentTable<'t> {
    /// Bytes of the table of so many extents.
    pub(super) fn len_of(extents: usize) -> usize {
        FRONT + extents * ENTRY + BACK
    }

    /// The table of a record, which has this checksum, and what is behind it.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn split_from(record: &'t [u8], checksum: u32) -> Result<(Self, &'t [u8]), String> {
        let short = || "a record is too short".to_owned();
        let count = number(record, 0).ok_or_else(short)? as usize;
        if count > EXTENTS_MAX {
            return Err("a record has too many extents".to_owned());
        }
        let (table, rest) = record.split_at_checked(Self::len_of(count)).ok_or_else(short)?;
        let table = Self(table);
        let stored = table.stored_checksum();
        if stored != checksum || stored != checksum_of(&table.0[..table.0.len() - BACK]) {
            return Err("the table of a record has a wrong checksum".to_owned());
        }
        let lens: usize = table.entries().map(|entry| entry.len).sum();
        if lens > BLOCK_LEN_MAX || number(table.0, 4) != Some(lens as u32) {
            return Err("a record has another length than it says".to_owned());
        }
        Ok((table, rest))
    }

    /// The table in these bytes, which were split from a record before.
    pub(super) fn new(bytes: &'t [u8]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub(super) fn bytes(self) -> &'t [u8] {
        self.0
    }

    /// What it says of each extent, in their order.
    pub(super) fn entries(self) -> impl ExactSizeIterator<Item = Entry> + use<'t> {
        let entries = self.0[FRONT..self.0.len() - BACK].chunks_exact(ENTRY);
        entries.map(|entry| {
            let field = |at| number(entry, at).unwrap_or_default();
            Entry {
                len: field(0) as usize,
                stored_len: field(4) as usize,
                method: field(8),
                checksum: field(12),
            }
        })
    }

    /// Where extents stand, from the beginning of the record on.
    pub(super) fn places(self) -> impl Iterator<Item = Range<u64>> + use<'t> {
        self.entries().scan(self.0.len() as u64, |end, entry| {
            let start = *end;
            *end += entry.stored_len as u64;
            Some(start..*end)
        })
    }

    /// The block whose extents stand in these bytes; `room` is for one that is compressed.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(super) fn block_in<'b>(
        self,
        mut extents: &'b [u8],
        compression: Option<&dyn Compression>,
        room: &'b mut Room,
    ) -> Result<&'b [u8], String> {
        let is_plain = self.entries().all(|entry| entry.method == PLAIN);
        let stored = extents;
        room.block.clear();
        for (place, entry) in self.entries().enumerate() {
            let split = extents.split_at_checked(entry.stored_len);
            let (stored, rest) = split.ok_or_else(|| "a record is too short".to_owned())?;
            let bytes = entry.bytes_in(stored, compression, &mut room.extent);
            let bytes = bytes.map_err(|why| format!("extent {place} {why}"))?;
            if !is_plain {
                room.block.extend_from_slice(bytes);
            }
            extents = rest;
        }
        if !extents.is_empty() {
            return Err("a record has bytes in no extent".to_owned());
        }
        Ok(if is_plain { stored } else { &room.block })
    }

    fn stored_checksum(self) -> u32 {
        number(self.0, self.0.len() - BACK).unwrap_or_default()
    }
}

impl Entry {
    /// The bytes of the extent that is stored as these; `room` is for one that is compressed.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(super) fn bytes_in<'b>(
        self,
        stored: &'b [u8],
        compression: Option<&dyn Compression>,
        room: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], String> {
        let bytes = if self.method == PLAIN {
            stored
        } else {
            room.resize(self.len, 0);
            let unknown = || Err(io::ErrorKind::Unsupported.into());
            let decompress = |library: &dyn Compression| {
                library.decompress(self.method, stored, &mut room[..self.len])
            };
            match compression.map_or_else(unknown, decompress) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    return Err(format!(
                        "is compressed by method {}, and the storage has no library for it",
                        self.method
                    ));
                }
                Err(error) => return Err(format!("cannot be decompressed: {error}")),
                Ok(()) => &room[..],
            }
        };
        if bytes.len() != self.len || checksum_of(bytes) != self.checksum {
            return Err("has a wrong checksum".to_owned());
        }
        Ok(bytes)
    }
}
