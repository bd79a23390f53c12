//! What was asked of sets, beside what a run measured.
//!
//! A connection and a step to the next member have a limit at the larger size. Growth is the median
//! at the larger size over that at the smaller one, and is to stay near 1 in the orders first, last
//! and next, for connections, steps, and going to either end: whatever follows members one by one
//! would be a hundred times slower. A place by value has to be looked for, so that growth in order
//! ascending is told and not asked about.

use serde_json::Value;

use super::ORDER;
use crate::figure::Figure;
use crate::quantity::{self, grouped};
use crate::record::Record;

const NS_MAX: f64 = 300.0;

/// How much more a thing may cost at the larger size before it counts as growing with it: caches
/// are smaller than the larger set.
const GROWTH_MAX: f64 = 1.25;

/// Phases with a limit.
const LIMITED: [&str; 2] = ["connect_100", "next"];

/// Phases that are not to grow, but in one order.
const LEVEL: [&str; 4] = ["connect_100", "next", "first", "last"];

/// The order in which they may.
const SEARCHED: &str = "ascending";

/// A phase whose growth is told.
const TOLD: &str = "siblings_random";

/// Every figure, for each contender in each order.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (contender, order) in kinds(records) {
        let run = Kind { records, contender, order };
        figures.extend(LIMITED.map(|phase| run.limit(phase, true)));
        figures.push(run.limit("connect_1", false));
        figures.extend(LEVEL.map(|phase| run.growth(phase, order != SEARCHED)));
        figures.push(run.growth(TOLD, false));
    }
    figures
}

/// The records of one contender in one order.
struct Kind<'r> {
    records: &'r [Record],
    contender: &'r str,
    order: &'r str,
}

/// Contenders and orders, as they first appear.
fn kinds(records: &[Record]) -> Vec<(&str, &str)> {
    let mut kinds = Vec::new();
    for record in records {
        let Some(order) = order_of(record) else { continue };
        if !kinds.contains(&(record.contender.as_str(), order)) {
            kinds.push((&record.contender, order));
        }
    }
    kinds
}

impl Kind<'_> {
    /// Sizes and medians of a phase, the smallest size first.
    fn medians(&self, phase: &str) -> Vec<(u64, f64)> {
        let own = self.records.iter().filter(|record| {
            record.contender == self.contender
                && order_of(record) == Some(self.order)
                && record.phase == phase
        });
        let mut medians: Vec<(u64, f64)> =
            own.filter_map(|record| Some((record.rows?, record.cpu_ns()?))).collect();
        medians.sort_by_key(|&(rows, _)| rows);
        medians
    }

    fn limit(&self, phase: &str, asked: bool) -> Figure {
        let largest = self.medians(phase).last().copied();
        let at = largest.map_or(String::new(), |(rows, _)| format!(", {} members", grouped(rows)));
        Figure {
            what: format!("{}, order {}: {phase}{at}", self.contender, self.order),
            asked: if asked { format!("<= {NS_MAX} ns") } else { "for comparison".to_owned() },
            measured: largest.map(|(_, ns)| format!("{} ns", quantity::nanoseconds(ns))),
            reached: largest.filter(|_| asked).map(|(_, ns)| ns <= NS_MAX),
        }
    }

    fn growth(&self, phase: &str, asked: bool) -> Figure {
        let medians = self.medians(phase);
        let ends = match medians[..] {
            [smallest, .., largest] => Some((smallest, largest)),
            _ => None,
        };
        let growth = ends.map(|((_, small), (_, large))| large / small);
        let sizes = ends.map_or(String::new(), |((few, _), (many, _))| {
            format!(", {} against {} members", grouped(many), grouped(few))
        });
        Figure {
            what: format!("{}, order {}: growth of {phase}{sizes}", self.contender, self.order),
            asked: match asked {
                true => format!("none: <= {GROWTH_MAX}x"),
                false => "for comparison".to_owned(),
            },
            measured: ends.zip(growth).map(|(((_, small), (_, large)), growth)| {
                let (small, large) = (quantity::nanoseconds(small), quantity::nanoseconds(large));
                format!("{}: {large} against {small} ns", quantity::factor(growth))
            }),
            reached: growth.filter(|_| asked).map(|growth| growth <= GROWTH_MAX),
        }
    }
}

fn order_of(record: &Record) -> Option<&str> {
    record.extra.get(ORDER).and_then(Value::as_str)
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
