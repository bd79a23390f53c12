//! Following the log: the committed transactions from a position on, in the order of their commits.
//!
//! A feed reads files beside the log that writes them, and takes no lock that a commit waits for.
//! It goes up to the position before which all is on the disk: bytes before that position are never
//! written again, and it lies between two frames. Asked again later, it goes on.
//!
//! Files go when a checkpoint has made them needless, and may be used again under another name; a
//! feed keeps none. A frame is whole in one place of one file only, so what a file holds since is
//! never taken for what it held: where a frame that was on the disk is not there, and its file is
//! gone, so is the position. Parts of a transaction are found by the places that were noted as they
//! were passed; a feed that began behind the first of them goes back for it.

mod parts;

use std::collections::HashMap;
use std::io;
use std::ops::Range;

pub(crate) use self::parts::{CommitInParts, CommitPlace};
use super::dump::decoded;
use super::durability::Durability;
use super::file::{self, Header};
use super::record::{
    FRAME_EXTRA_MAX, Frame, FrameAddress, Operation, PAYLOAD_MAX, Redo, find_frame,
};
use super::writer::Log;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{StorageFile, read_at_most};

/// Bytes that are read at once.
const STEP: u64 = 1 << 20;
/// The longest frame.
const FRAME_MAX: u64 = (PAYLOAD_MAX + FRAME_EXTRA_MAX) as u64;

const _: () = assert!(STEP >= FRAME_MAX);

/// The committed transactions of a log, from a position on.
///
/// It ends where the disk has no more of the log, and gives what has come since when it is asked
/// again. After an error it stays where it is. What it gives has all changes of a transaction in
/// memory.
///
/// # Examples
/// See [`Database::log_feed`](crate::Database::log_feed).
#[derive(Debug)]
pub struct LogFeed<'l> {
    log: &'l Log,
    place: FeedPlace,
}

/// The place of a feed in a log, up to which it has read.
#[derive(Debug)]
pub(crate) struct FeedPlace {
    file: FeedFile,
    /// The position of the next frame, and the timestamp of the last commit before it.
    position: u64,
    timestamp: u64,
    /// Bytes of the file, and the position of the first of them.
    bytes: Vec<u8>,
    start: u64,
    /// Parts of transactions that may commit later, by the position of the first. What never
    /// commits stays: a few bytes for each 64 KiB of log.
    parts: HashMap<u64, Vec<Part>>,
}

/// A committed transaction, as the log has it.
///
/// # Examples
/// See [`Database::log_feed`](crate::Database::log_feed).
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LoggedCommit {
    /// The commit timestamp.
    pub timestamp: u64,
    /// The log position behind the commit: a feed from there on begins with the next one.
    pub end: u64,
    operations: Vec<u8>,
}

/// A file that is read.
#[derive(Debug)]
struct FeedFile {
    header: Header,
    file: Box<dyn StorageFile>,
}

/// The place of a part of a transaction.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// The file.
    number: u64,
    /// The byte of the file at which it begins.
    byte: u64,
    address: FrameAddress,
}

/// A frame that was passed; its operations are a range of the bytes that were read.
struct Passed {
    kind: PassedKind,
    address: FrameAddress,
    operations: Range<usize>,
}

/// The kind of a frame, as far as a feed is concerned.
enum PassedKind {
    Commit,
    Part { first: u64 },
    CommitOf { first: u64 },
    Definition,
    Neither,
}

impl LoggedCommit {
    pub(crate) fn operation_bytes(&self) -> &[u8] {
        &self.operations
    }

    /// What it has changed, in the order in which it is to be applied.
    ///
    /// # Errors
    /// Each may be `DamagedLog`; nothing comes behind that.
    ///
    /// # Examples
    /// See [`Database::log_feed`](crate::Database::log_feed).
    pub fn operations(&self) -> impl Iterator<Item = Result<Operation<'_>>> {
        decoded(&self.operations)
    }
}

impl Iterator for LogFeed<'_> {
    type Item = Result<LoggedCommit>;

    fn next(&mut self) -> Option<Self::Item> {
        self.place.next_commit(self.log, self.log.synced()).transpose()
    }
}

impl<'l> LogFeed<'l> {
    /// A feed from a position on, which is the beginning or the end of a frame.
    ///
    /// # Errors
    /// `LogPositionGone` if the log does not reach back so far, `InvalidOptions` if no frame begins
    /// there, or none that is on the disk; `StorageFailed`, `DamagedLog`.
    pub(crate) fn open(log: &'l Log, position: u64) -> Result<Self> {
        let place = FeedPlace::open(log, position, log.synced())?;
        Ok(Self { log, place })
    }

    /// The position from which another feed would go on as this one does.
    ///
    /// # Examples
    /// See [`Database::log_feed`](crate::Database::log_feed).
    pub fn position(&self) -> u64 {
        self.place.position
    }
}

impl FeedPlace {
    /// As [`LogFeed::open`], in a log that is read up to the position `durable`.
    pub(crate) fn open(log: &Log, position: u64, durable: u64) -> Result<Self> {
        if position > durable {
            return Err(no_boundary(position));
        }
        let file = file_at(log, position)?.ok_or_else(|| gone(position))?;
        let Header { start, timestamp, .. } = file.header;
        let (bytes, parts) = (Vec::new(), HashMap::new());
        let mut feed = Self { file, position: start, timestamp, bytes, start, parts };
        while feed.position < position {
            let Some(passed) = feed.next_frame(log, durable)? else { break };
            feed.note_part(&passed);
        }
        if feed.position == position { Ok(feed) } else { Err(no_boundary(position)) }
    }

    /// The position up to which it has read.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next commit that ends before the position `durable`.
    pub(crate) fn next_commit(&mut self, log: &Log, durable: u64) -> Result<Option<LoggedCommit>> {
        let Some(mut commit) = self.next_in_parts(log, durable)? else { return Ok(None) };
        let operations = commit.read_all(log).inspect_err(|_| {
            // It was not given, so it is the next one still.
            (self.position, self.timestamp) = commit.place.before;
        })?;
        let CommitPlace { timestamp, end, .. } = commit.place;
        Ok(Some(LoggedCommit { timestamp, end, operations }))
    }

    /// The next commit that ends before the position `durable`, to be read part by part.
    pub(crate) fn next_in_parts(
        &mut self,
        log: &Log,
        durable: u64,
    ) -> Result<Option<CommitInParts>> {
        loop {
            let timestamp_before = self.timestamp;
            let Some(passed) = self.next_frame(log, durable)? else { return Ok(None) };
            self.note_part(&passed);
            let before = (passed.address.position, timestamp_before);
            let found = self.commit_of(log, &passed, before).inspect_err(|_| {
                (self.position, self.timestamp) = before;
            })?;
            if found.is_some() {
                return Ok(found);
            }
        }
    }

    /// The transaction that a frame commits, if it commits one.
    fn commit_of(
        &mut self,
        log: &Log,
        passed: &Passed,
        before: (u64, u64),
    ) -> Result<Option<CommitInParts>> {
        let last = &self.bytes[passed.operations.clone()];
        let (parts, last) = match passed.kind {
            PassedKind::Part { .. } | PassedKind::Neither => return Ok(None),
            PassedKind::Commit => (Vec::new(), last.to_vec()),
            PassedKind::Definition => {
                let mut redo = Redo::default();
                redo.define(last);
                (Vec::new(), redo.bytes().to_vec())
            }
            PassedKind::CommitOf { first } => {
                let last = last.to_vec();
                (self.take_parts(log, first, passed.address.position)?, last)
            }
        };
        let (timestamp, end) = (self.timestamp, self.position);
        Ok(Some(CommitInParts::new(CommitPlace { timestamp, end, before }, parts, last)))
    }

    /// The parts but the last of a transaction that commits at `end`.
    fn take_parts(&mut self, log: &Log, first: u64, end: u64) -> Result<Vec<Part>> {
        let known = self.parts.get(&first);
        let is_known = known.is_some_and(|parts| parts[0].address.position == first);
        let earlier = if is_known { None } else { Some(Self::parts_from(log, first, end)?) };
        let known = self.parts.remove(&first);
        let parts = earlier.map_or(known, |mut earlier| earlier.remove(&first));
        Ok(parts.unwrap_or_default())
    }

    /// All parts from a position on and before another.
    #[cold]
    fn parts_from(log: &Log, first: u64, end: u64) -> Result<HashMap<u64, Vec<Part>>> {
        let mut feed = Self::open(log, first, end)?;
        while feed.position < end
            && let Some(passed) = feed.next_frame(log, end)?
        {
            feed.note_part(&passed);
        }
        Ok(feed.parts)
    }

    fn note_part(&mut self, passed: &Passed) {
        if let PassedKind::Part { first } = passed.kind {
            let Header { number, start, .. } = self.file.header;
            let byte = self.file.header.len() + passed.address.position - start;
            let part = Part { number, byte, address: passed.address };
            self.parts.entry(first).or_default().push(part);
        }
    }

    /// Passes the next frame before `durable`, in this file or the next; `None` if there is none.
    fn next_frame(&mut self, log: &Log, durable: u64) -> Result<Option<Passed>> {
        while self.position < durable {
            if let Some(passed) = self.pass() {
                return Ok(Some(passed));
            }
            self.fill(durable)?;
            if let Some(passed) = self.pass() {
                return Ok(Some(passed));
            }
            self.next_file(log)?;
        }
        Ok(None)
    }

    /// Passes the next frame, if all of it was read.
    fn pass(&mut self) -> Option<Passed> {
        let offset = self.position.checked_sub(self.start)? as usize;
        let address = FrameAddress { position: self.position, salt: self.file.header.salt() };
        let found = find_frame(self.bytes.get(offset..)?, address, self.timestamp)?;
        let (kind, timestamp, operations) = match found.frame {
            Frame::Commit { timestamp, operations } => {
                (PassedKind::Commit, Some(timestamp), operations.len())
            }
            Frame::Fragment { first, operations } => {
                (PassedKind::Part { first }, None, operations.len())
            }
            Frame::CommitOf { timestamp, first, operations } => {
                (PassedKind::CommitOf { first }, Some(timestamp), operations.len())
            }
            Frame::Define { timestamp, definition } => {
                (PassedKind::Definition, Some(timestamp), definition.len())
            }
            Frame::Mark { .. } | Frame::Close | Frame::Entry { .. } => {
                (PassedKind::Neither, None, 0)
            }
        };
        // Operations are the last bytes of a frame.
        let end = offset + found.length;
        self.position += found.length as u64;
        self.timestamp = timestamp.unwrap_or(self.timestamp);
        Some(Passed { kind, address, operations: end - operations..end })
    }

    /// Reads on from the position: what is before `durable`, and of that a frame at least.
    fn fill(&mut self, durable: u64) -> Result<()> {
        let at = self.file.header.len() + (self.position - self.file.header.start);
        self.bytes.resize(STEP.min(durable - self.position) as usize, 0);
        self.start = self.position;
        let read = read_at_most(&*self.file.file, at, &mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        read.map(|_| ()).map_err(failed)
    }

    /// Goes on in the next file, which begins at the position.
    fn next_file(&mut self, log: &Log) -> Result<()> {
        let (number, position) = (self.file.header.number, self.position);
        let numbers = file::numbers(&**log.storage()).map_err(failed)?;
        for later in numbers.into_iter().filter(|&later| later > number) {
            let Some(next) = open_file(log, later)? else { continue };
            if next.header.start == position && next.header.timestamp >= self.timestamp {
                (self.timestamp, self.start) = (next.header.timestamp, position);
                self.file = next;
                self.bytes.clear();
                return Ok(());
            }
            break;
        }
        let is_there =
            open_file(log, number)?.is_some_and(|file| file.header.nonce == self.file.header.nonce);
        Err(match is_there {
            false => gone(position),
            true => Error::new(ErrorKind::DamagedLog)
                .because(format!("what was on the disk at position {position} is not readable")),
        })
    }
}

impl Log {
    /// The position before which all is on the disk and is never taken back: a majority of the
    /// group has it, if there is one, and here it was applied.
    pub(crate) fn lasting(&self) -> u64 {
        let Some(group) = self.group() else { return self.synced() };
        let seen = if group.leads() { u64::MAX } else { group.applied() };
        self.synced().min(group.replicated()).min(seen)
    }

    /// As [`Log::lasting`], after what was appended by now was brought to the disk.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn make_lasting(&self) -> Result<u64> {
        let end = self.end();
        if self.synced() < end {
            self.make_durable(end, Durability::Disk)?;
        }
        Ok(self.lasting())
    }
}

/// The file in which a position lies, the first one if several begin there.
fn file_at(log: &Log, position: u64) -> Result<Option<FeedFile>> {
    let numbers = file::numbers(&**log.storage()).map_err(failed)?;
    let mut found: Option<FeedFile> = None;
    for number in numbers.into_iter().rev() {
        let Some(file) = open_file(log, number)? else { continue };
        if found.as_ref().is_some_and(|found| file.header.start < found.header.start) {
            break;
        }
        if file.header.start <= position {
            found = Some(file);
        }
    }
    Ok(found)
}

/// The file with this number, if it is there and has the header of one of this log.
fn open_file(log: &Log, number: u64) -> Result<Option<FeedFile>> {
    let file = match log.storage().open(&file::name_of(number)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(failed)?,
    };
    let header = Header::read(&*file, number).map_err(failed)?;
    let header = header.filter(|header| header.database == log.database());
    Ok(header.map(|header| FeedFile { header, file }))
}

#[cold]
fn gone(position: u64) -> Error {
    Error::new(ErrorKind::LogPositionGone).because(format!("position {position}"))
}

#[cold]
fn no_boundary(position: u64) -> Error {
    Error::new(ErrorKind::InvalidOptions)
        .because(format!("nothing on the disk begins or ends at position {position} of the log"))
}

#[cold]
fn failed(error: io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(error.to_string())
}

#[cfg(test)]
mod tests;
