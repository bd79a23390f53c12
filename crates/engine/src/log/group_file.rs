//! `group`: what a replica knows of its group beside the log.
//!
//! For each image, the entry of the log behind which it goes on, since what stands before is let
//! go; what the replica has promised to the group, which is never forgotten; and whether it has
//! acknowledged entries that may be in memory alone. The file is small and replaced as a whole.

use std::io;

use super::file::DatabaseId;
use super::group::EntryId;
use super::record::{put_varint, take_varint};
use crate::checksum::Checksum;
use crate::storage::{Storage, read_at_most, write_all_at};

/// The name of the file, and of a new one that has not taken its place.
pub(crate) const NAME: &str = "group";
pub(crate) const NEW: &str = "group.new";
const MAGIC: &[u8; 8] = b"RMNTGRP1";
/// The longest file.
const LENGTH_MAX: usize = 1 << 20;

/// The content of the file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupFile {
    pub(crate) database: DatabaseId,
    /// What the replica has promised, in words of the group.
    pub(crate) promise: Vec<u8>,
    /// Whether entries were acknowledged that may not be on the disk.
    pub(crate) is_unsure: bool,
    /// Whether a copy of another replica is taking the place of what is in the folder: its image is
    /// there, under its name or the one for new images.
    pub(crate) is_replaced: bool,
    /// Whether its image may have what no majority had when it came as a copy: with this replica,
    /// one has it.
    pub(crate) lacks_majority: bool,
    /// One for each image, oldest first.
    pub(crate) points: Vec<GroupPoint>,
}

/// A place of the log behind an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct GroupPoint {
    pub(crate) position: u64,
    pub(crate) id: EntryId,
    /// The timestamp of the last commit before it.
    pub(crate) timestamp: u64,
    /// The last message of the group up to here, and the index of the entry that had it.
    pub(crate) message_index: u64,
    pub(crate) message: Vec<u8>,
}

impl GroupFile {
    /// Reads it; `None` if there is none.
    ///
    /// # Errors
    /// The system's; `InvalidData` if it is damaged.
    pub(crate) fn read(storage: &dyn Storage) -> io::Result<Option<Self>> {
        let file = match storage.open(NAME) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = vec![0; (file.len()? as usize).min(LENGTH_MAX)];
        let count = read_at_most(&*file, 0, &mut bytes)?;
        let found = Self::from_bytes(&bytes[..count]);
        found.map(Some).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "`group`"))
    }

    /// Puts it in the place of the one that is there, on the disk.
    ///
    /// # Errors
    /// The system's; then the old one is there.
    pub(crate) fn write(&self, storage: &dyn Storage) -> io::Result<()> {
        if storage.names()?.iter().any(|name| name == NEW) {
            storage.remove(NEW)?;
        }
        let file = storage.create(NEW)?;
        write_all_at(&*file, 0, &self.to_bytes())?;
        file.sync()?;
        storage.rename(NEW, NAME)?;
        storage.sync_names()
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend_from_slice(&self.database);
        let flags = [self.is_unsure, self.is_replaced, self.lacks_majority];
        out.push(flags.iter().rev().fold(0, |flags, &flag| flags << 1 | u8::from(flag)));
        put_varint(&mut out, self.promise.len() as u64);
        out.extend_from_slice(&self.promise);
        for point in &self.points {
            let GroupPoint { position, id, timestamp, message_index, message } = point;
            let length = message.len() as u64;
            for number in [*position, id.term, id.index, *timestamp, *message_index, length] {
                put_varint(&mut out, number);
            }
            out.extend_from_slice(message);
        }
        let value = checksum_of(&out);
        out.extend_from_slice(&value.to_le_bytes());
        out
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (content, stored) = bytes.split_last_chunk::<4>()?;
        if u32::from_le_bytes(*stored) != checksum_of(content) {
            return None;
        }
        let rest = content.strip_prefix(MAGIC)?;
        let (database, rest) = rest.split_first_chunk::<16>()?;
        let (&flags, mut rest) = rest.split_first()?;
        let promise = counted(&mut rest)?;
        let mut points = Vec::new();
        while !rest.is_empty() {
            let mut number = || take_varint(&mut rest);
            let (position, term, index) = (number()?, number()?, number()?);
            let (timestamp, message_index) = (number()?, number()?);
            let message = counted(&mut rest)?;
            let id = EntryId { term, index };
            points.push(GroupPoint { position, id, timestamp, message_index, message });
        }
        let [is_unsure, is_replaced, lacks_majority] = [1, 2, 4].map(|flag| flags & flag != 0);
        Some(Self { database: *database, promise, is_unsure, is_replaced, lacks_majority, points })
    }
}

fn counted(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let length = take_varint(rest)? as usize;
    let (bytes, behind) = rest.split_at_checked(length)?;
    *rest = behind;
    Some(bytes.to_vec())
}

fn checksum_of(bytes: &[u8]) -> u32 {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.value()
}

#[cfg(test)]
mod tests;
