//! Taking a damaged image apart: whatever block of it is whole.
//!
//! A block that is not whole is passed over: from its beginning on, every byte is tried as the
//! beginning of the next one, which must look like a block and have the right checksum. Nothing is
//! known of what was passed over but how long it is. What the blocks say is checked by whoever
//! takes them.

use std::io;

use remanent_schema::TableSchema;

use super::reader::{head_of, long_number, number, table_of};
use super::{COLUMNS, Columns, DATABASE, END, ImageHead, MAGIC, ROWS, STORED, TABLE, VERSION};
use crate::checksum::Checksum;
use crate::segment_files::StoredBlock;
use crate::storage::{StorageFile, read_at_most};

/// Bytes that are searched at once.
const STEP: usize = 1 << 20;
/// Tag and length of a block, and the first twelve bytes of its payload.
const START: usize = 5 + 12;
/// Bytes of a block besides its payload.
const EXTRA: u64 = 5 + 4;
/// No rows block of several rows is longer; the writer ends one at half of this.
const ROWS_LEN_MAX: u64 = 512 << 10;
/// No table has a higher number.
const TABLES_MAX: u32 = 1 << 24;
/// No segment of a table has a higher number.
const SEGMENTS_MAX: u32 = 1 << 16;
/// No schema of a table is longer.
const TABLE_LEN_MAX: u64 = 16 << 20;

/// A stretch of the file that cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lost {
    pub(crate) stretches: u64,
    pub(crate) bytes: u64,
}

/// The content of a block.
#[derive(Debug)]
pub(crate) enum Piece<'p> {
    Head(ImageHead),
    /// A table: its number in the image and in the database, which only version 1 does not have.
    Table {
        number: u32,
        id: Option<u32>,
        schema: Box<TableSchema>,
    },
    /// Rows of the table that has this number in the image.
    Rows {
        number: u32,
        rows: Rows<'p>,
    },
    /// Rows of the table that has this number in the image, as columns.
    Columns {
        number: u32,
        columns: Columns<'p>,
    },
    /// The same of columns that stand in a segment file.
    Stored {
        number: u32,
        columns: Columns<'p>,
        stored: StoredBlock,
    },
    /// The image ends here, and has had so many rows.
    End {
        rows: u64,
    },
    /// The checksum is right, and still it says nothing that can be understood.
    Malformed,
}

/// The rows of a block.
#[derive(Clone, Debug)]
pub(crate) struct Rows<'p> {
    rest: &'p [u8],
}

/// Reads the blocks of an image that are whole.
#[derive(Debug)]
pub(crate) struct Pieces {
    file: Box<dyn StorageFile>,
    length: u64,
    at: u64,
    payload: Vec<u8>,
    version: u16,
    pub(crate) lost: Lost,
}

impl<'p> Rows<'p> {
    /// The next row and its bytes; an error if the block goes on with something else.
    pub(crate) fn next(&mut self) -> Option<Result<(u32, &'p [u8]), ()>> {
        if self.rest.is_empty() {
            return None;
        }
        let row = number(self.rest, 0).and_then(|row| Ok((row, number(self.rest, 4)? as usize)));
        let found = row.ok().and_then(|(row, length)| {
            let bytes = self.rest.get(8..8 + length)?;
            self.rest = &self.rest[8 + length..];
            Some((row, bytes))
        });
        if found.is_none() {
            self.rest = &[];
        }
        Some(found.ok_or(()))
    }
}

impl Pieces {
    /// The blocks of a file.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn open(file: Box<dyn StorageFile>) -> io::Result<Self> {
        let length = file.len()?;
        let mut magic = [0; MAGIC.len()];
        read_at_most(&*file, 0, &mut magic)?;
        let at = if magic == *MAGIC { MAGIC.len() as u64 } else { 0 };
        let (payload, lost) = (Vec::new(), Lost::default());
        Ok(Self { file, length, at, payload, version: VERSION, lost })
    }

    /// Bytes that were read or passed over.
    pub(crate) fn bytes_done(&self) -> u64 {
        self.at
    }

    /// The next block that is whole; `None` at the end.
    ///
    /// # Errors
    /// The system's error.
    pub(crate) fn next(&mut self) -> io::Result<Option<Piece<'_>>> {
        let tag = match self.block_at(self.at)? {
            Some(tag) => tag,
            None => {
                let found = self.search(self.at + 1)?;
                if found > self.at {
                    self.lost.stretches += 1;
                    self.lost.bytes += found - self.at;
                }
                self.at = found;
                match self.block_at(found)? {
                    Some(tag) => tag,
                    None => return Ok(None),
                }
            }
        };
        self.at += EXTRA + self.payload.len() as u64;
        if tag == DATABASE
            && let Ok((_, _, version)) = head_of(&self.payload)
        {
            self.version = version;
        }
        Ok(Some(piece(tag, &self.payload, self.version).unwrap_or(Piece::Malformed)))
    }

    /// The tag of the block that begins at `at`, if it is whole; its payload is in `payload` then.
    fn block_at(&mut self, at: u64) -> io::Result<Option<u8>> {
        let mut start = [0; START];
        let count = read_at_most(&*self.file, at, &mut start)?;
        let Some(length) = block_len(&start[..count], self.length.saturating_sub(at)) else {
            return Ok(None);
        };
        self.payload.resize(length as usize + 4, 0);
        if read_at_most(&*self.file, at + 5, &mut self.payload)? < self.payload.len() {
            return Ok(None);
        }
        let stored = number(&self.payload, length as usize);
        self.payload.truncate(length as usize);
        let mut checksum = Checksum::new();
        checksum.add(&start[..5]);
        checksum.add(&self.payload);
        Ok(stored.is_ok_and(|stored| stored == checksum.value()).then_some(start[0]))
    }

    /// The beginning of the next whole block at or behind `from`, or the file's end.
    fn search(&mut self, from: u64) -> io::Result<u64> {
        let mut window = vec![0; STEP + START];
        let mut at = from;
        while at < self.length {
            let count = read_at_most(&*self.file, at, &mut window)?;
            if count == 0 {
                break;
            }
            let step = count.min(STEP);
            for i in 0..step {
                let place = at + i as u64;
                let start = &window[i..count];
                let length = block_len(start, self.length - place);
                let is_likely = length.is_some_and(|length| is_likely(start, length));
                if is_likely && self.block_at(place)?.is_some() {
                    return Ok(place);
                }
            }
            at += step as u64;
        }
        Ok(self.length)
    }
}

/// Bytes of the payload of a block that begins like this, if it can be one that is followed by no
/// more than `left` bytes.
fn block_len(start: &[u8], left: u64) -> Option<u64> {
    let length = u64::from(number(start, 1).ok()?);
    let looks_right = match start[0] {
        DATABASE => [14, 42].contains(&length),
        TABLE => (8..TABLE_LEN_MAX).contains(&length),
        // Its first row is not longer than it is.
        ROWS => {
            let first = number(start, 13).ok();
            first.is_some_and(|first| 12 + u64::from(first) <= length)
        }
        COLUMNS => {
            let words = number(start, 13).ok();
            words.is_some_and(|words| 16 + 8 * u64::from(words) < length)
        }
        STORED => {
            let behind = 16 + StoredBlock::SIZE as u64;
            number(start, 13).is_ok_and(|words| behind + 8 * u64::from(words) == length)
        }
        END => length == 8,
        _ => false,
    };
    (looks_right && length + EXTRA <= left).then_some(length)
}

/// Whether a block that begins like this is one that the writer makes: otherwise rows that look
/// like blocks could have most of the image read for each of them.
fn is_likely(start: &[u8], length: u64) -> bool {
    match start[0] {
        TABLE => number(start, 5).is_ok_and(|table| table < TABLES_MAX),
        COLUMNS | STORED => {
            let segment = number(start, 9);
            let is_segment = segment.is_ok_and(|segment| segment < SEGMENTS_MAX);
            is_segment && number(start, 5).is_ok_and(|table| table < TABLES_MAX)
        }
        // Many rows, or a long one.
        ROWS => {
            let first = number(start, 13).map_or(0, u64::from);
            length <= ROWS_LEN_MAX || 12 + first == length
        }
        _ => true,
    }
}

fn piece(tag: u8, payload: &[u8], version: u16) -> Option<Piece<'_>> {
    Some(match tag {
        DATABASE => Piece::Head(head_of(payload).ok()?.1),
        TABLE => {
            let (id, schema) = table_of(payload, version).ok()?;
            Piece::Table { number: number(payload, 0).ok()?, id, schema: Box::new(schema) }
        }
        ROWS => {
            Piece::Rows { number: number(payload, 0).ok()?, rows: Rows { rest: payload.get(4..)? } }
        }
        COLUMNS => Piece::Columns {
            number: number(payload, 0).ok()?,
            columns: Columns::of_payload(payload)?,
        },
        STORED => {
            let (columns, stored) = Columns::of_stored(payload)?;
            Piece::Stored { number: number(payload, 0).ok()?, columns, stored }
        }
        END => Piece::End { rows: long_number(payload, 0).ok()? },
        _ => return None,
    })
}
