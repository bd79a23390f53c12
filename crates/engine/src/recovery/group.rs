//! Opening the folder of a replica: what a majority is known to have, and behind it the rest.
//!
//! What the log has beyond that may still be taken back by the group. So the log is read once for
//! its entries, and is repeated up to the last one that is known to be safe. What is behind the
//! last whole entry is cut off: nobody knows of it.

use std::io;
use std::sync::Arc;

use super::{Attempt, RecoverUntil, Recovered, storage_failed, unreadable};
use crate::checkpoint::{NEW_IMAGE, image_name, image_timestamp};
use crate::database::Database;
use crate::error::{Error, ErrorKind, Result};
use crate::image::{self, ImageHead};
use crate::log::file::{self, Header};
use crate::log::group::{EntryContent, EntryEnd, EntryId, GroupLog};
use crate::log::group_file::{self, GroupFile, GroupPoint};
use crate::log::head::{self, HeadFile, LogHead};
use crate::log::reader::{Next, Reader};
use crate::log::record::Frame;
use crate::memory::atomic::Relaxed;
use crate::options::Options;
use crate::replay::damaged;
use crate::segment_files;
use crate::storage::stream::FileReader;
use crate::storage::{Storage, read_at_most, write_all_at};

/// What was read of the log of a replica.
pub(super) struct Scanned {
    pub(super) log: GroupLog,
    /// The position behind the last entry, and the timestamp there.
    pub(super) end: EntryEnd,
    /// The position up to which the log is repeated.
    pub(super) stop: u64,
}

/// Bytes of a copy that are moved at once.
const COPY_STEP: usize = 1 << 20;
/// Of the timestamps of a group, one in sixteen is that of a commit.
const GAP: u32 = 15;

/// What the replica in a folder knows of its group, if there is one.
pub(crate) fn read_group(storage: &dyn Storage) -> Result<Option<GroupFile>> {
    GroupFile::read(storage).map_err(|error| match error.kind() {
        io::ErrorKind::InvalidData => damaged("`group` is damaged"),
        _ => storage_failed(&error),
    })
}

/// Opens the folder of a replica; entries behind `last` are given up.
pub(super) fn open(
    storage: Arc<dyn Storage>,
    mut options: Options,
    last: Option<u64>,
) -> Result<Database> {
    let log_options = options.take_log();
    log_options.check()?;
    let lock = storage.lock().map_err(|error| super::in_use(&error))?;
    finish_replacing(&*storage).map_err(|error| storage_failed(&error))?;
    let group = read_group(&*storage)?.ok_or_else(|| {
        Error::new(ErrorKind::InvalidOptions).because("there is no replica in the folder")
    })?;
    let names = storage.names().map_err(|error| storage_failed(&error))?;
    let image = super::choose_image(&*storage, &names, RecoverUntil::End)?;
    let recovered = Attempt {
        storage: &*storage,
        shared: Some(&storage),
        log_options: &log_options,
        until: RecoverUntil::End,
        goes_on: true,
        names: &names,
        scan: Some(&|head| scan(&*storage, &group, last, head)),
    }
    .run(image, options)?;
    let header = recovered.db.instance.memory().header();
    header.commit.0.gap.store(GAP, Relaxed);
    let Recovered { end, .. } = &recovered;
    cut(&*storage, end.position).map_err(|error| storage_failed(&error))?;
    recovered.go_on(storage, lock, &log_options)
}

/// Reads the entries of a log, from an image on.
pub(super) fn scan(
    storage: &dyn Storage,
    group: &GroupFile,
    last: Option<u64>,
    head: &ImageHead,
) -> Result<Scanned> {
    let point = group.points.iter().find(|point| point.position == head.position);
    let Some(point) = point else {
        return Err(damaged("`group` does not know where the image goes on"));
    };
    let GroupPoint { position, id, timestamp, message_index, ref message } = *point;
    let before = EntryEnd { id, end: position, floor: position, timestamp };
    let log = GroupLog {
        before,
        message: (message_index, message.clone()),
        held: Vec::new(),
        messages: Vec::new(),
        replicated: id.index,
        applied: position,
        file: group.clone(),
    };
    let mut scanned = Scanned { log, end: before, stop: position };
    let reader = Reader::open(storage, Some(head.database), position).map_err(unreadable)?;
    if let Some(mut reader) = reader {
        read_entries(&mut reader, position, last, &mut scanned)?;
        reader.sync().map_err(|error| storage_failed(&error))?;
    }
    let Scanned { log, end, .. } = &mut scanned;
    log.replicated = log.replicated.min(end.id.index);
    let place = (log.replicated - before.id.index).checked_sub(1);
    let safe = place.map_or(before, |place| log.held[place as usize]);
    (log.applied, scanned.stop) = (safe.end, safe.end);
    Ok(scanned)
}

fn read_entries(
    reader: &mut Reader<'_>,
    position: u64,
    last: Option<u64>,
    scanned: &mut Scanned,
) -> Result<()> {
    let Scanned { log, end: last_end, .. } = scanned;
    let mut timestamp = last_end.timestamp;
    loop {
        let (frame, at) = match reader.next().map_err(|error| storage_failed(&error))? {
            Next::Frame { frame, at } => (frame, at),
            Next::End(end) => {
                return end.damage.map_or(Ok(()), |damage| Err(damaged(damage.to_string())));
            }
        };
        let (term, index, content) = match frame {
            Frame::Commit { timestamp: of, .. }
            | Frame::CommitOf { timestamp: of, .. }
            | Frame::Define { timestamp: of, .. } => {
                timestamp = of;
                continue;
            }
            Frame::Entry { term, index, content } => (term, index, content),
            Frame::Fragment { .. } | Frame::Mark { .. } | Frame::Close => continue,
        };
        let content = EntryContent::from_bytes(content).ok_or_else(|| damaged("an entry"))?;
        let id = EntryId { term, index };
        let (replicated, message) = (content.replicated, content.message.to_vec());
        let content = EntryContent { message: &[], ..content };
        let end = reader.position();
        let floor = content.floor(at.position, end).unwrap_or_default();
        let end = EntryEnd { id, end, floor, timestamp };
        // The log may be read from somewhat before the image on.
        if end.end <= position {
            continue;
        }
        if id.index != last_end.id.index + 1 {
            return Err(damaged(format!("entry {index} follows {}", last_end.id.index)));
        }
        if last.is_some_and(|last| index > last) {
            // What is behind is given up; whether it is damaged does not matter.
            return Ok(());
        }
        *last_end = end;
        log.replicated = log.replicated.max(replicated);
        log.held.push(end);
        if !message.is_empty() {
            log.messages.push((index, message));
        }
    }
}

/// Cuts the log off at a position: nothing is there behind it. Whenever this is interrupted, the
/// log is one that ends there or later.
fn cut(storage: &dyn Storage, position: u64) -> io::Result<()> {
    let mut headers = Vec::new();
    for number in file::numbers(storage)? {
        let file = storage.open(&file::name_of(number))?;
        match Header::read(&*file, number)? {
            Some(header) => headers.push(header),
            None => storage.remove(&file::name_of(number))?,
        }
    }
    let Some(place) = headers.iter().rposition(|header| header.start <= position) else {
        return Ok(());
    };
    let open = headers[place];
    let file = storage.open(&file::name_of(open.number))?;
    let length = open.len() + (position - open.start);
    let (old, _) = LogHead::read(storage)?;
    let synced = old.map_or(0, |head| head.synced.min(position));
    let file_len = file.len()?.min(length);
    // The head says less before there is less.
    HeadFile::open(storage)?.say(LogHead { header: open, file_len, synced })?;
    for header in headers[place + 1..].iter().rev() {
        storage.remove(&file::name_of(header.number))?;
    }
    storage.sync_names()?;
    if file.len()? > length {
        file.set_len(length)?;
    }
    file.sync()
}

/// Puts a copy of a replica in the place of what is in a folder. The copy's image is there before
/// `group` says so, and what it takes the place of goes afterwards.
pub(crate) fn replace(storage: &dyn Storage, copy: &dyn Storage) -> Result<()> {
    let _lock = storage.lock().map_err(|error| super::in_use(&error))?;
    let new = read_group(copy)?.ok_or_else(no_copy)?;
    let promise = read_group(storage)?.map_or(Vec::new(), |old| old.promise);
    let replaced = || -> io::Result<()> {
        let names = copy.names()?;
        let image = names.iter().find(|name| image_timestamp(name).is_some());
        let image = copy.open(image.ok_or(io::ErrorKind::NotFound)?)?;
        if storage.names()?.iter().any(|name| name == NEW_IMAGE) {
            storage.remove(NEW_IMAGE)?;
        }
        let file = storage.create(NEW_IMAGE)?;
        let (mut at, length) = (0, image.len()?);
        let mut bytes = vec![0; COPY_STEP];
        while at < length {
            let count = read_at_most(&*image, at, &mut bytes)?;
            write_all_at(&*file, at, &bytes[..count])?;
            at += count.max(1) as u64;
        }
        file.sync()?;
        storage.sync_names()?;
        GroupFile { promise, is_replaced: true, ..new }.write(storage)?;
        finish_replacing(storage)
    };
    replaced().map_err(|error| storage_failed(&error))
}

/// Lets go of what a copy takes the place of, and gives its image its name, if that is not done.
fn finish_replacing(storage: &dyn Storage) -> io::Result<()> {
    let Some(group) = GroupFile::read(storage)?.filter(|group| group.is_replaced) else {
        return Ok(());
    };
    let names = storage.names()?;
    if names.iter().any(|name| name == NEW_IMAGE) {
        let goes = |name: &&String| {
            file::number_of(name).is_some()
                || *name == head::NAME
                || name.starts_with(file::SPARE)
                || image_timestamp(name).is_some()
                || segment_files::number_of(name).is_some()
        };
        for name in names.iter().filter(goes) {
            storage.remove(name)?;
        }
        let head = image::read_head(&mut FileReader::new(storage.open(NEW_IMAGE)?));
        let head = head.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        storage.rename(NEW_IMAGE, &image_name(head.timestamp))?;
        storage.sync_names()?;
    }
    GroupFile { is_replaced: false, ..group }.write(storage)
}

/// What a copy says of its group.
pub(crate) fn message_of(copy: &dyn Storage) -> Result<(Vec<u8>, [u8; 16])> {
    let group = read_group(copy)?.ok_or_else(no_copy)?;
    let message = group.points.last().map_or(Vec::new(), |point| point.message.clone());
    Ok((message, group.database))
}

#[cold]
fn no_copy() -> Error {
    Error::new(ErrorKind::InvalidOptions).because("that is no copy of a replica")
}

/// Whether a folder holds a replica.
pub(super) fn is_replica(names: &[String]) -> bool {
    names.iter().any(|name| name == group_file::NAME)
}
