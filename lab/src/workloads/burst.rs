//! A burst: one transaction that inserts ten million records, and what it costs to end it.
//!
//! Records are a key of 8 bytes and a value of 32. Keys ascend or are shuffled; at the end the
//! transaction is committed or rolled back, and the database is closed; in one variant a hundred
//! transactions that read are opened along the way and stay. In reading order: the plan here,
//! `measure` times one process, `figures` compares.

mod measure;

mod figures;

use std::collections::BTreeMap;

use lab_harness::{Contender, Outcome, Promise, Setting, Tier};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::quantity::grouped;
use crate::record::Record;
use crate::table;
use crate::workloads::{Case, Group, View, Workload, opening};

/// The `burst` workload.
pub(crate) struct Burst;

/// The parameters of a case, which are part of its records.
pub(crate) const ORDER: &str = "order";
pub(crate) const ENDING: &str = "ending";
pub(crate) const SNAPSHOTS: &str = "snapshots";

/// Values of those parameters.
pub(crate) const ASCENDING: &str = "ascending";
pub(crate) const RANDOM: &str = "random";
pub(crate) const COMMIT: &str = "commit";
pub(crate) const ABORT: &str = "abort";

const ROWS: u64 = 10_000_000;

const ROWS_ORDINARY: u64 = 1_000_000;

const ROWS_QUICK: u64 = 100_000;

/// Transactions that read, in the variant that has them.
const SNAPSHOT_COUNT: u64 = 100;

/// How much CPU time the inserts of a case may take.
const SECONDS_MAX: f64 = 20.0;

const SECONDS_MAX_QUICK: f64 = 2.0;

/// How a setting of that name wants its keys.
const APPENDS: &str = "append";

/// What a case does with its transaction.
struct Variant {
    order: &'static str,
    ending: &'static str,
    snapshots: u64,
    /// Who takes part in an ordinary run.
    usual: Usual,
    /// A case takes seconds, and its database is filled anew for each round.
    rounds_max: u32,
}

/// Which settings take part in a variant unless everything is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usual {
    /// Those of the tier of every run.
    All,
    /// Those that promise no more than memory.
    InMemory,
    /// Those of them that are ours.
    OursInMemory,
}

const VARIANTS: [Variant; 5] = [
    variant(ASCENDING, COMMIT, 0, Usual::All, 3),
    variant(RANDOM, COMMIT, 0, Usual::InMemory, 2),
    variant(ASCENDING, ABORT, 0, Usual::InMemory, 3),
    variant(RANDOM, ABORT, 0, Usual::OursInMemory, 2),
    variant(ASCENDING, COMMIT, SNAPSHOT_COUNT, Usual::InMemory, 3),
];

const fn variant(
    order: &'static str,
    ending: &'static str,
    snapshots: u64,
    usual: Usual,
    rounds_max: u32,
) -> Variant {
    Variant { order, ending, snapshots, usual, rounds_max }
}

impl Workload for Burst {
    fn name(&self) -> &'static str {
        "burst"
    }

    fn summary(&self) -> &'static str {
        "10,000,000 records in one transaction: inserted, committed or rolled back, closed"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.burst_settings()
    }

    fn contenders(&self) -> Vec<&'static Contender> {
        let mut all = contenders::usual();
        all.retain(|contender| !contender.burst_settings().is_empty());
        all
    }

    fn view(&self) -> View {
        View::Bursts
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let mut groups: Vec<Group> =
            VARIANTS.iter().map(|variant| group(choice, variant)).collect();
        groups.retain(|group| !group.cases.is_empty());
        groups
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        measure::measure(request, opening(contender.burst)?, setting)
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}

fn group(choice: &Choice, variant: &Variant) -> Group {
    let rows = choice.rows.unwrap_or(match choice.scale {
        Scale::Quick => ROWS_QUICK,
        Scale::Ordinary => ROWS_ORDINARY,
        Scale::Full | Scale::All => ROWS,
    });
    let installed = choice.contenders.iter().filter(|contender| contender.missing.is_none());
    let mut cases = Vec::new();
    for &contender in installed {
        let settings = contender.burst_settings().iter();
        let takes = |setting: &&Setting| variant.takes(contender, setting, choice.scale);
        for setting in settings.filter(takes) {
            cases.push(Case {
                contender,
                setting,
                rows,
                readers: 0,
                per_transaction: rows,
                parameters: variant.parameters(),
                seconds_max: match choice.scale {
                    Scale::Quick => Some(SECONDS_MAX_QUICK),
                    Scale::Ordinary | Scale::Full => Some(SECONDS_MAX),
                    Scale::All => None,
                },
                pinned: true,
            });
        }
    }
    let title = format!("{}: {} records", words(&variant.parameters()), grouped(rows));
    Group { title, rounds: choice.rounds.min(variant.rounds_max), cases }
}

impl Variant {
    fn takes(&self, contender: &Contender, setting: &Setting, scale: Scale) -> bool {
        let in_memory = setting.promise <= Promise::Memory;
        let takes = match (scale, self.usual) {
            (Scale::All, _) => true,
            (_, Usual::All) => setting.tier == Tier::Always,
            (_, Usual::InMemory) => in_memory,
            (_, Usual::OursInMemory) => in_memory && contender.name == table::BASES[0],
        };
        let can_roll_back = setting.promise > Promise::None || self.ending == COMMIT;
        takes && can_roll_back && (setting.variant != APPENDS || self.order == ASCENDING)
    }

    fn parameters(&self) -> BTreeMap<String, Value> {
        let mut parameters = BTreeMap::from([
            (ORDER.to_owned(), Value::from(self.order)),
            (ENDING.to_owned(), Value::from(self.ending)),
        ]);
        if self.snapshots > 0 {
            parameters.insert(SNAPSHOTS.to_owned(), Value::from(self.snapshots));
        }
        parameters
    }
}

/// What a case or a record is of, in words.
pub(crate) fn words(parameters: &BTreeMap<String, Value>) -> String {
    let word = |name: &str| parameters.get(name).and_then(Value::as_str).unwrap_or_default();
    let beside = match parameters.get(SNAPSHOTS).and_then(Value::as_u64) {
        Some(snapshots) => format!(", {snapshots} snapshots beside it"),
        None => String::new(),
    };
    format!("keys {}, {}{beside}", word(ORDER), word(ENDING))
}

/// Whether the inserts of a record were stopped before all was inserted.
pub(crate) fn is_stopped(record: &Record) -> bool {
    record.note.contains(measure::STOPPED)
}

#[cfg(test)]
#[path = "burst_tests.rs"]
mod tests;
