//! The phases of the workload of sets, timed in the measured process.
//!
//! Members are made first, then connected by hundreds, read in every way, disconnected by hundreds,
//! and connected and disconnected once more one by one. In order `Ascending` they are connected
//! shuffled, so that each finds its place; disconnecting is shuffled always. The first hundredth of
//! each phase warms up. Every number that is read is kept and compared with the expected one when
//! the clock is off; a wrong one anywhere takes the time of its phase away, and one in a walk after
//! a change that of the change.

use fastrand::Rng;
use lab_harness::clock::{Clock, Elapsed};
use lab_harness::sets::{End, NOBODY, SetOrder, SetStore};
use lab_harness::{Location, Outcome, Setting};
use serde_json::Value;

use super::ORDER;
use crate::protocol::{CaseRequest, Line, PhaseSample};

const SEED: u64 = 0x7365_7473;

/// Bytes of the fields of a member.
const MEMBER_BYTES: u64 = 4;

/// Operations of a transaction, where it has many.
const MANY: usize = 100;

/// Reads of one phase at small sizes, over several passes, and at most.
const READS_MIN: usize = 100_000;

/// Numbers of members in the orders in which they are used.
struct Lists {
    connected: Vec<u32>,
    /// As the set has them.
    expected: Vec<u32>,
    disconnected: Vec<u32>,
    random: Vec<u32>,
    /// The one behind each of `random`.
    behind_random: Vec<u32>,
    behind_expected: Vec<u32>,
}

/// A store, what is expected of it, and the samples so far.
struct Phases<'s> {
    store: &'s mut dyn SetStore,
    lists: &'s Lists,
    out: Vec<u32>,
    samples: Vec<PhaseSample>,
}

/// Measures every phase of a case.
pub(super) fn measure(
    request: &CaseRequest,
    open: impl Fn(&Setting, &Location<'_>, SetOrder) -> Outcome<Box<dyn SetStore>>,
    setting: &Setting,
) -> Outcome<Vec<Line>> {
    let word = request.parameters.get(ORDER).and_then(Value::as_str).unwrap_or_default();
    let order = SetOrder::of_word(word).ok_or("no such order")?;
    let members = u32::try_from(request.rows)?;
    let lists = Lists::new(members, order);
    let location = Location {
        directory: request.directory.as_deref(),
        rows: request.rows,
        data_bytes: request.rows * MEMBER_BYTES,
    };
    let mut store = open(setting, &location, order)?;
    store.fill(members)?;
    let longest = lists.connected.len().max(READS_MIN);
    let mut phases = Phases {
        store: store.as_mut(),
        lists: &lists,
        // One place more than there are members, so that one too many is seen.
        out: vec![0; longest + 1],
        samples: Vec::new(),
    };
    phases.change("connect", MANY)?;
    phases.walk()?;
    phases.ends()?;
    phases.siblings()?;
    phases.change("disconnect", MANY)?;
    phases.change("connect", 1)?;
    phases.change("disconnect", 1)?;
    let samples = phases.samples;
    store.close()?;
    Ok(samples.into_iter().map(Line::Phase).collect())
}

impl Lists {
    fn new(members: u32, order: SetOrder) -> Self {
        let mut rng = Rng::with_seed(SEED);
        let in_order: Vec<u32> = (0..members).collect();
        let mut shuffled = in_order.clone();
        rng.shuffle(&mut shuffled);
        let mut expected = in_order.clone();
        if order == SetOrder::First {
            expected.reverse();
        }
        let connected = match order {
            SetOrder::Ascending => shuffled.clone(),
            _ => in_order,
        };
        let mut behind = vec![NOBODY; members as usize];
        for pair in expected.windows(2) {
            behind[pair[0] as usize] = pair[1];
        }
        let random: Vec<u32> =
            (0..READS_MIN).map(|_| rng.u32(0..members.max(1))).take(READS_MIN).collect();
        let behind_of = |list: &[u32]| list.iter().map(|&of| behind[of as usize]).collect();
        rng.shuffle(&mut shuffled);
        Self {
            behind_random: behind_of(&random),
            behind_expected: behind_of(&expected),
            connected,
            expected,
            disconnected: shuffled,
            random,
        }
    }
}

impl Phases<'_> {
    /// Connects or disconnects all members, so many a transaction, and looks whether they are.
    fn change(&mut self, what: &str, per_transaction: usize) -> Outcome<()> {
        let connects = what == "connect";
        let lists = self.lists;
        let list = if connects { &lists.connected } else { &lists.disconnected };
        let warm_up = (list.len() / 100).next_multiple_of(per_transaction).min(list.len() / 2);
        let (first, rest) = list.split_at(warm_up);
        let store = &mut *self.store;
        let mut run = |members: &[u32]| -> Outcome<()> {
            for members in members.chunks(per_transaction) {
                if connects { store.connect(members)? } else { store.disconnect(members)? }
            }
            Ok(())
        };
        run(first)?;
        let clock = Clock::start();
        run(rest)?;
        let elapsed = clock.elapsed();
        let expected: &[u32] = if connects { &lists.expected } else { &[] };
        let count = self.store.walk(&mut self.out)?;
        let verified = self.out[..count] == *expected;
        let phase = format!("{what}_{per_transaction}");
        self.sample(&phase, per_transaction, rest.len(), elapsed, verified);
        Ok(())
    }

    /// Follows the whole set from its first member on, as often as it takes.
    fn walk(&mut self) -> Outcome<()> {
        let members = self.lists.expected.len();
        let passes = READS_MIN.div_ceil(members.max(1));
        let mut verified = true;
        let mut elapsed = Elapsed::default();
        for _ in 0..passes {
            self.out.fill(NOBODY);
            let clock = Clock::start();
            let count = self.store.walk(&mut self.out)?;
            let passed = clock.elapsed();
            elapsed.wall_ns += passed.wall_ns;
            elapsed.cpu_ns += passed.cpu_ns;
            verified &= self.out[..count] == self.lists.expected[..];
        }
        self.sample("next", members, members * passes, elapsed, verified);
        Ok(())
    }

    /// Goes to either end of the set, again and again.
    fn ends(&mut self) -> Outcome<()> {
        let lists = self.lists;
        for (phase, end, there) in [
            ("first", End::First, lists.expected.first()),
            ("last", End::Last, lists.expected.last()),
        ] {
            let there = there.copied().unwrap_or(NOBODY);
            let expected = vec![there; READS_MIN];
            self.read(phase, &expected, |store, from, out| {
                let _ = from;
                store.go_to(end, out)
            })?;
        }
        Ok(())
    }

    /// Finds members among their siblings and goes on: random ones, and one behind the other.
    fn siblings(&mut self) -> Outcome<()> {
        let lists = self.lists;
        self.read("siblings_random", &lists.behind_random, |store, from, out| {
            store.next_of(&lists.random[from..from + out.len()], out)
        })?;
        let mut in_order = lists.expected.clone();
        let mut expected = lists.behind_expected.clone();
        let passes = READS_MIN.div_ceil(in_order.len().max(1));
        in_order = in_order.repeat(passes);
        expected = expected.repeat(passes);
        in_order.truncate(READS_MIN);
        expected.truncate(READS_MIN);
        self.read("siblings_following", &expected, |store, from, out| {
            store.next_of(&in_order[from..from + out.len()], out)
        })
    }

    /// Reads as many numbers as are expected, a hundred a transaction.
    fn read(
        &mut self,
        phase: &str,
        expected: &[u32],
        read: impl Fn(&mut dyn SetStore, usize, &mut [u32]) -> Outcome<()>,
    ) -> Outcome<()> {
        let out = &mut self.out[..expected.len()];
        out.fill(NOBODY - 1);
        let warm_up = (expected.len() / 100).next_multiple_of(MANY).min(expected.len());
        let store = &mut *self.store;
        let mut run = |out: &mut [u32]| -> Outcome<()> {
            for (turn, out) in out.chunks_mut(MANY).enumerate() {
                read(store, turn * MANY, out)?;
            }
            Ok(())
        };
        run(&mut out[..warm_up])?;
        let clock = Clock::start();
        run(out)?;
        let elapsed = clock.elapsed();
        let verified = *out == *expected;
        self.sample(phase, MANY, expected.len(), elapsed, verified);
        Ok(())
    }

    fn sample(
        &mut self,
        phase: &str,
        per_transaction: usize,
        operations: usize,
        elapsed: Elapsed,
        verified: bool,
    ) {
        self.samples.push(PhaseSample {
            phase: phase.to_owned(),
            per_transaction: per_transaction as u64,
            operations: operations as u64,
            wall_ns: elapsed.wall_ns,
            cpu_ns: elapsed.cpu_ns,
            verified,
            ..PhaseSample::default()
        });
    }
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
