//! Records out of pieces of text.
//!
//! What has been read of a record is kept between pieces, so a record may be cut anywhere. Quoting
//! says whether a value is NULL, which general readers of CSV do not tell; so both formats are read
//! here, a byte at a time. Most lines lie in one piece and have neither quotes nor escapes: those
//! are cut where delimiters are, and never copied.

use super::CopyFormat;
use crate::error::{Error, Result, SqlState};

/// The values of a line; `None` is NULL.
pub(crate) type Record = Vec<Option<Vec<u8>>>;

/// The longest value.
const VALUE_BYTES_MAX: usize = 256 << 20;

/// The most values of a record; no table has as many columns.
const VALUES_MAX: usize = 1 << 16;

/// What has been read of a record.
pub(crate) struct Records {
    format: CopyFormat,
    record: Record,
    /// The value that is being read: of text, with its escapes.
    value: Vec<u8>,
    /// Whether anything of a record has been read.
    begun: bool,
    state: State,
    was_quoted: bool,
    /// Whether the byte read last is a carriage return, which may belong to the line's end.
    ends_in_return: bool,
    /// The mark of the end was read: what follows does not count.
    ended: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Plain,
    /// Behind a backslash, in text.
    Escape,
    /// Between quotes, in CSV.
    Quoted,
    /// Behind what may end the quotes, or escape one.
    QuotedEscape,
}

impl Records {
    pub(crate) fn new(format: &CopyFormat) -> Self {
        Self {
            format: format.clone(),
            record: Vec::new(),
            value: Vec::new(),
            begun: false,
            state: State::Plain,
            was_quoted: false,
            ends_in_return: false,
            ended: false,
        }
    }

    /// The line that the piece begins with, if it is whole, a record begins there, and nothing in
    /// it is quoted or escaped: it is taken off the piece without its end, and `ends` is where its
    /// values end.
    pub(crate) fn plain_line<'p>(
        &mut self,
        piece: &mut &'p [u8],
        ends: &mut Vec<usize>,
    ) -> Option<&'p [u8]> {
        let (is_csv, delimiter) = (self.format.is_csv, self.format.delimiter);
        if self.begun || self.ended || piece.first() == Some(&b'\\') {
            return None;
        }
        ends.clear();
        let special = if is_csv { self.format.quote } else { b'\\' };
        let marks = [b'\n', delimiter, special].map(|byte| u64::from_ne_bytes([byte; 8]));
        let mut start = 0;
        let line_end = 'line: loop {
            let mut places = match piece.get(start..).and_then(|rest| rest.first_chunk()) {
                Some(bytes) => {
                    let word = u64::from_le_bytes(*bytes);
                    marks.iter().fold(0, |found, mark| found | equal_bytes(word ^ mark))
                }
                // The last few bytes, one by one.
                None if start < piece.len() => 0x80,
                None => return None,
            };
            let step = if piece.len() - start < 8 { 1 } else { 8 };
            while places != 0 {
                let at = start + places.trailing_zeros() as usize / 8;
                places &= places - 1;
                match piece[at] {
                    b'\n' => break 'line at,
                    byte if byte == delimiter => ends.push(at),
                    byte if byte == special => return None,
                    _ => {}
                }
            }
            start += step;
        };
        let line = &piece[..line_end];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.len() > VALUE_BYTES_MAX || ends.last().is_some_and(|end| *end > line.len()) {
            return None;
        }
        ends.push(line.len());
        *piece = &piece[line_end + 1..];
        Some(line)
    }

    /// Whether a value that is neither quoted nor escaped is NULL.
    pub(crate) fn is_null(&self, value: &str) -> bool {
        value == self.format.null
    }

    /// Bytes of the record that has not come whole.
    pub(crate) fn bytes(&self) -> usize {
        let values = self.record.iter().flatten().map(Vec::len);
        values.sum::<usize>() + self.value.len()
    }

    /// The next record of this piece, which is taken off it; `None` once it has been read whole.
    ///
    /// # Errors
    /// `BAD_COPY`.
    pub(crate) fn next(&mut self, piece: &mut &[u8]) -> Result<Option<Record>> {
        while let Some((&byte, rest)) = piece.split_first() {
            *piece = rest;
            if self.ended {
                continue;
            }
            let ends_record = match self.format.is_csv {
                true => self.csv(byte),
                false => self.text(byte),
            };
            if self.value.len() > VALUE_BYTES_MAX {
                return Err(Error::new(
                    SqlState::LIMIT_EXCEEDED,
                    "a value of the copy is too long",
                ));
            }
            if self.record.len() > VALUES_MAX {
                let text = "extra data after last expected column";
                return Err(Error::new(SqlState::BAD_COPY, text));
            }
            if ends_record && let Some(record) = self.finish()? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    /// The last record, if its line does not end.
    ///
    /// # Errors
    /// `BAD_COPY`.
    pub(crate) fn end(&mut self) -> Result<Option<Record>> {
        if self.state == State::Quoted {
            return Err(Error::new(SqlState::BAD_COPY, "unterminated CSV quoted field"));
        }
        if self.begun { self.finish() } else { Ok(None) }
    }

    /// A byte of text; whether it ends the record.
    fn text(&mut self, byte: u8) -> bool {
        match (self.state, byte) {
            (State::Escape, _) => {
                self.value.push(byte);
                self.state = State::Plain;
            }
            (_, b'\n') => return true,
            (_, byte) if byte == self.format.delimiter => self.finish_value(),
            (_, byte) => {
                self.value.push(byte);
                if byte == b'\\' {
                    self.state = State::Escape;
                }
            }
        }
        self.ends_in_return = byte == b'\r' && self.value.last() == Some(&byte);
        self.begun = true;
        false
    }

    /// A byte of CSV; whether it ends the record.
    fn csv(&mut self, byte: u8) -> bool {
        let (quote, escape) = (self.format.quote, self.format.escape);
        match self.state {
            State::Quoted if byte == escape => self.state = State::QuotedEscape,
            State::Quoted if byte == quote => self.state = State::Plain,
            State::Quoted => self.value.push(byte),
            State::QuotedEscape if byte == quote || (byte == escape && escape != quote) => {
                self.value.push(byte);
                self.state = State::Quoted;
            }
            State::QuotedEscape if escape != quote => {
                self.value.extend([escape, byte]);
                self.state = State::Quoted;
            }
            _ => {
                self.state = State::Plain;
                if byte == b'\n' {
                    return true;
                } else if byte == self.format.delimiter {
                    self.finish_value();
                } else if byte == quote {
                    self.was_quoted = true;
                    self.state = State::Quoted;
                } else {
                    self.value.push(byte);
                }
            }
        }
        self.ends_in_return = byte == b'\r' && self.state == State::Plain;
        self.begun = true;
        false
    }

    fn finish_value(&mut self) {
        let value = std::mem::take(&mut self.value);
        let is_null = !self.was_quoted && value == self.format.null.as_bytes();
        self.was_quoted = false;
        self.record.push(match (is_null, self.format.is_csv) {
            (true, _) => None,
            (false, true) => Some(value),
            (false, false) => Some(unescaped(&value)),
        });
    }

    fn finish(&mut self) -> Result<Option<Record>> {
        self.state = State::Plain;
        self.begun = false;
        if std::mem::take(&mut self.ends_in_return) {
            self.value.pop();
        }
        if self.record.is_empty() && !self.was_quoted && self.value == b"\\." {
            self.ended = true;
            self.value.clear();
            return Ok(None);
        }
        self.finish_value();
        Ok(Some(std::mem::take(&mut self.record)))
    }
}

/// The highest bit of each byte that is 0.
#[inline]
fn equal_bytes(differences: u64) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    !(((differences & LOW) + LOW) | differences | LOW)
}

/// What stands behind backslashes, put in their places.
fn unescaped(value: &[u8]) -> Vec<u8> {
    if !value.contains(&b'\\') {
        return value.to_vec();
    }
    let mut plain = Vec::with_capacity(value.len());
    let mut bytes = value.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        let Some(escaped) = bytes.next() else {
            plain.push(b'\\');
            break;
        };
        plain.push(match escaped {
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 11,
            b'0'..=b'7' => number(u32::from(escaped - b'0'), 8, 2, &mut bytes),
            b'x' if bytes.peek().is_some_and(u8::is_ascii_hexdigit) => number(0, 16, 2, &mut bytes),
            other => other,
        });
    }
    plain
}

/// A byte by its number, of which at most so many digits to this base follow.
fn number(
    start: u32,
    base: u32,
    digits: usize,
    bytes: &mut std::iter::Peekable<impl Iterator<Item = u8>>,
) -> u8 {
    let mut number = start;
    for _ in 0..digits {
        let Some(digit) = bytes.peek().and_then(|byte| char::from(*byte).to_digit(base)) else {
            break;
        };
        bytes.next();
        number = number * base + digit;
    }
    (number & 0xff) as u8
}
