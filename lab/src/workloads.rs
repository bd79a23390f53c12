//! What a workload is to the harness: a plan, a way to measure a cell, and figures to reach.
//!
//! The harness never looks into a workload: sizes, phases and parameters are its own. A new
//! workload is a module below this one and a line in `ALL`.

mod sensors;

use std::collections::BTreeMap;

use lab_harness::{Contender, Outcome, Setting};
use serde_json::Value;

use crate::cell::{CellRequest, Line};
use crate::command::Choice;
use crate::record::Record;

/// Every workload of the laboratory.
pub(crate) const ALL: &[&dyn Workload] = &[&sensors::Sensors];

/// A question that the laboratory puts to every contender.
pub(crate) trait Workload: Sync {
    /// The word on the command line and in records.
    fn name(&self) -> &'static str;

    /// One line about it.
    fn summary(&self) -> &'static str;

    /// What is to be measured, in groups whose cells are interleaved.
    fn plan(&self, choice: &Choice) -> Vec<Group>;

    /// Measures one cell in this process.
    ///
    /// # Errors
    ///
    /// Whatever the contender reports.
    fn measure(
        &self,
        request: &CellRequest,
        contender: &dyn Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>>;

    /// What was asked of Remanent and what these records, all of one run, say.
    fn figures(&self, records: &[Record]) -> Vec<Figure>;
}

/// Cells that are interleaved with each other.
pub(crate) struct Group {
    pub(crate) title: String,
    pub(crate) rounds: u32,
    pub(crate) cells: Vec<Cell>,
}

/// One contender in one setting at one size.
pub(crate) struct Cell {
    pub(crate) contender: &'static dyn Contender,
    pub(crate) setting: &'static Setting,
    pub(crate) rows: u64,
    /// Passed to the measured process, and part of the record.
    pub(crate) parameters: BTreeMap<String, Value>,
    pub(crate) seconds_max: Option<f64>,
    pub(crate) pinned: bool,
}

/// One line of the list of figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) what: String,
    pub(crate) asked: String,
    /// Absent when the run did not measure it.
    pub(crate) measured: Option<String>,
    pub(crate) reached: Option<bool>,
}

/// The workload of that name.
pub(crate) fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter().copied().find(|workload| workload.name() == name)
}
