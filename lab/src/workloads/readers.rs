//! The reader-writer workload: one thread writes, zero to ten others read, all the time.
//!
//! The concurrency test of the RDM Embedded 10 comparison (Raima, 2010): 10,000 rows inserted,
//! updated at random and deleted in order, 1, 10 and 100 operations in a transaction, while every
//! reader looks up 100 random ids in each of its transactions. In reading order: the `plan` says
//! which contenders with how many readers, `content` what rows hold, `reader_threads` runs the
//! readers, `measure` the writer, `check` decides whether anybody saw what never was, `figures`
//! compares with what was asked.

mod plan;

mod content;

mod reader_threads;

mod measure;

mod check;

mod figures;

use lab_harness::{Contender, Outcome, Setting};

use crate::choice::Choice;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::record::Record;
use crate::workloads::{Group, View, Workload, opening};

pub(super) use content::{generation_of, row};

/// The `readers` workload.
pub(crate) struct Readers;

impl Workload for Readers {
    fn name(&self) -> &'static str {
        "readers"
    }

    fn summary(&self) -> &'static str {
        "one writer inserts, updates and deletes 10,000 rows beside 0 to 10 readers"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.shared_settings()
    }

    fn view(&self) -> View {
        View::OverReaders
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
        measure::measure(request, opening(contender.shared)?, setting)
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}
