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
use crate::storage::{Storage, StorageFile, read_at_most, write_all_at};

/// Bytes of the header: twice the same, should one be damaged.
pub(crate) const HEADER_LEN: u64 = 2 * COPY_LEN as u64;
const COPY_LEN: usize = 64;
/// The version that is written, and the oldest that is read: it had no definitions among rows.
const VERSION: u16 = 2;
const VERSION_MIN: u16 = 1;
const MAGIC: &[u8; 8] = b"RMNTLOG1";
const NAME: &str = "log-";
/// Files that may be used again, with a number to tell them apart.
pub(crate) const SPARE: &str = "spare-";
/// A file is filled in steps of so many bytes.
const STEP: usize = 1 << 20;

/// Sixteen bytes that tell a database from all others.
pub(crate) type DatabaseId = [u8; 16];

/// What a file's header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header {
    pub(crate) database: DatabaseId,
    pub(crate) number: u64,
    /// The position of its first frame.
    pub(crate) start: u64,
    /// The timestamp of the last commit before it.
    pub(crate) timestamp: u64,
    /// Drawn for each file that is made, so that no two ever have the same salt.
    pub(crate) nonce: u32,
}

const _: () = assert!(8 + 2 + 6 + 16 + 8 + 8 + 8 + 4 + 4 == COPY_LEN);

impl Header {
    /// What the checksums of the file's frames carry.
    pub(crate) fn salt(&self) -> u32 {
        let mut checksum = Checksum::new();
        checksum.add(&self.database);
        checksum.add(&self.number.to_le_bytes());
        checksum.add(&self.nonce.to_le_bytes());
        checksum.value()
    }

    /// Writes the header; the file's frames come behind it.
    pub(crate) fn write(&self, file: &dyn StorageFile) -> io::Result<()> {
        let mut bytes = [0; COPY_LEN];
        bytes[..8].copy_from_slice(MAGIC);
        bytes[8..10].copy_from_slice(&VERSION.to_le_bytes());
        bytes[16..32].copy_from_slice(&self.database);
        bytes[32..40].copy_from_slice(&self.number.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.start.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.timestamp.to_le_bytes());
        bytes[56..60].copy_from_slice(&self.nonce.to_le_bytes());
        let value = checksum_of(&bytes);
        bytes[60..].copy_from_slice(&value.to_le_bytes());
        write_all_at(file, 0, &[bytes, bytes].concat())
    }

    /// The nonce in the header of a file, which may be wrong in other places.
    pub(crate) fn read_nonce(file: &dyn StorageFile) -> io::Result<u32> {
        let mut bytes = [0; 4];
        read_at_most(file, 56, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// The header of a file, if it has a whole one.
    pub(crate) fn read(file: &dyn StorageFile) -> io::Result<Option<Self>> {
        let mut bytes = [0; HEADER_LEN as usize];
        read_at_most(file, 0, &mut bytes)?;
        let (copies, _) = bytes.as_chunks::<COPY_LEN>();
        Ok(copies.iter().find_map(Self::from_bytes))
    }

    fn from_bytes(bytes: &[u8; COPY_LEN]) -> Option<Self> {
        let word = |at: usize| {
            let word: [u8; 8] = std::array::from_fn(|i| bytes[at + i]);
            u64::from_le_bytes(word)
        };
        let stored = (word(56) >> 32) as u32;
        let version = u16::from_le_bytes([bytes[8], bytes[9]]);
        if stored != checksum_of(bytes) || bytes[..8] != *MAGIC {
            return None;
        }
        if !(VERSION_MIN..=VERSION).contains(&version) {
            return None;
        }
        let mut database = [0; 16];
        database.copy_from_slice(&bytes[16..32]);
        let (number, start, timestamp, nonce) = (word(32), word(40), word(48), word(56) as u32);
        Some(Self { database, number, start, timestamp, nonce })
    }
}

fn checksum_of(header: &[u8; COPY_LEN]) -> u32 {
    let mut checksum = Checksum::new();
    checksum.add(&header[..60]);
    checksum.value()
}

/// The name of the file with this number.
pub(crate) fn name_of(number: u64) -> String {
    format!("{NAME}{number:016x}")
}

/// The number of the file with this name, if it is one of the log.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_prefix(NAME)?;
    let number = u64::from_str_radix(digits, 16).ok()?;
    (digits.len() == 16 && name_of(number) == name).then_some(number)
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
