//! The sensor workload: write measures one transaction each, then read each back by its key.
//!
//! The workload of the main-memory against RAM-disk comparison (McObject, 2001), at its own
//! size and at a million rows, in key order and at random. In reading order: the `plan` says
//! which contenders at which sizes, a `dataset` is made before any clock runs, `measure` times
//! the phases, `check` decides whether the answers were right, `figures` compares with what
//! was asked, `interfaces` the ones in C with the one in Rust, `media` a disk with a RAM disk.

mod plan;

mod dataset;

mod measure;

mod check;

mod figures;

mod interfaces;

mod media;

use lab_harness::{Contender, Outcome, Setting};

use crate::choice::Choice;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::record::Record;
use crate::workloads::{Group, Workload, opening};

/// The `sensors` workload.
pub(crate) struct Sensors;

impl Workload for Sensors {
    fn name(&self) -> &'static str {
        "sensors"
    }

    fn summary(&self) -> &'static str {
        "measures written one transaction each, then read back by key one transaction each"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.sensor_settings()
    }

    fn has_interfaces(&self) -> bool {
        true
    }

    fn chooses_settings(&self) -> bool {
        true
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        plan::plan(choice)
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        measure::measure(request, opening(contender.sensors)?, setting)
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}
