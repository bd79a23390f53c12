//! Messages of the client, read from frames that are whole.
//!
//! Every read is checked against the end of the frame, and a frame must be read to its end: what
//! does not fit its own lengths is refused, and nothing is allocated by a number that came over
//! the network.

use bytes::{Buf, Bytes};

use remanent_sql::Error;

use super::ConnectionError;

/// A message after the start.
#[derive(Debug)]
pub(crate) enum Message {
    Query(Bytes),
    Parse {
        name: String,
        text: Bytes,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe(Target, String),
    Execute {
        portal: String,
        rows_max: u32,
    },
    Close(Target, String),
    Flush,
    Sync,
    Terminate,
    Password(Bytes),
    CopyData(Bytes),
    CopyDone,
    CopyFail(Bytes),
    /// One of this kind, for which there was no memory.
    Refused(u8, Error),
}

/// Values for a statement.
#[derive(Debug)]
pub(crate) struct Bind {
    pub(crate) portal: String,
    pub(crate) statement: String,
    /// 0 for text and 1 for binary, of none, of all, or of each.
    pub(crate) formats: Vec<u16>,
    pub(crate) values: Vec<Option<Bytes>>,
    pub(crate) result_formats: Vec<u16>,
}

/// What a name is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Target {
    Statement,
    Portal,
}

/// The first message of a connection.
#[derive(Debug)]
pub(crate) enum First {
    Tls,
    GssEncryption,
    Cancel { process: i32, secret: Bytes },
    Startup { minor: u16, parameters: Vec<(String, String)> },
}

const TLS_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;
const CANCEL_REQUEST: u32 = 80_877_102;

type Read<T> = Result<T, ConnectionError>;

impl Message {
    /// Reads the body of a frame with this kind.
    pub(crate) fn read(kind: u8, mut body: Bytes) -> Read<Self> {
        let body = &mut body;
        let message = match kind {
            b'Q' => Self::Query(text(body)?),
            b'P' => {
                let (name, text) = (name(body)?, text(body)?);
                Self::Parse { name, text, types: numbers(body, take_u32)? }
            }
            b'B' => Self::Bind(Bind {
                portal: name(body)?,
                statement: name(body)?,
                formats: numbers(body, take_u16)?,
                values: numbers(body, value)?,
                result_formats: numbers(body, take_u16)?,
            }),
            b'D' => Self::Describe(target(body)?, name(body)?),
            b'E' => {
                let portal = name(body)?;
                // Negative numbers mean no limit, as zero does.
                let rows_max = u32::try_from(take_u32(body)?.cast_signed()).unwrap_or(0);
                Self::Execute { portal, rows_max }
            }
            b'C' => Self::Close(target(body)?, name(body)?),
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            b'p' => Self::Password(body.split_to(body.len())),
            b'd' => Self::CopyData(body.split_to(body.len())),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail(text(body)?),
            _ => return Err(ConnectionError::Protocol("a message of an unknown kind")),
        };
        match body.is_empty() {
            true => Ok(message),
            false => Err(ConnectionError::Protocol("a message that is longer than what it says")),
        }
    }
}

impl First {
    /// Reads the body of the first frame.
    pub(crate) fn read(mut body: Bytes) -> Read<Self> {
        let body = &mut body;
        let code = take_u32(body)?;
        match code {
            TLS_REQUEST => return Ok(Self::Tls),
            GSS_REQUEST => return Ok(Self::GssEncryption),
            CANCEL_REQUEST => {
                let process = take_u32(body)?.cast_signed();
                return Ok(Self::Cancel { process, secret: body.split_to(body.len()) });
            }
            _ => {}
        }
        if code >> 16 != 3 {
            return Err(ConnectionError::Protocol("a protocol of another version than 3"));
        }
        let mut parameters = Vec::new();
        loop {
            let key = name(body)?;
            if key.is_empty() {
                break;
            }
            parameters.push((key, name(body)?));
        }
        Ok(Self::Startup { minor: (code & 0xffff) as u16, parameters })
    }
}

/// What a client answers to the offer of SASL: the mechanism and its first message.
pub(crate) fn sasl_first(mut body: Bytes) -> Read<(String, Bytes)> {
    let mechanism = name(&mut body)?;
    let message = value(&mut body)?.ok_or(SHORT)?;
    Ok((mechanism, message))
}

const SHORT: ConnectionError =
    ConnectionError::Protocol("a message that is shorter than what it says");

fn take_u16(body: &mut Bytes) -> Read<u16> {
    body.try_get_u16().map_err(|_| SHORT)
}

fn take_u32(body: &mut Bytes) -> Read<u32> {
    body.try_get_u32().map_err(|_| SHORT)
}

/// A count and as many items.
fn numbers<T>(body: &mut Bytes, item: fn(&mut Bytes) -> Read<T>) -> Read<Vec<T>> {
    let count = take_u16(body)?;
    (0..count).map(|_| item(body)).collect()
}

fn value(body: &mut Bytes) -> Read<Option<Bytes>> {
    let length = take_u32(body)?.cast_signed();
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    if length > body.len() {
        return Err(SHORT);
    }
    Ok(Some(body.split_to(length)))
}

/// Bytes up to a zero, without it.
fn text(body: &mut Bytes) -> Read<Bytes> {
    let end = body.iter().position(|byte| *byte == 0).ok_or(SHORT)?;
    let text = body.split_to(end);
    body.advance(1);
    Ok(text)
}

fn name(body: &mut Bytes) -> Read<String> {
    let bytes = text(body)?;
    let name = std::str::from_utf8(&bytes)
        .map_err(|_| ConnectionError::Protocol("a name not in UTF-8"))?;
    Ok(name.to_owned())
}

fn target(body: &mut Bytes) -> Read<Target> {
    match body.try_get_u8() {
        Ok(b'S') => Ok(Target::Statement),
        Ok(b'P') => Ok(Target::Portal),
        _ => Err(ConnectionError::Protocol("something that is neither statement nor portal")),
    }
}
