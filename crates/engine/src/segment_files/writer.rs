//! Writing the segment files of one checkpoint.
//!
//! A file takes blocks until it has 16 MiB, and is synced when it is full or the checkpoint's image
//! is; nothing is ever written to it again. When what images refer to is less than half of an
//! older file, its blocks are written anew, into the files of this checkpoint, and the file goes
//! when no image needs it.

use std::collections::BTreeSet;
use std::io;

use super::extent_table::Record;
use super::{HEADER, StoredBlock, header, name_of, number_of};
use crate::column::block::Block;
use crate::storage::{Storage, StorageFile, write_all_at};

/// A file that has so many bytes takes no more blocks.
const FILE_LEN: u64 = 16 << 20;

/// The segment files that are there, and those that a checkpoint writes.
#[derive(Debug)]
pub(crate) struct SegmentWriter {
    database: [u8; 16],
    /// Files that were there before, by their numbers.
    older: Vec<Older>,
    /// The file that is being written, and its bytes.
    open: Option<(Box<dyn StorageFile>, u64)>,
    /// The number of the last file that was made, and those that this checkpoint made.
    last: u64,
    made: Vec<u64>,
    /// Bytes that were written, and how many were when the open file was last synced.
    pub(crate) bytes: u64,
    synced: u64,
}

/// A file that was there before.
#[derive(Debug)]
struct Older {
    number: u64,
    len: u64,
    /// Bytes of blocks that stand in it.
    used: u64,
    /// Whether the image refers to it.
    is_needed: bool,
}

impl SegmentWriter {
    /// Begins a checkpoint of the database with this id. No file gets a number up to `last`.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn begin(storage: &dyn Storage, database: [u8; 16], last: u64) -> io::Result<Self> {
        let mut older = Vec::new();
        for name in storage.names()? {
            if let Some(number) = number_of(&name) {
                let len = storage.open(&name)?.len()?;
                older.push(Older { number, len, used: 0, is_needed: false });
            }
        }
        older.sort_unstable_by_key(|file| file.number);
        let last = older.last().map_or(0, |file| file.number).max(last);
        let (open, made) = (None, Vec::new());
        Ok(Self { database, older, open, last, made, bytes: 0, synced: 0 })
    }

    /// Says that a block of the image stands somewhere; to be said of all before any is placed.
    /// Files of which they are less than half are not kept.
    pub(crate) fn keep_for(&mut self, block: StoredBlock) {
        if let Some(file) = self.older(block.file) {
            file.used += block.len;
        }
    }

    fn older(&mut self, number: u64) -> Option<&mut Older> {
        let place = self.older.binary_search_by_key(&number, |file| file.number).ok()?;
        self.older.get_mut(place)
    }

    /// Where a block stands that stands there already, as somebody says; `None` if it has to be
    /// written.
    pub(crate) fn keep(&mut self, known: Option<StoredBlock>) -> Option<StoredBlock> {
        let stored = known?;
        let file = self.older(stored.file)?;
        let is_kept = file.used * 2 >= file.len;
        file.is_needed |= is_kept;
        is_kept.then_some(stored)
    }

    /// Writes a block, and says where it stands.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn write(
        &mut self,
        storage: &dyn Storage,
        block: Block<'_>,
    ) -> io::Result<StoredBlock> {
        let (file, at) = match &mut self.open {
            Some(open) => open,
            None => {
                self.last += 1;
                let file = storage.create(&name_of(self.last))?;
                self.made.push(self.last);
                write_all_at(&*file, 0, &header(self.database, self.last))?;
                self.bytes += HEADER as u64;
                self.open.insert((file, HEADER as u64))
            }
        };
        let record = Record::of_block(block, storage.compression());
        let (table, extents) = (&record.table, record.extents());
        write_all_at(&**file, *at, table)?;
        write_all_at(&**file, *at + table.len() as u64, extents)?;
        let len = (table.len() + extents.len()) as u64;
        let stored = StoredBlock { file: self.last, at: *at, len, checksum: record.checksum() };
        *at += len;
        self.bytes += len;
        if *at >= FILE_LEN {
            file.sync()?;
            self.open = None;
        }
        Ok(stored)
    }

    /// Syncs what was written, if it is so much since it last was: so that nobody has to wait for
    /// all of it at the end.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn sync_if(&mut self, bytes: u64) -> io::Result<()> {
        if self.bytes - self.synced >= bytes {
            self.open.as_ref().map_or(Ok(()), |(file, _)| file.sync())?;
            self.synced = self.bytes;
        }
        Ok(())
    }

    /// Makes sure that all that was written stays, before an image refers to it. Names of files are
    /// sure when the image's is: before, nothing that it replaces has gone.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        if let Some((file, _)) = self.open.take() {
            file.sync()?;
        }
        Ok(())
    }

    /// Removes what was written, as far as that can be done: no image will refer to it.
    pub(crate) fn take_back(&mut self, storage: &dyn Storage) {
        self.open = None;
        for number in self.made.drain(..) {
            let _ = storage.remove(&name_of(number));
        }
    }

    /// The number of the last file that was made.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// The files that the image does not refer to, to be removed once it is the only one, but for
    /// those that are read again.
    pub(crate) fn others(&self, read: &BTreeSet<u64>) -> Vec<String> {
        let is_needed = |file: &&Older| file.is_needed || read.contains(&file.number);
        let others = self.older.iter().filter(|file| !is_needed(file));
        others.map(|file| name_of(file.number)).collect()
    }
}
