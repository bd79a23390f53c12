//! The operations of one transaction on their way into the log.
//!
//! They are encoded before the commit latch is taken, and appended under it. What becomes
//! long goes ahead in parts, which mean nothing without the commit that comes behind them; while
//! they wait for it, the log keeps the files in which they stand.

use std::sync::MutexGuard;

use super::{Appended, Log, lock};
use crate::checksum::Checksum;
use crate::error::Result;
use crate::log::record::{Head, Redo};

/// The operations of a transaction on their way into the log.
#[derive(Debug)]
pub(crate) struct Prepared<'l> {
    pub(super) log: &'l Log,
    pub(super) redo: MutexGuard<'l, Redo>,
    pub(super) checksum: Checksum,
    /// Where its first fragment stands, if there are any.
    pub(super) first: Option<u64>,
}

impl Prepared<'_> {
    /// The operations, to add some.
    #[inline]
    pub(crate) fn redo(&mut self) -> &mut Redo {
        &mut self.redo
    }

    /// Whether rows are logged as they were before they were changed.
    #[inline]
    pub(crate) fn wants_old_rows(&self) -> bool {
        self.log.settings.has_old_rows()
    }

    /// Whether so much has come together that some of it has to go.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.redo.bytes().len() > self.log.fragment
    }

    /// Appends all but the last part of the operations so far.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn stream(&mut self) -> Result<()> {
        let (mut sent, fragment) = (0, self.log.fragment);
        while self.redo.bytes().len() - sent > fragment {
            let mut checksum = Checksum::new();
            checksum.add(&self.redo.bytes()[sent..sent + fragment]);
            while let Appended::Full(bytes) = self.append_fragment(sent, checksum) {
                self.log.make_room(bytes)?;
            }
            sent += fragment;
        }
        self.redo.forget(sent);
        Ok(())
    }

    /// No more operations come.
    #[inline]
    pub(crate) fn finish(&mut self) {
        self.checksum.add(self.redo.bytes());
    }

    /// Appends the commit.
    #[inline]
    pub(crate) fn append(&mut self, timestamp: u64) -> Appended {
        let mut buffer = lock(&self.log.buffer);
        let delta = timestamp - buffer.timestamp;
        let position = buffer.start + buffer.bytes.len() as u64;
        let head = match self.first {
            None => Head::Commit { delta },
            Some(first) => Head::CommitOf { delta, back: position - first },
        };
        let appended = self.log.append(&mut buffer, head, self.redo.bytes(), self.checksum);
        let Appended::At(end, _) = appended else { return appended };
        buffer.timestamp = timestamp;
        buffer.commits += 1;
        if let Some(first) = self.first.take() {
            buffer.streaming.retain(|&other| other != first);
        }
        match &self.log.settings.sync_after {
            None => appended,
            Some(batch) => Appended::At(end, buffer.is_due(batch, self.log, end)),
        }
    }

    fn append_fragment(&mut self, from: usize, checksum: Checksum) -> Appended {
        let mut buffer = lock(&self.log.buffer);
        let position = buffer.start + buffer.bytes.len() as u64;
        let first = self.first.unwrap_or(position);
        let head = Head::Fragment { back: position - first };
        let bytes = &self.redo.bytes()[from..from + self.log.fragment];
        let appended = self.log.append(&mut buffer, head, bytes, checksum);
        if matches!(appended, Appended::At(..)) && self.first.is_none() {
            self.first = Some(position);
            buffer.streaming.push(position);
        }
        appended
    }
}

impl Drop for Prepared<'_> {
    #[inline]
    fn drop(&mut self) {
        // It did not commit: its parts mean nothing.
        if let Some(first) = self.first {
            lock(&self.log.buffer).streaming.retain(|&other| other != first);
        }
    }
}
