//! A `BTreeMap` behind a mutex: the ordered limit.
//!
//! One lock per operation, the key packed into an integer that orders as the key does. The
//! record is built before the lock is taken and copied out while it is held.

use std::collections::BTreeMap;

use lab_harness::burst::BurstStore;
use lab_harness::sensors::RecordShape;
use lab_harness::{Contender, Driver, Location, Outcome, Setting};

use crate::burst::Bare;
use crate::pairs::Ordered;
use crate::sensors::{Boxed, Inline, Locked as LockedMap};
use crate::threads::{Fields, Locked};

/// The `btreemap` contender.
pub static BTREE: Contender = Contender {
    sensors: Some(Driver {
        settings: crate::ORDERED,
        open: |_, _, shape| {
            Ok(match shape {
                RecordShape::Variable => Box::new(LockedMap::<BTreeMap<u64, Boxed>>::default()),
                RecordShape::Fixed => Box::new(LockedMap::<BTreeMap<u64, Inline>>::default()),
            })
        },
    }),
    shared: Some(Driver {
        settings: crate::SHARED_ORDERED,
        open: |_, _| Ok(Box::new(Locked::<BTreeMap<i32, Fields>>::default())),
    }),
    pairs: Some(Driver {
        settings: crate::ORDERED_PAIRS,
        open: |_, _| Ok(Box::new(Ordered::default())),
    }),
    burst: Some(Driver { settings: crate::BURST, open: open_burst }),
    ..Contender::named("btreemap", crate::standard_library_version)
};

fn open_burst(_: &Setting, _: &Location<'_>, snapshots: u64) -> Outcome<Box<dyn BurstStore>> {
    match snapshots {
        0 => Ok(Box::new(Bare::default())),
        _ => Err("nobody reads a map while somebody inserts".into()),
    }
}
