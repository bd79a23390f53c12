//! A file of the log: its name, its header, and what is put into it before it is used.
//!
//! A file's name is its number. Positions count the bytes of all frames since the database was
//! made, so a frame has one position whatever file it stands in; a header says with which position
//! its file begins. A header that does not fit the file's name belongs to an earlier use of the
//! file: it was being made anew when the process ended, and nothing stands in it yet.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::time::SystemTime;

use crate::checksum::Checksum;
use crate::storage::{Storage, StorageFile, number_in, numbered, read_at_most, write_all_at};

/// Bytes of a copy of the header. The first stands at the file's beginning.
const COPY_LEN: usize = 64;
/// The version that is written, and the first one; that of a log that a group of replicas shares,
/// and of one that may have rows as they were before they were changed.
const VERSION: u16 = 2;
pub(crate) const VERSION_OF_GROUP: u16 = 3;
pub(crate) const VERSION_OF_OLD_ROWS: u16 = 4;
const VERSION_1: u16 = 1;
/// Bytes before the first frame: in a file of the first version, and in small and large files of
/// this one. The last of them are the second copy, which the loss of a sector, or of a page where
/// there is room for it, does not take along with the first.
const LENGTH_1: u16 = 2 * COPY_LEN as u16;
const LENGTH_SMALL: u16 = 512 + COPY_LEN as u16;
const LENGTH_LARGE: u16 = 4096 + COPY_LEN as u16;
/// From which size on a file is a large one.
const LARGE_MIN: u64 = 64 << 10;
const MAGIC: &[u8; 8] = b"RMNTLOG1";
const NAME: &str = "log-";
/// Files that may be used again, with a number to tell them apart.
pub(crate) const SPARE: &str = "spare-";
/// A file is filled in steps of so many bytes.
const STEP: usize = 1 << 20;

/// Sixteen bytes that tell a database from all others.
pub(crate) type DatabaseId = [u8; 16];

/// The header of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Header {
    pub(crate) database: DatabaseId,
    pub(crate) number: u64,
    /// The position of its first frame.
    pub(crate) start: u64,
    /// The timestamp of the last commit before it.
    pub(crate) timestamp: u64,
    /// Drawn for each file that is made, so that no two ever have the same salt.
    pub(crate) nonce: u32,
    /// Bytes before its first frame.
    pub(crate) length: u16,
    /// The version of the format, as far as it is known: a later one is written as 2 at least.
    pub(crate) version: u16,
}

const _: () = assert!(8 + 2 + 2 + 4 + 16 + 8 + 8 + 8 + 4 + 4 == COPY_LEN);

impl Header {
    /// The salt of the checksums of the file's frames.
    pub(crate) fn salt(&self) -> u32 {
        let mut checksum = Checksum::new();
        checksum.add(&self.database);
        checksum.add(&self.number.to_le_bytes());
        checksum.add(&self.nonce.to_le_bytes());
        checksum.value()
    }

    /// The byte at which frames begin.
    pub(crate) fn len(&self) -> u64 {
        u64::from(self.length)
    }

    /// Whether the file may have been written before there was a head of the log.
    pub(crate) fn is_of_version_1(&self) -> bool {
        self.length == LENGTH_1
    }

    /// Writes the header; the file's frames come behind it.
    pub(crate) fn write(&self, file: &dyn StorageFile) -> io::Result<()> {
        let (version, stated) = match self.is_of_version_1() {
            true => (VERSION_1, 0),
            false => (VERSION.max(self.version), self.length),
        };
        let mut copy = [0; COPY_LEN];
        copy[..8].copy_from_slice(MAGIC);
        copy[8..10].copy_from_slice(&version.to_le_bytes());
        copy[10..12].copy_from_slice(&stated.to_le_bytes());
        copy[16..32].copy_from_slice(&self.database);
        copy[32..40].copy_from_slice(&self.number.to_le_bytes());
        copy[40..48].copy_from_slice(&self.start.to_le_bytes());
        copy[48..56].copy_from_slice(&self.timestamp.to_le_bytes());
        copy[56..60].copy_from_slice(&self.nonce.to_le_bytes());
        let value = checksum_of(&copy);
        copy[60..].copy_from_slice(&value.to_le_bytes());
        // What an earlier use of the file has left between the copies goes.
        let mut bytes = vec![0; usize::from(self.length)];
        bytes[..COPY_LEN].copy_from_slice(&copy);
        let second = bytes.len() - COPY_LEN;
        bytes[second..].copy_from_slice(&copy);
        write_all_at(file, 0, &bytes)
    }

    /// The header of the file with this number, if a copy of it is whole.
    pub(crate) fn read(file: &dyn StorageFile, number: u64) -> io::Result<Option<Self>> {
        for length in [0, LENGTH_1, LENGTH_SMALL, LENGTH_LARGE] {
            let mut bytes = [0; COPY_LEN];
            let at = u64::from(length).saturating_sub(COPY_LEN as u64);
            if read_at_most(file, at, &mut bytes)? < COPY_LEN {
                continue;
            }
            let header = Self::from_bytes(&bytes).filter(|header| header.number == number);
            if let Some(header) = header.filter(|header| length == 0 || header.length == length) {
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// What a file's header seems to say that is not whole, of nonce and length; the rest is that
    /// of `like`. Frames are found with it, or not.
    pub(crate) fn guess(file: &dyn StorageFile, like: Self) -> io::Result<Self> {
        let mut bytes = [0; COPY_LEN];
        read_at_most(file, 0, &mut bytes)?;
        let length = match u16::from_le_bytes([bytes[10], bytes[11]]) {
            0 => LENGTH_1,
            length => length,
        };
        let nonce = u32::from_le_bytes([bytes[56], bytes[57], bytes[58], bytes[59]]);
        Ok(Self { nonce, length, ..like })
    }

    fn from_bytes(bytes: &[u8; COPY_LEN]) -> Option<Self> {
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let stored = (word(56) >> 32) as u32;
        if stored != checksum_of(bytes) || bytes[..8] != *MAGIC {
            return None;
        }
        let length = match half(8) {
            VERSION_1 => LENGTH_1,
            VERSION | VERSION_OF_GROUP | VERSION_OF_OLD_ROWS => {
                Some(half(10)).filter(|&length| length >= LENGTH_1)?
            }
            _ => return None,
        };
        let database = std::array::from_fn(|i| bytes[16 + i]);
        let (number, start, timestamp, nonce) = (word(32), word(40), word(48), word(56) as u32);
        let version = half(8);
        Some(Self { database, number, start, timestamp, nonce, length, version })
    }
}

/// Bytes before the first frame of a new file of this size.
pub(crate) fn header_len(file_size: u64) -> u16 {
    if file_size < LARGE_MIN { LENGTH_SMALL } else { LENGTH_LARGE }
}

fn checksum_of(header: &[u8; COPY_LEN]) -> u32 {
    let mut checksum = Checksum::new();
    checksum.add(&header[..60]);
    checksum.value()
}

/// The name of the file with this number.
pub(crate) fn name_of(number: u64) -> String {
    numbered(NAME, number)
}

/// The number of the file with this name, if it is one of the log.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    number_in(NAME, name)
}

/// The numbers of all files of the log, in order.
pub(crate) fn numbers(storage: &dyn Storage) -> io::Result<Vec<u64>> {
    let mut numbers: Vec<_> = storage.names()?.iter().filter_map(|name| number_of(name)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// A file for the log without a header yet: one that was used before, or a new one, filled with
/// zeros up to `size` if `fill` asks for that, so that writing into it changes nothing but its
/// content.
pub(crate) fn make(
    storage: &dyn Storage,
    number: u64,
    size: u64,
    fill: bool,
) -> io::Result<Box<dyn StorageFile>> {
    let name = name_of(number);
    let names = storage.names()?;
    if let Some(spare) = names.iter().find(|name| name.starts_with(SPARE)) {
        storage.rename(spare, &name)?;
        let file = storage.open(&name)?;
        if fill && file.len()? == size {
            return Ok(file);
        }
        file.set_len(0)?;
        return filled(file, size, fill);
    }
    filled(storage.create(&name)?, size, fill)
}

fn filled(file: Box<dyn StorageFile>, size: u64, fill: bool) -> io::Result<Box<dyn StorageFile>> {
    if fill {
        let zeros = vec![0; STEP.min(size as usize)];
        let mut at = 0;
        while at < size {
            let count = (size - at).min(zeros.len() as u64) as usize;
            write_all_at(&*file, at, &zeros[..count])?;
            at += count as u64;
        }
    }
    Ok(file)
}

/// A number that no other file has, or hardly.
pub(crate) fn new_nonce() -> u32 {
    let [a, b, c, d, ..] = new_database_id();
    u32::from_le_bytes([a, b, c, d])
}

/// Sixteen bytes that no other database has: from the system's random keys and the time.
pub(crate) fn new_database_id() -> DatabaseId {
    let half = || {
        let mut hasher = RandomState::new().build_hasher();
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        hasher.write_u128(now.as_nanos());
        hasher.finish().to_le_bytes()
    };
    let mut id = [0; 16];
    id[..8].copy_from_slice(&half());
    id[8..].copy_from_slice(&half());
    id
}
