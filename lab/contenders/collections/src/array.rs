//! A flat array: the limit of reading in order.
//!
//! It takes part where pairs are read in order, and promises nothing.

use lab_harness::pairs::PairStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Contender, Outcome, Place, Setting};

use crate::pairs::Flat;

/// The `array` contender.
#[derive(Clone, Copy, Debug)]
pub struct Array;

impl Contender for Array {
    fn name(&self) -> &'static str {
        "array"
    }

    fn version(&self) -> String {
        crate::standard_library_version()
    }

    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    fn open_sensors(
        &self,
        _: &Setting,
        _: &Place<'_>,
        _: RecordShape,
    ) -> Outcome<Box<dyn SensorStore>> {
        Err("an array has no keys".into())
    }

    fn pair_settings(&self) -> &'static [Setting] {
        crate::FLAT_PAIRS
    }

    fn open_pairs(&self, _: &Setting, _: &Place<'_>) -> Outcome<Box<dyn PairStore>> {
        Ok(Box::new(Flat::default()))
    }
}
