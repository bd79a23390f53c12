//! What a workload is to the harness: a plan, a way to measure a case, and figures to reach.
//!
//! The harness never looks into a workload: sizes, phases and parameters are its own. A new
//! workload is a module below this one and a line in `ALL`.

mod sensors;

mod readers;

mod long_reader;

mod sets;

pub(crate) mod ladder;

mod recovery;

pub(crate) mod burst;

pub(crate) mod memory;

use std::collections::BTreeMap;

use lab_harness::{Contender, Driver, Outcome, Setting};
use serde_json::Value;

use crate::choice::Choice;
use crate::contenders;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::record::Record;

/// Every workload of the laboratory.
pub(crate) const ALL: &[&dyn Workload] = &[
    &sensors::Sensors,
    &readers::Readers,
    &long_reader::LongReader,
    &sets::Sets,
    &ladder::Ladder,
    &recovery::Recovery,
    &burst::Burst,
    &memory::Memory,
];

/// A question that the laboratory puts to every contender.
pub(crate) trait Workload: Sync {
    /// The word on the command line and in records.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn summary(&self) -> &'static str;

    /// The settings in which a contender takes part.
    fn settings(&self, contender: &Contender) -> &'static [Setting];

    /// Who takes part unless somebody is named.
    fn contenders(&self) -> Vec<&'static Contender> {
        contenders::usual()
    }

    /// Whether a run may name the promises and the media of its settings.
    fn chooses_settings(&self) -> bool {
        false
    }

    /// Whether it compares the interfaces of Remanent.
    fn has_interfaces(&self) -> bool {
        false
    }

    /// How its records are shown.
    fn view(&self) -> View {
        View::Phases
    }

    /// What is to be measured, in groups whose cases are interleaved.
    fn plan(&self, choice: &Choice) -> Vec<Group>;

    /// Measures one case in this process.
    ///
    /// # Errors
    ///
    /// Whatever the contender reports.
    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>>;

    /// What was asked of Remanent and what these records, all of one run, say.
    fn figures(&self, records: &[Record]) -> Vec<Figure>;
}

/// What the tables and drawings of a workload put side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum View {
    /// The phases of each contender, and the bytes it holds.
    Phases,
    /// For each phase, every contender over the number of readers.
    OverReaders,
    /// For each contender, its memory over time.
    TimeSeries,
    /// For each phase, every contender over what it promises; commits over threads.
    Levels,
    /// What it costs to come back, for each byte and each row.
    Returns,
    /// For each phase and allocator, sizes of blocks over the bytes of all of them.
    BySize,
    /// For each way to fill and end a large transaction, every contender over its phases.
    Bursts,
}

/// Cases that are interleaved with each other.
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) rounds: u32,
    pub(crate) cases: Vec<Case>,
}

/// One contender in one setting at one size.
pub(crate) struct Case {
    pub(crate) contender: &'static Contender,
    pub(crate) setting: &'static Setting,
    pub(crate) rows: u64,
    /// Threads that read beside the one that is measured.
    pub(crate) readers: u64,
    /// Operations of a transaction.
    pub(crate) per_transaction: u64,
    /// Passed to the measured process, and part of the record.
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) seconds_max: Option<f64>,
    pub(crate) pinned: bool,
}

/// The workload of that name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}

/// The function that opens a contender for a workload.
fn opening<Open>(driver: Option<Driver<Open>>) -> Outcome<Open> {
    driver.map(|driver| driver.open).ok_or_else(|| "it does not take part".into())
}
