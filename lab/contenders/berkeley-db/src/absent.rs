//! Stands for `opened` where there is no library: everything fails with what is missing.
//!
//! A run does not come here, since a contender that is missing is not planned.

use lab_harness::burst::BurstStore;
use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Location, Outcome, Setting};

use crate::NOT_INSTALLED;

pub(crate) fn version() -> String {
    "not installed".to_owned()
}

pub(crate) fn sensors(
    _: &Setting,
    _: &Location<'_>,
    _: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn shared(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn pairs(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn recovered_pairs(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn commits(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn burst(_: &Setting, _: &Location<'_>, _: u64) -> Outcome<Box<dyn BurstStore>> {
    Err(NOT_INSTALLED.reason.into())
}
