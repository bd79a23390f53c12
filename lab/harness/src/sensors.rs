//! The interface of the sensor workload: one record, one ordered key, one call per transaction.
//!
//! The record is the `Measure` of the main-memory against RAM-disk comparison: two integers
//! that are the key, a string of variable length, a nested integer. Every call of a store is
//! one whole transaction. A read copies every field into the application's buffer, for every
//! contender alike. Stores of plain bytes use the packing at the end of this file.

use crate::setting::{Location, Outcome, Setting};

/// The longest `spectra`, in bytes.
pub const SPECTRA_LEN_MAX: usize = 1000;

/// How many keys one batched look-up carries.
pub const BATCH_LEN: usize = 64;

/// The primary key: ordered by sensor, then by timestamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SensorKey {
    /// The sensor.
    pub sensor_id: u32,
    /// The moment.
    pub timestamp: u32,
}

/// A record as the application hands it to a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measure<'a> {
    /// First part of the key.
    pub sensor_id: u32,
    /// Second part of the key.
    pub timestamp: u32,
    /// At most [`SPECTRA_LEN_MAX`] bytes.
    pub spectra: &'a str,
    /// The nested struct's only field.
    pub thing: i16,
}

/// The application's own record, into which a read copies every field. Its layout is C's, so that
/// a program in C can write it.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct MeasureBuffer {
    /// First part of the key.
    pub sensor_id: u32,
    /// Second part of the key.
    pub timestamp: u32,
    /// The nested struct's only field.
    pub thing: i16,
    spectra_len: u16,
    spectra: [u8; SPECTRA_LEN_MAX],
}

/// What the string of every record looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordShape {
    /// Lengths spread evenly over 0 to [`SPECTRA_LEN_MAX`].
    Variable,
    /// Every string has [`FIXED_SPECTRA_LEN`] bytes, so that a record has 64 bytes of fields;
    /// a store may use a column of fixed length.
    Fixed,
}

/// The string length of [`RecordShape::Fixed`].
pub const FIXED_SPECTRA_LEN: usize = 54;

/// Which of the optional reads a store offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    /// [`SensorStore::read_hash`].
    pub hash: bool,
    /// [`SensorStore::read_batch`].
    pub batch: bool,
}

/// Opens an empty database with the schema of this workload; fails with whatever the engine
/// reports, and the case is then recorded as skipped with that reason.
pub type OpenSensors = fn(&Setting, &Location<'_>, RecordShape) -> Outcome<Box<dyn SensorStore>>;

/// An open database of measures. Each call is one whole transaction.
pub trait SensorStore {
    /// Inserts one record whose key is new.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()>;

    /// Finds a record through the ordered key and copies every field into `out`; false when
    /// there is none.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool>;

    /// Which of the optional reads may be called.
    fn offers(&self) -> Offers {
        Offers::default()
    }

    /// As [`SensorStore::read`], through a hash index on the same key.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it is not offered.
    fn read_hash(&mut self, _key: SensorKey, _out: &mut MeasureBuffer) -> Outcome<bool> {
        Err("no hash index".into())
    }

    /// Finds up to [`BATCH_LEN`] records in one transaction and says how many were found. For
    /// each `keys[i]` that is found, every field is copied into `out` and `visit(i, out)` called:
    /// one buffer for the whole batch, since one for each key would not fit the innermost cache
    /// and the batch would be charged for it.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports; always, when it is not offered.
    fn read_batch(
        &mut self,
        _keys: &[SensorKey],
        _out: &mut MeasureBuffer,
        _visit: &mut dyn FnMut(usize, &MeasureBuffer),
    ) -> Outcome<usize> {
        Err("no batched look-up".into())
    }

    /// The bytes that the engine itself accounts for, where it does. Recorded beside what the
    /// operating system says, never instead of it.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }

    /// Closes the database.
    ///
    /// # Errors
    ///
    /// Whatever the engine reports.
    fn close(self: Box<Self>) -> Outcome<()>;
}

impl SensorKey {
    /// Both parts in one integer that orders as the key does.
    #[inline]
    #[must_use]
    pub fn packed(self) -> u64 {
        u64::from(self.sensor_id) << 32 | u64::from(self.timestamp)
    }

    /// Both parts in bytes that order as the key does.
    #[inline]
    #[must_use]
    pub fn to_bytes(self) -> [u8; 8] {
        self.packed().to_be_bytes()
    }
}

impl Measure<'_> {
    /// The record's key.
    #[inline]
    #[must_use]
    pub fn key(&self) -> SensorKey {
        SensorKey { sensor_id: self.sensor_id, timestamp: self.timestamp }
    }

    /// The sum of the field bytes: what "bytes of data" means in this workload.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        4 + 4 + 2 + self.spectra.len() as u64
    }
}

impl MeasureBuffer {
    /// An empty buffer.
    #[must_use]
    pub fn new() -> Self {
        Self { sensor_id: 0, timestamp: 0, thing: 0, spectra_len: 0, spectra: [0; SPECTRA_LEN_MAX] }
    }

    /// Copies every field in.
    ///
    /// # Panics
    ///
    /// When `spectra` is longer than [`SPECTRA_LEN_MAX`].
    #[inline]
    pub fn fill(&mut self, sensor_id: u32, timestamp: u32, spectra: &[u8], thing: i16) {
        self.sensor_id = sensor_id;
        self.timestamp = timestamp;
        self.thing = thing;
        self.spectra_len = spectra.len() as u16;
        self.spectra[..spectra.len()].copy_from_slice(spectra);
    }

    /// The string that was copied in last.
    #[inline]
    #[must_use]
    pub fn spectra(&self) -> &[u8] {
        &self.spectra[..usize::from(self.spectra_len)]
    }
}

impl Default for MeasureBuffer {
    fn default() -> Self {
        Self::new()
    }
}

/// Bytes of a packed value beside the string: `thing`.
pub const PACKED_HEAD_LEN: usize = 2;

/// How long the packed value of a record is; the key is not repeated in it.
#[inline]
#[must_use]
pub fn packed_len(measure: &Measure<'_>) -> usize {
    PACKED_HEAD_LEN + measure.spectra.len()
}

/// Writes the value of a record for a store of plain bytes: `thing`, then the string.
///
/// # Panics
///
/// When `into` is shorter than [`packed_len`].
#[inline]
pub fn pack(measure: &Measure<'_>, into: &mut [u8]) {
    let (head, rest) = into.split_at_mut(PACKED_HEAD_LEN);
    head.copy_from_slice(&measure.thing.to_le_bytes());
    rest[..measure.spectra.len()].copy_from_slice(measure.spectra.as_bytes());
}

/// Copies every field of a packed record out; false when the value cannot be one.
#[inline]
pub fn unpack(key: SensorKey, value: &[u8], out: &mut MeasureBuffer) -> bool {
    let Some((head, spectra)) = value.split_first_chunk::<PACKED_HEAD_LEN>() else {
        return false;
    };
    if spectra.len() > SPECTRA_LEN_MAX {
        return false;
    }
    out.fill(key.sensor_id, key.timestamp, spectra, i16::from_le_bytes(*head));
    true
}

#[cfg(test)]
#[path = "sensors_tests.rs"]
mod tests;
