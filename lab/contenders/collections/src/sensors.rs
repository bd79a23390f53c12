//! Records in a map behind a mutex, for the sensor workload.
//!
//! One lock per operation. A record is packed before the lock is taken, and copied out while it is
//! held: in a box of its own length, or in the map itself where all have one length.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lab_harness::Outcome;
use lab_harness::sensors::{
    FIXED_SPECTRA_LEN, Measure, MeasureBuffer, PACKED_HEAD_LEN, SensorKey, SensorStore, pack,
    packed_len, unpack,
};
use rustc_hash::FxHashMap;

/// A map behind its mutex.
#[derive(Default)]
pub(crate) struct Locked<M>(Mutex<M>);

/// The value of a record of any length.
pub(crate) type Boxed = Box<[u8]>;

/// The value of a record of the fixed length.
pub(crate) type Inline = [u8; PACKED_HEAD_LEN + FIXED_SPECTRA_LEN];

/// A packed record.
pub(crate) trait Packed: AsRef<[u8]> {
    fn packed(measure: &Measure<'_>) -> Self;
}

/// A map from packed keys to packed records.
pub(crate) trait Map {
    type Value: Packed;

    fn put(&mut self, key: u64, value: Self::Value);

    fn look(&self, key: u64) -> Option<&Self::Value>;
}

impl Packed for Boxed {
    #[inline]
    fn packed(measure: &Measure<'_>) -> Self {
        let mut value = vec![0; packed_len(measure)].into_boxed_slice();
        pack(measure, &mut value);
        value
    }
}

impl Packed for Inline {
    #[inline]
    fn packed(measure: &Measure<'_>) -> Self {
        let mut value = [0; PACKED_HEAD_LEN + FIXED_SPECTRA_LEN];
        pack(measure, &mut value);
        value
    }
}

impl<V: Packed> Map for BTreeMap<u64, V> {
    type Value = V;

    #[inline]
    fn put(&mut self, key: u64, value: V) {
        self.insert(key, value);
    }

    #[inline]
    fn look(&self, key: u64) -> Option<&V> {
        self.get(&key)
    }
}

impl<V: Packed> Map for FxHashMap<u64, V> {
    type Value = V;

    #[inline]
    fn put(&mut self, key: u64, value: V) {
        self.insert(key, value);
    }

    #[inline]
    fn look(&self, key: u64) -> Option<&V> {
        self.get(&key)
    }
}

impl<M: Map> SensorStore for Locked<M> {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let value = M::Value::packed(measure);
        let mut map = self.0.lock().map_err(|_| "poisoned")?;
        map.put(measure.key().packed(), value);
        Ok(())
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let map = self.0.lock().map_err(|_| "poisoned")?;
        Ok(map.look(key.packed()).is_some_and(|value| unpack(key, value.as_ref(), out)))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
