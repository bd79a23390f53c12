//! The interface of the reader-writer workload: one writer, many readers, one table.
//!
//! The record is `rec_200` of the RDM Embedded 10 comparison: a unique id with an ordered index,
//! three small integers, 200 characters. A store is shared by threads; each thread asks it for a
//! writer or a reader of its own and keeps that. Every call of either is one whole transaction,
//! which is committed, or was aborted by the engine and is tried again by the caller. A found row
//! is shown where the engine has it: by reference where it lends one, else from the copy that it
//! made. Stores of plain bytes use the packing at the end of this file.

use crate::setting::{Location, Outcome, Setting};

/// Characters of a row's payload.
pub const PAYLOAD_LEN: usize = 200;

/// A row as the application hands it to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The key.
    pub id: i32,
    /// Beside the payload, and never changed.
    pub hexkey: [i16; 3],
    /// What an update replaces.
    pub payload: [u8; PAYLOAD_LEN],
}

/// A row as a store shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowView<'a> {
    /// The key.
    pub id: i32,
    /// Beside the payload, and never changed.
    pub hexkey: [i16; 3],
    /// [`PAYLOAD_LEN`] bytes.
    pub payload: &'a [u8],
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With all of its effects.
    Committed,
    /// With none: the engine gave it up for another one, and it may be tried again.
    Aborted,
}

/// What a transaction that deletes has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deleted {
    /// Rows deleted.
    pub rows: usize,
    /// The id of the last one.
    pub last: i32,
}

/// Bytes that an engine says it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryHeld {
    /// Everything.
    pub held_bytes: u64,
    /// Row versions, old ones included.
    pub rows_bytes: u64,
}

/// Opens an empty database with the schema of this workload; fails with whatever the engine
/// reports.
pub type OpenShared = fn(&Setting, &Location<'_>) -> Outcome<Box<dyn SharedStore>>;

/// An open database that threads share.
pub trait SharedStore: Sync {
    /// The writer, for the thread that calls. There is one at a time.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>>;

    /// A reader, for the thread that calls.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>>;

    /// A read transaction that stays open until it is dropped.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it is not offered.
    fn snapshot(&self) -> Outcome<Box<dyn Snapshot + '_>> {
        Err("no transaction that stays open".into())
    }

    /// What the engine's own accounting says is held.
    fn memory(&self) -> Option<MemoryHeld> {
        None
    }
}

/// The thread that changes rows. Each call is one whole transaction.
pub trait RowWriter {
    /// Inserts rows whose ids are new.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended>;

    /// Finds each row by its id and replaces its payload; the other fields stay what they are.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when a row is not there.
    fn update(&mut self, changes: &[Row]) -> Outcome<Ended>;

    /// Goes over the rows in the order of their ids, from the first that is not below `from`, and
    /// deletes each until `count` are deleted or none is left. `None` when it was aborted.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>>;
}

/// A thread that reads. Each call is one whole transaction.
pub trait RowReader {
    /// Looks each id up and shows what it finds, in the order of `ids`; `None` for a row that is
    /// not there. What was shown before an abort does not count.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended>;

    /// Shows every row, in any order.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended>;
}

/// What is done with a row that was looked for, or came by.
pub type See<'s> = dyn FnMut(Option<RowView<'_>>) + 's;

/// A read transaction that stays open.
pub trait Snapshot {
    /// Looks one id up, as it was when the snapshot was taken.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn look(&mut self, id: i32, see: &mut See<'_>) -> Outcome<()>;
}

impl Row {
    /// The row as a store would show it.
    #[inline]
    #[must_use]
    pub fn view(&self) -> RowView<'_> {
        RowView { id: self.id, hexkey: self.hexkey, payload: &self.payload }
    }
}

/// Bytes of a packed value before the payload: the three small integers.
pub const HEXKEY_LEN: usize = 6;

/// Bytes of a packed value; the key is not repeated in it.
pub const VALUE_LEN: usize = HEXKEY_LEN + PAYLOAD_LEN;

/// Writes the value of a row for a store of plain bytes.
///
/// # Panics
///
/// When `into` is shorter than [`VALUE_LEN`].
#[inline]
pub fn pack(row: &Row, into: &mut [u8]) {
    let (hexkey, payload) = into.split_at_mut(HEXKEY_LEN);
    hexkey.copy_from_slice(&hexkey_bytes(row.hexkey));
    payload[..PAYLOAD_LEN].copy_from_slice(&row.payload);
}

/// The row that a packed value is; `None` when it cannot be one.
#[inline]
#[must_use]
pub fn unpack(id: i32, value: &[u8]) -> Option<RowView<'_>> {
    let (hexkey, payload) = value.split_first_chunk::<HEXKEY_LEN>()?;
    Some(RowView { id, hexkey: hexkey_of(*hexkey), payload })
}

/// The three small integers as bytes.
#[inline]
#[must_use]
pub fn hexkey_bytes(hexkey: [i16; 3]) -> [u8; HEXKEY_LEN] {
    let [[a, b], [c, d], [e, f]] = hexkey.map(i16::to_le_bytes);
    [a, b, c, d, e, f]
}

/// The three small integers from bytes.
#[inline]
#[must_use]
pub fn hexkey_of([a, b, c, d, e, f]: [u8; HEXKEY_LEN]) -> [i16; 3] {
    [[a, b], [c, d], [e, f]].map(i16::from_le_bytes)
}

#[cfg(test)]
#[path = "readers_tests.rs"]
mod tests;
