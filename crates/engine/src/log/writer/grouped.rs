//! The log of a replica: entries that it makes while it leads, and appends while it follows.
//!
//! A leader ends an entry whenever it writes, and gives it to the group when it was written, in the
//! same order. While it follows, nothing of its own is taken; entries are written as they come,
//! each frame sealed to the file in which it then stands. Entries do not go across files.
//!
//! A commit that asks for a majority writes what has come together, unless entries are on their
//! way already: then it goes with the next, together with whatever else comes (group commit).

use std::io;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{Buffer, Log, OpenFile, UNSYNCED_FILES_MAX, failed, lock};
use crate::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::log::Durability;
use crate::log::file::{self, Header};
use crate::log::group::{EntryContent, EntryEnd, EntryId, Group, ReplicaEntry};
use crate::log::record::{Frame, FrameAddress, Head, find_frame, move_frame, put_frame};
use crate::log::waiters::Wanted;
use crate::storage::read_at_most;

/// How long a thread waits for a majority before it looks whether it may still wait.
const LOOK_AFTER: Duration = Duration::from_millis(100);

impl Log {
    /// The group of replicas that shares the log.
    #[inline]
    pub(crate) fn group(&self) -> Option<&Group> {
        self.group.as_ref()
    }

    /// Fails where nothing can be committed: writing has failed, or another replica leads.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check().and_then(|()| self.check_leads())
    }

    /// Fails where another replica leads.
    #[inline]
    pub(crate) fn check_leads(&self) -> Result<()> {
        match &self.group {
            Some(group) if !group.leads() => Err(not_leader()),
            _ => Ok(()),
        }
    }

    /// Fails if a commit asks for what only a group can promise, and there is none.
    #[inline]
    pub(crate) fn check_promise(&self, durability: Option<Durability>) -> Result<()> {
        match (&self.group, durability.unwrap_or(self.settings.durability)) {
            (None, Durability::Replicated | Durability::ReplicatedDisk) => Err(no_group()),
            _ => Ok(()),
        }
    }

    /// The lock of whoever writes, while the group makes no entry of its own.
    pub(super) fn lock_to_write(&self) -> MutexGuard<'_, OpenFile> {
        let Some(group) = &self.group else { return lock(&self.file) };
        loop {
            group.wait_while_paused();
            let file = lock(&self.file);
            let state = group.lock();
            if !(state.is_paused && state.term.is_some()) {
                return file;
            }
        }
    }

    /// Ends an entry with what is in the buffer, or without any if there is a message.
    pub(super) fn end_entry(&self, buffer: &mut Buffer, message: &[u8]) -> Option<EntryEnd> {
        let group = self.group.as_ref()?;
        let state = group.lock();
        let term = state.term?;
        if buffer.bytes.is_empty() && message.is_empty() {
            return None;
        }
        let id = EntryId { term, index: state.last().id.index + 1 };
        Some(put_entry(buffer, id, state.replicated, message))
    }

    /// An entry was written: it is one of the log, and the group is given it.
    pub(super) fn offer(&self, end: EntryEnd, bytes: &[u8], start: u64, salt: u32) {
        let Some(group) = &self.group else { return };
        let tap = {
            let mut state = group.lock();
            state.push(end, &[], ReplicaEntry { id: end.id, start, salt, bytes: bytes.into() });
            state.tap.clone()
        };
        if let Some(tap) = tap {
            tap.offer(end.id);
        }
    }

    /// Leads in a term, behind the last entry; all before it was applied.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn lead(&self, term: u64) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        self.check()?;
        let _file = lock(&self.file);
        group.set_term(Some(term));
        lock(&self.buffer).leads = true;
        Ok(())
    }

    /// Follows from now on: no commit is taken any more. What was taken is made an entry, since it
    /// was published; whether it is one that the group will ever have, others decide.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn follow(&self) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        let mut file = lock(&self.file);
        let led = std::mem::replace(&mut lock(&self.buffer).leads, false);
        let written = if led { self.write_out(&mut file) } else { Ok(()) };
        group.set_term(None);
        if led {
            let end = group.lock().last().end;
            group.note_applied(end);
        }
        written.map_err(|error| self.poison(&error))
    }

    /// Appends an entry that the group makes of its own, with a message: at the end of what was
    /// taken so far, if this replica leads. It is not offered.
    ///
    /// # Errors
    /// `LogFailed`; `InvalidOptions` if it is not the next one.
    pub(crate) fn append_message(&self, id: EntryId, message: &[u8]) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        self.check()?;
        let file = lock(&self.file);
        self.check_next(group, id, None)?;
        // A file may be somewhat longer than others.
        let (mut bytes, start, salt, end) = {
            let mut buffer = lock(&self.buffer);
            let end = put_entry(&mut buffer, id, group.lock().replicated, message);
            let bytes = std::mem::take(&mut buffer.bytes);
            let start = buffer.start;
            buffer.start += bytes.len() as u64;
            (bytes, start, buffer.salt, end)
        };
        let written = self.write_bytes(&file, &mut bytes, start, salt);
        written.map_err(|error| self.poison(&error))?;
        let entry = ReplicaEntry { id, start, salt, bytes: bytes.into() };
        group.lock().push(end, message, entry);
        Ok(())
    }

    /// Appends entries that another replica has made.
    ///
    /// # Errors
    /// `LogFailed`; `DamagedLog` if one is not whole; `InvalidOptions` if one is not the next.
    pub(crate) fn append_entries(&self, entries: &[ReplicaEntry]) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        self.check()?;
        if entries.is_empty() {
            // A leader has what it made: it does not wait for whoever writes that.
            return Ok(());
        }
        let mut file = lock(&self.file);
        for entry in entries {
            self.check_next(group, entry.id, Some(entry.start))?;
            let Some((content, mut end)) = entry.last_frame() else {
                return Err(Error::new(ErrorKind::DamagedLog)
                    .because(format!("entry {} of the group came damaged", entry.id.index)));
            };
            let is_full = entry.end() > lock(&self.buffer).file_end;
            if is_full && file.header.start < entry.start {
                self.next_file(&mut file).map_err(|error| self.poison(&error))?;
            }
            let (mut bytes, salt) = {
                let mut buffer = lock(&self.buffer);
                let (bytes, timestamp, commits) = moved(entry, buffer.salt, buffer.timestamp);
                (buffer.timestamp, end.timestamp) = (timestamp, timestamp);
                buffer.commits += commits;
                buffer.start = entry.end();
                (bytes, buffer.salt)
            };
            let written = self.write_bytes(&file, &mut bytes, entry.start, salt);
            written.map_err(|error| self.poison(&error))?;
            let kept = ReplicaEntry { salt, bytes: bytes.into(), ..*entry };
            group.lock().push(end, content.message, kept);
        }
        Ok(())
    }

    /// Syncs the oldest file where too many are not synced; whether that was so.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn sync_if_many(&self) -> Result<bool> {
        self.sync_oldest_beyond(UNSYNCED_FILES_MAX)
    }

    /// Whether too many files are not synced, unless somebody writes just now.
    pub(crate) fn has_many_unsynced(&self) -> bool {
        self.file.try_lock().is_ok_and(|file| file.unsynced.len() > UNSYNCED_FILES_MAX)
    }

    fn check_next(&self, group: &Group, id: EntryId, start: Option<u64>) -> Result<()> {
        let last = group.lock().last();
        let buffer = lock(&self.buffer);
        let is_there = start.is_none_or(|start| start == last.end && buffer.start == start);
        // Nothing of this replica's own may come between.
        let is_alone = start.is_none() || buffer.bytes.is_empty();
        let is_next = id.index == last.id.index + 1 && id.term >= last.id.term;
        if is_there && is_alone && is_next { Ok(()) } else { Err(not_next(id)) }
    }

    /// An entry, from memory or from its file; `None` if the log does not hold it.
    ///
    /// # Errors
    /// `StorageFailed`.
    pub(crate) fn entry(&self, index: u64) -> Result<Option<ReplicaEntry>> {
        let Some(group) = &self.group else { return Ok(None) };
        let (start, end) = {
            let state = group.lock();
            if let Some(entry) = state.recent(index) {
                return Ok(Some(entry));
            }
            let before = index.checked_sub(1).and_then(|before| state.end_of(before));
            match (before, state.end_of(index)) {
                (Some(before), Some(end)) => (before.end, end),
                _ => return Ok(None),
            }
        };
        self.read_entry(start, end).map_err(|error| failed(&error))
    }

    fn read_entry(&self, start: u64, end: EntryEnd) -> io::Result<Option<ReplicaEntry>> {
        for number in file::numbers(&*self.storage)?.into_iter().rev() {
            let file = self.storage.open(&file::name_of(number))?;
            let Some(header) = Header::read(&*file, number)? else { continue };
            if header.start > start {
                continue;
            }
            let mut bytes = vec![0; (end.end - start) as usize];
            let at = header.len() + (start - header.start);
            if read_at_most(&*file, at, &mut bytes)? < bytes.len() {
                return Ok(None);
            }
            let bytes = bytes.into();
            return Ok(Some(ReplicaEntry { id: end.id, start, salt: header.salt(), bytes }));
        }
        Ok(None)
    }

    /// Writes what was appended so far, so that the group has it.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn write_all(&self) -> Result<()> {
        self.write_to(self.end())
    }

    /// Writes what was appended so far, unless the group is about to make an entry of its own: then
    /// it is written with that, or later. It does not wait for the group.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn write_unless_paused(&self) -> Result<()> {
        self.check()?;
        let mut file = lock(&self.file);
        let is_paused = self.group.as_ref().is_some_and(|group| group.lock().is_paused);
        let written = if is_paused { Ok(()) } else { self.write_out(&mut file) };
        written.map_err(|error| self.poison(&error))
    }

    /// The position before which all is that a snapshot has which is taken now.
    pub(crate) fn seen(&self, group: &Group) -> u64 {
        if group.leads() { self.end() } else { group.applied() }
    }

    /// Waits until a majority has the log up to a position, in memory or on disks.
    ///
    /// # Errors
    /// `LogFailed`; `NotReplicated` where this replica does not lead any more: then nobody can say
    /// yet whether the group will have it. `InvalidOptions` without a group.
    #[cold]
    pub(super) fn replicate_to(&self, position: u64, durability: Durability) -> Result<()> {
        let Some(group) = &self.group else { return Err(no_group()) };
        let on_disk = durability == Durability::ReplicatedDisk;
        let reached = || if on_disk { group.replicated_on_disk() } else { group.replicated() };
        while reached() < position {
            self.check()?;
            let is_written = self.written.load(Ordering::Acquire) >= position;
            if !group.leads() {
                // What was taken by now is the group's to decide.
                return Err(Error::new(ErrorKind::NotReplicated).because(
                    "it does not lead any more; the group may or may not have the commit",
                ));
            }
            if !is_written && !group.lock().is_full() {
                self.write_to(position)?;
                continue;
            }
            if on_disk && is_written {
                let tap = group.lock().tap.clone();
                tap.inspect(|tap| tap.want_on_disk());
            }
            let wanted = Wanted { position, on_disk, is_to_write: !is_written };
            group.waiters.wait(wanted, LOOK_AFTER, || {
                let may_write = !is_written && !group.lock().is_full();
                reached() >= position || may_write || !group.leads()
            });
        }
        Ok(())
    }

    /// Lets files go that hold nothing behind an entry, which nobody needs any more.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn forget_entries(&self, index: u64) -> Result<()> {
        let Some(group) = &self.group else { return Ok(()) };
        let Some(position) = group.lock().end_of(index).map(|entry| entry.end) else {
            return Ok(());
        };
        let open = lock(&self.file).header.number;
        self.remove_before(position, open, usize::MAX).map_err(|error| self.poison(&error))?;
        group.lock().forget(index);
        Ok(())
    }
}

/// Puts the frame that ends an entry into the buffer.
fn put_entry(buffer: &mut Buffer, id: EntryId, replicated: u64, message: &[u8]) -> EntryEnd {
    let position = buffer.start + buffer.bytes.len() as u64;
    let floor = buffer.floor(position);
    let content = EntryContent { replicated, back: position - floor, message };
    let bytes = content.to_bytes();
    let mut checksum = Checksum::new();
    checksum.add(&bytes);
    let address = FrameAddress { position, salt: buffer.salt };
    let head = Head::Entry { term: id.term, index: id.index };
    put_frame(&mut buffer.bytes, head, &bytes, checksum, address);
    let end = buffer.start + buffer.bytes.len() as u64;
    let floor = content.floor(position, end).unwrap_or(floor);
    EntryEnd { id, end, floor, timestamp: buffer.timestamp }
}

/// The frames of an entry, sealed to another file; the timestamp of their last commit, and how many
/// commits they are. The entry is whole.
fn moved(entry: &ReplicaEntry, salt: u32, mut timestamp: u64) -> (Vec<u8>, u64, u64) {
    let mut bytes = Vec::with_capacity(entry.bytes.len());
    let mut commits = 0;
    let mut rest = &entry.bytes[..];
    while !rest.is_empty() {
        let position = entry.start + bytes.len() as u64;
        let from = FrameAddress { position, salt: entry.salt };
        let Some(found) = find_frame(rest, from, timestamp) else { break };
        if let Frame::Commit { timestamp: of, .. }
        | Frame::CommitOf { timestamp: of, .. }
        | Frame::Define { timestamp: of, .. } = found.frame
        {
            timestamp = of;
            commits += 1;
        }
        let (frame, behind) = rest.split_at(found.length);
        move_frame(&mut bytes, frame, FrameAddress { position, salt });
        rest = behind;
    }
    (bytes, timestamp, commits)
}

#[cold]
fn not_leader() -> Error {
    Error::new(ErrorKind::NotLeader)
        .because("another replica of the group takes changes, or no majority can be reached")
}

#[cold]
pub(crate) fn no_group() -> Error {
    Error::new(ErrorKind::InvalidOptions).because("no group of replicas shares the database's log")
}

#[cold]
fn not_next(id: EntryId) -> Error {
    Error::new(ErrorKind::InvalidOptions)
        .because(format!("entry {} of term {} does not follow the last one", id.index, id.term))
}
