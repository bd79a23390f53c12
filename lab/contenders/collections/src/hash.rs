//! A `HashMap` behind a mutex: the limit without an order.
//!
//! One lock per operation, the key packed into an integer and hashed with Fx. Its ordered read
//! is the same look-up as its hash read: it is listed to show what giving up order is worth.

use std::sync::Mutex;

use lab_harness::pairs::PairStore;
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{
    Measure, MeasureBuffer, RecordShape, SensorKey, SensorStore, pack, packed_len, unpack,
};
use lab_harness::{Contender, Outcome, Place, Setting};
use rustc_hash::FxHashMap;

use crate::FIXED_VALUE_LEN;
use crate::pairs::Hashed;
use crate::threads::{Fields, Locked};

/// The `hashmap` contender.
#[derive(Clone, Copy, Debug)]
pub struct Hash;

struct Boxed {
    map: Mutex<FxHashMap<u64, Box<[u8]>>>,
}

struct Inline {
    map: Mutex<FxHashMap<u64, [u8; FIXED_VALUE_LEN]>>,
}

impl Contender for Hash {
    fn name(&self) -> &'static str {
        "hashmap"
    }

    fn version(&self) -> String {
        crate::standard_library_version()
    }

    fn settings(&self) -> &'static [Setting] {
        crate::UNORDERED
    }

    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        shape: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Ok(match shape {
            RecordShape::Variable => Box::new(Boxed { map: Mutex::default() }),
            RecordShape::Fixed => Box::new(Inline { map: Mutex::default() }),
        })
    }

    fn shared_settings(&self) -> &'static [Setting] {
        crate::SHARED_UNORDERED
    }

    fn open_shared(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Ok(Box::new(Locked::<FxHashMap<i32, Fields>>::default()))
    }

    fn pair_settings(&self) -> &'static [Setting] {
        crate::HASHED_PAIRS
    }

    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(Hashed::default()))
    }
}

impl SensorStore for Boxed {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let mut value = vec![0; packed_len(measure)].into_boxed_slice();
        pack(measure, &mut value);
        let mut map = self.map.lock().map_err(|_| "poisoned")?;
        map.insert(measure.key().packed(), value);
        Ok(())
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let map = self.map.lock().map_err(|_| "poisoned")?;
        Ok(map.get(&key.packed()).is_some_and(|value| unpack(key, value, out)))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl SensorStore for Inline {
    fn insert(&mut self, measure: &Measure<'_>) -> Outcome<()> {
        let mut value = [0; FIXED_VALUE_LEN];
        pack(measure, &mut value);
        let mut map = self.map.lock().map_err(|_| "poisoned")?;
        map.insert(measure.key().packed(), value);
        Ok(())
    }

    fn read(&mut self, key: SensorKey, out: &mut MeasureBuffer) -> Outcome<bool> {
        let map = self.map.lock().map_err(|_| "poisoned")?;
        Ok(map.get(&key.packed()).is_some_and(|value| unpack(key, value, out)))
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
