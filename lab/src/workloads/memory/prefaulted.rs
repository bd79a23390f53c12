//! Blocks in memory that was touched before: what the allocator itself costs.
//!
//! All blocks are allocated, touched, checked and freed; then all of them are allocated and freed
//! again and again until that has lasted long enough, each half on a clock of its own. What is
//! allocated at last is touched and checked once more.

use lab_harness::blocks::{BlockStore, FreeOrder};
use lab_harness::clock::{Clock, Elapsed};
use lab_harness::{Outcome, Setting};

use crate::parameters::block_bytes;
use crate::protocol::{CaseRequest, Line, PhaseSample};

/// How long it is repeated, and how often at least.
const NS_MIN: u64 = 60_000_000;
const PASSES_MIN: u64 = 3;

/// Measures both phases of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, u64, usize) -> Outcome<Box<dyn BlockStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let bytes = block_bytes(&request.parameters).ok_or("a case without a size of blocks")?;
    let mut store = open(setting, request.rows, usize::try_from(bytes)?)?;
    store.prepare();
    store.allocate()?;
    store.touch();
    let mut wrong = store.wrong();
    store.free(FreeOrder::Same)?;
    let (mut allocated, mut freed) = (Elapsed::default(), Elapsed::default());
    let mut passes = 0;
    while passes < PASSES_MIN || allocated.wall_ns + freed.wall_ns < NS_MIN {
        let clock = Clock::start();
        store.allocate()?;
        add(&mut allocated, clock.elapsed());
        let clock = Clock::start();
        store.free(FreeOrder::Same)?;
        add(&mut freed, clock.elapsed());
        passes += 1;
    }
    store.allocate()?;
    store.touch();
    wrong += store.wrong();
    store.free(FreeOrder::Same)?;
    let sample = |phase: &str, elapsed: Elapsed| {
        Line::Phase(PhaseSample {
            phase: phase.to_owned(),
            per_transaction: 1,
            operations: passes * request.rows,
            wall_ns: elapsed.wall_ns,
            cpu_ns: elapsed.cpu_ns,
            verified: wrong == 0,
            note: match wrong {
                0 => String::new(),
                _ => "blocks were not as written".to_owned(),
            },
            ..PhaseSample::default()
        })
    };
    Ok(vec![sample("allocate_warm", allocated), sample("free_warm", freed)])
}

fn add(sum: &mut Elapsed, elapsed: Elapsed) {
    sum.wall_ns += elapsed.wall_ns;
    sum.cpu_ns += elapsed.cpu_ns;
}

#[cfg(test)]
#[path = "prefaulted_tests.rs"]
mod tests;
