//! A `HashMap` behind a mutex: the limit without an order.
//!
//! One lock per operation, the key packed into an integer and hashed with Fx. Its ordered read
//! is the same look-up as its hash read: it is listed to show what giving up order is worth.

use lab_harness::sensors::RecordShape;
use lab_harness::{Contender, Driver};
use rustc_hash::FxHashMap;

use crate::pairs::Hashed;
use crate::sensors::{Boxed, Inline, Locked as LockedMap};
use crate::threads::{Fields, Locked};

/// The `hashmap` contender.
pub static HASH: Contender = Contender {
    sensors: Some(Driver {
        settings: crate::UNORDERED,
        open: |_, _, shape| {
            Ok(match shape {
                RecordShape::Variable => Box::new(LockedMap::<FxHashMap<u64, Boxed>>::default()),
                RecordShape::Fixed => Box::new(LockedMap::<FxHashMap<u64, Inline>>::default()),
            })
        },
    }),
    shared: Some(Driver {
        settings: crate::SHARED_UNORDERED,
        open: |_, _| Ok(Box::new(Locked::<FxHashMap<i32, Fields>>::default())),
    }),
    pairs: Some(Driver {
        settings: crate::HASHED_PAIRS,
        open: |_, _| Ok(Box::new(Hashed::default())),
    }),
    ..Contender::named("hashmap", crate::standard_library_version)
};
