//! Stands for `database` where there is no library: everything fails with what is missing.
//!
//! A run does not come here, since a contender that is missing is not planned.

use lab_harness::pairs::{CommitStore, PairStore};
use lab_harness::{Location, Outcome, Setting};

use crate::NOT_INSTALLED;

pub(crate) fn version() -> String {
    "not installed".to_owned()
}

pub(crate) fn open_pairs(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn open_to_return(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    Err(NOT_INSTALLED.reason.into())
}

pub(crate) fn open_commits(_: &Setting, _: &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    Err(NOT_INSTALLED.reason.into())
}
