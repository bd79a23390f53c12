//! Opening a database that lies in a folder: the newest image, and what was logged since.
//!
//! Opening is recovery; there is no other way in and no step before it. Commits are applied by
//! `replay.rs`, in the order of their timestamps. Their fragments are read when their commit is
//! met, so what did not commit is never applied. Whatever is found, the files are only read until
//! all of it was; where something is missing that had been there, the database is opened to read,
//! as it was at the last good commit. [`inspection`] looks at a folder without opening it,
//! [`salvage`] takes out of a damaged one what is still there.

pub(crate) mod group;
mod inspection;
mod salvage;

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

use crate::checkpoint::{self, NEW_IMAGE, image_timestamp};
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{self, FilesOfImage, ImageHead};
use crate::log::Progress;
use crate::log::file::{self, DatabaseId, new_database_id};
use crate::log::group::GroupLog;
use crate::log::group_file;
use crate::log::reader::{Damage, End, FrameAt, Next, Reader, Unreadable};
use crate::log::record::Frame;
use crate::log::writer::{Log, LogEnd};
use crate::options::{LogOptions, Options};
use crate::replay::{self, Replay, damaged};
use crate::segment_files::{self, SegmentReader, SegmentSource};
use crate::storage::stream::FileReader;
use crate::storage::{Folder, Storage};

use group::Scanned;

pub use inspection::ImageInfo;
pub use salvage::Salvaged;

/// Progress is reported whenever so many bytes were read.
const PROGRESS_STEP: u64 = 16 << 20;

/// Up to where a database is restored.
///
/// # Examples
/// ```
/// use remanent_engine::RecoverUntil;
/// assert_eq!(RecoverUntil::default(), RecoverUntil::End);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RecoverUntil {
    /// All that is there.
    #[default]
    End,
    /// The commit with this timestamp, or the last one before it.
    Timestamp(u64),
    /// What was surely committed by this time, in microseconds since 1970. Marks of the time stand
    /// in the log about once a second while something is committed: of the last second before the
    /// moment, some commits may be left out. Nothing later is there.
    TimeUs(u64),
}

/// What was read of a folder.
struct Recovered {
    db: Database,
    database: DatabaseId,
    end: End,
    /// The highest number of a file of the log.
    number: u64,
    /// Files that are not needed: made and not used, or behind the damage.
    unused: Vec<String>,
    behind: Vec<String>,
    /// What the log holds of the group, if it is that of a replica.
    group: Option<GroupLog>,
    /// Whether it had rows as they were before they were changed, in the end.
    old_rows: bool,
}

impl Database {
    /// Opens the database in a folder, or makes one there. What was committed at a durability level
    /// is there again if what happened since is no worse than the level says.
    ///
    /// # Errors
    /// `DatabaseInUse` if another process, or this one, has it open; `DamagedImage` and
    /// `DamagedLog` if not even a part can be trusted; `StorageFailed` if files cannot be read or
    /// made, `BudgetReached` if it does not fit, and as [`Database::open`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-open-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let row = db.write(|tx| tx.insert_values(&table, &[Some(7.into())]))?;
    /// drop(db);
    ///
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.table("T")?;
    /// assert!(db.begin_read()?.row(&table, row)?.is_some());
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open_at(path: impl AsRef<Path>, options: Options) -> Result<Self> {
        options.log().check()?;
        let folder = Folder::create(path).map_err(|error| storage_failed(&error))?;
        Self::open_in(Arc::new(folder), options)
    }

    /// As [`Database::open_at`], in a storage of the caller's.
    ///
    /// # Errors
    /// As [`Database::open_at`].
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use remanent_engine::{Database, ErrorKind, Folder, Options};
    /// # let path = std::env::temp_dir().join(format!("remanent-open-in-{}", std::process::id()));
    /// let folder = Arc::new(Folder::create(&path).expect("a folder"));
    /// let db = Database::open_in(folder.clone(), Options::new())?;
    /// let error = Database::open_in(folder, Options::new()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DatabaseInUse);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open_in(storage: Arc<dyn Storage>, mut options: Options) -> Result<Self> {
        let log_options = options.take_log();
        log_options.check()?;
        let lock = storage.lock().map_err(|error| in_use(&error))?;
        let names = storage.names().map_err(|error| storage_failed(&error))?;
        if group::is_replica(&names) {
            return Err(Error::new(ErrorKind::InvalidOptions).because(
                "the folder is that of a replica: it is opened with its group, and nowhere else",
            ));
        }
        log_options.check_alone()?;
        let recovered =
            recover(&*storage, options, &log_options, RecoverUntil::End, Some(&storage))?;
        match recovered.end.damage.clone() {
            Some(damage) if !log_options.accept_damage => {
                recovered.db.instance.set_read_only(damage, lock);
                Ok(recovered.db)
            }
            _ => recovered.go_on(storage, lock, &log_options),
        }
    }

    /// Opens the database of a replica, which follows: the group says what is committed, and when
    /// this replica leads. Entries behind `last` are given up, if it is said: the group has others.
    ///
    /// # Errors
    /// As [`Database::open_in`]; `InvalidOptions` if there is no replica in the folder.
    ///
    /// # Examples
    /// See [`Replica`](crate::Replica).
    pub fn open_replica(
        storage: Arc<dyn Storage>,
        options: Options,
        last: Option<u64>,
    ) -> Result<Self> {
        group::open(storage, options, last)
    }

    /// What could not be read when the database was opened. If there is anything, nothing can be
    /// written: the program may read, save an image, or open again with
    /// [`Options::accept_damage`].
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options};
    /// assert!(Database::open(Options::new())?.damage().is_none());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn damage(&self) -> Option<&Damage> {
        self.instance.damage()
    }

    /// Reads a database without opening it for anybody: nothing in its storage is changed, and
    /// nothing is locked. What is returned is in memory only. For looking at a copy, and for
    /// restoring the state of an earlier moment.
    ///
    /// # Errors
    /// As [`Database::open_at`], but for `DatabaseInUse`.
    ///
    /// # Examples
    /// ```
    /// use std::sync::Arc;
    /// use remanent_engine::{Database, Folder, Options, RecoverUntil, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-recover-{}", std::process::id()));
    /// let folder = Arc::new(Folder::create(&path).expect("a folder"));
    /// let db = Database::open_in(folder.clone(), Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let add = || db.write_with_ticket(|tx| tx.insert_values(&table, &[Some(7.into())]));
    /// let (first, second) = (add()?, add()?);
    /// drop(db);
    ///
    /// let until = RecoverUntil::Timestamp(first.1.timestamp());
    /// let earlier = Database::recover(&*folder, Options::new(), until)?;
    /// let table = earlier.table("T")?;
    /// let tx = earlier.begin_read()?;
    /// assert!(tx.row(&table, first.0)?.is_some() && tx.row(&table, second.0)?.is_none());
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn recover(
        storage: &dyn Storage,
        mut options: Options,
        until: RecoverUntil,
    ) -> Result<Self> {
        let log_options = options.take_log();
        let recovered = recover(storage, options, &log_options, until, None)?;
        if let Some(damage) = recovered.end.damage {
            recovered.db.instance.note_damage(damage);
        }
        Ok(recovered.db)
    }
}

impl Recovered {
    /// Begins to log behind what was read.
    fn go_on(
        self,
        storage: Arc<dyn Storage>,
        lock: Box<dyn Debug + Send + Sync>,
        options: &LogOptions,
    ) -> Result<Database> {
        let cleaned = || -> io::Result<()> {
            for name in &self.unused {
                storage.remove(name)?;
            }
            for name in &self.behind {
                storage.rename(name, &format!("lost-{name}"))?;
            }
            Ok(())
        };
        cleaned().map_err(|error| storage_failed(&error))?;
        let db = self.db;
        let settings = options.resolve(db.memory().budget);
        let end = LogEnd {
            database: self.database,
            number: self.number + 1,
            position: self.end.position,
            timestamp: self.end.timestamp,
            group: self.group,
            old_rows: self.old_rows,
        };
        let files = Arc::clone(&storage);
        let source = SegmentSource::new(files, self.database, options.system_cache);
        db.instance.memory().buffer_cache.set_source(source);
        let log = Log::begin(storage, lock, settings, db.instance.slots(), end)?;
        let (after, slice) = (options.checkpoint_after, options.checkpoint_slice);
        db.instance.attach_log(log, after, slice, checkpoint::make_in_turn);
        db.instance.freeze_at_checkpoints(options.freeze_at_checkpoint);
        Ok(db)
    }
}

fn recover(
    storage: &dyn Storage,
    options: Options,
    log_options: &LogOptions,
    until: RecoverUntil,
    shared: Option<&Arc<dyn Storage>>,
) -> Result<Recovered> {
    let names = storage.names().map_err(|error| storage_failed(&error))?;
    let image = choose_image(storage, &names, until)?;
    let names = &names;
    let goes_on = shared.is_some();
    Attempt { storage, shared, log_options, until, goes_on, names, scan: None }.run(image, options)
}

/// The newest image that is whole and not too new; `None` if the log is to be read from its
/// beginning. If there is but one way, it is not inspected here.
fn choose_image<'n>(
    storage: &dyn Storage,
    names: &'n [String],
    until: RecoverUntil,
) -> Result<Option<&'n str>> {
    let mut images: Vec<(u64, &str)> =
        names.iter().filter_map(|name| Some((image_timestamp(name)?, name.as_str()))).collect();
    images.sort_unstable();
    let whole_log = Reader::open(storage, None, 0).is_ok_and(|reader| reader.is_some());
    match until {
        RecoverUntil::End => {}
        RecoverUntil::Timestamp(limit) => images.retain(|&(timestamp, _)| timestamp <= limit),
        // Images do not say when they were made.
        RecoverUntil::TimeUs(_) if whole_log => images.clear(),
        RecoverUntil::TimeUs(_) => images.truncate(1),
    }
    if images.len() + usize::from(whole_log) <= 1 {
        return Ok(images.first().map(|&(_, name)| name));
    }
    for &(_, name) in images.iter().rev() {
        let file = storage.open(name).map_err(|error| storage_failed(&error))?;
        let segments = SegmentReader::new(storage);
        if image::verify(&mut FileReader::new(file), segments).is_ok() {
            return Ok(Some(name));
        }
    }
    Ok(images.last().map(|&(_, name)| name).filter(|_| !whole_log))
}

/// Whether a file with this name was being made, or is to be used again: that may have got its new
/// header and lost its new name.
fn is_unused(name: &&String) -> bool {
    *name == NEW_IMAGE || *name == group_file::NEW || name.starts_with(file::SPARE)
}

/// Reads the entries of the log of a replica, from an image on.
type Scan<'a> = dyn Fn(&ImageHead) -> Result<Scanned> + 'a;

/// One attempt to read a folder, from one image on or from the beginning.
struct Attempt<'a> {
    storage: &'a dyn Storage,
    /// The same, if it stays open with the database.
    shared: Option<&'a Arc<dyn Storage>>,
    log_options: &'a LogOptions,
    until: RecoverUntil,
    /// Whether the database is to be written afterwards; if not, no file is changed.
    goes_on: bool,
    names: &'a [String],
    /// Of a replica: reads the entries of its log. A program that has none is the smaller for it.
    scan: Option<&'a Scan<'a>>,
}

impl Attempt<'_> {
    fn run(&self, image: Option<&str>, options: Options) -> Result<Recovered> {
        let mut reporter =
            ProgressReporter { progress: Progress::default(), options: self.log_options, next: 0 };
        let (db, head) = match image {
            None => (Database::open(options)?, ImageHead::default()),
            Some(name) => self.load(name, options, &mut reporter)?,
        };
        // What was in a full database finds room again, wherever it comes to lie.
        db.instance.memory().header().account.open_reserve(true);
        let database = image.map(|_| head.database);
        let scanned = self.scan.map(|scan| scan(&head)).transpose()?;
        let reader = Reader::open(self.storage, database, head.position).map_err(unreadable)?;
        let mut unused: Vec<_> = self.names.iter().filter(is_unused).cloned().collect();
        let numbers = file::numbers(self.storage).map_err(|error| storage_failed(&error))?;
        let Some(mut reader) = reader else {
            unused.extend(numbers.iter().map(|&number| file::name_of(number)));
            let database = database.unwrap_or_else(new_database_id);
            let mut timestamp = replay::finish(&db, head.timestamp)?;
            let behind = Vec::new();
            let group = scanned.map(|scanned| {
                timestamp = scanned.end.timestamp;
                scanned.log
            });
            let end = End { position: head.position, timestamp, damage: None };
            let (number, old_rows) = (0, false);
            return Ok(Recovered { db, database, end, number, unused, behind, group, old_rows });
        };
        reporter.progress.bytes += reader.bytes_left().map_err(|error| storage_failed(&error))?;
        let database = reader.database();
        let stop = match &scanned {
            Some(scanned) => Some(scanned.stop),
            None => self.stop(image.is_some(), database, head.position)?,
        };
        let walk = LogWalk {
            replay: Replay::new(&db).freezing(self.log_options.freeze_at_recovery),
            since: head.timestamp,
            until: self.until,
            stop,
            fragments: HashMap::new(),
        };
        let mut end = walk.run(&mut reader, &mut reporter)?;
        if self.goes_on && (end.damage.is_none() || self.log_options.accept_damage) {
            reader.sync().map_err(|error| storage_failed(&error))?;
        }
        let number = reader.number_max();
        let mut behind = Vec::new();
        if scanned.is_none() {
            behind = reader.names_behind().map_err(|error| storage_failed(&error))?;
            behind.extend(reader.headless().iter().map(|&number| file::name_of(number)));
        }
        if end.damage.is_none() {
            // Nothing in them was ever synced, and what they go on from is not there.
            unused.append(&mut behind);
        }
        end.timestamp = replay::finish(&db, end.timestamp)?;
        let group = scanned.map(|scanned| {
            (end.position, end.timestamp) = (scanned.end.end, scanned.end.timestamp);
            scanned.log
        });
        // What the image has is never needed again.
        end.position = end.position.max(head.position);
        // What is behind the last frame need not be read.
        reporter.progress.bytes_done = reporter.progress.bytes;
        reporter.report();
        let old_rows = reader.has_old_rows();
        Ok(Recovered { db, database, end, number, unused, behind, group, old_rows })
    }

    /// The position at which to stop, if that is asked for as a time: behind the last mark that is
    /// not later, if there is a later one. What stands before a mark was committed before its time.
    fn stop(&self, has_image: bool, database: DatabaseId, position: u64) -> Result<Option<u64>> {
        let RecoverUntil::TimeUs(until) = self.until else { return Ok(None) };
        let reader = Reader::open(self.storage, Some(database), position).map_err(unreadable)?;
        let Some(mut reader) = reader else { return Ok(None) };
        let mut stop = (!has_image).then(|| reader.position());
        loop {
            let time_us = match reader.next().map_err(|error| storage_failed(&error))? {
                Next::End(_) => return Ok(None),
                Next::Frame { frame: Frame::Mark { time_us }, .. } => time_us,
                Next::Frame { .. } => continue,
            };
            if time_us > until {
                let too_early = || {
                    Error::new(ErrorKind::InvalidOptions)
                        .because("what was kept of the log begins later than that")
                };
                return stop.ok_or_else(too_early).map(Some);
            }
            stop = Some(reader.position());
        }
    }

    fn load(
        &self,
        name: &str,
        options: Options,
        reporter: &mut ProgressReporter<'_>,
    ) -> Result<(Database, ImageHead)> {
        let opened = self.storage.open(name).and_then(|file| Ok((file.len()?, file)));
        let (length, file) = opened.map_err(|error| storage_failed(&error))?;
        reporter.progress.bytes += length;
        for name in self.names.iter().filter(|name| segment_files::number_of(name).is_some()) {
            let file = self.storage.open(name).and_then(|file| file.len());
            reporter.progress.bytes += file.map_err(|error| storage_failed(&error))?;
        }
        let mut stream = FileReader::new(file);
        let mut report = |rows, bytes| {
            reporter.progress.rows = rows;
            reporter.progress.bytes_done = bytes;
            reporter.report_if_due();
        };
        let system_cache = self.log_options.system_cache;
        let files = FilesOfImage {
            reader: SegmentReader::new(self.storage).system_cache(system_cache),
            storage: self.shared.cloned(),
            system_cache,
        };
        let read = image::read_image(options, &mut stream, Some(files), &mut report);
        let (db, head) = read.map_err(|error| {
            let because = format!("{name}: {error}");
            Error::new(error.kind()).because(because)
        })?;
        // Of segment files, what is not needed was not read.
        reporter.progress.bytes = reporter.progress.bytes_done;
        if image_timestamp(name) != Some(head.timestamp) {
            return Err(Error::new(ErrorKind::DamagedImage)
                .because(format!("{name} has the timestamp {}", head.timestamp)));
        }
        Ok((db, head))
    }
}

/// Reports to the program how far opening has come.
struct ProgressReporter<'o> {
    progress: Progress,
    options: &'o LogOptions,
    next: u64,
}

impl ProgressReporter<'_> {
    fn report_if_due(&mut self) {
        if self.progress.bytes_done >= self.next {
            self.next = self.progress.bytes_done + PROGRESS_STEP;
            self.report();
        }
    }

    fn report(&self) {
        if let Some(callback) = &self.options.progress {
            (callback.0)(&self.progress);
        }
    }
}

/// Goes through the log and has its commits repeated.
struct LogWalk<'d> {
    replay: Replay<'d>,
    /// What the image has already.
    since: u64,
    until: RecoverUntil,
    /// The position at which to stop.
    stop: Option<u64>,
    /// Parts of transactions, by the place of the first.
    fragments: HashMap<u64, Vec<FrameAt>>,
}

impl LogWalk<'_> {
    fn run(mut self, reader: &mut Reader<'_>, reporter: &mut ProgressReporter<'_>) -> Result<End> {
        let mut timestamp = self.since;
        let before = reporter.progress.bytes_done;
        loop {
            if self.stop.is_some_and(|stop| reader.position() >= stop) {
                break;
            }
            let next = reader.next().map_err(|error| storage_failed(&error))?;
            let (frame, at) = match next {
                Next::Frame { frame, at } => (frame, at),
                Next::End(mut end) => {
                    self.replay.end_transaction()?;
                    end.timestamp = end.timestamp.max(self.since);
                    return Ok(end);
                }
            };
            match frame {
                Frame::Fragment { first, .. } => {
                    self.fragments.entry(first).or_default().push(at);
                }
                Frame::Mark { .. } | Frame::Close | Frame::Entry { .. } => {}
                Frame::Commit { timestamp: of, .. }
                | Frame::CommitOf { timestamp: of, .. }
                | Frame::Define { timestamp: of, .. }
                    if matches!(self.until, RecoverUntil::Timestamp(until) if of > until) =>
                {
                    break;
                }
                Frame::Commit { timestamp: of, operations } => {
                    if of > self.since {
                        reporter.progress.changes += self.replay.commit(operations)?;
                        reporter.progress.commits += 1;
                    }
                    timestamp = of;
                }
                Frame::CommitOf { timestamp: of, first, operations } => {
                    let last = operations.to_vec();
                    let parts = self.fragments.remove(&first).unwrap_or_default();
                    if of > self.since {
                        let parts = parts.iter().map(|&part| {
                            reader.fragment(part).map_err(|error| storage_failed(&error))
                        });
                        reporter.progress.changes += self.replay.commit_in_parts(parts, &last)?;
                        reporter.progress.commits += 1;
                    }
                    timestamp = of;
                }
                Frame::Define { timestamp: of, definition } => {
                    if of > self.since {
                        self.replay.commit_definition(definition)?;
                    }
                    timestamp = of;
                }
            }
            reporter.progress.bytes_done = before + reader.bytes_read();
            reporter.report_if_due();
        }
        self.replay.end_transaction()?;
        Ok(End { position: 0, timestamp: timestamp.max(self.since), damage: None })
    }
}

fn unreadable(error: Unreadable) -> Error {
    match error {
        Unreadable::Io(error) => storage_failed(&error),
        Unreadable::Foreign(name) => damaged(format!("{name} is a file of another database")),
        Unreadable::Missing(position) => {
            damaged(format!("what was logged from position {position} on is missing"))
        }
    }
}

#[cold]
pub(crate) fn storage_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(error.to_string())
}

#[cold]
fn in_use(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => Error::new(ErrorKind::DatabaseInUse)
            .because("another process, or another part of this one, has it open"),
        _ => storage_failed(error),
    }
}

#[cfg(test)]
mod tests;
