//! What is asked of Remanent's region, beside what a run measured.
//!
//! No curve is to rise more than linearly: of allocating, freeing in either order, and the end of
//! the process. Reset and drop are to cost the same for any number of blocks: at each total the
//! smallest blocks are compared with the largest. In touched memory a block of up to 4 KiB is to
//! cost 15 ns at the most. Times are CPU times. What others measured stands beside it.

use crate::by_size::{self, Curve};
use crate::figure::Figure;
use crate::growth::{Growth, LINEAR};
use crate::parameters::{PREFAULTED, block_bytes, total_bytes};
use crate::quantity;
use crate::record::Record;
use crate::table;

const OURS: &str = table::BASES[0];

/// The phases whose curves are checked.
const CURVES: [&str; 4] = ["allocate", "free", "free_reverse", "end"];

/// The phases that must not depend on the number of blocks.
const AT_ONCE: [&str; 2] = ["reset", "drop"];

/// By how much those may differ: so long, or this share, which is noise.
const DIFFERENCE_NS_MAX: f64 = 5e6;
const DIFFERENCE_MAX: f64 = 0.1;

const WARM_PHASES: [&str; 2] = ["allocate_warm", "free_warm"];
const WARM_NS_MAX: f64 = 15.0;
const WARM_BYTES_MAX: u64 = 4096;

/// Every figure; of what the run did not measure, none.
pub(super) fn figures(records: &[Record]) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut contenders: Vec<&str> = Vec::new();
    for record in records.iter().filter(|record| !record.phase.is_empty()) {
        if !contenders.contains(&record.contender.as_str()) {
            contenders.push(&record.contender);
        }
    }
    for phase in CURVES {
        let curves = by_size::curves(records, phase);
        figures.extend(contenders.iter().filter_map(|name| grows(&curves, phase, name)));
    }
    for &contender in contenders.iter().filter(|name| name.starts_with(OURS)) {
        figures.extend(AT_ONCE.iter().flat_map(|phase| at_once(records, phase, contender)));
    }
    for phase in WARM_PHASES {
        figures.extend(contenders.iter().filter_map(|name| prefaulted(records, phase, name)));
    }
    figures
}

/// The exponents of a contender's curves, over the sizes of blocks.
fn grows(curves: &[Curve<'_>], phase: &str, contender: &str) -> Option<Figure> {
    let own = curves.iter().filter(|curve| curve.first.contender == contender);
    let growths: Vec<Growth> = own.filter_map(Curve::growth).collect();
    let exponents = || growths.iter().map(|growth| growth.exponent);
    let (low, high) = (exponents().reduce(f64::min)?, exponents().reduce(f64::max)?);
    let ours = contender.starts_with(OURS);
    Some(Figure {
        what: format!("{}: growth with the total, {contender}", phase.replace('_', " ")),
        asked: match ours {
            true => format!("exponents <= {}", LINEAR[1]),
            false => "for comparison".to_owned(),
        },
        measured: Some(format!("{low:.2} to {high:.2}")),
        reached: ours.then(|| growths.iter().all(|growth| growth.is_at_most_linear())),
    })
}

/// For each total, the smallest blocks beside the largest.
fn at_once(records: &[Record], phase: &str, contender: &str) -> Vec<Figure> {
    let of_phase: Vec<&Record> = records
        .iter()
        .filter(|record| record.phase == phase && record.contender == contender)
        .filter(|record| record.whole_cpu_ns().is_some())
        .collect();
    let mut totals: Vec<u64> =
        of_phase.iter().filter_map(|record| total_bytes(&record.extra)).collect();
    totals.sort_unstable();
    totals.dedup();
    let of_total = |total: u64| {
        let own = of_phase.iter().filter(|record| total_bytes(&record.extra) == Some(total));
        let small = own.clone().min_by_key(|record| block_bytes(&record.extra))?;
        let large = own.max_by_key(|record| block_bytes(&record.extra))?;
        if block_bytes(&small.extra) == block_bytes(&large.extra) {
            return None;
        }
        let (small_ns, large_ns) = (small.whole_cpu_ns()?, large.whole_cpu_ns()?);
        let difference = (small_ns - large_ns).abs();
        let share = difference / small_ns.max(large_ns);
        let blocks = |record: &Record| quantity::grouped(record.rows.unwrap_or(0));
        Some(Figure {
            what: format!(
                "{phase}, {contender}: {} in {} blocks, and in {}",
                quantity::bytes(total),
                blocks(small),
                blocks(large)
            ),
            asked: "differ by 5 ms or 10 %".to_owned(),
            measured: Some(format!("{}, {}", quantity::time(small_ns), quantity::time(large_ns))),
            reached: Some(difference <= DIFFERENCE_NS_MAX || share <= DIFFERENCE_MAX),
        })
    };
    totals.into_iter().filter_map(of_total).collect()
}

/// The dearest size up to a page.
fn prefaulted(records: &[Record], phase: &str, contender: &str) -> Option<Figure> {
    let dearest = records
        .iter()
        .filter(|record| record.phase == phase && record.contender == contender)
        .filter(|record| record.extra.contains_key(PREFAULTED))
        .filter(|record| block_bytes(&record.extra).is_some_and(|bytes| bytes <= WARM_BYTES_MAX))
        .filter_map(|record| Some((record.cpu_ns()?, block_bytes(&record.extra)?)))
        .max_by(|left, right| left.0.total_cmp(&right.0))?;
    let ours = contender.starts_with(OURS);
    Some(Figure {
        what: format!("{}: the dearest block up to 4 KiB, {contender}", phase.replace('_', " ")),
        asked: match ours {
            true => format!("<= {WARM_NS_MAX} ns"),
            false => "for comparison".to_owned(),
        },
        measured: Some(format!("{:.1} ns, of {} bytes", dearest.0, dearest.1)),
        reached: ours.then_some(dearest.0 <= WARM_NS_MAX),
    })
}

#[cfg(test)]
#[path = "figures_tests.rs"]
mod tests;
