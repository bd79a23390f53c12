//! Coming back: a database is opened again after its process is gone.
//!
//! A process of its own writes small pairs, says when it is done and is killed without closing
//! anything; then the measured process opens what is left. In promise `memory` it saved an image,
//! which is loaded; in any other its log is replayed, or whatever takes a log's place. In reading
//! order: the plan here, `leave` writes and is killed, `measure` opens and compares every pair.

mod crash_child;

mod measure;

use std::collections::BTreeMap;

use lab_harness::{Contender, Outcome, Promise, Setting};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::quantity::grouped;
use crate::record::Record;
use crate::workloads::{Case, Group, View, Workload};

/// The `recovery` workload.
pub(crate) struct Recovery;

/// The parameter that makes a process the one that is killed.
const LEAVES: &str = "leaves";

const ROWS: u64 = 1_000_000;

const ROWS_QUICK: u64 = 50_000;

/// Row changes of a transaction.
const PER_TRANSACTION: u64 = 100;

impl Workload for Recovery {
    fn name(&self) -> &'static str {
        "recovery"
    }

    fn summary(&self) -> &'static str {
        "1,000,000 small pairs come back: an image is loaded, a log replayed after a kill"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.recovery_settings()
    }

    fn contenders(&self) -> Vec<&'static Contender> {
        let mut all = contenders::with_pairs();
        all.retain(|contender| !contender.recovery_settings().is_empty());
        all
    }

    fn view(&self) -> View {
        View::Returns
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let rows = choice.rows.unwrap_or(match choice.scale {
            Scale::Quick => ROWS_QUICK,
            _ => ROWS,
        });
        let size = grouped(rows);
        let mut groups = vec![
            group(choice, rows, format!("load: an image of {size} pairs"), is_image),
            group(choice, rows, format!("replay: {size} pairs, then a kill"), |s| !is_image(s)),
        ];
        groups.retain(|group| !group.cases.is_empty());
        groups
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        let driver = contender.recovery.ok_or("it does not come back")?;
        if request.parameters.contains_key(LEAVES) {
            return crash_child::write_and_wait(request, driver.create, setting);
        }
        crash_child::kill_one(request)?;
        measure::measure(request, driver.reopen, driver.reads, setting)
    }

    fn figures(&self, _: &[Record]) -> Vec<Figure> {
        Vec::new()
    }
}

/// Whether a database comes back from an image.
fn is_image(setting: &Setting) -> bool {
    setting.promise == Promise::Memory
}

fn group(choice: &Choice, rows: u64, title: String, keep: impl Fn(&Setting) -> bool) -> Group {
    let mut cases = Vec::new();
    let installed = choice.contenders.iter().filter(|contender| contender.missing.is_none());
    for &contender in installed {
        for setting in contender.recovery_settings().iter().filter(|setting| keep(setting)) {
            cases.push(Case {
                contender,
                setting,
                rows,
                readers: 0,
                per_transaction: PER_TRANSACTION,
                parameters: BTreeMap::<String, Value>::new(),
                seconds_max: None,
                pinned: true,
            });
        }
    }
    Group { title, rounds: choice.rounds, cases }
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
