//! Checkpoints: an image beside the log, so that what was logged before it is not needed any more.
//!
//! The order of what is made sure is all there is to it. First a new file of the log is begun, from
//! which on everything stands that the image may lack. Then the image is written under a name that
//! nobody looks for, while transactions go on, and synced; the log is synced as far as the image
//! goes; then it gets its name, and that is synced. Only then older images and files of the log
//! are let go, and segment files that only they needed. Whenever it ends before that, the older
//! ones are there and whole.
//!
//! [`parts`] makes one, at once or a slice at a time; [`turns`] says whose turn that is.

mod parts;
mod removal;
mod turns;

use std::io;

use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::image::ImageHead;
use crate::log::EntryId;
use crate::log::file::{self, new_database_id};
use crate::log::group_file::GroupFile;
use crate::log::head;
use crate::log::writer::no_group;
use crate::memory::atomic::Relaxed;
use crate::segment_files::number_of;
use crate::storage::{Storage, number_in, numbered};
use parts::NewImage;

pub(crate) use turns::make_in_turn;

/// Names of images begin so; the timestamp follows, in sixteen hexadecimal digits.
const IMAGE: &str = "image-";
/// An image that is being written, or is being removed.
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
        turns::make(&self.instance)
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
        self.instance.log().map_or(Ok(None), |log| turns::make_if_due(&self.instance, log))
    }

    /// Writes an image of the database into another storage, while transactions go on: a database
    /// of its own, to be opened there. Files of the log that were kept since may be laid beside it,
    /// to go further than the image does. That of a replica has what a majority has, and belongs to
    /// no group. Returns the bytes of the image.
    ///
    /// # Errors
    /// `StorageFailed`, `LogFailed`, `TooManyTransactions`; `InvalidOptions` if there is a database
    /// in that storage; `NotReplicated` if no majority gets to have what a replica's has.
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
        let log = self.instance.log();
        let head = match log.filter(|log| log.group().is_none()) {
            Some(log) => {
                let (database, position) = (log.database(), log.cut()?);
                ImageHead { database, position, ..ImageHead::default() }
            }
            // Nothing goes on behind it: the log of a replica is its group's.
            None => ImageHead { database: new_database_id(), ..ImageHead::default() },
        };
        let mut image = NewImage::begin(&self.instance, target, head, None)?;
        let seen = log.and_then(|log| Some((log, log.seen(log.group()?))));
        let written = image.write_all(&self.instance, target, || {
            seen.map_or(Ok(()), |(log, seen)| parts::wait_for_group(log, seen))
        });
        image.end(&self.instance, target);
        written.map(|(_, size)| size)
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

fn older_images(storage: &dyn Storage, timestamp: u64) -> io::Result<Vec<String>> {
    let is_older = |name: &String| image_timestamp(name).is_some_and(|older| older < timestamp);
    Ok(storage.names()?.into_iter().filter(is_older).collect())
}

/// Makes a copy of a replica in another storage.
///
/// # Errors
/// As [`Database::backup`]; `NotReplicated` if no majority gets to have what is copied.
pub(crate) fn copy_replica(
    db: &Database,
    target: &dyn Storage,
    for_member: Option<u64>,
) -> Result<EntryId> {
    let failed = |error: io::Error| storage_failed(&error);
    let _lock = target.lock().map_err(failed)?;
    let Some(log) = db.instance.log() else { return Err(no_group()) };
    let (point, position) = parts::begin_in_group(log)?;
    let head = ImageHead { database: log.database(), position, ..ImageHead::default() };
    let Some(point) = point else { return Err(no_group()) };
    let mut image = NewImage::begin(&db.instance, target, head, None)?;
    let seen = log.group().map_or(0, |group| log.seen(group));
    let id = point.id;
    let written = image.write_all(&db.instance, target, || {
        let lacks_majority = match for_member {
            None => parts::wait_for_group(log, seen).map(|()| false)?,
            Some(last) => parts::lacks_majority(log, &point, seen, last)?,
        };
        let points = vec![point];
        let database = log.database();
        let file = GroupFile { database, points, lacks_majority, ..GroupFile::default() };
        file.write(target).map_err(failed)
    });
    image.end(&db.instance, target);
    written.map(|_| id)
}

#[cold]
pub(crate) fn storage_failed(error: &io::Error) -> Error {
    Error::new(ErrorKind::StorageFailed).because(error.to_string())
}
