//! The head of the log: a small file that says how far the log surely goes.
//!
//! A file of the log cannot bear witness to itself: where it is missing, or its beginning is not
//! readable, nothing in it can say that there were commits. So before the first commit of a file
//! is acknowledged, the head says on the disk that there is this file, with a copy of its header.
//! It is said again when the database is closed. What it says never becomes untrue: files go only
//! when a newer one was named. It has two places, written by turns, so that one is always whole.
//!
//! Who writes it, and when, is `writer.rs`; what follows from it, `reader.rs`.

use std::io;

use super::file::Header;
use crate::checksum::Checksum;
use crate::storage::{Storage, StorageFile, read_at_most, write_all_at};

/// The name of the file.
pub(crate) const NAME: &str = "log-head";
const MAGIC: &[u8; 8] = b"RMNTHEAD";
const VERSION: u16 = 1;
const PLACE_LEN: usize = 88;
/// The two places lie so far from each other that no disk loses both at once.
const PLACE_STEP: u64 = 4096;

const _: () = assert!(8 + 2 + 2 + 4 + 16 + 6 * 8 + 4 + 4 == PLACE_LEN);

/// The content of `log-head`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LogHead {
    /// Of the newest file that something was promised of.
    pub(crate) header: Header,
    /// Bytes that this file has at least.
    pub(crate) file_len: u64,
    /// The position before which all is on the disk.
    pub(crate) synced: u64,
}

/// The head of an open log.
#[derive(Debug)]
pub(crate) struct HeadFile {
    file: Box<dyn StorageFile>,
    sequence: u64,
}

impl LogHead {
    /// What the head of a log says, if it says something; and whether there is one.
    pub(crate) fn read(storage: &dyn Storage) -> io::Result<(Option<Self>, bool)> {
        match storage.open(NAME) {
            Ok(file) => Ok((read_newest(&*file)?.map(|(_, head)| head), true)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok((None, false)),
            Err(error) => Err(error),
        }
    }

    fn to_bytes(self, sequence: u64) -> [u8; PLACE_LEN] {
        let Self { header, file_len, synced } = self;
        let mut bytes = [0; PLACE_LEN];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[10..12].copy_from_slice(&header.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&header.nonce.to_le_bytes());
        bytes[16..32].copy_from_slice(&header.database);
        let words = [sequence, header.number, header.start, header.timestamp, file_len, synced];
        for (place, word) in bytes[32..80].chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        let value = checksum_of(&bytes);
        bytes[84..].copy_from_slice(&value.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8; PLACE_LEN]) -> Option<(u64, Self)> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let stored = u32::from_le_bytes([bytes[84], bytes[85], bytes[86], bytes[87]]);
        if stored != checksum_of(bytes) || bytes[..8] != *MAGIC || half(8) != VERSION {
            return None;
        }
        let header = Header {
            database: std::array::from_fn(|i| bytes[16 + i]),
            number: word(40),
            start: word(48),
            timestamp: word(56),
            nonce: (word(8) >> 32) as u32,
            length: half(10),
            version: 0,
        };
        Some((word(32), Self { header, file_len: word(64), synced: word(72) }))
    }
}

impl HeadFile {
    /// The head of the log in a storage. One that was not there says nothing yet, and its name is
    /// not synced.
    pub(crate) fn open(storage: &dyn Storage) -> io::Result<Self> {
        let file = match storage.open(NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => storage.create(NAME)?,
            opened => opened?,
        };
        let newest = read_newest(&*file)?;
        if file.len()? < 2 * PLACE_STEP {
            // So that a full disk is met here and not later.
            let len = file.len()?;
            write_all_at(&*file, len, &vec![0; (2 * PLACE_STEP - len) as usize])?;
        }
        Ok(Self { file, sequence: newest.map_or(0, |(sequence, _)| sequence) })
    }

    /// Says this, and makes sure that it stays.
    pub(crate) fn say(&mut self, head: LogHead) -> io::Result<()> {
        self.sequence += 1;
        let at = self.sequence % 2 * PLACE_STEP;
        write_all_at(&*self.file, at, &head.to_bytes(self.sequence))?;
        self.file.sync()
    }
}

fn read_newest(file: &dyn StorageFile) -> io::Result<Option<(u64, LogHead)>> {
    let mut newest = None;
    for at in [0, PLACE_STEP] {
        let mut bytes = [0; PLACE_LEN];
        read_at_most(file, at, &mut bytes)?;
        let found = LogHead::from_bytes(&bytes);
        newest = [newest, found].into_iter().flatten().max_by_key(|&(sequence, _)| sequence);
    }
    Ok(newest)
}

fn checksum_of(bytes: &[u8; PLACE_LEN]) -> u32 {
    let mut checksum = Checksum::new();
    checksum.add(&bytes[..84]);
    checksum.value()
}
