//! The workload of sets: one owner with many members, connected, followed and disconnected.
//!
//! Each order at two sizes, so that growth with the size can be told from cost. A contender takes
//! part with the orders that it has. In reading order: the plan here, `measure` times the phases
//! and compares every number that was read, `figures` says what was asked and what grows.

mod measure;

mod figures;

use std::collections::BTreeMap;

use lab_harness::sets::SetOrder;
use lab_harness::{Contender, Outcome, Setting};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::figure::Figure;
use crate::protocol::{CaseRequest, Line};
use crate::quantity::grouped;
use crate::record::Record;
use crate::workloads::{Case, Group, Workload, opening};

/// The `sets` workload.
pub(crate) struct Sets;

/// The name of the parameter that says in which order members stand.
const ORDER: &str = "order";

/// Members of the owner.
const SIZES: [u64; 2] = [10_000, 1_000_000];
const SIZES_QUICK: [u64; 2] = [1_000, 50_000];

impl Workload for Sets {
    fn name(&self) -> &'static str {
        "sets"
    }

    fn summary(&self) -> &'static str {
        "one owner with 10,000 and 1,000,000 members: connected, followed, disconnected"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.set_settings()
    }

    fn contenders(&self) -> Vec<&'static Contender> {
        let mut all = contenders::all();
        all.retain(|contender| !contender.set_settings().is_empty());
        all
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let sizes = match (choice.rows, choice.scale) {
            (Some(members), _) => vec![members],
            (None, Scale::Quick) => SIZES_QUICK.to_vec(),
            (None, _) => SIZES.to_vec(),
        };
        let orders_of = |&members: &u64| SetOrder::ALL.map(|order| group(choice, order, members));
        let mut groups: Vec<Group> = sizes.iter().flat_map(orders_of).collect();
        groups.retain(|group| !group.cases.is_empty());
        groups
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        measure::measure(request, opening(contender.sets)?, setting)
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}

/// Every contender that has an order, at one size.
fn group(choice: &Choice, order: SetOrder, members: u64) -> Group {
    let mut cases = Vec::new();
    let able = |contender: &&&'static Contender| {
        contender.missing.is_none() && contender.set_orders.contains(&order)
    };
    for &contender in choice.contenders.iter().filter(able) {
        for setting in contender.set_settings() {
            cases.push(Case {
                contender,
                setting,
                rows: members,
                readers: 0,
                per_transaction: 1,
                parameters: BTreeMap::from([(ORDER.to_owned(), Value::from(order.word()))]),
                seconds_max: None,
                pinned: true,
            });
        }
    }
    let title = format!("{} members, order {}", grouped(members), order.word());
    Group { title, rounds: choice.rounds, cases }
}

#[cfg(test)]
#[path = "sets_tests.rs"]
mod tests;
