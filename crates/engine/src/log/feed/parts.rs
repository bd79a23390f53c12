//! A committed transaction, read part by part.
//!
//! Its parts stand in the log wherever they were logged, so what is in memory is one of them at a
//! time, and of the one before it what an operation has begun with.

use super::{FRAME_MAX, FeedFile, Part, failed, gone, open_file};
use crate::error::{Error, ErrorKind, Result};
use crate::log::record::{Frame, Operation, Operations, find_frame};
use crate::log::writer::Log;
use crate::storage::read_at_most;

/// A committed transaction that is read part by part.
#[derive(Debug)]
pub(crate) struct CommitInParts {
    pub(crate) place: CommitPlace,
    /// Where its parts but the last are, and how many of them were read.
    parts: Vec<Part>,
    read: usize,
    /// The operations of the last, until they were read.
    last: Option<Vec<u8>>,
    /// The file of the part that was read.
    open: Option<FeedFile>,
    /// Operations that were read, from where on they were not given, and the table that the last
    /// was about.
    bytes: Vec<u8>,
    at: usize,
    table: Option<u32>,
}

/// Where a commit is in the log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommitPlace {
    /// The commit timestamp.
    pub(crate) timestamp: u64,
    /// Its end.
    pub(crate) end: u64,
    /// Where its last frame begins, and the timestamp of the commit before.
    pub(super) before: (u64, u64),
}

impl CommitInParts {
    pub(super) fn new(place: CommitPlace, parts: Vec<Part>, last: Vec<u8>) -> Self {
        let (bytes, last) = (Vec::new(), Some(last));
        Self { place, parts, read: 0, last, open: None, bytes, at: 0, table: None }
    }

    /// The next operation; none behind the last.
    ///
    /// # Errors
    /// `DamagedLog`, `LogPositionGone`, `StorageFailed`.
    pub(crate) fn next_operation(&mut self, log: &Log) -> Result<Option<Operation<'_>>> {
        while let Some(wrong) = self.front().err() {
            self.bytes.drain(..std::mem::take(&mut self.at));
            let mut bytes = std::mem::take(&mut self.bytes);
            let is_read = self.read_next(log, &mut bytes);
            self.bytes = bytes;
            if !is_read? {
                return match wrong {
                    None => Ok(None),
                    Some(what) => Err(Error::new(ErrorKind::DamagedLog).because(what)),
                };
            }
        }
        let mut operations = Operations::behind(&self.bytes[self.at..], self.table);
        let Ok(next) = operations.next() else { unreachable!("it was read above") };
        let (rest, table) = operations.rest();
        (self.at, self.table) = (self.bytes.len() - rest, table);
        Ok(next)
    }

    /// Whether there is a whole operation. The error says what is wrong with the bytes, if there
    /// are any.
    fn front(&self) -> Result<(), Option<&'static str>> {
        match Operations::behind(&self.bytes[self.at..], self.table).next() {
            Ok(Some(_)) => Ok(()),
            Ok(None) => Err(None),
            Err(what) => Err(Some(what)),
        }
    }

    /// Puts the operations of the next part behind `out`; false if there is none left. One may end
    /// within an operation.
    fn read_next(&mut self, log: &Log, out: &mut Vec<u8>) -> Result<bool> {
        let Some(&part) = self.parts.get(self.read) else {
            let last = self.last.take();
            out.extend_from_slice(last.as_deref().unwrap_or_default());
            return Ok(last.is_some());
        };
        if self.open.as_ref().is_none_or(|file| file.header.number != part.number) {
            self.open = open_file(log, part.number)?;
        }
        let is_gone = || gone(self.parts[0].address.position);
        let Some(FeedFile { file, .. }) = &self.open else { return Err(is_gone()) };
        let mut bytes = vec![0; FRAME_MAX as usize];
        let count = read_at_most(&**file, part.byte, &mut bytes).map_err(failed)?;
        match find_frame(&bytes[..count], part.address, 0).map(|found| found.frame) {
            Some(Frame::Fragment { operations, .. }) => out.extend_from_slice(operations),
            // It was whole when it was passed: the file is another one.
            _ => return Err(is_gone()),
        }
        self.read += 1;
        Ok(true)
    }

    /// The operations of all parts.
    pub(super) fn read_all(&mut self, log: &Log) -> Result<Vec<u8>> {
        let mut operations = Vec::new();
        while self.read_next(log, &mut operations)? {}
        Ok(operations)
    }
}
