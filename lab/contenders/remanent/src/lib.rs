//! Remanent itself, through its public Rust API.
//!
//! The adapter is one file and speaks only `lab_harness` and `remanent`. `Remanent` names the
//! settings; the store in `open_sensors` maps each call of `SensorStore` to one transaction. It
//! reports itself missing as long as the engine cannot be linked.

use lab_harness::sensors::SensorStore;
use lab_harness::{Contender, Medium, Missing, Outcome, Place, Promise, Setting, Tier};

/// The `remanent` contender.
#[derive(Clone, Copy, Debug)]
pub struct Remanent;

const SETTINGS: &[Setting] = &[Setting {
    variant: "",
    promise: Promise::Memory,
    medium: Medium::Memory,
    tier: Tier::Always,
    note: "one region of anonymous memory, ordered and hash index on the key",
}];

impl Contender for Remanent {
    fn name(&self) -> &'static str {
        "remanent"
    }

    fn version(&self) -> String {
        env!("CARGO_PKG_VERSION").to_owned()
    }

    fn missing(&self) -> Option<Missing> {
        Some(Missing {
            reason: "the engine is not linked into this build yet".to_owned(),
            install: "git pull",
        })
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn open_sensors(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn SensorStore>> {
        Err("the engine is not linked into this build yet".into())
    }
}
