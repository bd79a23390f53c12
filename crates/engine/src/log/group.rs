//! What a log knows of the group of replicas that shares it.
//!
//! All replicas have the same log, byte for byte but for what seals a frame to its file. It is cut
//! into *entries* (Raft: Ongaro and Ousterhout, USENIX ATC 2014): the leader ends one whenever it
//! writes, with a frame that says its term and index, and gives it to the group; a follower gets
//! entries whole and appends them. So a position means the same in every replica.
//!
//! Here is where entries end, which of them a majority has, and the newest of them as bytes. What
//! a group agrees on, and how, is above the engine.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::group_file::{GroupFile, GroupPoint};
use super::record::{Frame, FrameAddress, find_frame, put_varint, take_varint};
use super::waiters::Waiters;
use crate::storage::Storage;

/// So many times the log's buffer is kept in memory of entries, for followers that are not far
/// behind.
pub(crate) const RECENT_BUFFERS: usize = 16;
/// Bytes of the frame that ends an entry, if it has no content of its own.
pub(crate) const ENTRY_FRAME_MAX: usize = 64;
/// Entries that were given to the group and that a majority does not have yet, before commits wait
/// for one to come back: meanwhile they come together in the next.
const IN_FLIGHT_MAX: u64 = 2;

/// The name of an entry of the log of a group: the term of the leader that made it, and its number.
///
/// # Examples
/// ```
/// use remanent_engine::EntryId;
/// // A later term is newer, whatever the index.
/// assert!(EntryId { term: 2, index: 1 } > EntryId { term: 1, index: 9 });
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct EntryId {
    /// The term.
    pub term: u64,
    /// The index; indexes have no holes.
    pub index: u64,
}

/// An entry of the log of a group, as its replicas send it to each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplicaEntry {
    /// Its name.
    pub id: EntryId,
    /// The position at which it begins.
    pub start: u64,
    /// The salt of the file that it was read from, to which its frames are sealed.
    pub salt: u32,
    /// Its frames.
    pub bytes: Arc<[u8]>,
}

/// What takes the entries that a leader makes.
pub trait EntryTap: Debug + Send + Sync {
    /// An entry was made; it can be read from now on. Called in their order, while others wait to
    /// write: it may not wait for anything.
    fn offer(&self, id: EntryId);

    /// A commit waits for the disks of a majority to have the last entry. It may not wait.
    fn want_on_disk(&self);
}

/// Who has read the definitions of a follower, and is to know when others come.
pub trait DefinitionWatch: Debug + Send + Sync {
    /// Whether rows of the table with this name are a part of definitions.
    fn concerns(&self, table: &str) -> bool;

    /// Others are about to be committed: who begins to read from now on may see them.
    fn change(&self);

    /// They were, or they were taken back.
    fn changed(&self);
}

/// Where an entry ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct EntryEnd {
    pub(crate) id: EntryId,
    /// The position behind it.
    pub(crate) end: u64,
    /// The position from which on all is needed to repeat what had not committed at its end.
    pub(crate) floor: u64,
    /// The timestamp of the last commit before its end.
    pub(crate) timestamp: u64,
}

/// What the frame at the end of an entry says beyond its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EntryContent<'a> {
    /// The index up to which the leader knew that a majority had the log.
    pub(crate) replicated: u64,
    /// How far [`EntryEnd::floor`] is before the frame.
    pub(crate) back: u64,
    /// What the group has to say to itself; empty for one of commits alone.
    pub(crate) message: &'a [u8],
}

/// The log's view of its group.
#[derive(Debug)]
pub(crate) struct Group {
    state: Mutex<GroupState>,
    changed: Condvar,
    /// Threads whose commits wait for a majority.
    pub(crate) waiters: Waiters,
    /// The positions before which a majority has the log: in memory, and on its disks.
    replicated: AtomicU64,
    replicated_on_disk: AtomicU64,
    /// The position up to which the database has what is in the log, while it follows.
    applied: AtomicU64,
    leads: AtomicBool,
    file: Mutex<GroupFile>,
}

#[derive(Debug)]
pub(crate) struct GroupState {
    /// The term in which this replica leads.
    pub(crate) term: Option<u64>,
    /// Whether no entry is to be made: the group is about to make one of its own.
    pub(crate) is_paused: bool,
    /// The entry before the first that is held; then those that are, without holes.
    before: EntryEnd,
    held: VecDeque<EntryEnd>,
    /// Messages of entries that have one, and of the last before those that are held.
    messages: VecDeque<(u64, Vec<u8>)>,
    recent: VecDeque<ReplicaEntry>,
    recent_bytes: usize,
    recent_max: usize,
    /// The index up to which a majority has the log.
    pub(crate) replicated: u64,
    pub(crate) tap: Option<Arc<dyn EntryTap>>,
    pub(crate) watch: Option<Weak<dyn DefinitionWatch>>,
}

/// What a folder's log holds of its group.
#[derive(Clone, Debug, Default)]
pub(crate) struct GroupLog {
    /// The entry before the first, and the message that was valid there, with its index.
    pub(crate) before: EntryEnd,
    pub(crate) message: (u64, Vec<u8>),
    pub(crate) held: Vec<EntryEnd>,
    pub(crate) messages: Vec<(u64, Vec<u8>)>,
    pub(crate) replicated: u64,
    /// The position up to which the database has it.
    pub(crate) applied: u64,
    pub(crate) file: GroupFile,
}

impl EntryContent<'_> {
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(20 + self.message.len());
        put_varint(&mut bytes, self.replicated);
        put_varint(&mut bytes, self.back);
        bytes.extend_from_slice(self.message);
        bytes
    }

    /// The position from which on the log is needed where an entry is the last that was applied:
    /// `position` and `end` are those of the frame. Where no transaction was unfinished, that is
    /// its end: so an image has what the entry says of the members.
    pub(crate) fn floor(&self, position: u64, end: u64) -> Option<u64> {
        if self.back == 0 { Some(end) } else { position.checked_sub(self.back) }
    }

    pub(crate) fn from_bytes(mut bytes: &[u8]) -> Option<EntryContent<'_>> {
        let (replicated, back) = (take_varint(&mut bytes)?, take_varint(&mut bytes)?);
        Some(EntryContent { replicated, back, message: bytes })
    }
}

impl ReplicaEntry {
    /// The position behind it.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// What the group says to itself in it; `None` if its frames are not whole, or others than
    /// those of one entry of this name.
    pub fn message(&self) -> Option<&[u8]> {
        self.last_frame().map(|(content, _)| content.message)
    }

    /// The content of its last frame, and where it ends; the timestamp there it does not know.
    pub(crate) fn last_frame(&self) -> Option<(EntryContent<'_>, EntryEnd)> {
        let mut at = 0;
        while at < self.bytes.len() {
            let position = self.start + at as u64;
            let address = FrameAddress { position, salt: self.salt };
            let found = find_frame(&self.bytes[at..], address, 0)?;
            at += found.length;
            if let Frame::Entry { term, index, content } = found.frame {
                let content = EntryContent::from_bytes(content)?;
                let is_last = at == self.bytes.len() && self.id == EntryId { term, index };
                let floor = content.floor(position, self.end())?;
                let end = EntryEnd { id: self.id, end: self.end(), floor, timestamp: 0 };
                return is_last.then_some((content, end));
            }
        }
        None
    }
}

impl Group {
    /// One that keeps so many bytes of entries in memory.
    pub(crate) fn new(log: GroupLog, recent_max: usize) -> Self {
        let GroupLog { before, message, held, messages, replicated, applied, file } = log;
        let mut all = VecDeque::from([message]);
        all.extend(messages);
        let state = GroupState {
            term: None,
            is_paused: false,
            before,
            held: held.into(),
            messages: all,
            recent: VecDeque::new(),
            recent_bytes: 0,
            recent_max,
            replicated,
            tap: None,
            watch: None,
        };
        let position = state.end_of(replicated).map_or(before.end, |entry| entry.end);
        Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            waiters: Waiters::default(),
            replicated: AtomicU64::new(position),
            replicated_on_disk: AtomicU64::new(0),
            applied: AtomicU64::new(applied),
            leads: AtomicBool::new(false),
            file: Mutex::new(file),
        }
    }

    /// Whether this replica leads.
    #[inline]
    pub(crate) fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// The position before which a majority has the log, in memory at least.
    #[inline]
    pub(crate) fn replicated(&self) -> u64 {
        self.replicated.load(Ordering::Acquire)
    }

    /// The position before which a majority has the log on disks.
    pub(crate) fn replicated_on_disk(&self) -> u64 {
        self.replicated_on_disk.load(Ordering::Acquire).min(self.replicated())
    }

    /// The position up to which the database has what is in the log, while it follows.
    pub(crate) fn applied(&self) -> u64 {
        self.applied.load(Ordering::Acquire)
    }

    pub(crate) fn note_applied(&self, position: u64) {
        let _state = self.lock();
        self.applied.fetch_max(position, Ordering::Release);
        self.changed.notify_all();
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, GroupState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place from which on an image needs the log that is begun when this was asked.
    pub(crate) fn point(&self) -> GroupPoint {
        let state = self.lock();
        let applied = if self.leads() { state.last().end } else { self.applied() };
        let entry = state.entry_before(applied);
        let EntryEnd { id, end, timestamp, .. } = state.entry_before(entry.floor.min(entry.end));
        let (message_index, message) = state.message_at(id.index);
        GroupPoint { position: end, id, timestamp, message_index, message }
    }

    /// What the replica knows of the group beside the log.
    pub(crate) fn file(&self) -> GroupFile {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes that, on the disk.
    ///
    /// # Errors
    /// The system's; then it is as it was.
    pub(crate) fn change_file(
        &self,
        storage: &dyn Storage,
        change: impl FnOnce(&mut GroupFile),
    ) -> io::Result<()> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = file.clone();
        change(&mut changed);
        if changed != *file {
            changed.write(storage)?;
            *file = changed;
        }
        Ok(())
    }

    /// Leads in a term from now on, or follows.
    pub(crate) fn set_term(&self, term: Option<u64>) {
        self.lock().term = term;
        self.leads.store(term.is_some(), Ordering::Release);
        self.changed.notify_all();
        self.waiters.wake_all();
    }

    /// No entry is made until this is called with `false`.
    pub(crate) fn pause(&self, is_paused: bool) {
        self.lock().is_paused = is_paused;
        self.changed.notify_all();
    }

    /// Waits while no entry is to be made.
    pub(crate) fn wait_while_paused(&self) {
        let mut state = self.lock();
        while state.is_paused && state.term.is_some() {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A majority has the log up to this entry. Its end, if it is one of this log.
    pub(crate) fn note_replicated(&self, index: u64) -> Option<u64> {
        let mut state = self.lock();
        let entry = state.end_of(index)?;
        state.replicated = state.replicated.max(index);
        self.replicated.fetch_max(entry.end, Ordering::Release);
        self.changed.notify_all();
        drop(state);
        self.waiters.wake(self.replicated(), self.replicated_on_disk());
        Some(entry.end)
    }

    /// A majority has the log on its disks up to this entry.
    pub(crate) fn note_on_disk(&self, index: u64) {
        let Some(entry) = self.lock().end_of(index) else { return };
        self.replicated_on_disk.fetch_max(entry.end, Ordering::Release);
        self.changed.notify_all();
        self.waiters.wake(self.replicated(), self.replicated_on_disk());
    }

    /// Waits until something has changed, for a while at most, unless `is_done` says that it need
    /// not. True if it does at the end. For who waits seldom.
    pub(crate) fn wait_until(&self, time: Duration, is_done: impl Fn(&GroupState) -> bool) -> bool {
        let state = self.lock();
        let waited = self.changed.wait_timeout_while(state, time, |state| !is_done(state));
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        is_done(&state)
    }
}

impl GroupState {
    /// Where the last entry ends.
    pub(crate) fn last(&self) -> EntryEnd {
        self.held.back().copied().unwrap_or(self.before)
    }

    /// The entry before the first that is held.
    pub(crate) fn before(&self) -> EntryEnd {
        self.before
    }

    /// Where an entry ends, if it is held, or the one before.
    pub(crate) fn end_of(&self, index: u64) -> Option<EntryEnd> {
        match index.checked_sub(self.before.id.index)? {
            0 => Some(self.before),
            place => self.held.get(place as usize - 1).copied(),
        }
    }

    /// The last entry that ends at a position or before it.
    pub(crate) fn entry_before(&self, position: u64) -> EntryEnd {
        let place = self.held.partition_point(|entry| entry.end <= position);
        place.checked_sub(1).map_or(self.before, |place| self.held[place])
    }

    /// The message that is valid behind an entry: its own, or the last before it.
    pub(crate) fn message_at(&self, index: u64) -> (u64, Vec<u8>) {
        let place = self.messages.partition_point(|&(at, _)| at <= index);
        place.checked_sub(1).map_or((0, Vec::new()), |place| self.messages[place].clone())
    }

    /// Whether so many entries are on their way that the next one is to wait.
    pub(crate) fn is_full(&self) -> bool {
        self.last().id.index >= self.replicated + IN_FLIGHT_MAX
    }

    /// Adds an entry behind the last.
    pub(crate) fn push(&mut self, end: EntryEnd, message: &[u8], entry: ReplicaEntry) {
        if !message.is_empty() {
            self.messages.push_back((end.id.index, message.to_vec()));
        }
        self.held.push_back(end);
        self.recent_bytes += entry.bytes.len();
        self.recent.push_back(entry);
        while self.recent_bytes > self.recent_max && self.recent.len() > 1 {
            let oldest = self.recent.pop_front();
            self.recent_bytes -= oldest.map_or(0, |entry| entry.bytes.len());
        }
    }

    /// The bytes of an entry, if they are in memory.
    pub(crate) fn recent(&self, index: u64) -> Option<ReplicaEntry> {
        let first = self.recent.front()?.id.index;
        self.recent.get(index.checked_sub(first)? as usize).cloned()
    }

    /// Forgets the entries up to this one.
    pub(crate) fn forget(&mut self, index: u64) {
        while self.before.id.index < index
            && let Some(entry) = self.held.pop_front()
        {
            self.before = entry;
        }
        while self.recent.front().is_some_and(|entry| entry.id.index <= index) {
            let oldest = self.recent.pop_front();
            self.recent_bytes -= oldest.map_or(0, |entry| entry.bytes.len());
        }
        while self.messages.len() > 1 && self.messages[1].0 <= index {
            self.messages.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
