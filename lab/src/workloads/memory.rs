//! Memory: what blocks cost to allocate, to touch, to free in either order, and at the end.
//!
//! The experiment of an article on a cache that took hours to be freed: a total of some gigabytes
//! in blocks of 1 to 64 KiB, each touched, then freed in the order in which they came or the other
//! way round, and whether the time grows with the total or faster. Beside allocators of programs
//! stands the region of Remanent, which can also be dropped or reset with all blocks in it; and
//! small blocks are allocated and freed in memory that was touched before. In reading order: the
//! plan here, `measure` times a process, `end` one that exits, `linear` fits, `figures` compares.

mod measure;

mod end;

mod prefaulted;

mod figures;

use std::collections::BTreeMap;

use lab_harness::{Contender, Outcome, Setting, machine};
use serde_json::Value;

use crate::choice::{Choice, Scale};
use crate::contenders;
use crate::figure::Figure;
use crate::parameters::{BLOCK_BYTES, PREFAULTED, TOTAL_BYTES};
use crate::protocol::{CaseRequest, Line};
use crate::quantity;
use crate::record::Record;
use crate::workloads::{Case, Group, View, Workload, opening};

/// The `memory` workload.
pub(crate) struct Memory;

/// Makes a process the one whose end is measured.
const ENDS: &str = "ends";

const KIB: u64 = 1024;

const MIB: u64 = 1 << 20;

const GIB: u64 = 1 << 30;

/// Bytes of a block.
const SIZES: [u64; 7] = [KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB];

const SIZES_ORDINARY: [u64; 4] = [KIB, 4 * KIB, 16 * KIB, 64 * KIB];

const SIZES_QUICK: [u64; 2] = [KIB, 64 * KIB];

/// Bytes of all blocks.
const TOTALS: [u64; 5] = [GIB, 2 * GIB, 4 * GIB, 8 * GIB, 16 * GIB];

const TOTALS_ORDINARY: [u64; 3] = [256 * MIB, 512 * MIB, GIB];

const TOTALS_QUICK: [u64; 3] = [64 * MIB, 128 * MIB, 256 * MIB];

/// Sizes of blocks in touched memory.
const SIZES_WARM: [u64; 11] =
    [32, 64, 128, 256, 512, KIB, 2 * KIB, 4 * KIB, 8 * KIB, 16 * KIB, 64 * KIB];

const SIZES_WARM_QUICK: [u64; 4] = [32, 256, KIB, 4 * KIB];

/// The variant that differs from its allocator's plain one in touched memory alone.
const ONLY_PREFAULTED: &str = "kept";

/// How many of them there are.
const WARM_COUNT: u64 = 10_000;

/// The share of the memory that is there of which a case takes part.
const SHARE_MAX: f64 = 0.75;

/// From this total on there is one round: its phases last long enough.
const TOTAL_ONCE: u64 = 4 * GIB;

const ROUNDS_MAX: u32 = 3;

impl Workload for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn summary(&self) -> &'static str {
        "1 to 16 GiB in blocks of 1 to 64 KiB: allocated, freed in both orders, left to the end"
    }

    fn settings(&self, contender: &Contender) -> &'static [Setting] {
        contender.block_settings()
    }

    fn contenders(&self) -> Vec<&'static Contender> {
        contenders::with_blocks()
    }

    fn view(&self) -> View {
        View::BySize
    }

    fn plan(&self, choice: &Choice) -> Vec<Group> {
        let available = machine::available_bytes().unwrap_or(u64::MAX);
        let most = (available as f64 * SHARE_MAX) as u64;
        let mut groups = vec![group_of_warm(choice)];
        for place in 0..totals(choice.scale).len() {
            let cases = cases(choice, place, most);
            let total = totals(choice.scale)[place];
            let title = match choice.rows {
                Some(rows) => format!("{} blocks", quantity::grouped(rows << place)),
                None => format!("{} in blocks", quantity::bytes(total)),
            };
            let once = total >= TOTAL_ONCE || choice.scale == Scale::Quick;
            let rounds = if once { 1 } else { choice.rounds.min(ROUNDS_MAX) };
            groups.push(Group { title, rounds, cases });
        }
        groups.retain(|group| !group.cases.is_empty());
        groups
    }

    fn measure(
        &self,
        request: &CaseRequest,
        contender: &Contender,
        setting: &'static Setting,
    ) -> Outcome<Vec<Line>> {
        if request.parameters.contains_key(ENDS) {
            return end::fill_and_end(request, opening(contender.blocks)?, setting);
        }
        if request.parameters.contains_key(PREFAULTED) {
            return prefaulted::measure(request, opening(contender.blocks)?, setting);
        }
        let ended = end::measure(request)?;
        let mut lines = measure::measure(request, opening(contender.blocks)?, setting)?;
        lines.push(ended);
        Ok(lines)
    }

    fn figures(&self, records: &[Record]) -> Vec<Figure> {
        figures::figures(records)
    }
}

fn totals(scale: Scale) -> &'static [u64] {
    match scale {
        Scale::Quick => &TOTALS_QUICK,
        Scale::Ordinary => &TOTALS_ORDINARY,
        _ => &TOTALS,
    }
}

/// Every contender at every size of blocks, of the total at this place; none when there is not so
/// much memory. A number of blocks that is asked for is doubled from one total to the next.
fn cases(choice: &Choice, place: usize, most: u64) -> Vec<Case> {
    let sizes: &[u64] = match choice.scale {
        Scale::Quick => &SIZES_QUICK,
        Scale::Ordinary => &SIZES_ORDINARY,
        _ => &SIZES,
    };
    let mut cases = Vec::new();
    for &block_bytes in sizes {
        let count = match choice.rows {
            Some(rows) => rows << place,
            None => totals(choice.scale)[place] / block_bytes,
        };
        if count * block_bytes > most {
            continue;
        }
        let parameters = BTreeMap::from([
            (BLOCK_BYTES.to_owned(), Value::from(block_bytes)),
            (TOTAL_BYTES.to_owned(), Value::from(count * block_bytes)),
        ]);
        cases.extend(of_all(choice, count, &parameters));
    }
    cases
}

fn group_of_warm(choice: &Choice) -> Group {
    let count = choice.rows.unwrap_or(WARM_COUNT);
    let mut cases = Vec::new();
    let sizes: &[u64] = match choice.scale {
        Scale::Quick => &SIZES_WARM_QUICK,
        _ => &SIZES_WARM,
    };
    for &block_bytes in sizes {
        let parameters = BTreeMap::from([
            (BLOCK_BYTES.to_owned(), Value::from(block_bytes)),
            (PREFAULTED.to_owned(), Value::from(true)),
        ]);
        cases.extend(of_all(choice, count, &parameters));
    }
    let title = format!("{} blocks in touched memory", quantity::grouped(count));
    Group { title, rounds: choice.rounds, cases }
}

fn of_all(
    choice: &Choice,
    count: u64,
    parameters: &BTreeMap<String, Value>,
) -> impl Iterator<Item = Case> {
    let all = choice.contenders.iter().filter(|contender| contender.missing.is_none());
    let settings = all.flat_map(|&contender| {
        contender.block_settings().iter().map(move |setting| (contender, setting))
    });
    let prefaulted = parameters.contains_key(PREFAULTED);
    let takes = move |setting: &Setting| prefaulted || setting.variant != ONLY_PREFAULTED;
    settings.filter(move |(_, setting)| takes(setting)).map(move |(contender, setting)| Case {
        contender,
        setting,
        rows: count,
        readers: 0,
        per_transaction: 1,
        parameters: parameters.clone(),
        seconds_max: None,
        pinned: true,
    })
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
