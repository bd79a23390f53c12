//! Saving a database to a stream and loading one from it.
//!
//! The dictionary's text, then the engine's own image: the format is in `FORMAT.md`. Saving reads
//! one snapshot and blocks nobody. What is loaded becomes a database that nobody knows until the
//! last check was right, so there is never half of one. The stream is the program's: two functions
//! that move bytes, here as `Write` and `Read`.

use std::ffi::{c_char, c_void};
use std::io::{self, Read, Write};
use std::sync::atomic::Ordering::Relaxed;

use remanent_engine::schema::Value;
use remanent_engine::{Database, ErrorKind, Options};

use super::database::{Instance, Opening, connected};
use super::dictionary::{Class, Dictionary, tables_of};
use super::status::*;
use crate::ffi::{InPtr, OutPtr};

const MAGIC: &[u8; 8] = b"RemMcoIm";
const VERSION: u32 = 2;
const TEXT_LEN_MAX: usize = 16 << 20;
const BUFFER: usize = 64 << 10;

/// Takes bytes to the stream; returns how many it took.
pub type mco_stream_write = extern "C" fn(*mut c_void, *const c_void, usize) -> usize;
/// Brings bytes from the stream; returns how many, 0 at its end.
pub type mco_stream_read = extern "C" fn(*mut c_void, *mut c_void, usize) -> usize;

/// The program's stream, to write to.
struct Writer {
    stream: *mut c_void,
    write: mco_stream_write,
}

/// The program's stream, to read from.
struct Reader {
    stream: *mut c_void,
    read: mco_stream_read,
    /// Whether it has ended.
    ended: bool,
}

/// Writes a database to a stream.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_save(
    stream: OutPtr<c_void>,
    write: Option<mco_stream_write>,
    connection: u64,
) -> MCO_RET {
    call(|| {
        let write = write.ok_or(MCO_E_ILLEGAL_PARAM)?;
        let writer = Writer { stream: stream.address(), write };
        let mut writer = io::BufWriter::with_capacity(BUFFER, writer);
        connected(connection, |instance| save(instance, &mut writer))
    })
}

fn save(instance: &Instance, writer: &mut dyn Write) -> Outcome {
    let refused = |_| MCO_E_WRITE_STREAM;
    let mut head = MAGIC.to_vec();
    head.extend_from_slice(&VERSION.to_le_bytes());
    head.extend_from_slice(&(instance.text.len() as u32).to_le_bytes());
    head.extend_from_slice(instance.text.as_bytes());
    let check = crc32fast::hash(&head);
    writer.write_all(&head).map_err(refused)?;
    writer.write_all(&check.to_le_bytes()).map_err(refused)?;
    instance.database.save(writer).map_err(|error| match error.kind() {
        ErrorKind::StreamFailed => MCO_E_WRITE_STREAM,
        _ => status_of(error),
    })?;
    writer.flush().map_err(refused)
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = (self.write)(self.stream, bytes.as_ptr().cast(), bytes.len());
        if taken == 0 || taken > bytes.len() {
            return Err(io::ErrorKind::WriteZero.into());
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Opens a database with what was saved.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_load(
    stream: OutPtr<c_void>,
    read: Option<mco_stream_read>,
    name: InPtr<c_char>,
    dictionary: InPtr<Dictionary>,
    memory: OutPtr<c_void>,
    size: usize,
    page_size: u16,
) -> MCO_RET {
    call(|| {
        let read = read.ok_or(MCO_E_ILLEGAL_PARAM)?;
        let opening = Opening::check(name, dictionary, memory, size, page_size)?;
        let reader = Reader { stream: stream.address(), read, ended: false };
        let mut reader = io::BufReader::with_capacity(BUFFER, reader);
        let text = read_text(&mut reader)?;
        if tables_of(&text)? != tables_of(opening.text())? {
            keep("the image has other classes than the dictionary");
            return Err(MCO_E_LOAD_DICT);
        }
        opening.open(
            true,
            |options| load(options, &mut reader),
            |database, table| {
                let class = Class::of(database.table(&table.name).map_err(|_| MCO_E_LOAD_DATA)?)?;
                note_loaded(database, &class)?;
                Ok(class)
            },
        )
    })
}

fn read_text(reader: &mut io::BufReader<Reader>) -> Outcome<String> {
    let ended = |_| MCO_E_READ_STREAM;
    let mut head = [0; 16];
    reader.read_exact(&mut head).map_err(ended)?;
    let number =
        |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let len = number(12) as usize;
    if head[..8] != *MAGIC || number(8) != VERSION || len > TEXT_LEN_MAX {
        keep("this is no image, or one of another version");
        return Err(MCO_E_LOAD_DICT);
    }
    let (mut text, mut check) = (vec![0; len], [0; 4]);
    reader.read_exact(&mut text).map_err(ended)?;
    reader.read_exact(&mut check).map_err(ended)?;
    if crc32fast::hash(&[&head[..], &text].concat()) != u32::from_le_bytes(check) {
        keep("the dictionary's text is damaged");
        return Err(MCO_E_LOAD_DICT);
    }
    String::from_utf8(text).map_err(|_| MCO_E_LOAD_DICT)
}

fn load(options: Options, reader: &mut io::BufReader<Reader>) -> Outcome<Database> {
    Database::load(options, reader).map_err(|error| match error.kind() {
        ErrorKind::StreamFailed => MCO_E_READ_STREAM,
        ErrorKind::DamagedImage if reader.get_ref().ended => MCO_E_READ_STREAM,
        ErrorKind::BudgetReached | ErrorKind::OutOfMachineMemory => MCO_E_NOMEM,
        _ => {
            status_of(error);
            MCO_E_LOAD_DATA
        }
    })
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = (self.read)(self.stream, buffer.as_mut_ptr().cast(), buffer.len());
        if got > buffer.len() {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.ended |= got == 0;
        Ok(got)
    }
}

/// What a class knows of the objects that it was loaded with.
pub(super) fn note_loaded(database: &Database, class: &Class) -> Outcome {
    let reading = database.begin_read().map_err(status_of)?;
    let mut rows = reading.scan(&class.table).map_err(status_of)?.peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    class.filled.store(0, Relaxed);
    let Some(leaf) = class.autoid else { return Ok(()) };
    let column = class.leaves[leaf as usize].column;
    for row in rows {
        if let Value::U64(id) = row.value(column) {
            class.autoid_next.fetch_max(id.saturating_add(1), Relaxed);
        }
    }
    Ok(())
}
