//! What stands in the log: frames, and in them the operations of transactions.
//!
//! `FORMAT.md` has the bytes. A frame is checked against the place where it stands, so that one
//! left over from an earlier use of a file is never taken for a new one. Operations are written
//! without their frame first ([`Redo`]), beside other commits; the frame's head is put before them
//! when the commit's timestamp and place are known.

use crate::checksum::Checksum;

/// The longest payload of a frame.
pub(crate) const PAYLOAD_MAX: usize = 1 << 17;
/// Bytes of a frame beyond its operations, at most: length, checksum, kind and two numbers.
pub(crate) const FRAME_EXTRA_MAX: usize = 5 + 4 + 1 + 10 + 10;
/// A transaction's operations are cut into frames of so many bytes.
pub(crate) const FRAGMENT: usize = 1 << 16;

/// Set in a frame's kind: all that stands before it was synced when it was written.
pub(crate) const SYNCED_BEFORE: u8 = 0x80;

const COMMIT: u8 = 1;
const FRAGMENT_OF: u8 = 2;
const COMMIT_OF: u8 = 3;
const DEFINE: u8 = 4;
const MARK: u8 = 5;
const CLOSE: u8 = 6;
const ENTRY: u8 = 7;

const INSERT: u8 = 1;
const UPDATE: u8 = 2;
const PATCH: u8 = 3;
const DELETE: u8 = 4;
const DEFINITION: u8 = 5;
const OLD: u8 = 6;
const SAME_TABLE: u8 = 8;

/// Bytes at either end that both versions of a row must have in common to be left out.
const PATCH_GAIN_MIN: usize = 8;

/// The content of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame<'a> {
    /// A whole transaction.
    Commit { timestamp: u64, operations: &'a [u8] },
    /// A part of a transaction that may or may not commit; `first` is where its first part stands.
    Fragment { first: u64, operations: &'a [u8] },
    /// The last part of a transaction, which commits it.
    CommitOf { timestamp: u64, first: u64, operations: &'a [u8] },
    /// A change of tables or indexes.
    Define { timestamp: u64, definition: &'a [u8] },
    /// What the clock on the wall showed, in microseconds since 1970.
    Mark { time_us: u64 },
    /// The database was closed here.
    Close,
    /// All since the entry before is an entry of the log of a group of replicas; `content` says
    /// more about it.
    Entry { term: u64, index: u64, content: &'a [u8] },
}

/// A change of one row, or of a table, as the log has it. Tables and rows are numbers here.
///
/// # Examples
/// See [`Database::read_log`](crate::Database::read_log).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operation<'a> {
    /// A new row.
    Insert {
        /// The table's number.
        table: u32,
        /// The row's number.
        row: u32,
        /// The whole row.
        bytes: &'a [u8],
    },
    /// A new version of a row.
    Update {
        /// The table's number.
        table: u32,
        /// The row's number.
        row: u32,
        /// The whole row.
        bytes: &'a [u8],
    },
    /// The row's first and last bytes stay as they are; those between become `bytes`.
    Patch {
        /// The table's number.
        table: u32,
        /// The row's number.
        row: u32,
        /// Bytes that stay at the row's beginning.
        first: usize,
        /// Bytes that stay at its end.
        last: usize,
        /// The bytes between them.
        bytes: &'a [u8],
    },
    /// The row is gone.
    Delete {
        /// The table's number.
        table: u32,
        /// The row's number.
        row: u32,
    },
    /// The row as it was before the operation that comes next, which is about the same row: for
    /// whoever follows the log, see [`Options::log_old_rows`](crate::Options::log_old_rows).
    Old {
        /// The table's number.
        table: u32,
        /// The row's number.
        row: u32,
        /// The whole row.
        bytes: &'a [u8],
    },
    /// A table or an index is created or dropped: [`Operation::definition`] has it as text.
    Define {
        /// The bytes that are logged.
        bytes: &'a [u8],
    },
}

/// The head of a frame, before it has its operations and its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Head {
    Commit {
        delta: u64,
    },
    Fragment {
        back: u64,
    },
    CommitOf {
        delta: u64,
        back: u64,
    },
    /// As version 1 of the format had it.
    #[cfg(test)]
    Define {
        delta: u64,
    },
    Mark,
    Close,
    Entry {
        term: u64,
        index: u64,
    },
}

/// The address of a frame, as its checksum needs it: the position and the file's salt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrameAddress {
    pub(crate) position: u64,
    pub(crate) salt: u32,
}

/// A frame that was found whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    pub(crate) frame: Frame<'a>,
    /// Bytes of the frame.
    pub(crate) length: usize,
    pub(crate) synced_before: bool,
}

/// Operations of one transaction, as they are to be logged.
#[derive(Debug, Default)]
pub(crate) struct Redo {
    bytes: Vec<u8>,
    table: Option<u32>,
}

impl Redo {
    /// Forgets everything, but keeps the memory unless it is much.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(2 * FRAGMENT);
        self.table = None;
    }

    /// The operations so far.
    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Forgets the first so many bytes, which are in the log already.
    pub(crate) fn forget(&mut self, count: usize) {
        self.bytes.drain(..count);
    }

    #[inline]
    pub(crate) fn insert(&mut self, table: u32, row: u32, bytes: &[u8]) {
        self.head(INSERT, table, row);
        put_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// An update, as what differs if that is clearly less than the whole.
    #[inline]
    pub(crate) fn update(&mut self, table: u32, row: u32, old: &[u8], new: &[u8]) {
        let common = old.len().min(new.len());
        let first = common_prefix(old, new);
        let last = common_suffix(&old[old.len() - (common - first)..], &new[first..]);
        if first + last < PATCH_GAIN_MIN {
            self.head(UPDATE, table, row);
            put_varint(&mut self.bytes, new.len() as u64);
            self.bytes.extend_from_slice(new);
            return;
        }
        let middle = &new[first..new.len() - last];
        self.head(PATCH, table, row);
        put_varint(&mut self.bytes, first as u64);
        put_varint(&mut self.bytes, last as u64);
        put_varint(&mut self.bytes, middle.len() as u64);
        self.bytes.extend_from_slice(middle);
    }

    pub(crate) fn delete(&mut self, table: u32, row: u32) {
        self.head(DELETE, table, row);
    }

    /// What a row was before the operation that comes next.
    pub(crate) fn old(&mut self, table: u32, row: u32, bytes: &[u8]) {
        self.head(OLD, table, row);
        put_varint(&mut self.bytes, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// A change of tables or indexes.
    pub(crate) fn define(&mut self, definition: &[u8]) {
        self.bytes.push(DEFINITION);
        put_varint(&mut self.bytes, definition.len() as u64);
        self.bytes.extend_from_slice(definition);
    }

    #[inline]
    fn head(&mut self, kind: u8, table: u32, row: u32) {
        if self.table == Some(table) {
            self.bytes.push(kind | SAME_TABLE);
        } else {
            self.bytes.push(kind);
            put_varint(&mut self.bytes, u64::from(table));
            self.table = Some(table);
        }
        put_varint(&mut self.bytes, u64::from(row));
    }
}

/// Reads the operations of one transaction.
#[derive(Debug)]
pub(crate) struct Operations<'a> {
    rest: &'a [u8],
    table: Option<u32>,
}

impl<'a> Operations<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes, table: None }
    }

    /// As [`Operations::new`], behind operations of which the last was about a table.
    pub(crate) fn behind(bytes: &'a [u8], table: Option<u32>) -> Self {
        Self { rest: bytes, table }
    }

    /// The bytes that are left, and the table that the last operation was about.
    pub(crate) fn rest(&self) -> (usize, Option<u32>) {
        (self.rest.len(), self.table)
    }

    /// The next operation; `None` at the end.
    ///
    /// # Errors
    /// A description of what is wrong with the bytes.
    pub(crate) fn next(&mut self) -> Result<Option<Operation<'a>>, &'static str> {
        let Some((&tag, rest)) = self.rest.split_first() else { return Ok(None) };
        self.rest = rest;
        if tag == DEFINITION {
            return Ok(Some(Operation::Define { bytes: self.counted()? }));
        }
        let table = match (tag & SAME_TABLE != 0, self.table) {
            (true, Some(table)) => table,
            (true, None) => return Err("an operation does not name its table"),
            (false, _) => self.number()?,
        };
        self.table = Some(table);
        let row = self.number()?;
        Ok(Some(match tag & !SAME_TABLE {
            INSERT => Operation::Insert { table, row, bytes: self.counted()? },
            UPDATE => Operation::Update { table, row, bytes: self.counted()? },
            PATCH => {
                let (first, last) = (self.number()? as usize, self.number()? as usize);
                Operation::Patch { table, row, first, last, bytes: self.counted()? }
            }
            DELETE => Operation::Delete { table, row },
            OLD => Operation::Old { table, row, bytes: self.counted()? },
            _ => return Err("an operation is of no known kind"),
        }))
    }

    fn number(&mut self) -> Result<u32, &'static str> {
        let number = take_varint(&mut self.rest).and_then(|number| u32::try_from(number).ok());
        number.ok_or("an operation is cut off")
    }

    fn counted(&mut self) -> Result<&'a [u8], &'static str> {
        let length = self.number()? as usize;
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or("a row is cut off")?;
        self.rest = rest;
        Ok(bytes)
    }
}

/// Bytes of the frame that [`put_frame`] would put.
#[inline]
pub(crate) fn frame_len(head: Head, operations: usize) -> usize {
    let payload = head_bytes(head, false).1 + operations;
    varint_len(payload as u64) + 4 + payload
}

/// Puts a frame behind `out`. `checksum` is that of the operations.
#[inline]
pub(crate) fn put_frame(
    out: &mut Vec<u8>,
    head: Head,
    operations: &[u8],
    mut checksum: Checksum,
    address: FrameAddress,
) {
    let (bytes, length) = head_bytes(head, false);
    let payload = length + operations.len();
    debug_assert!(payload <= PAYLOAD_MAX);
    checksum.add(&bytes[..length]);
    put_varint(out, payload as u64);
    out.extend_from_slice(&finish(checksum, address, payload).to_le_bytes());
    out.extend_from_slice(&bytes[..length]);
    out.extend_from_slice(operations);
}

/// Sets `SYNCED_BEFORE` in the frame that `bytes` begins with.
pub(crate) fn set_synced_before(bytes: &mut [u8], address: FrameAddress) {
    let mut rest = &*bytes;
    let Some(payload) = take_varint(&mut rest) else { return };
    let at = bytes.len() - rest.len();
    let payload = payload as usize;
    bytes[at + 4] |= SYNCED_BEFORE;
    let body = &bytes[at + 4..at + 4 + payload];
    let Some(head) = head_len(body) else { return };
    let mut checksum = Checksum::new();
    checksum.add(&body[head..]);
    checksum.add(&body[..head]);
    let value = finish(checksum, address, payload);
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// Copies the frame that `bytes` begins with to another address, behind `out`: nothing says there
/// what was on the disk when it was written. The frame is whole.
pub(crate) fn move_frame(out: &mut Vec<u8>, bytes: &[u8], address: FrameAddress) {
    let mut rest = bytes;
    let Some(payload) = take_varint(&mut rest) else { return };
    let (payload, at) = (payload as usize, out.len() + bytes.len() - rest.len());
    out.extend_from_slice(bytes);
    out[at + 4] &= !SYNCED_BEFORE;
    let body = &out[at + 4..at + 4 + payload];
    let Some(head) = head_len(body) else { return };
    let mut checksum = Checksum::new();
    checksum.add(&body[head..]);
    checksum.add(&body[..head]);
    let value = finish(checksum, address, payload);
    out[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

/// The frame that `bytes` begins with, if there is a whole one that belongs here. `timestamp` is
/// that of the commit before it.
pub(crate) fn find_frame(bytes: &[u8], address: FrameAddress, timestamp: u64) -> Option<Found<'_>> {
    let mut rest = bytes;
    let payload = take_varint(&mut rest)? as usize;
    if payload == 0 || payload > PAYLOAD_MAX || rest.len() < payload + 4 {
        return None;
    }
    let stored = u32::from_le_bytes([rest[0], rest[1], rest[2], rest[3]]);
    let body = &rest[4..4 + payload];
    let head = head_len(body)?;
    let mut checksum = Checksum::new();
    checksum.add(&body[head..]);
    checksum.add(&body[..head]);
    if finish(checksum, address, payload) != stored {
        return None;
    }
    let operations = &body[head..];
    let mut numbers = &body[1..head];
    let mut number = || take_varint(&mut numbers);
    let frame = match body[0] & !SYNCED_BEFORE {
        COMMIT => Frame::Commit { timestamp: timestamp.checked_add(number()?)?, operations },
        FRAGMENT_OF => {
            Frame::Fragment { first: address.position.checked_sub(number()?)?, operations }
        }
        COMMIT_OF => Frame::CommitOf {
            timestamp: timestamp.checked_add(number()?)?,
            first: address.position.checked_sub(number()?)?,
            operations,
        },
        DEFINE => {
            let timestamp = timestamp.checked_add(number()?)?;
            Frame::Define { timestamp, definition: operations }
        }
        MARK => Frame::Mark { time_us: u64::from_le_bytes(operations.try_into().ok()?) },
        ENTRY => Frame::Entry { term: number()?, index: number()?, content: operations },
        _ => Frame::Close,
    };
    Some(Found {
        frame,
        length: bytes.len() - rest.len() + 4 + payload,
        synced_before: body[0] & SYNCED_BEFORE != 0,
    })
}

/// The bytes of a frame's head, and how many.
#[inline]
fn head_bytes(head: Head, synced: bool) -> ([u8; 21], usize) {
    let mut bytes = [0; 21];
    let (kind, numbers) = match head {
        Head::Commit { delta } => (COMMIT, [Some(delta), None]),
        Head::Fragment { back } => (FRAGMENT_OF, [Some(back), None]),
        Head::CommitOf { delta, back } => (COMMIT_OF, [Some(delta), Some(back)]),
        #[cfg(test)]
        Head::Define { delta } => (DEFINE, [Some(delta), None]),
        Head::Mark => (MARK, [None, None]),
        Head::Close => (CLOSE, [None, None]),
        Head::Entry { term, index } => (ENTRY, [Some(term), Some(index)]),
    };
    bytes[0] = if synced { kind | SYNCED_BEFORE } else { kind };
    let mut length = 1;
    for mut number in numbers.into_iter().flatten() {
        while number >= 0x80 {
            bytes[length] = number as u8 | 0x80;
            number >>= 7;
            length += 1;
        }
        bytes[length] = number as u8;
        length += 1;
    }
    (bytes, length)
}

/// Bytes of the head that a payload begins with.
fn head_len(payload: &[u8]) -> Option<usize> {
    let numbers = match payload.first()? & !SYNCED_BEFORE {
        COMMIT | FRAGMENT_OF | DEFINE => 1,
        COMMIT_OF | ENTRY => 2,
        MARK | CLOSE => 0,
        _ => return None,
    };
    let mut rest = &payload[1..];
    for _ in 0..numbers {
        take_varint(&mut rest)?;
    }
    Some(payload.len() - rest.len())
}

#[inline]
fn finish(mut checksum: Checksum, address: FrameAddress, payload: usize) -> u32 {
    let end = u64::from(address.salt) << 32 | payload as u64;
    checksum.add(&address.position.to_le_bytes());
    checksum.add(&end.to_le_bytes());
    checksum.value()
}

#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

pub(crate) fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[inline]
fn varint_len(number: u64) -> usize {
    (63 - (number | 1).leading_zeros() as usize) / 7 + 1
}

#[inline]
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0);
    let start = 8 * words.take_while(|(a, b)| a == b).count();
    start + a[start..].iter().zip(&b[start..]).take_while(|(a, b)| a == b).count()
}

#[inline]
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let words = a.as_rchunks::<8>().1.iter().rev().zip(b.as_rchunks::<8>().1.iter().rev());
    let end = 8 * words.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - end], &b[..b.len() - end]);
    end + a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
