//! A `BTreeMap` behind a mutex: the ordered limit.
//!
//! One lock per operation, the key packed into an integer that orders as the key does. The
//! record is built before the lock is taken and copied out while it is held.

use std::collections::BTreeMap;
use std::sync::Mutex;

use lab_harness::burst::BurstStore;
use lab_harness::pairs::PairStore;
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{
    Measure, MeasureBuffer, RecordShape, SensorKey, SensorStore, pack, packed_len, unpack,
};
use lab_harness::{Contender, Outcome, Place, Setting};

use crate::FIXED_VALUE_LEN;
use crate::burst::Bare;
use crate::pairs::Ordered;
use crate::threads::{Fields, Locked};

/// The `btreemap` contender.
#[derive(Clone, Copy, Debug)]
pub struct BTree;

struct Boxed {
    map: Mutex<BTreeMap<u64, Box<[u8]>>>,
}

struct Inline {
    map: Mutex<BTreeMap<u64, [u8; FIXED_VALUE_LEN]>>,
}

impl Contender for BTree {
    fn name(&self) -> &'static str {
        "btreemap"
    }

    fn version(&self) -> String {
        crate::standard_library_version()
    }

    fn settings(&self) -> &'static [Setting] {
        crate::ORDERED
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
        crate::SHARED_ORDERED
    }

    fn open_shared(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SharedStore>> {
        Ok(Box::new(Locked::<BTreeMap<i32, Fields>>::default()))
    }

    fn pair_settings(&self) -> &'static [Setting] {
        crate::ORDERED_PAIRS
    }

    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(Ordered::default()))
    }

    fn burst_settings(&self) -> &'static [Setting] {
        crate::BURST
    }

    fn open_burst(
        &self,
        _: &Setting,
        _: &Place<'_>,
        snapshots: u64,
    ) -> Outcome<Box<dyn BurstStore>> {
        match snapshots {
            0 => Ok(Box::new(Bare::default())),
            _ => Err("nobody reads a map while somebody inserts".into()),
        }
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
