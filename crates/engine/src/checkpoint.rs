//! Checkpoints: an image beside the log, so that what was logged before it is not needed any more.
//!
//! The order of what is made sure is all there is to it. First a new file of the log is begun, from
//! which on everything stands that the image may lack. Then the image is written under a name that
//! nobody looks for, while transactions go on, and synced; the log is synced as far as the image
//! goes; then it gets its name, and that is synced. Only then older images and files of the log
//! are let go, and segment files that only they needed. Whenever it ends before that, the older
//! ones are there and whole.

use std::cell::Cell;
use std::io;
use std::sync::PoisonError;

use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{self, ImageHead};
use crate::instance::Instance;
use crate::log::file::{self, new_database_id};
use crate::log::head;
use crate::log::writer::Log;
use crate::memory::atomic::Relaxed;
use crate::segment_files::{SegmentWriter, number_of};
use crate::storage::stream::FileWriter;
use crate::storage::{Storage, StorageFile, number_in, numbered};
use crate::transaction::cleanup::freeze::{self, Extent};

/// Names of images begin so; the timestamp follows, in sixteen hexadecimal digits.
const IMAGE: &str = "image-";
/// An image that is being written.
pub(crate) const NEW_IMAGE: &str = "image.new";

impl Database {
    /// Writes an image beside the log and lets go what it makes needless: opening then takes as
    /// long as reading the image and what was logged since. Transactions go on meanwhile. Returns
    /// how many bytes were written: the columns of a frozen segment are written once, into a file
    /// of their own, and later images refer to them.
    ///
    /// # Errors
    /// `StorageFailed`, `LogFailed`, `TooManyTransactions`; `InvalidOptions` if the database is in
    /// memory alone.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-check-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new())?;
    /// let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&table, &[Some(1.into())]))?;
    /// assert!(db.checkpoint()? > 0);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn checkpoint(&self) -> Result<u64> {
        make(&self.instance)
    }

    /// Makes a checkpoint if one is due by [`Options::checkpoint_after`](crate::Options), and
    /// returns the bytes of its image. For a thread of the program's own that asks now and then:
    /// from the first call on, a transaction that begins makes a checkpoint only if twice as much
    /// was logged, as it does where this thread does not get on. There is none in a database in
    /// memory alone, in one that is read-only, while somebody else makes one, and while tables are
    /// changed.
    ///
    /// # Errors
    /// `StorageFailed`, `LogFailed`, `TooManyTransactions`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-due-{}", std::process::id()));
    /// let db = Database::open_at(&path, Options::new().checkpoint_after(1 << 20))?;
    /// // Every second or so, beside those who write:
    /// assert_eq!(db.checkpoint_if_due()?, None);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn checkpoint_if_due(&self) -> Result<Option<u64>> {
        self.instance.checkpoints.looked_after.store(true, Relaxed);
        self.instance.log().map_or(Ok(None), |log| make_if_due(&self.instance, log))
    }

    /// Writes an image of the database into another storage, while transactions go on: a database
    /// of its own, to be opened there. Files of the log that were kept since may be laid beside it,
    /// to go further than the image does. Returns the bytes of the image.
    ///
    /// # Errors
    /// `StorageFailed`, `LogFailed`, `TooManyTransactions`; `InvalidOptions` if there is a database
    /// in that storage.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Folder, Options, schema::*};
    /// # let path = std::env::temp_dir().join(format!("remanent-backup-{}", std::process::id()));
    /// let db = Database::open(Options::new())?;
    /// db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.backup(&Folder::create(&path).expect("a folder"))?;
    /// let copy = Database::open_at(&path, Options::new())?;
    /// assert_eq!(copy.table_names(), ["T"]);
    /// # drop(copy);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn backup(&self, target: &dyn Storage) -> Result<u64> {
        let failed = |error: io::Error| storage_failed(&error);
        let _lock = target.lock().map_err(failed)?;
        let names = target.names().map_err(failed)?;
        let is_ours = |name: &String| {
            let is_log = file::number_of(name).is_some() || name == head::NAME;
            is_log || image_timestamp(name).is_some() || number_of(name).is_some()
        };
        if names.iter().any(is_ours) {
            return Err(Error::new(ErrorKind::InvalidOptions)
                .because("there is a database in that storage already"));
        }
        let head = match self.instance.log() {
            None => ImageHead { database: new_database_id(), ..ImageHead::default() },
            Some(log) => {
                let (database, position) = (log.database(), log.cut()?);
                ImageHead { database, position, ..ImageHead::default() }
            }
        };
        write_image(&self.instance, target, head, None, || Ok(())).map(|(_, size)| size)
    }
}

/// The name of the image with this timestamp.
pub(crate) fn image_name(timestamp: u64) -> String {
    numbered(IMAGE, timestamp)
}

/// The timestamp in the name of an image.
pub(crate) fn image_timestamp(name: &str) -> Option<u64> {
    number_in(IMAGE, name)
}

/// Makes a checkpoint if one is due, as a transaction that is about to begin does.
pub(crate) fn make_in_turn(db: &Instance, log: &Log) {
    // What fails here is reported to whoever asks for a checkpoint, or writes.
    let _ = make_if_due(db, log);
}

/// Makes a checkpoint if one is due, unless somebody else does. If it fails, nothing is lost and
/// another is tried when as much again was logged.
fn make_if_due(db: &Instance, log: &Log) -> Result<Option<u64>> {
    let checkpoints = &db.checkpoints;
    let Ok(_making) = checkpoints.making.try_lock() else { return Ok(None) };
    if checkpoints.after.load(Relaxed) == 0 || log.written() < checkpoints.due_at.load(Relaxed) {
        return Ok(None);
    }
    // Who changes tables may be waiting for all who read, as the writer of an image does.
    if db.definition_turn().is_taken() {
        return Ok(None);
    }
    let size = make_locked(db, log);
    let after = checkpoints.after.load(Relaxed).max(*size.as_ref().unwrap_or(&0));
    checkpoints.due_at.store(log.end() + after, Relaxed);
    size.map(Some)
}

/// Makes a checkpoint, and says how many bytes were written.
///
/// # Errors
/// `StorageFailed`, `LogFailed`, `TooManyTransactions`; `InvalidOptions` without a log.
pub(crate) fn make(db: &Instance) -> Result<u64> {
    let Some(log) = db.log() else {
        return Err(Error::new(ErrorKind::InvalidOptions)
            .because("the database is in memory alone, it has no log"));
    };
    let _making = db.checkpoints.making.lock().unwrap_or_else(PoisonError::into_inner);
    let size = make_locked(db, log)?;
    let after = db.checkpoints.after.load(Relaxed).max(size);
    db.checkpoints.due_at.store(log.end() + after, Relaxed);
    Ok(size)
}

fn make_locked(db: &Instance, log: &Log) -> Result<u64> {
    freeze_unchanged(db);
    let position = log.cut()?;
    let head = ImageHead { database: log.database(), position, ..ImageHead::default() };
    let storage = &**log.storage();
    let failed = |error: io::Error| storage_failed(&error);
    let last = &db.checkpoints.last_segment_file;
    let mut segments =
        SegmentWriter::begin(storage, log.database(), last.load(Relaxed)).map_err(failed)?;
    let written = write_image(db, storage, head, Some(&mut segments), || log.sync());
    last.store(segments.last(), Relaxed);
    let (head, size) = written?;
    if !log.keeps() {
        remove_older_images(storage, head.timestamp).map_err(failed)?;
        segments.remove_others(&image::files_read(db.memory())).map_err(failed)?;
    }
    db.checkpoints.made.fetch_add(1, Relaxed);
    db.checkpoints.unchanged_since.store(head.timestamp, Relaxed);
    log.forget_before(position)?;
    Ok(size + segments.bytes)
}

/// Makes columns of the rows that were not changed since the checkpoint before, if that is asked
/// for. It is not logged: to repeat a commit, it does not matter where its rows lie. Where it
/// fails, rows stay as they are.
fn freeze_unchanged(db: &Instance) {
    let checkpoints = &db.checkpoints;
    // Who changes tables may be this very thread.
    if checkpoints.freezes.load(Relaxed) && !db.definition_turn().is_taken() {
        let unchanged_since = checkpoints.unchanged_since.load(Relaxed);
        for core in db.catalog().all() {
            let _ = freeze::freeze(db, &core, Extent::Full, unchanged_since);
        }
    }
}

/// Writes an image into a storage, where it is whole or not there at all; what it refers to in
/// segment files stays when it gets its name. `before_naming` is done before. If it fails until
/// then, nothing of it is left: on a disk that is full there is as much room as before.
pub(crate) fn write_image(
    db: &Instance,
    storage: &dyn Storage,
    head: ImageHead,
    mut segments: Option<&mut SegmentWriter<'_>>,
    before_naming: impl FnOnce() -> Result<()>,
) -> Result<(ImageHead, u64)> {
    let failed = |error: io::Error| storage_failed(&error);
    if storage.names().map_err(failed)?.iter().any(|name| name == NEW_IMAGE) {
        storage.remove(NEW_IMAGE).map_err(failed)?;
    }
    let named = Cell::new(false);
    let seal = |file: &dyn StorageFile, head: &ImageHead| {
        file.sync().map_err(failed)?;
        before_naming()?;
        storage.rename(NEW_IMAGE, &image_name(head.timestamp)).map_err(failed)?;
        named.set(true);
        storage.sync_names().map_err(failed)
    };
    let written = write_new_image(db, storage, head, segments.as_deref_mut(), seal);
    written.inspect_err(|_| {
        if !named.get() {
            // What cannot be removed now is when the next one is made.
            let _ = storage.remove(NEW_IMAGE);
            segments.iter_mut().for_each(|segments| segments.take_back());
        }
    })
}

/// Writes an image, and lets `seal` give it its name: before, no segment is said to stand where it
/// was written.
fn write_new_image(
    db: &Instance,
    storage: &dyn Storage,
    head: ImageHead,
    segments: Option<&mut SegmentWriter<'_>>,
    seal: impl FnOnce(&dyn StorageFile, &ImageHead) -> Result<()>,
) -> Result<(ImageHead, u64)> {
    let file = storage.create(NEW_IMAGE).map_err(|error| storage_failed(&error))?;
    let mut stream = FileWriter::new(&*file);
    image::write_image(db, head, &mut stream, segments, |head| seal(&*file, head))
}

fn remove_older_images(storage: &dyn Storage, timestamp: u64) -> io::Result<()> {
    for name in storage.names()? {
        if image_timestamp(&name).is_some_and(|older| older < timestamp) {
            storage.remove(&name)?;
        }
    }
    Ok(())
}

#[cold]
fn storage_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(error.to_string())
}
