//! Opens Berkeley DB for each workload.
//!
//! The same functions stand in `absent`, where there is no library.

use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::readers::SharedStore;
use lab_harness::sensors::{RecordShape, SensorStore};
use lab_harness::{Location, Outcome, Setting};

use crate::{burst, database, pairs};

pub(crate) use burst::open as burst;
pub(crate) use database::version;

pub(crate) fn sensors(
    setting: &Setting,
    location: &Location<'_>,
    _: RecordShape,
) -> Outcome<Box<dyn SensorStore>> {
    Ok(Box::new(database::Database::open(setting, location)?))
}

pub(crate) fn shared(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn SharedStore>> {
    Ok(Box::new(database::Shared::open(setting, location)?))
}

pub(crate) fn pairs(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(pairs::open(setting, location, false)?))
}

pub(crate) fn recovered_pairs(
    setting: &Setting,
    location: &Location<'_>,
) -> Outcome<Box<dyn PairStore>> {
    Ok(Box::new(pairs::open(setting, location, true)?))
}

pub(crate) fn commits(setting: &Setting, location: &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    Ok(Box::new(pairs::open_commits(setting, location)?))
}
