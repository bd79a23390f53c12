//! Writing the segment files of one checkpoint.
//!
//! A file takes blocks until it has 16 MiB, and is synced when it is full or the checkpoint's image
//! is; nothing is ever written to it again. When what images refer to is less than half of an
//! older file, its blocks are written anew, into the files of this checkpoint, and the file goes
//! when no image needs it.

use std::collections::{HashMap, HashSet};
use std::io;

use super::record::{checksum_in, table_of};
use super::{HEADER, StoredBlock, header, name_of, number_of};
use crate::column::block::Block;
use crate::storage::{Storage, StorageFile, write_all_at};

/// A file that has so many bytes takes no more blocks.
const FILE_LEN: u64 = 16 << 20;

/// The segment files that are there, and those that a checkpoint writes.
pub(crate) struct SegmentWriter<'s> {
    storage: &'s dyn Storage,
    database: [u8; 16],
    /// Files that were there before, and their bytes.
    older: HashMap<u64, u64>,
    /// Those of them that are not worth keeping.
    sparse: HashSet<u64>,
    /// Those that the image refers to.
    needed: HashSet<u64>,
    /// The file that is being written, and its bytes.
    open: Option<(Box<dyn StorageFile>, u64)>,
    /// The number of the last file that was made.
    last: u64,
    /// Bytes that were written.
    pub(crate) bytes: u64,
}

impl<'s> SegmentWriter<'s> {
    /// Begins a checkpoint of the database with this id. No file gets a number up to `last`.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn begin(
        storage: &'s dyn Storage,
        database: [u8; 16],
        last: u64,
    ) -> io::Result<Self> {
        let mut older = HashMap::new();
        for name in storage.names()? {
            if let Some(number) = number_of(&name) {
                older.insert(number, storage.open(&name)?.len()?);
            }
        }
        let last = older.keys().copied().max().unwrap_or(0).max(last);
        let (sparse, needed) = (HashSet::new(), HashSet::new());
        let (open, bytes) = (None, 0);
        Ok(Self { storage, database, older, sparse, needed, open, last, bytes })
    }

    /// Says where all blocks of the image stand that stand somewhere: files of which they are less
    /// than half are not kept.
    pub(crate) fn keep_for(&mut self, blocks: impl Iterator<Item = StoredBlock>) {
        let mut used: HashMap<u64, u64> = HashMap::new();
        blocks.for_each(|block| *used.entry(block.file).or_default() += block.len);
        let is_sparse = |(file, len): (&u64, &u64)| {
            let used = used.get(file).copied().unwrap_or_default();
            (used * 2 < *len).then_some(*file)
        };
        self.sparse = self.older.iter().filter_map(is_sparse).collect();
    }

    /// Where a block stands that stands there already, as somebody says, or is written now.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn place(
        &mut self,
        block: Block<'_>,
        known: Option<StoredBlock>,
    ) -> io::Result<StoredBlock> {
        let is_kept =
            |it: &StoredBlock| self.older.contains_key(&it.file) && !self.sparse.contains(&it.file);
        let stored = match known.filter(is_kept) {
            Some(stored) => stored,
            None => self.write(block)?,
        };
        self.needed.insert(stored.file);
        Ok(stored)
    }

    fn write(&mut self, block: Block<'_>) -> io::Result<StoredBlock> {
        let (file, at) = match &mut self.open {
            Some(open) => open,
            None => {
                self.last += 1;
                let file = self.storage.create(&name_of(self.last))?;
                write_all_at(&*file, 0, &header(self.database, self.last))?;
                self.bytes += HEADER as u64;
                self.open.insert((file, HEADER as u64))
            }
        };
        let table = table_of(block);
        write_all_at(&**file, *at, &table)?;
        write_all_at(&**file, *at + table.len() as u64, block.bytes())?;
        let len = (table.len() + block.bytes().len()) as u64;
        let stored = StoredBlock { file: self.last, at: *at, len, checksum: checksum_in(&table) };
        *at += len;
        self.bytes += len;
        if *at >= FILE_LEN {
            file.sync()?;
            self.open = None;
        }
        Ok(stored)
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

    /// The number of the last file that was made.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Removes the files that the image does not refer to, once it is the only one.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn remove_others(&self) -> io::Result<()> {
        let others = self.older.keys().filter(|number| !self.needed.contains(number));
        others.copied().try_for_each(|number| self.storage.remove(&name_of(number)))
    }
}
