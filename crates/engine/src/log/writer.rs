//! Appends commits to the log and makes them as durable as they ask.
//!
//! Frames are appended to a buffer, in the order of their timestamps: the caller holds the commit
//! latch. Whoever wants more than that hands the buffer over to the system, or has the disk sync
//! it; whatever came together meanwhile goes with it (group commit: DeWitt et al., SIGMOD 1984).
//! There is no thread of the log's own.
//!
//! Three locks, always taken in this order: `file`, of whoever writes; `buffer`, of whoever
//! appends, who may hold the commit latch: so nobody waits for a disk with `buffer`; and apart from
//! them `syncing`, which elects the one that syncs while others wait for it or go on writing. What
//! has been written and synced are two positions that only grow.
//!
//! A write or a sync that fails *poisons* the log: nobody can say what the disk has, so nothing is
//! tried again, and every later commit fails. What is in memory can be read on.

mod grouped;
mod prepared;

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::durability::{Batch, Durability};
use super::file::{self, DatabaseId, Header};
use super::group::{ENTRY_FRAME_MAX, Group, GroupLog, RECENT_BUFFERS};
use super::head::{HeadFile, LogHead};
use super::record::{
    FRAME_EXTRA_MAX, FrameAddress, Head, Redo, frame_len, put_frame, set_synced_before,
};
use super::settings::LogSettings;
use crate::checksum::Checksum;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Storage, StorageFile, write_all_at};

pub(crate) use grouped::no_group;
pub(crate) use prepared::Prepared;

/// A mark of the time is made when so many bytes are written at once, or so long after the last,
/// which is checked every so many writes.
const MARK_BYTES: usize = 2048;
const MARK_TIME: Duration = Duration::from_secs(1);
const MARK_WRITES: u32 = 16;
/// Files that are written and not synced are synced before there are more of them than this.
const UNSYNCED_FILES_MAX: usize = 8;
/// The same of a follower, whose leader waits for an answer meanwhile: somebody else syncs them.
const UNSYNCED_FILES_OF_FOLLOWER_MAX: usize = 64;
/// Files kept to be used again.
const SPARES_MAX: usize = 2;

/// Room for operations is made for the transactions of so many slots at once.
const REDO_CHUNK: usize = 64;

type RedoChunk = Box<[Mutex<Redo>]>;

/// The position at which a log goes on.
#[derive(Clone, Debug)]
pub(crate) struct LogEnd {
    pub(crate) database: DatabaseId,
    /// The number of the next file.
    pub(crate) number: u64,
    pub(crate) position: u64,
    pub(crate) timestamp: u64,
    /// What it holds of the group of replicas that shares it, if one does.
    pub(crate) group: Option<GroupLog>,
    /// Whether rows were logged as they were before they were changed.
    pub(crate) old_rows: bool,
}

/// The log of an open database.
#[derive(Debug)]
pub(crate) struct Log {
    storage: Arc<dyn Storage>,
    database: DatabaseId,
    settings: LogSettings,
    /// See [`LogSettings::fragment`].
    pub(crate) fragment: usize,
    /// One for each transaction slot, made for some at a time when one of these first commits.
    redo: Box<[OnceLock<RedoChunk>]>,
    file: Mutex<OpenFile>,
    /// `log-head` as it is on the disk; only a thread that syncs changes it.
    head: Mutex<HeadFile>,
    buffer: Mutex<Buffer>,
    syncing: Mutex<Syncing>,
    turn: Condvar,
    /// Someone arrived who waits for a sync: for one that gathers commits.
    arrival: Condvar,
    written: AtomicU64,
    synced: AtomicU64,
    /// The number of the newest file whose header is synced, and that the head names.
    file_synced: AtomicU64,
    failed: OnceLock<String>,
    counts: Counts,
    /// The group of replicas that shares it.
    group: Option<Group>,
    /// Nobody else opens the database as long as this is there.
    _lock: Box<dyn Debug + Send + Sync>,
}

#[derive(Debug, Default)]
struct Counts {
    syncs: AtomicU64,
    writes: AtomicU64,
}

/// The file that is written to; whoever has it is the only one that writes.
#[derive(Debug)]
struct OpenFile {
    file: Arc<dyn StorageFile>,
    header: Header,
    /// The memory that the buffer had before.
    spare: Vec<u8>,
    /// Earlier files that may not be synced, oldest first.
    unsynced: Vec<Arc<dyn StorageFile>>,
    /// Names were made that may not be synced.
    names_unsynced: bool,
    marked: Instant,
    writes_since: u32,
}

/// Frames that have not been written.
#[derive(Debug)]
struct Buffer {
    bytes: Vec<u8>,
    /// The position of the first of them.
    start: u64,
    /// The position up to which frames go into the open file, and its salt.
    file_end: u64,
    salt: u32,
    /// Whether commits are taken: not where another replica leads.
    leads: bool,
    /// Bytes that are left free for the frame that ends an entry.
    reserve: usize,
    /// The timestamp of the newest commit.
    timestamp: u64,
    commits: u64,
    /// Positions at which transactions begin that are appended in parts and not yet committed.
    streaming: Vec<u64>,
    /// Commits that are not synced, if there is a limit for them.
    unsynced_commits: u64,
    unsynced_since: Option<Instant>,
}

#[derive(Debug, Default)]
struct Syncing {
    active: bool,
    waiting: u64,
}

/// Figures of a log.
///
/// # Examples
/// ```
/// use remanent_engine::{Database, Options};
/// // In memory alone there is no log.
/// assert!(Database::open(Options::new())?.log_statistics().is_none());
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogStatistics {
    /// Commits that the log has taken since the database was opened, those of tables included.
    pub commits: u64,
    /// Bytes of log since the database was made.
    pub bytes: u64,
    /// Of these, bytes that were handed to the operating system.
    pub bytes_written: u64,
    /// Of these, bytes that the disk has.
    pub bytes_synced: u64,
    /// Writes to files since the database was opened.
    pub writes: u64,
    /// Syncs of files since the database was opened.
    pub syncs: u64,
}

/// The result of appending a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Appended {
    /// It ends at this position. `true` if so much is unsynced that this commit is to sync it.
    At(u64, bool),
    /// There is no room for so many bytes.
    Full(usize),
}

impl Log {
    /// A log that goes on where another ended, in a file of its own. Nothing is written yet that
    /// says so.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn begin(
        storage: Arc<dyn Storage>,
        lock: Box<dyn Debug + Send + Sync>,
        settings: LogSettings,
        slots: usize,
        end: LogEnd,
    ) -> Result<Self> {
        let LogEnd { database, number, position, timestamp, group, old_rows } = end;
        let settings = LogSettings { old_rows: settings.old_rows.or(Some(old_rows)), ..settings };
        let nonce = file::new_nonce();
        let length = file::header_len(settings.file_size);
        let version = settings.file_version(group.is_some());
        let header =
            Header { database, number, start: position, timestamp, nonce, length, version };
        let head = HeadFile::open(&*storage).map_err(|error| failed(&error))?;
        let file = open_file(&*storage, header, &settings).map_err(|error| failed(&error))?;
        let buffer = Buffer {
            bytes: Vec::with_capacity(settings.buffer_size),
            start: position,
            file_end: position + settings.file_size - header.len(),
            salt: header.salt(),
            leads: group.is_none(),
            reserve: if group.is_some() { ENTRY_FRAME_MAX } else { 0 },
            timestamp,
            commits: 0,
            streaming: Vec::new(),
            unsynced_commits: 0,
            unsynced_since: None,
        };
        let file = OpenFile {
            file,
            header,
            spare: Vec::with_capacity(settings.buffer_size),
            unsynced: Vec::new(),
            names_unsynced: true,
            marked: Instant::now(),
            writes_since: 0,
        };
        let recent = RECENT_BUFFERS * settings.buffer_size;
        let log = Self {
            storage,
            database,
            fragment: settings.fragment(),
            settings,
            redo: (0..slots.div_ceil(REDO_CHUNK)).map(|_| OnceLock::new()).collect(),
            file: Mutex::new(file),
            head: Mutex::new(head),
            buffer: Mutex::new(buffer),
            syncing: Mutex::default(),
            turn: Condvar::new(),
            arrival: Condvar::new(),
            written: AtomicU64::new(position),
            synced: AtomicU64::new(0),
            file_synced: AtomicU64::new(0),
            failed: OnceLock::new(),
            counts: Counts::default(),
            group: group.map(|log| Group::new(log, recent)),
            _lock: lock,
        };
        log.sync_all().map_err(|error| failed(&error))?;
        // So that what comes is known to have come after it was opened. No frame is in the file
        // before its header is sure.
        log.append_plain(Head::Mark, &now_bytes());
        Ok(log)
    }

    /// The durability of commits that do not ask for one.
    #[inline]
    pub(crate) fn durability(&self) -> Durability {
        self.settings.durability
    }

    /// The files.
    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Bytes of memory that the log takes.
    pub(crate) fn memory(&self) -> u64 {
        let recent = if self.group.is_some() { RECENT_BUFFERS } else { 0 };
        ((2 + recent) * self.settings.buffer_size) as u64
    }

    /// The id of the log's database.
    pub(crate) fn database(&self) -> DatabaseId {
        self.database
    }

    /// Whether images and files that are not needed any more are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.settings.keep
    }

    /// Whether rows that seem to have come as columns become columns where they are repeated.
    pub(crate) fn repeats_columns(&self) -> bool {
        self.settings.repeats_columns
    }

    /// Fails if the log has.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(because) => Err(Error::new(ErrorKind::LogFailed).because(because.clone())),
        }
    }

    /// Room to write the operations of the transaction in a slot.
    #[inline]
    pub(crate) fn prepare(&self, slot: usize) -> Prepared<'_> {
        let chunk = self.redo[slot / REDO_CHUNK].get_or_init(redo_chunk);
        let mut redo = lock(&chunk[slot % REDO_CHUNK]);
        redo.clear();
        Prepared { log: self, redo, checksum: Checksum::new(), first: None }
    }

    /// Writes what is in the buffer, and begins a new file if so many bytes do not fit the open
    /// one.
    ///
    /// # Errors
    /// `LogFailed`.
    #[cold]
    pub(crate) fn make_room(&self, bytes: usize) -> Result<()> {
        self.check()?;
        let mut file = self.lock_to_write();
        self.check_leads()?;
        let made = self.write_out(&mut file).and_then(|()| {
            let buffer = lock(&self.buffer);
            let end = buffer.start + (buffer.bytes.len() + bytes + buffer.reserve) as u64;
            let file_is_full = end > buffer.file_end;
            drop(buffer);
            if file_is_full { self.next_file(&mut file) } else { Ok(()) }
        });
        made.map_err(|error| self.poison(&error))
    }

    /// Makes the log up to `position` durable at a level.
    ///
    /// # Errors
    /// `LogFailed`.
    #[inline]
    pub(crate) fn make_durable(&self, position: u64, durability: Durability) -> Result<()> {
        match durability {
            Durability::Memory | Durability::Buffered => Ok(()),
            Durability::Os => self.write_to(position),
            Durability::Disk => self.sync_to(position),
            Durability::Replicated | Durability::ReplicatedDisk => {
                self.replicate_to(position, durability)
            }
        }
    }

    /// The highest durability level that everything up to `position` has reached.
    pub(crate) fn durability_at(&self, position: u64) -> Durability {
        if self.synced.load(Ordering::Acquire) >= position {
            Durability::Disk
        } else if self.written.load(Ordering::Acquire) >= position {
            Durability::Os
        } else {
            Durability::Buffered
        }
    }

    /// The position behind everything that was handed to the system.
    #[inline]
    pub(crate) fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }

    /// The position before which all is on the disk: nothing before it is written again.
    pub(crate) fn synced(&self) -> u64 {
        self.synced.load(Ordering::Acquire)
    }

    /// The position at which the newest file begins, and the timestamp there.
    pub(crate) fn newest_file(&self) -> (u64, u64) {
        let header = lock(&self.file).header;
        (header.start, header.timestamp)
    }

    /// The position behind everything that was appended.
    pub(crate) fn end(&self) -> u64 {
        let buffer = lock(&self.buffer);
        buffer.start + buffer.bytes.len() as u64
    }

    /// Begins a new file, and gives the position from which on all is needed to repeat what is not
    /// committed yet.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn cut(&self) -> Result<u64> {
        self.check()?;
        let mut file = self.lock_to_write();
        self.next_file(&mut file).map_err(|error| self.poison(&error))?;
        let floor = lock(&self.buffer).floor(file.header.start);
        Ok(floor)
    }

    /// Syncs the oldest file but the open one that may not be synced, if there is one: then a sync
    /// of all takes less.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn sync_earlier(&self) -> Result<()> {
        self.sync_oldest_beyond(0).map(drop)
    }

    /// The same where more files than so many are not synced; whether that was so.
    fn sync_oldest_beyond(&self, left: usize) -> Result<bool> {
        let oldest = {
            let file = lock(&self.file);
            file.unsynced.first().filter(|_| file.unsynced.len() > left).cloned()
        };
        let Some(oldest) = oldest else { return Ok(false) };
        self.counts.syncs.fetch_add(1, Ordering::Relaxed);
        oldest.sync().map_err(|error| self.poison(&error))?;
        lock(&self.file).unsynced.retain(|file| !Arc::ptr_eq(file, &oldest));
        Ok(true)
    }

    /// Lets files go that hold nothing from `position` on, so many at most, unless all are kept.
    /// Whether there are no more.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn forget_before(&self, position: u64, most: usize) -> Result<bool> {
        // What a group lets go is not for one of its replicas to say.
        if self.settings.keep || self.group.is_some() {
            return Ok(true);
        }
        let open = lock(&self.file).header.number;
        self.remove_before(position, open, most).map_err(|error| self.poison(&error))
    }

    fn remove_before(&self, position: u64, open: u64, most: usize) -> io::Result<bool> {
        let position = position.min(self.end().saturating_sub(self.settings.keep_bytes));
        let names = self.storage.names()?;
        let mut spares = names.iter().filter(|name| name.starts_with(file::SPARE)).count();
        let numbers = file::numbers(&*self.storage)?;
        let mut removed = 0;
        for pair in numbers.windows(2).take_while(|pair| pair[1] <= open) {
            if removed == most {
                break;
            }
            let next = self.storage.open(&file::name_of(pair[1]))?;
            if Header::read(&*next, pair[1])?.is_none_or(|header| header.start > position) {
                break;
            }
            let name = file::name_of(pair[0]);
            if spares < SPARES_MAX {
                self.storage.rename(&name, &format!("{}{:016x}", file::SPARE, pair[0]))?;
                spares += 1;
            } else {
                self.storage.remove(&name)?;
            }
            removed += 1;
        }
        self.storage.sync_names()?;
        Ok(removed < most)
    }

    /// Figures.
    pub(crate) fn statistics(&self) -> LogStatistics {
        let (end, commits) = {
            let buffer = lock(&self.buffer);
            (buffer.start + buffer.bytes.len() as u64, buffer.commits)
        };
        LogStatistics {
            commits,
            bytes: end,
            bytes_written: self.written.load(Ordering::Relaxed),
            bytes_synced: self.synced.load(Ordering::Relaxed),
            writes: self.counts.writes.load(Ordering::Relaxed),
            syncs: self.counts.syncs.load(Ordering::Relaxed),
        }
    }

    /// Ends the log: all is synced, and it says that it ends here.
    pub(crate) fn close(&self) {
        let close = || {
            if self.group.is_none() {
                self.append_plain(Head::Mark, &now_bytes());
                if matches!(self.append_plain(Head::Close, &[]), Appended::Full(_)) {
                    self.make_room(FRAME_EXTRA_MAX)?;
                    self.append_plain(Head::Close, &[]);
                }
                self.sync()?;
            }
            self.say_head().map_err(|error| self.poison(&error))
        };
        // What was synced before says that there was more, should this go wrong.
        let _ = self.check().and_then(|()| self.sync()).and_then(|()| close());
    }

    fn append_plain(&self, head: Head, bytes: &[u8]) -> Appended {
        let mut checksum = Checksum::new();
        checksum.add(bytes);
        self.append(&mut lock(&self.buffer), head, bytes, checksum)
    }

    #[inline]
    fn append(
        &self,
        buffer: &mut Buffer,
        head: Head,
        operations: &[u8],
        checksum: Checksum,
    ) -> Appended {
        let length = frame_len(head, operations.len());
        let position = buffer.start + buffer.bytes.len() as u64;
        let full = buffer.bytes.len() + length > self.settings.buffer_size;
        let end = position + (length + buffer.reserve) as u64;
        if full || end > buffer.file_end || !buffer.leads {
            return Appended::Full(length);
        }
        let address = FrameAddress { position, salt: buffer.salt };
        put_frame(&mut buffer.bytes, head, operations, checksum, address);
        Appended::At(position + length as u64, false)
    }

    /// Hands everything up to `position` to the system.
    fn write_to(&self, position: u64) -> Result<()> {
        if self.written.load(Ordering::Acquire) >= position {
            return Ok(());
        }
        self.check()?;
        let mut file = self.lock_to_write();
        if self.written.load(Ordering::Acquire) >= position {
            return Ok(());
        }
        self.write_out(&mut file).map_err(|error| self.poison(&error))
    }

    /// Has everything synced that was appended so far, and that the open file is there at all.
    ///
    /// # Errors
    /// `LogFailed`.
    pub(crate) fn sync(&self) -> Result<()> {
        self.sync_unless(|| false, None)
    }

    /// Has everything up to `position` synced: by this thread, or by another at the same time.
    fn sync_to(&self, position: u64) -> Result<()> {
        let is_synced = || self.synced.load(Ordering::Acquire) >= position;
        self.sync_unless(is_synced, self.settings.group.as_ref())
    }

    /// As [`Log::sync_to`]; whoever syncs waits for others as `group` says.
    fn sync_unless(&self, is_synced: impl Fn() -> bool, group: Option<&Batch>) -> Result<()> {
        let mut syncing = lock(&self.syncing);
        loop {
            if is_synced() {
                return Ok(());
            }
            self.check()?;
            if !syncing.active {
                break;
            }
            syncing.waiting += 1;
            self.arrival.notify_one();
            syncing = self.turn.wait(syncing).unwrap_or_else(PoisonError::into_inner);
            syncing.waiting -= 1;
        }
        syncing.active = true;
        if let Some(group) = group {
            syncing = self.gather(syncing, group);
        }
        drop(syncing);
        let synced = self.sync_all();
        let mut syncing = lock(&self.syncing);
        syncing.active = false;
        if syncing.waiting > 0 {
            self.turn.notify_all();
        }
        drop(syncing);
        synced.map_err(|error| self.poison(&error))
    }

    /// Waits until so much has come together, or so long.
    fn gather<'s>(
        &'s self,
        mut syncing: MutexGuard<'s, Syncing>,
        group: &Batch,
    ) -> MutexGuard<'s, Syncing> {
        let begin = Instant::now();
        loop {
            let bytes = self.end() - self.written.load(Ordering::Acquire);
            let left = group.time.saturating_sub(begin.elapsed());
            if syncing.waiting + 1 >= group.commits || bytes >= group.bytes || left.is_zero() {
                return syncing;
            }
            let waited = self.arrival.wait_timeout(syncing, left);
            syncing = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn sync_all(&self) -> io::Result<()> {
        let (earlier, open, names, position, header) = {
            let mut file = self.lock_to_write();
            self.write_out(&mut file)?;
            let earlier = std::mem::take(&mut file.unsynced);
            let (open, names) = (Arc::clone(&file.file), std::mem::take(&mut file.names_unsynced));
            (earlier, open, names, self.written.load(Ordering::Acquire), file.header)
        };
        let is_new = self.file_synced.load(Ordering::Acquire) < header.number;
        // Before the sync, so that the disk has as much of it.
        let file_len = if is_new { open.len()? } else { 0 };
        for file in earlier.iter().chain([&open]) {
            self.counts.syncs.fetch_add(1, Ordering::Relaxed);
            file.sync()?;
        }
        if names {
            self.storage.sync_names()?;
        }
        // Nothing of a file is promised before something else says that there is this file.
        if is_new {
            lock(&self.head).say(LogHead { header, file_len, synced: position })?;
        }
        self.file_synced.fetch_max(header.number, Ordering::Release);
        self.synced.fetch_max(position, Ordering::Release);
        if self.settings.sync_after.is_some() {
            let mut buffer = lock(&self.buffer);
            buffer.unsynced_commits = 0;
            buffer.unsynced_since = None;
        }
        Ok(())
    }

    /// Has the head say how far all is synced by now.
    fn say_head(&self) -> io::Result<()> {
        let file = lock(&self.file);
        if self.file_synced.load(Ordering::Acquire) < file.header.number {
            return Ok(());
        }
        let synced = self.synced.load(Ordering::Acquire);
        let head = LogHead { header: file.header, file_len: file.file.len()?, synced };
        lock(&self.head).say(head)
    }

    /// Writes what is in the buffer.
    fn write_out(&self, file: &mut OpenFile) -> io::Result<()> {
        let spare = std::mem::take(&mut file.spare);
        let (mut bytes, start, salt, entry) = {
            let mut buffer = lock(&self.buffer);
            self.mark_time(file, &mut buffer);
            let entry = self.end_entry(&mut buffer, &[]);
            let bytes = std::mem::replace(&mut buffer.bytes, spare);
            let start = buffer.start;
            buffer.start += bytes.len() as u64;
            (bytes, start, buffer.salt, entry)
        };
        let written = self.write_bytes(file, &mut bytes, start, salt);
        if let (Ok(()), Some(entry)) = (&written, entry) {
            self.offer(entry, &bytes, start, salt);
        }
        bytes.clear();
        file.spare = bytes;
        written
    }

    fn write_bytes(
        &self,
        file: &OpenFile,
        bytes: &mut [u8],
        start: u64,
        salt: u32,
    ) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let all_synced = self.synced.load(Ordering::Acquire) == start;
        if all_synced && self.file_synced.load(Ordering::Acquire) == file.header.number {
            set_synced_before(bytes, FrameAddress { position: start, salt });
        }
        self.counts.writes.fetch_add(1, Ordering::Relaxed);
        write_all_at(&*file.file, file.header.len() + (start - file.header.start), bytes)?;
        self.written.store(start + bytes.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Notes what time it is, now and then.
    fn mark_time(&self, file: &mut OpenFile, buffer: &mut Buffer) {
        let (bytes, looks) = (buffer.bytes.len(), file.writes_since.is_multiple_of(MARK_WRITES));
        file.writes_since = file.writes_since.wrapping_add(1);
        let late = || bytes > 0 && looks && file.marked.elapsed() >= MARK_TIME;
        if bytes < MARK_BYTES && !late() {
            return;
        }
        file.marked = Instant::now();
        let bytes = now_bytes();
        let mut checksum = Checksum::new();
        checksum.add(&bytes);
        // If there is no room, some later time will do.
        self.append(buffer, Head::Mark, &bytes, checksum);
    }

    /// Begins the next file; what is in the buffer goes into the open one.
    fn next_file(&self, file: &mut OpenFile) -> io::Result<()> {
        let number = file.header.number + 1;
        let fill = self.settings.fills();
        let made: Arc<dyn StorageFile> =
            file::make(&*self.storage, number, self.settings.file_size, fill)?.into();
        let (mut bytes, start, salt, timestamp, entry) = {
            let mut buffer = lock(&self.buffer);
            let entry = self.end_entry(&mut buffer, &[]);
            let (bytes, start) = (std::mem::take(&mut buffer.bytes), buffer.start);
            buffer.start += bytes.len() as u64;
            // Nothing more fits until the new file is there: whoever appends makes room, which is
            // to wait for this, and holds no latch meanwhile.
            buffer.file_end = buffer.start;
            (bytes, start, buffer.salt, buffer.timestamp, entry)
        };
        let end = start + bytes.len() as u64;
        self.write_bytes(file, &mut bytes, start, salt)?;
        if let Some(entry) = entry {
            self.offer(entry, &bytes, start, salt);
        }
        bytes.clear();
        let nonce = file::new_nonce();
        let header = Header { number, start: end, timestamp, nonce, ..file.header };
        header.write(&*made)?;
        {
            let mut buffer = lock(&self.buffer);
            buffer.bytes = bytes;
            buffer.file_end = end + self.settings.file_size - header.len();
            buffer.salt = header.salt();
        }
        file.unsynced.push(std::mem::replace(&mut file.file, made));
        file.header = header;
        file.names_unsynced = true;
        let follows = self.group.as_ref().is_some_and(|group| !group.leads());
        let most = if follows { UNSYNCED_FILES_OF_FOLLOWER_MAX } else { UNSYNCED_FILES_MAX };
        if file.unsynced.len() > most {
            // One at a time: whoever commits waits for it.
            self.counts.syncs.fetch_add(1, Ordering::Relaxed);
            file.unsynced.remove(0).sync()?;
        }
        Ok(())
    }

    #[cold]
    fn poison(&self, error: &io::Error) -> Error {
        let text = format!("a file of the log could not be written: {error}");
        let text = self.failed.get_or_init(|| text).clone();
        // Whoever waits finds out.
        let _syncing = lock(&self.syncing);
        self.turn.notify_all();
        Error::new(ErrorKind::LogFailed).because(text)
    }
}

impl Buffer {
    /// The position from which on all is needed to repeat what is not committed at `end`.
    fn floor(&self, end: u64) -> u64 {
        self.streaming.iter().copied().fold(end, u64::min)
    }

    /// Whether the commit that ends at `end` is to have the log synced.
    fn is_due(&mut self, batch: &Batch, log: &Log, end: u64) -> bool {
        self.unsynced_commits += 1;
        let bytes = end.saturating_sub(log.synced.load(Ordering::Relaxed));
        let timed = batch.time != Duration::MAX;
        let late =
            timed && self.unsynced_since.get_or_insert_with(Instant::now).elapsed() >= batch.time;
        late || self.unsynced_commits >= batch.commits || bytes >= batch.bytes
    }
}

fn open_file(
    storage: &dyn Storage,
    header: Header,
    settings: &LogSettings,
) -> io::Result<Arc<dyn StorageFile>> {
    let file = file::make(storage, header.number, settings.file_size, settings.fills())?;
    header.write(&*file)?;
    Ok(file.into())
}

#[cold]
fn redo_chunk() -> RedoChunk {
    (0..REDO_CHUNK).map(|_| Mutex::default()).collect()
}

/// What the clock on the wall shows, as a mark has it.
fn now_bytes() -> [u8; 8] {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    (now.as_micros() as u64).to_le_bytes()
}

#[inline]
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cold]
fn failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::LogFailed).because(format!("a file of the log: {error}"))
}
