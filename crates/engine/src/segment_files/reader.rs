//! Reading blocks from segment files.
//!
//! Nothing in a file is believed: neither that it is the file that is sought, nor that it goes as
//! far as an image says, nor what it holds before its checksums are right.

use std::io;

use super::extent_table::{ExtentTable, Room};
use super::{HEADER, MAGIC, StoredBlock, VERSION, checksum_of, long, name_of, number};
use crate::column::block::BLOCK_LEN_MAX;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, StorageFile, read_at_most};

/// No record is longer: a block, and 16 bytes for each of its columns.
const RECORD_MAX: u64 = BLOCK_LEN_MAX as u64 + (2 << 20);

/// The segment files of a database, one of them open.
pub(crate) struct SegmentReader<'s> {
    storage: &'s dyn Storage,
    open: Option<(u64, Box<dyn StorageFile>)>,
    record: Vec<u8>,
    room: Room,
    /// Whether the system may keep what was read.
    system_cache: bool,
    /// Bytes that were read.
    pub(crate) bytes: u64,
}

impl<'s> SegmentReader<'s> {
    pub(crate) fn new(storage: &'s dyn Storage) -> Self {
        let (record, room) = (Vec::new(), Room::default());
        Self { storage, open: None, record, room, system_cache: true, bytes: 0 }
    }

    /// Lets the system keep what was read, or not.
    pub(crate) fn system_cache(self, keeps: bool) -> Self {
        Self { system_cache: keeps, ..self }
    }

    /// A block of the database with this id, checked against its checksums.
    ///
    /// # Errors
    /// `DamagedImage`, with the file and what is wrong in it; `StorageFailed`.
    pub(crate) fn block(&mut self, database: [u8; 16], stored: StoredBlock) -> Result<&[u8]> {
        let name = name_of(stored.file);
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::NotFound => damaged(&name, "it is not there"),
            _ => Error::new(ErrorKind::StorageFailed).because(format!("{name}: {error}")),
        };
        if self.open.as_ref().is_none_or(|(number, _)| *number != stored.file) {
            let file = self.storage.open(&name).map_err(failed)?;
            let mut header = [0; HEADER];
            read_at_most(&*file, 0, &mut header).map_err(failed)?;
            check_header(&header, database, stored.file).map_err(|why| damaged(&name, why))?;
            self.open = Some((stored.file, file));
        }
        let Some((_, file)) = &self.open else { return Err(damaged(&name, "it is not open")) };
        let StoredBlock { at, len, checksum, .. } = stored;
        let end = at.checked_add(len);
        let there = file.len().map_err(failed)?;
        if len > RECORD_MAX || end.is_none_or(|end| end > there) {
            return Err(damaged(&name, &format!("it ends before the record at {at}")));
        }
        self.record.resize(len as usize, 0);
        let count = read_at_most(&**file, at, &mut self.record).map_err(failed)?;
        if !self.system_cache {
            file.was_read(at, len);
        }
        self.bytes += len;
        let wrong = |why: String| damaged(&name, &format!("the record at {at}: {why}"));
        let (table, extents) =
            ExtentTable::split_from(&self.record[..count], checksum).map_err(wrong)?;
        table.block_in(extents, self.storage.compression(), &mut self.room).map_err(wrong)
    }
}

/// Checks that a file is the one that is sought.
pub(super) fn check_header(
    header: &[u8; HEADER],
    database: [u8; 16],
    file: u64,
) -> Result<(), &'static str> {
    let (front, back) = header.split_at(HEADER - 4);
    if header[..8] != *MAGIC || number(back, 0) != Some(checksum_of(front)) {
        return Err("it does not begin like a segment file");
    }
    if header[8..10] != VERSION.to_le_bytes() {
        return Err("it has a version that is not known here");
    }
    if header[16..32] != database || long(header, 32) != Some(file) {
        return Err("it is another file, or another database's");
    }
    Ok(())
}

#[cold]
pub(super) fn damaged(name: &str, why: &str) -> Error {
    Error::new(ErrorKind::DamagedImage).because(format!("{name}: {why}"))
}
