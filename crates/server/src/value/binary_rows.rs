//! PostgreSQL's binary format of COPY: a signature, rows, a mark behind the last.
//!
//! Values are those of binary results, each with its length; a row begins with the number of its
//! values. Pieces may be cut anywhere.

use bytes::{Buf, BufMut, BytesMut};
use remanent_sql::{Datum, Error, Held, ResultColumn, SqlState};

use crate::value::{Format, oid, reading, writing};
use crate::wire::channel::FRAME_BYTES_MAX;

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// Signature, flags, and the length of what else the header has.
const HEADER_BYTES: usize = SIGNATURE.len() + 8;
/// Bytes that are not counted.
const FREE_BYTES: usize = 64 << 10;
/// Stands where the number of a row's values would.
const END: i16 = -1;

/// Appends what stands before the first row, in one message with it or with the end, which is what
/// clients expect.
pub(crate) fn put_header(out: &mut BytesMut) {
    out.put_slice(SIGNATURE);
    out.put_u64(0);
}

/// Appends a row.
pub(crate) fn put_row(out: &mut BytesMut, row: &[Datum], columns: &[ResultColumn]) {
    out.put_u16(row.len() as u16);
    for (datum, column) in row.iter().zip(columns) {
        writing::value(out, datum, &column.sql_type, Format::Binary);
    }
}

/// Appends what stands behind the last row.
pub(crate) fn put_end(out: &mut BytesMut) {
    out.put_i16(END);
}

/// What has been received and is no whole row yet.
pub(crate) struct BinaryRows {
    pending: BytesMut,
    /// What `pending` takes.
    held: Held,
    begun: bool,
    ended: bool,
}

impl BinaryRows {
    /// Nothing yet, of which what will be counts in `held`.
    pub(crate) fn new(held: Held) -> Self {
        Self { pending: BytesMut::new(), held, begun: false, ended: false }
    }

    /// Takes a piece.
    ///
    /// # Errors
    /// `OUT_OF_MEMORY` for a row that the budget does not hold; `LIMIT_EXCEEDED` for one that is
    /// longer than a message.
    pub(crate) fn add(&mut self, piece: &[u8]) -> Result<(), Error> {
        // What follows the mark of the end does not count.
        if self.ended {
            return Ok(());
        }
        let bytes = self.pending.len() + piece.len();
        if bytes > 2 * FRAME_BYTES_MAX {
            let text = "a row of the copy is longer than a message can be";
            return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
        }
        // What is there moves to a larger place.
        let room = 2 * bytes;
        if room > self.held.bytes() && room > FREE_BYTES {
            self.held.resize(room + room / 2)?;
        } else if self.pending.is_empty() {
            self.pending = BytesMut::new();
            self.held.resize(0)?;
        }
        self.pending.extend_from_slice(piece);
        Ok(())
    }

    /// The next row that is there whole, and how many bytes it has.
    ///
    /// # Errors
    /// `BAD_COPY`; a value that is none of its column's.
    pub(crate) fn next(
        &mut self,
        columns: &[ResultColumn],
    ) -> Result<Option<(Vec<Datum>, usize)>, Error> {
        if !self.begun && !self.begin()? {
            return Ok(None);
        }
        let Some(length) = self.row_length(columns.len())? else { return Ok(None) };
        let mut row = self.pending.split_to(length).freeze();
        if row.get_i16() == END {
            self.ended = true;
            self.pending.clear();
            return Ok(None);
        }
        let values = columns.iter().map(|column| {
            let bytes = usize::try_from(row.get_i32()).ok().map(|length| row.split_to(length));
            reading::value(bytes.as_ref(), oid::of(&column.sql_type), Format::Binary)
        });
        let row = values.collect::<Result<_, _>>()?;
        Ok(Some((row, length)))
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// `BAD_COPY`.
    pub(crate) fn end(&self) -> Result<(), Error> {
        match self.ended {
            true => Ok(()),
            false => Err(bad("unexpected end of the copy")),
        }
    }

    /// Takes the header off; whether it was there whole.
    fn begin(&mut self) -> Result<bool, Error> {
        let known = self.pending.len().min(SIGNATURE.len());
        if self.pending[..known] != SIGNATURE[..known] {
            return Err(bad("COPY file signature not recognized"));
        }
        let Some(mut numbers) = self.pending.get(SIGNATURE.len()..HEADER_BYTES) else {
            return Ok(false);
        };
        let (flags, more) = (numbers.get_u32(), numbers.get_u32() as usize);
        // The upper half says what a reader has to understand.
        if flags >> 16 != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        if self.pending.len() < HEADER_BYTES + more {
            return Ok(false);
        }
        self.pending.advance(HEADER_BYTES + more);
        self.begun = true;
        Ok(true)
    }

    /// How many bytes the next row has; `None` while it is not there whole.
    fn row_length(&self, columns: usize) -> Result<Option<usize>, Error> {
        let Some(count) = self.pending.get(..2) else { return Ok(None) };
        let count = i16::from_be_bytes([count[0], count[1]]);
        if count == END {
            return Ok(Some(2));
        }
        if usize::try_from(count) != Ok(columns) {
            return Err(bad(&format!("row field count is {count}, expected {columns}")));
        }
        let mut at = 2;
        for _ in 0..columns {
            let Some(bytes) = self.pending.get(at..at + 4) else { return Ok(None) };
            let length = i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            if usize::try_from(length).is_ok_and(|length| length > FRAME_BYTES_MAX) {
                let text = format!("a value of {length} bytes is longer than a message can be");
                return Err(Error::new(SqlState::LIMIT_EXCEEDED, text));
            }
            if length < -1 {
                return Err(bad("invalid field size"));
            }
            at += 4 + usize::try_from(length).unwrap_or(0);
        }
        Ok((at <= self.pending.len()).then_some(at))
    }
}

fn bad(text: &str) -> Error {
    Error::new(SqlState::BAD_COPY, text)
}
