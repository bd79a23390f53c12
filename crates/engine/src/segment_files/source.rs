//! Reading parts of blocks again that were evicted.
//!
//! Files are kept open, the last ones that were read. A file that has gone since is opened no more,
//! and none goes as long as a segment is said to stand in it.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::reader::{check_header, damaged};
use super::record::{ENTRY, FRONT, checked_table, table_len};
use super::{HEADER, StoredBlock, checksum_of, name_of, number};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::pages::buffer_cache::EvictedBytes;
use crate::storage::{Storage, StorageFile, read_at_most};

/// Files that are kept open.
const OPEN_MAX: usize = 64;

/// The segment files of a database that is open.
#[derive(Debug)]
pub(crate) struct SegmentSource {
    storage: Arc<dyn Storage>,
    database: [u8; 16],
    /// Open files by their numbers, the one that was read last at the end.
    open: Mutex<Vec<(u64, Arc<dyn StorageFile>)>>,
}

/// What a record's table says of the extents of a block.
pub(crate) struct ExtentTable {
    table: Vec<u8>,
}

impl SegmentSource {
    pub(crate) fn new(storage: Arc<dyn Storage>, database: [u8; 16]) -> Self {
        Self { storage, database, open: Mutex::new(Vec::new()) }
    }

    fn file(&self, number: u64) -> Result<Arc<dyn StorageFile>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = open.iter().rposition(|(of, _)| *of == number) {
            let found = open.remove(place);
            let file = Arc::clone(&found.1);
            open.push(found);
            return Ok(file);
        }
        drop(open);
        let name = name_of(number);
        let failed = |error: io::Error| failed(&name, &error);
        let file: Arc<dyn StorageFile> = self.storage.open(&name).map_err(failed)?.into();
        let mut header = [0; HEADER];
        read_at_most(&*file, 0, &mut header).map_err(failed)?;
        check_header(&header, self.database, number).map_err(|why| damaged(&name, why))?;
        file.will_read_here_and_there();
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() == OPEN_MAX {
            open.remove(0);
        }
        open.push((number, Arc::clone(&file)));
        Ok(file)
    }
}

impl EvictedBytes for SegmentSource {
    fn read(&self, file: u64, at: u64, bytes: &mut [u8]) -> Result<()> {
        let count = read_at_most(&*self.file(file)?, at, bytes)
            .map_err(|error| failed(&name_of(file), &error))?;
        if count < bytes.len() {
            return Err(damaged(&name_of(file), &format!("it ends at {}", at + count as u64)));
        }
        Ok(())
    }

    fn will_read(&self, file: u64, bytes: Range<u64>) {
        // Who reads it says what is wrong with it.
        if let Ok(file) = self.file(file) {
            file.will_read(bytes.start, bytes.end - bytes.start);
        }
    }

    fn damaged(&self, file: u64, why: &str) -> Error {
        damaged(&name_of(file), why)
    }
}

impl ExtentTable {
    /// Reads the table of a block's record.
    ///
    /// # Errors
    /// `StorageFailed`, `DamagedImage`.
    pub(crate) fn read(
        source: &dyn EvictedBytes,
        stored: StoredBlock,
        count: usize,
    ) -> Result<Self> {
        let mut table = vec![0; table_len(count)];
        source.read(stored.file, stored.at, &mut table)?;
        let wrong = |why: String| {
            source.damaged(stored.file, &format!("the record at {}: {why}", stored.at))
        };
        checked_table(&table, stored.checksum).map_err(wrong)?;
        Ok(Self { table })
    }

    /// Where in the file a byte of a block with so many extents stands.
    pub(crate) fn place_of(stored: StoredBlock, count: usize, at: u64) -> u64 {
        stored.at + table_len(count) as u64 + at
    }

    /// Whether these are the bytes of an extent.
    pub(crate) fn is_whole(&self, extent: usize, bytes: &[u8]) -> bool {
        let entry = self.table.get(FRONT + extent * ENTRY..);
        let field = |at| entry.and_then(|entry| number(entry, at));
        field(0) == Some(bytes.len() as u32) && field(12) == Some(checksum_of(bytes))
    }
}

#[cold]
fn failed(name: &str, error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(format!("{name}: {error}"))
}
