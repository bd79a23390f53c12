//! What tests of workloads share: the setting and the request of a contender that a test makes.
//!
//! A test hands its own function that opens to what measures, so that no contender is made up; what
//! a store does wrong stands with the workload that has to find it out.

use std::collections::BTreeMap;

use lab_harness::{Medium, Promise, Setting, Tier};

use crate::protocol::CaseRequest;

/// A plain setting.
pub(crate) const fn setting(promise: Promise, medium: Medium) -> Setting {
    Setting { variant: "", promise, medium, tier: Tier::Always, note: "" }
}

/// A request of one operation in a transaction, without readers, parameters and limits.
pub(crate) fn request(workload: &str, setting: &Setting, rows: u64) -> CaseRequest {
    CaseRequest {
        workload: workload.to_owned(),
        contender: "fake".to_owned(),
        variant: setting.variant.to_owned(),
        promise: setting.promise,
        medium: setting.medium,
        rows,
        readers: 0,
        per_transaction: 1,
        parameters: BTreeMap::new(),
        seconds_max: None,
        directory: None,
        core: None,
    }
}
