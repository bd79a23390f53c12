//! Segment files: where the columns of frozen segments stand, so that images refer to them.
//!
//! A frozen segment's block never changes, so it is written once: by the first checkpoint that
//! meets it, into a file beside the image, and later images say only where it stands
//! ([`StoredBlock`]). [`extent_table`] says how the bytes of a block stand in a file, in extents
//! with a checksum each, [`writer`] writes the files of one checkpoint and knows which of the older
//! ones are still worth keeping, [`reader`] reads blocks back, [`source`] parts of them while the
//! database is open. `image/FORMAT.md` has the format.

mod extent_table;
mod reader;
mod source;
mod writer;

pub(crate) use reader::SegmentReader;
pub(crate) use source::SegmentSource;
pub(crate) use writer::SegmentWriter;

use crate::memory::pages::buffer_cache::EvictedRecord;
use crate::storage::{number_in, numbered};

/// Names of segment files begin so; the number follows, in sixteen hexadecimal digits.
const PREFIX: &str = "segments-";
/// The first bytes of a segment file.
const MAGIC: &[u8; 8] = b"RMNTSEG1";
/// The version that is written.
const VERSION: u16 = 1;
/// Bytes of the header.
const HEADER: usize = 48;

/// Where a block stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct StoredBlock {
    /// The number of the file, from 1.
    pub(crate) file: u64,
    /// Where its record begins, and how many bytes it has.
    pub(crate) at: u64,
    pub(crate) len: u64,
    /// The checksum of the record's table, so that no other record is taken for it.
    pub(crate) checksum: u32,
}

impl StoredBlock {
    /// Bytes of one in an image.
    pub(crate) const SIZE: usize = 32;

    pub(crate) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (place, number) in bytes.chunks_exact_mut(8).zip([self.file, self.at, self.len]) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        bytes[24..28].copy_from_slice(&self.checksum.to_le_bytes());
        bytes
    }

    /// What these bytes say; `None` if it cannot be.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.try_into().ok()?;
        let stored = Self {
            file: long(bytes, 0)?,
            at: long(bytes, 8)?,
            len: long(bytes, 16)?,
            checksum: number(bytes, 24)?,
        };
        (stored.file > 0).then_some(stored)
    }

    /// Its record, of so many extents, for who reads some of them again.
    pub(crate) fn record(self, extents: usize) -> EvictedRecord {
        let Self { file, at, checksum, .. } = self;
        EvictedRecord { file, at, checksum, extents }
    }
}

/// The name of the file with this number.
pub(crate) fn name_of(number: u64) -> String {
    numbered(PREFIX, number)
}

/// The number in the name of a segment file.
pub(crate) fn number_of(name: &str) -> Option<u64> {
    number_in(PREFIX, name)
}

/// The header of a file.
fn header(database: [u8; 16], number: u64) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    header[..8].copy_from_slice(MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    header[16..32].copy_from_slice(&database);
    header[32..40].copy_from_slice(&number.to_le_bytes());
    let checksum = checksum_of(&header[..HEADER - 4]);
    header[HEADER - 4..].copy_from_slice(&checksum.to_le_bytes());
    header
}

fn checksum_of(bytes: &[u8]) -> u32 {
    let mut checksum = crate::checksum::Checksum::new();
    checksum.add(bytes);
    checksum.value()
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*bytes))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    let bytes = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*bytes))
}
