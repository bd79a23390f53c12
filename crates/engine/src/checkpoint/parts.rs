//! Making a checkpoint in parts: what is frozen, then the image and its name, then what goes.
//!
//! Between two parts nothing is held but the snapshot's slot and the open files, and others commit.
//! What has begun is either named or taken back.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use super::removal::Removal;
use super::{NEW_IMAGE, image_name, older_images, storage_failed};
use crate::error::{Error, ErrorKind, Result};
use crate::image::{self, Form, ImageHead, ImageWriter, Segments};
use crate::instance::{CheckpointInParts, CheckpointStage, Instance};
use crate::log::group::Group;
use crate::log::group_file::GroupPoint;
use crate::log::writer::Log;
use crate::memory::atomic::Relaxed;
use crate::segment_files::SegmentWriter;
use crate::storage::Storage;
use crate::storage::stream::FileWriter;
use crate::table::table::TableCore;
use crate::transaction::cleanup::freeze::{self, Extent};
use crate::transaction::read::parked::ParkedTransaction;

/// Bytes of the image, or of segment files, that are synced at once in slices.
const SYNC_BYTES: u64 = 4 << 20;
/// How long a checkpoint that is made at once waits for a majority of the group.
const GROUP_WAIT_MAX: Duration = Duration::from_secs(5);
/// Segments that are inspected in a slice, to be frozen, before one is.
const INSPECTED_MAX: u32 = 64;

/// An image that is written into a storage, where it is whole or not there at all.
#[derive(Debug)]
pub(super) struct NewImage {
    image: ImageWriter<FileWriter>,
    segments: Option<SegmentWriter>,
    /// The transaction that it is written by, between two parts.
    parked: Option<ParkedTransaction>,
    named: bool,
}

impl NewImage {
    /// Begins one of what is committed now. Frozen segments go to segment files, if they are given.
    ///
    /// # Errors
    /// `StorageFailed`, `TooManyTransactions`; then nothing is left of it.
    pub(super) fn begin(
        db: &Instance,
        storage: &dyn Storage,
        head: ImageHead,
        mut segments: Option<SegmentWriter>,
    ) -> Result<Self> {
        let failed = |error: io::Error| storage_failed(&error);
        if storage.names().map_err(failed)?.iter().any(|name| name == NEW_IMAGE) {
            storage.remove(NEW_IMAGE).map_err(failed)?;
        }
        let (transaction, tables) = image::look(db)?;
        if let Some(segments) = &mut segments {
            tables.keep_stored(segments, &transaction)?;
        }
        let form = if segments.is_some() { Form::WithFiles } else { Form::Alone };
        let stream = FileWriter::new(storage.create(NEW_IMAGE).map_err(failed)?);
        let image = ImageWriter::begin(&transaction, tables, head, form, stream);
        let image = image.inspect_err(|_| drop(storage.remove(NEW_IMAGE)))?;
        Ok(Self { image, segments, parked: Some(ParkedTransaction::of(transaction)), named: false })
    }

    /// Writes about so many bytes; whether those were the last.
    ///
    /// # Errors
    /// `StorageFailed`, `StreamFailed`, and as [`ImageWriter::write_some`].
    fn write_some(&mut self, db: &Instance, storage: &dyn Storage, most: u64) -> Result<bool> {
        let Some(parked) = self.parked.take() else { return Err(interrupted()) };
        let transaction = parked.resume(db);
        let segments = self.segments.as_mut().map(|writer| Segments { storage, writer });
        let written = self.image.write_some(&transaction, segments, most);
        self.parked = Some(ParkedTransaction::of(transaction));
        written
    }

    /// Syncs what was written, if it is worth while.
    fn sync_some(&mut self) -> io::Result<()> {
        self.image.stream().sync_if(SYNC_BYTES)?;
        self.segments.as_mut().map_or(Ok(()), |segments| segments.sync_if(SYNC_BYTES))
    }

    /// Ends the image and gives it its name; `before_naming` is done before. Then segments are said
    /// to stand where they were written.
    ///
    /// # Errors
    /// `StorageFailed`, `StreamFailed`, the error of `before_naming`.
    fn name(
        &mut self,
        db: &Instance,
        storage: &dyn Storage,
        before_naming: impl FnOnce() -> Result<()>,
    ) -> Result<(ImageHead, u64)> {
        let failed = |error: io::Error| storage_failed(&error);
        let head = self.image.finish()?;
        self.segments.as_mut().map_or(Ok(()), SegmentWriter::finish).map_err(failed)?;
        self.image.stream().sync_if(0).map_err(failed)?;
        before_naming()?;
        storage.rename(NEW_IMAGE, &image_name(head.timestamp)).map_err(failed)?;
        self.named = true;
        storage.sync_names().map_err(failed)?;
        self.image.note_stored(db);
        Ok((head, self.image.bytes()))
    }

    /// Writes all of it, and gives it its name.
    ///
    /// # Errors
    /// As its parts.
    pub(super) fn write_all(
        &mut self,
        db: &Instance,
        storage: &dyn Storage,
        before_naming: impl FnOnce() -> Result<()>,
    ) -> Result<(ImageHead, u64)> {
        while !self.write_some(db, storage, u64::MAX)? {}
        self.name(db, storage, before_naming)
    }

    /// Ends its transaction. If it has no name, nothing is left of it: on a disk that is full there
    /// is as much room as before.
    pub(super) fn end(&mut self, db: &Instance, storage: &dyn Storage) {
        if let Some(parked) = self.parked.take() {
            drop(parked.resume(db));
        }
        if let Some(segments) = &self.segments {
            db.checkpoints.last_segment_file.store(segments.last(), Relaxed);
        }
        if !self.named {
            // What cannot be removed now is when the next one is made.
            let _ = storage.remove(NEW_IMAGE);
            self.segments.iter_mut().for_each(|segments| segments.take_back(storage));
        }
    }
}

/// What is to be seen to where a group of replicas shares the log.
#[derive(Debug)]
pub(super) struct OfGroup {
    /// Where the image goes on.
    point: GroupPoint,
    /// The position before which all is that it may have; a majority is to have that.
    seen: u64,
}

/// A checkpoint that has begun.
#[derive(Debug)]
pub(super) enum Parts {
    /// Segments are made columns, those from `next` on.
    Freezing { tables: Vec<Arc<TableCore>>, next: u32, unchanged_since: u64 },
    /// The image is being written, behind which the log goes on at a position.
    Writing { image: Box<NewImage>, position: u64, of_group: Option<OfGroup> },
    /// It is made, of so many bytes, and these files are not needed any more, nor is the log before
    /// the position.
    Removing { files: Removal, position: u64, bytes: u64 },
}

impl Parts {
    /// Begins one.
    pub(super) fn begin(db: &Instance) -> Self {
        let checkpoints = &db.checkpoints;
        // The last table is frozen first.
        let freezes = checkpoints.freezes.load(Relaxed);
        let tables = if freezes { db.catalog().all() } else { Vec::new() };
        let unchanged_since = checkpoints.unchanged_since.load(Relaxed);
        Self::Freezing { tables, next: 0, unchanged_since }
    }
}

impl CheckpointInParts for Parts {
    fn go_on(&mut self, db: &Instance, log: &Log, most: u64) -> Result<Option<u64>> {
        if let Self::Freezing { tables, next, unchanged_since } = self {
            freeze_some(db, tables, next, *unchanged_since, most);
            if !tables.is_empty() {
                return Ok(None);
            }
            *self = begin_writing(db, log)?;
        }
        let (storage, failed) = (&**log.storage(), |error: io::Error| storage_failed(&error));
        if let Self::Writing { image, position, of_group } = self {
            if !image.write_some(db, storage, most)? {
                image.sync_some().map_err(failed)?;
                log.sync_earlier()?;
                return Ok(None);
            }
            if let (Some(of_group), Some(group)) = (&of_group, log.group())
                && group.replicated() < of_group.seen
            {
                // What the group may take back is in no image.
                if most < u64::MAX {
                    return Ok(None);
                }
                wait_for_group(log, of_group.seen)?;
            }
            let (head, bytes) = image.name(db, storage, || {
                log.sync()?;
                of_group.take().map_or(Ok(()), |of_group| note_point(log, of_group.point))
            })?;
            *self = made(db, log, image, head, *position, bytes)?;
        }
        let Self::Removing { files, position, bytes } = self else { return Ok(None) };
        if most == u64::MAX {
            files.all(storage).map_err(failed)?;
        } else if files.some(storage, most).map_err(failed)? {
            return Ok(None);
        }
        let count = if most == u64::MAX { usize::MAX } else { 1 };
        Ok(log.forget_before(*position, count)?.then_some(*bytes))
    }

    fn stage(&self) -> CheckpointStage {
        match self {
            Self::Freezing { .. } => CheckpointStage::Begun,
            Self::Writing { .. } => CheckpointStage::Writing,
            Self::Removing { .. } => CheckpointStage::Written,
        }
    }

    fn end(&mut self, db: &Instance, log: &Log) {
        let storage = &**log.storage();
        match self {
            Self::Freezing { .. } => {}
            Self::Writing { image, .. } => image.end(db, storage),
            // What cannot be removed now is when the next one is made.
            Self::Removing { files, .. } => drop(files.end_cutting(storage)),
        }
    }
}

/// Makes columns of rows that were not changed since the checkpoint before: of one segment, or of
/// all if much may be done. It is not logged: to repeat a commit, it does not matter where its rows
/// lie. Where it fails, rows stay as they are. What is done with leaves `tables`.
fn freeze_some(
    db: &Instance,
    tables: &mut Vec<Arc<TableCore>>,
    next: &mut u32,
    unchanged_since: u64,
    most: u64,
) {
    let mut inspected = 0;
    while let Some(core) = tables.last() {
        let count = freeze::full_segments(db, core).unwrap_or(0);
        if *next >= count {
            tables.pop();
            *next = 0;
            continue;
        }
        let extent = if most == u64::MAX { Extent::Full } else { Extent::One(*next) };
        let frozen = freeze::freeze(db, core, extent, unchanged_since);
        *next = if extent == Extent::Full { count } else { *next + 1 };
        inspected += 1;
        let is_enough = frozen.is_ok_and(|it| it.segments > 0) || inspected >= INSPECTED_MAX;
        if is_enough && most < u64::MAX {
            return;
        }
    }
}

/// Begins a new file of the log, and the image that takes the place of those before.
fn begin_writing(db: &Instance, log: &Log) -> Result<Parts> {
    let (point, position) = begin_in_group(log)?;
    let head = ImageHead { database: log.database(), position, ..ImageHead::default() };
    let storage = &**log.storage();
    let last = db.checkpoints.last_segment_file.load(Relaxed);
    let segments = SegmentWriter::begin(storage, log.database(), last);
    let segments = segments.map_err(|error| storage_failed(&error))?;
    let image = NewImage::begin(db, storage, head, Some(segments))?;
    let seen = log.group().map_or(0, |group| log.seen(group));
    let of_group = point.map(|point| OfGroup { point, seen });
    Ok(Parts::Writing { image: Box::new(image), position, of_group })
}

/// Begins a new file of the log. The position from which on an image needs the log that is begun
/// behind this, and where that is in a group of replicas that shares it.
///
/// # Errors
/// `LogFailed`.
pub(super) fn begin_in_group(log: &Log) -> Result<(Option<GroupPoint>, u64)> {
    let position = log.cut()?;
    let point = log.group().map(Group::point);
    let position = point.as_ref().map_or(position, |point| point.position);
    Ok((point, position))
}

/// Waits until a majority has the log up to a position.
///
/// # Errors
/// `NotReplicated` if that takes too long, or nobody knows it of what this replica began with;
/// `LogFailed`.
pub(super) fn wait_for_group(log: &Log, position: u64) -> Result<()> {
    let Some(group) = log.group() else { return Ok(()) };
    log.write_all()?;
    let has = |_: &_| group.replicated() >= position;
    let is_known = !group.file().lacks_majority;
    if is_known && group.wait_until(GROUP_WAIT_MAX, has) { Ok(()) } else { Err(no_majority()) }
}

#[cold]
fn no_majority() -> Error {
    Error::new(ErrorKind::NotReplicated)
        .because("no majority of the group has got what an image has")
}

/// Whether no majority has all that an image has, which goes on at a point, for a member with which
/// one has the log up to an entry: it does not wait for a majority.
///
/// # Errors
/// `NotReplicated` if the image has more than that, or the member would have rows of entries that
/// are not in its log.
pub(super) fn lacks_majority(log: &Log, point: &GroupPoint, seen: u64, last: u64) -> Result<bool> {
    let Some(group) = log.group() else { return Ok(false) };
    log.write_all()?;
    match group.replicated() >= seen && !group.file().lacks_majority {
        true => Ok(false),
        false if point.position == seen && point.id.index <= last => Ok(true),
        false => Err(no_majority()),
    }
}

/// Notes where the image goes on that is about to get its name, and forgets where others did of
/// which there are none any more.
fn note_point(log: &Log, point: GroupPoint) -> Result<()> {
    let Some(group) = log.group() else { return Ok(()) };
    let changed = group.change_file(&**log.storage(), |file| {
        file.points.drain(..file.points.len().saturating_sub(1));
        file.points.push(point);
    });
    changed.map_err(|error| storage_failed(&error))
}

/// The image has its name: what was needed before it can go.
fn made(
    db: &Instance,
    log: &Log,
    image: &mut NewImage,
    head: ImageHead,
    position: u64,
    bytes: u64,
) -> Result<Parts> {
    let (storage, checkpoints) = (&**log.storage(), &db.checkpoints);
    let failed = |error: io::Error| storage_failed(&error);
    // Nobody waits for what its transaction keeps while files are removed.
    image.end(db, storage);
    checkpoints.made.fetch_add(1, Relaxed);
    checkpoints.unchanged_since.store(head.timestamp, Relaxed);
    let (mut files, mut bytes) = (Removal::default(), bytes);
    if let Some(segments) = &image.segments {
        bytes += segments.bytes;
        if !log.keeps() {
            let images = older_images(storage, head.timestamp).map_err(failed)?;
            files = Removal::of(images, segments.others(&image::files_read(db.memory())));
        }
    }
    Ok(Parts::Removing { files, position, bytes })
}

#[cold]
fn interrupted() -> Error {
    Error::new(ErrorKind::StorageFailed).because("the checkpoint was interrupted")
}
