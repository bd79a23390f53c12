//! A log as it is shown to whoever looks at one: every frame with its place.
//!
//! The log is walked from the first file that is there, whether or not an image goes with it, and
//! is only read. The caller knows how to describe a change of tables. The operations
//! of a transaction that came in parts are shown with the part that commits it: a part alone may
//! end within an operation.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::file::{self, Header};
use super::head::LogHead;
use super::reader::{Damage, FrameAt, Next, Reader, Unreadable};
use super::record::{Frame, Operation, Operations};
use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// One frame of a log.
///
/// # Examples
/// See [`Database::read_log`](crate::Database::read_log).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LogEntry<'l> {
    /// The file that it stands in.
    pub file: &'l str,
    /// At which byte of the file.
    pub offset: u64,
    /// Bytes of log before it since the database was made.
    pub position: u64,
    /// Whether it says that all before it was synced when it was written.
    pub synced_before: bool,
    /// What it is.
    pub kind: LogEntryKind<'l>,
    operations: &'l [u8],
}

/// The kind of a frame of a log.
///
/// # Examples
/// See [`Database::read_log`](crate::Database::read_log).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LogEntryKind<'l> {
    /// A transaction, or its last part.
    Commit {
        /// The commit timestamp.
        timestamp: u64,
        /// The position of its first part, if it came in several.
        first: Option<u64>,
        /// False if earlier parts are not there any more; then no operations are shown.
        is_whole: bool,
    },
    /// A part of a transaction that may or may not commit.
    Part {
        /// The position of its first part.
        first: u64,
        /// Bytes of operations in this part.
        bytes: u64,
    },
    /// A change of tables or indexes.
    Definition {
        /// The commit timestamp.
        timestamp: u64,
        /// The table's number.
        table: u32,
        /// The table's name, if it stands there.
        name: Option<&'l str>,
        /// The definition as text.
        words: &'l str,
    },
    /// What the clock on the wall showed, in microseconds since 1970.
    Time {
        /// The microseconds.
        time_us: u64,
    },
    /// The database was closed here.
    Close,
    /// All since the entry before is an entry of the log of a group of replicas.
    Entry {
        /// The term of the leader that made it.
        term: u64,
        /// Its number.
        index: u64,
    },
}

/// A change of tables as text: the table's number, its name, and the text.
pub(crate) type Description = (u32, Option<String>, String);

impl<'l> LogEntry<'l> {
    /// The changes of a commit, all parts included.
    ///
    /// # Errors
    /// Each may be `DamagedLog`; nothing comes behind that.
    ///
    /// # Examples
    /// See [`Database::read_log`](crate::Database::read_log).
    pub fn operations(&self) -> impl Iterator<Item = Result<Operation<'l>>> + use<'l> {
        decoded(self.operations)
    }
}

/// The operations of a transaction, up to the first that cannot be read.
pub(super) fn decoded(bytes: &[u8]) -> impl Iterator<Item = Result<Operation<'_>>> {
    let mut operations = Operations::new(bytes);
    let mut failed = false;
    std::iter::from_fn(move || {
        let next = if failed { Ok(None) } else { operations.next() };
        failed |= next.is_err();
        next.map_err(|what| Error::new(ErrorKind::DamagedLog).because(what)).transpose()
    })
}

/// Shows every frame to `visit` until that says that it is enough; `describe` is asked what a
/// change of tables says. Returns what is damaged behind the last frame.
pub(crate) fn walk(
    storage: &dyn Storage,
    describe: &dyn Fn(&[u8]) -> Option<Description>,
    visit: &mut dyn FnMut(&LogEntry<'_>) -> ControlFlow<()>,
) -> Result<Option<Damage>, Unreadable> {
    let Some(start) = first_position(storage)? else { return Ok(None) };
    let Some(mut reader) = Reader::open(storage, None, start)? else { return Ok(None) };
    let mut parts: HashMap<u64, Vec<FrameAt>> = HashMap::new();
    loop {
        let (frame, at) = match reader.next()? {
            Next::Frame { frame, at } => (frame, at),
            Next::End(end) => return Ok(end.damage),
        };
        let mut words = None;
        let mut operations = Vec::new();
        let kind = match frame {
            Frame::Commit { timestamp, operations: bytes } => {
                operations.extend_from_slice(bytes);
                LogEntryKind::Commit { timestamp, first: None, is_whole: true }
            }
            Frame::Fragment { first, operations } => {
                parts.entry(first).or_default().push(at);
                LogEntryKind::Part { first, bytes: operations.len() as u64 }
            }
            Frame::CommitOf { timestamp, first, operations: bytes } => {
                let last = bytes.to_vec();
                let parts = parts.remove(&first).unwrap_or_default();
                let is_whole = parts.first().is_some_and(|part| part.position == first);
                if is_whole {
                    for part in parts {
                        operations.extend(reader.fragment(part)?);
                    }
                    operations.extend(last);
                }
                LogEntryKind::Commit { timestamp, first: Some(first), is_whole }
            }
            Frame::Define { timestamp, definition } => {
                let unknown = || (0, None, "a change that cannot be read".to_owned());
                let (table, name, text) =
                    words.insert(describe(definition).unwrap_or_else(unknown));
                let (name, words) = (name.as_deref(), text.as_str());
                LogEntryKind::Definition { timestamp, table: *table, name, words }
            }
            Frame::Mark { time_us } => LogEntryKind::Time { time_us },
            Frame::Close => LogEntryKind::Close,
            Frame::Entry { term, index, .. } => LogEntryKind::Entry { term, index },
        };
        let entry = LogEntry {
            file: &file::name_of(reader.number_of(at)),
            offset: at.byte,
            position: at.position,
            synced_before: at.synced_before,
            kind,
            operations: &operations,
        };
        if visit(&entry).is_break() {
            return Ok(None);
        }
    }
}

/// The position of the first file that has a header, or whose header the head of the log knows;
/// without any, of the file that there was last.
pub(crate) fn first_position(storage: &dyn Storage) -> std::io::Result<Option<u64>> {
    let (head, _) = LogHead::read(storage)?;
    for number in file::numbers(storage)? {
        let opened = storage.open(&file::name_of(number))?;
        let known = head.map(|head| head.header).filter(|header| header.number == number);
        if let Some(header) = Header::read(&*opened, number)?.or(known) {
            return Ok(Some(header.start));
        }
    }
    Ok(head.map(|head| head.header.start))
}
