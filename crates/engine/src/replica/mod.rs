//! The database as a replica of a group: what the group asks of it.
//!
//! The group, which is above the engine, elects a leader and decides which entries of the log are
//! safe. Here entries are handed out and appended, commits that are safe are applied beside whoever
//! reads, and a copy of the whole is made for a replica that joins. A follower applies by the same
//! functions as recovery, so that its rows have the same numbers, and its commits the same
//! timestamps, as the leader's.

mod applier;

use std::sync::{Arc, Weak};

use crate::checkpoint;
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::log::group::Group;
use crate::log::group_file::{GroupFile, GroupPoint};
use crate::log::writer::{Log, no_group};
use crate::log::{DefinitionWatch, Durability, EntryId, EntryTap, ReplicaEntry};
use crate::memory::atomic::Relaxed;
use crate::options::Options;
use crate::storage::Storage;

pub use applier::{Applied, Applier};

/// What a group of replicas asks of one of them.
///
/// # Examples
/// ```
/// use std::sync::Arc;
/// use remanent_engine::schema::*;
/// use remanent_engine::{Applier, Database, EntryId, Folder, Options, Replica};
/// # let path = std::env::temp_dir().join(format!("remanent-replica-{}", std::process::id()));
/// # let (a, b) = (path.join("a"), path.join("b"));
/// let (a, b) = (Arc::new(Folder::create(a).expect("a")), Arc::new(Folder::create(b).expect("b")));
/// // A group is founded, and a second replica gets a copy of the first.
/// Replica::found(a.clone(), Options::new(), b"the members")?;
/// let leader = Database::open_replica(a, Options::new(), None)?;
/// Replica::of(&leader)?.copy_to(&*b)?;
/// let follower = Database::open_replica(b, Options::new(), None)?;
///
/// // One leads; what it commits is in entries of its log.
/// Replica::of(&leader)?.lead(1)?;
/// leader.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
/// Replica::of(&leader)?.write()?;
/// let entry = Replica::of(&leader)?.entry(1)?.expect("an entry");
/// assert_eq!(entry.id, EntryId { term: 1, index: 1 });
///
/// // The other appends them, and applies what a majority has.
/// Replica::of(&follower)?.append(&[entry])?;
/// Replica::of(&follower)?.note_replicated(1);
/// Applier::new(&follower)?.apply(&follower, 1)?;
/// assert_eq!(follower.table_names(), ["T"]);
/// # drop((leader, follower));
/// # std::fs::remove_dir_all(&path).ok();
/// # Ok::<(), remanent_engine::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Replica<'d> {
    db: &'d Database,
    log: &'d Log,
    group: &'d Group,
}

impl<'d> Replica<'d> {
    /// What the group asks of the replica whose database this is.
    ///
    /// # Errors
    /// `InvalidOptions` if the database was not opened as a replica's.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn of(db: &'d Database) -> Result<Self> {
        let log = db.instance.log().ok_or_else(no_group)?;
        let group = log.group().ok_or_else(no_group)?;
        Ok(Self { db, log, group })
    }

    /// Makes the database in a storage, which may be new, the first of a group; `message` is what
    /// the group says to itself at its beginning. It is then opened as a replica, and others
    /// begin with copies of it.
    ///
    /// # Errors
    /// As [`Database::open_in`] and [`Database::checkpoint`]; `InvalidOptions` if it belongs to a
    /// group already.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn found(storage: Arc<dyn Storage>, options: Options, message: &[u8]) -> Result<()> {
        // Nobody else has anything of what is written here.
        let db = Database::open_in(Arc::clone(&storage), options.durability(Durability::Disk))?;
        db.check_writable()?;
        db.checkpoint()?;
        let Some(log) = db.instance.log() else { return Err(no_group()) };
        let (position, timestamp) = log.newest_file();
        let message = message.to_vec();
        let point = GroupPoint { position, timestamp, message, ..GroupPoint::default() };
        let file =
            GroupFile { database: log.database(), points: vec![point], ..GroupFile::default() };
        file.write(&*storage).map_err(|error| checkpoint::storage_failed(&error))
    }

    /// Whether there is a replica in a storage.
    ///
    /// # Errors
    /// `StorageFailed`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Folder, Replica};
    /// # let path = std::env::temp_dir().join(format!("remanent-none-{}", std::process::id()));
    /// assert!(!Replica::is_in(&Folder::create(&path).expect("a folder"))?);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn is_in(storage: &dyn Storage) -> Result<bool> {
        crate::recovery::group::read_group(storage).map(|file| file.is_some())
    }

    /// Sixteen bytes that all replicas of a group have in common, and no other group has.
    pub fn group_id(&self) -> [u8; 16] {
        self.log.database()
    }

    /// The last entry of the log, and the one before the first that is held.
    pub fn last(&self) -> EntryId {
        self.group.lock().last().id
    }

    /// The entry before the first that is held.
    pub fn before(&self) -> EntryId {
        self.group.lock().before().id
    }

    /// The name of an entry that is held, or of the one before.
    pub fn id_of(&self, index: u64) -> Option<EntryId> {
        self.group.lock().end_of(index).map(|entry| entry.id)
    }

    /// The index up to which a majority is known to have the log.
    pub fn replicated(&self) -> u64 {
        self.group.lock().replicated
    }

    /// The last entry that is applied.
    pub fn applied(&self) -> EntryId {
        self.group.lock().entry_before(self.group.applied()).id
    }

    /// An entry; `None` if it is not held.
    ///
    /// # Errors
    /// `StorageFailed`.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn entry(&self, index: u64) -> Result<Option<ReplicaEntry>> {
        self.log.entry(index)
    }

    /// The last message of the group up to an entry, and the index of the entry that has it.
    pub fn message_at(&self, index: u64) -> (u64, Vec<u8>) {
        self.group.lock().message_at(index)
    }

    /// Appends entries that another replica made, in their order. They are handed to the operating
    /// system; [`Replica::sync`] has the disk take them.
    ///
    /// # Errors
    /// `LogFailed`; `DamagedLog` if one is not whole; `InvalidOptions` if one is not the next.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn append(&self, entries: &[ReplicaEntry]) -> Result<()> {
        self.log.append_entries(entries)
    }

    /// Appends an entry that the group makes of its own, with a message.
    ///
    /// # Errors
    /// `LogFailed`; `InvalidOptions` if it is not the next.
    pub fn append_message(&self, id: EntryId, message: &[u8]) -> Result<()> {
        self.log.append_message(id, message)
    }

    /// Leads in a term: commits are taken from now on. All of the log was applied.
    ///
    /// # Errors
    /// `LogFailed`; `InvalidOptions` if something was not applied.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn lead(&self, term: u64) -> Result<()> {
        let end = self.group.lock().last().end;
        if self.group.applied() < end {
            return Err(
                Error::new(ErrorKind::InvalidOptions).because("not all of the log is applied")
            );
        }
        self.db.instance.thread_free_rows();
        self.log.lead(term)
    }

    /// Follows: no commit is taken any more. What was taken is in the log, as entries that the
    /// group may or may not have.
    ///
    /// # Errors
    /// `LogFailed`.
    pub fn follow(&self) -> Result<()> {
        self.log.follow()
    }

    /// The position behind an entry that is held: how many bytes of log there were up to there.
    pub fn end_of(&self, index: u64) -> Option<u64> {
        self.group.lock().end_of(index).map(|entry| entry.end)
    }

    /// The timestamp of the newest commit that can be read here. Clocks of replicas differ, and
    /// timestamps of commits do not.
    pub fn newest_commit(&self) -> u64 {
        let gap = self.db.instance.memory().header().commit.0.gap.load(Relaxed);
        self.db.newest_timestamp() & !u64::from(gap)
    }

    /// The first and the last timestamp at which the state is that at this one: between two commits
    /// are timestamps at which no replica commits.
    pub fn same_state(&self, timestamp: u64) -> (u64, u64) {
        let gap = u64::from(self.db.instance.memory().header().commit.0.gap.load(Relaxed));
        (timestamp & !gap, timestamp | gap)
    }

    /// Whether it leads.
    pub fn leads(&self) -> bool {
        self.group.leads()
    }

    /// Whether it has led, or begun with a copy of such a one, and shows commits that no majority
    /// is known to have: others may have taken their place, under the same timestamps, until it is
    /// opened again.
    pub fn is_ahead(&self) -> bool {
        if self.lacks_majority() {
            return true;
        }
        let group = self.group.lock();
        !self.group.leads() && group.entry_before(self.group.applied()).id.index > group.replicated
    }

    /// Makes no entry until this is called with `false`: the group is about to make one.
    pub fn pause(&self, is_paused: bool) {
        self.group.pause(is_paused);
    }

    /// Whether it leads and makes no entry for now: who commits, or has the disk take the log,
    /// waits.
    pub fn is_paused(&self) -> bool {
        let state = self.group.lock();
        state.is_paused && state.term.is_some()
    }

    /// Gives the entries that this replica makes to `tap`.
    pub fn set_tap(&self, tap: Arc<dyn EntryTap>) {
        self.group.lock().tap = Some(tap);
    }

    /// Tells `watch` when definitions are applied, in the thread that applies them. There is one:
    /// the last that was set.
    pub fn watch_definitions(&self, watch: Weak<dyn DefinitionWatch>) {
        self.group.lock().watch = Some(watch);
    }

    /// A majority has the log up to this entry. Commits that wait for that go on.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn note_replicated(&self, index: u64) {
        self.group.note_replicated(index);
    }

    /// A majority has the log up to this entry on its disks.
    pub fn note_on_disk(&self, index: u64) {
        self.group.note_on_disk(index);
    }

    /// Asks the group to have the disks of a majority take what was written, as a commit does that
    /// waits for that.
    pub fn want_on_disk(&self) {
        let tap = self.group.lock().tap.clone();
        if let Some(tap) = tap {
            tap.want_on_disk();
        }
    }

    /// Writes what was committed so far, so that there are entries of it; later, if it is paused.
    /// It never waits for the group, so the group may call it.
    ///
    /// # Errors
    /// `LogFailed`.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn write(&self) -> Result<()> {
        self.log.write_unless_paused()
    }

    /// Puts a copy of another replica in the place of what is in a storage, which nobody has open,
    /// and in which there may be nothing. What this replica has promised stays. When it is
    /// interrupted, opening the replica goes on with it.
    ///
    /// # Errors
    /// `StorageFailed`, `DatabaseInUse`; `InvalidOptions` if `copy` is none.
    pub fn replace(storage: &dyn Storage, copy: &dyn Storage) -> Result<()> {
        crate::recovery::group::replace(storage, copy)
    }

    /// What the group says to itself in a copy, and the group's number.
    ///
    /// # Errors
    /// `StorageFailed`; `InvalidOptions` if it is none.
    pub fn message_of(copy: &dyn Storage) -> Result<(Vec<u8>, [u8; 16])> {
        crate::recovery::group::message_of(copy)
    }

    /// The last entry that is on the disk.
    pub fn synced(&self) -> EntryId {
        self.group.lock().entry_before(self.log.synced()).id
    }

    /// The position behind the last entry, and before which all is on this replica's disk.
    pub fn positions(&self) -> (u64, u64) {
        (self.group.lock().last().end, self.log.synced())
    }

    /// Has the disk take all that was written.
    ///
    /// # Errors
    /// `LogFailed`.
    pub fn sync(&self) -> Result<()> {
        self.log.sync()
    }

    /// Has the disk take the oldest full file of the log, if several are not there; whether that
    /// was so. To be called while [`Replica::has_many_unsynced`], from time to time, beside what
    /// appends: a follower's waits for the disk only where very much is not there, since the leader
    /// waits for it.
    ///
    /// # Errors
    /// `LogFailed`.
    pub fn sync_if_many(&self) -> Result<bool> {
        self.log.sync_if_many()
    }

    /// Whether several full files of the log may not be on the disk. It waits for nobody: while one
    /// is written to it says that it is not so.
    pub fn has_many_unsynced(&self) -> bool {
        self.log.has_many_unsynced()
    }

    /// Lets go of entries up to this one, as far as no image needs them.
    ///
    /// # Errors
    /// `LogFailed`.
    pub fn forget(&self, index: u64) -> Result<()> {
        let oldest = self.group.file().points.first().map_or(0, |point| point.id.index);
        self.log.forget_entries(index.min(oldest))
    }

    /// The entry behind which the newest image goes on.
    pub fn newest_image(&self) -> EntryId {
        self.group.file().points.last().map_or(EntryId::default(), |point| point.id)
    }

    /// Makes a copy of this replica in another storage, which is to be another one: what a majority
    /// has, as of now. Returns the entry behind which it goes on. Waits until a majority has it.
    ///
    /// # Errors
    /// As [`Database::backup`]; `NotReplicated` if that takes too long.
    ///
    /// # Examples
    /// See [`Replica`].
    pub fn copy_to(&self, target: &dyn Storage) -> Result<EntryId> {
        checkpoint::copy_replica(self.db, target, None)
    }

    /// Makes a copy without waiting for a majority, for a member with which one has the log up to
    /// the entry `last`. Where no majority had what is in it, the copy says so by
    /// [`Replica::lacks_majority`].
    ///
    /// # Errors
    /// As [`Replica::copy_to`]; `NotReplicated` if the copy would have anything behind `last`, or a
    /// part of a transaction that has not ended.
    pub fn copy_for_member(&self, target: &dyn Storage, last: u64) -> Result<EntryId> {
        checkpoint::copy_replica(self.db, target, Some(last))
    }

    /// Whether this replica began with a copy of which no majority had all. It must not help to
    /// elect a leader that lacks that, before a leader has told it that a majority has it.
    pub fn lacks_majority(&self) -> bool {
        self.group.file().lacks_majority
    }

    /// A majority has what the copy had.
    ///
    /// # Errors
    /// `StorageFailed`.
    pub fn note_majority(&self) -> Result<()> {
        if !self.lacks_majority() {
            return Ok(());
        }
        let changed =
            self.group.change_file(&**self.log.storage(), |file| file.lacks_majority = false);
        changed.map_err(|error| checkpoint::storage_failed(&error))
    }

    /// What this replica has promised to the group, in words of the group.
    pub fn promise(&self) -> Vec<u8> {
        self.group.file().promise
    }

    /// Promises something, on the disk.
    ///
    /// # Errors
    /// `StorageFailed`; then nothing was promised.
    pub fn set_promise(&self, promise: &[u8]) -> Result<()> {
        let changed =
            self.group.change_file(&**self.log.storage(), |file| file.promise = promise.to_vec());
        changed.map_err(|error| checkpoint::storage_failed(&error))
    }

    /// Whether entries were acknowledged that the disk may have lost.
    pub fn is_unsure(&self) -> bool {
        self.group.file().is_unsure
    }

    /// Notes that, or that it is not so any more, on the disk.
    ///
    /// # Errors
    /// `StorageFailed`.
    pub fn set_unsure(&self, is_unsure: bool) -> Result<()> {
        let changed =
            self.group.change_file(&**self.log.storage(), |file| file.is_unsure = is_unsure);
        changed.map_err(|error| checkpoint::storage_failed(&error))
    }
}
