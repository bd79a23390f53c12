//! The long-reader workload: one reader stays open beside a writer of a few hot rows.
//!
//! A thousand rows are updated ten million times, one update a transaction, while a snapshot taken
//! before the first of them stays open and is read now and then. What the snapshot sees never
//! changes, so it needs one old version of each row; what the database holds beside that is what
//! this workload shows. `measure` runs it, `figures` asks whether memory stays bounded.

mod measure;

mod figures;

use std::collections::BTreeMap;

use lab_harness::{Contender, Outcome, Setting};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::quantity::grouped;
use crate::record::Record;
use crate::workloads::{Case, Group, View, Workload, opening};

/// The `long-reader` workload.
pub(crate) struct LongReader;

/// Who offers a snapshot that stays open, and says what it holds.
const CONTENDER: &str = "remanent";

const ROWS: u64 = 1_000;
const UPDATES: u64 = 10_000_000;
const UPDATES_QUICK: u64 = 200_000;

/// The name of the parameter that says how many updates there are.
const UPDATES_WORD: &str = "updates";

/// The name of the parameter that says over how many minutes they are spread.
const MINUTES: &str = "minutes";

/// When the updates end though not all of them are done, unless they are paced.
const SECONDS_MAX: f64 = 300.0;

impl Workload for LongReader {
    fn name(&self) -> &'static str {
        "long-reader"
    }

    fn summary(&self) -> &'static str {
        "a reader stays open while 1,000 rows are updated 10,000,000 times: memory over updates"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.shared_settings()
    }

    fn view(&self) -> View {
        View::TimeSeries
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let updates = if choice.scale == Scale::Quick { UPDATES_QUICK } else { UPDATES };
        let mut parameters = BTreeMap::from([(UPDATES_WORD.to_owned(), Value::from(updates))]);
        let mut title = format!("{} updates beside a reader that stays open", grouped(updates));
        let mut seconds_max = SECONDS_MAX;
        if let Some(minutes) = choice.minutes {
            parameters.insert(MINUTES.to_owned(), Value::from(minutes));
            title = format!("{title}, over {minutes} minutes");
            seconds_max += f64::from(minutes) * 60.0;
        }
        let asked = choice.contenders.iter().copied();
        let cases: Vec<Case> = asked
            .filter(|contender| contender.name == CONTENDER && contender.missing.is_none())
            .flat_map(|contender| {
                let first = contender.shared_settings().iter().take(1);
                first.map(move |own| (contender, own))
            })
            .map(|(contender, setting)| Case {
                contender,
                setting,
                rows: choice.rows.unwrap_or(ROWS),
                readers: 1,
                per_transaction: 1,
                parameters: parameters.clone(),
                seconds_max: Some(seconds_max),
                pinned: false,
            })
            .collect();
        let group = Group { title, rounds: 1, cases };
        if group.cases.is_empty() { Vec::new() } else { vec![group] }
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

#[cfg(test)]
#[path = "long_reader_tests.rs"]
mod tests;
