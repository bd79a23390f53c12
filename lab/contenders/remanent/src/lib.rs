//! Remanent itself, through its typed Rust interface.
//!
//! The plain setting has one ordered index on the key, as every other contender has; the variant
//! `hash` has one hash index in its place and answers equality alone. Nothing is committed ahead:
//! the region grows while rows are inserted, and the time for that counts.

mod stores;

use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Medium, Outcome, Place, Promise, Setting, Tier};

/// The `remanent` contender.
#[derive(Clone, Copy, Debug)]
pub struct Remanent;

const SETTINGS: &[Setting] = &[
    setting("", "one region of anonymous memory; one ordered index, unique"),
    setting("hash", "one region of anonymous memory; one hash index, unique, and no other"),
];

const fn setting(variant: &'static str, note: &'static str) -> Setting {
    Setting {
        variant,
        promise: Promise::Memory,
        medium: Medium::Memory,
        tier: Tier::Always,
        note,
    }
}

impl Contender for Remanent {
    fn name(&self) -> &'static str {
        "remanent"
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn open_sensors(&self, setting: &Setting, place: &Place<'_>) -> Outcome<Box<dyn SensorStore>> {
        Ok(match (place.shape, setting.variant) {
            (RecordShape::Variable, "hash") => Box::new(stores::VariableHashed::open()?),
            (RecordShape::Variable, _) => Box::new(stores::Variable::open()?),
            (RecordShape::Fixed, "hash") => Box::new(stores::FixedHashed::open()?),
            (RecordShape::Fixed, _) => Box::new(stores::Fixed::open()?),
        })
    }
}
