//! A store of pairs that lies must not get a time: each lie below is such a store gone wrong.

use std::collections::BTreeMap;

use lab_harness::Medium;
use lab_harness::pairs::{Key, Pair, Value};

use super::*;
use crate::testing;

const ROWS: u64 = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// One pair is never inserted.
    Forgets,
    /// One overwrite is lost.
    KeepsOld,
    /// A single read finds another pair's value.
    ReadsAnother,
    /// Reading in order leaves the last pair out.
    StopsEarly,
    /// Reading in order shows two pairs in the wrong order.
    Disorders,
}

struct Fake {
    lie: Lie,
    pairs: BTreeMap<Key, Value>,
}

#[test]
fn an_honest_store_is_verified_in_every_phase() {
    let phases = measured(Lie::None, Promise::Memory);
    let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["write", "read", "bulk_read", "write_random"]);
    assert!(phases.iter().all(|phase| phase.verified && phase.operations > 0), "{phases:?}");
    assert_eq!(phases[0].operations, ROWS - ROWS / 100);
}

#[test]
fn on_the_last_level_only_writes_are_measured() {
    let phases = measured(Lie::None, Promise::Disk);
    let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["write", "write_random"]);
}

#[test]
fn every_lie_is_found_where_it_shows() {
    let cases: [(Lie, &[&str]); 5] = [
        (Lie::Forgets, &["write", "read", "bulk_read", "write_random"]),
        (Lie::KeepsOld, &["write_random"]),
        (Lie::ReadsAnother, &["read"]),
        (Lie::StopsEarly, &["write", "bulk_read", "write_random"]),
        (Lie::Disorders, &["write", "bulk_read", "write_random"]),
    ];
    for (lie, wrong) in cases {
        let phases = measured(lie, Promise::Memory);
        let found: Vec<_> = phases
            .iter()
            .filter(|phase| !phase.verified)
            .map(|phase| phase.phase.as_str())
            .collect();
        assert_eq!(found, wrong, "{lie:?}");
    }
}

#[test]
fn a_phase_out_of_time_says_so_and_the_rest_is_written_nevertheless() {
    let mut store = Fake { lie: Lie::None, pairs: BTreeMap::new() };
    let mut phases =
        Phases { store: &mut store, generations: vec![0; 300], limit_ns: 0, samples: Vec::new() };
    phases.write().unwrap();
    phases.compare().unwrap();
    let [sample] = &phases.samples[..] else { panic!("{:?}", phases.samples) };
    assert!(sample.verified && sample.note.starts_with(STOPPED), "{sample:?}");
    assert_eq!(sample.operations, OPERATIONS_PER_LOOK);
    assert_eq!(store.pairs.len(), 300);
}

fn measured(lie: Lie, promise: Promise) -> Vec<PhaseSample> {
    let setting = testing::setting(promise, Medium::Memory);
    let request = testing::request("ladder", &setting, ROWS);
    let lines = measure(&request, open(lie), &setting).unwrap();
    let phases = lines.into_iter().filter_map(|line| match line {
        Line::Phase(sample) => Some(sample),
        _ => None,
    });
    phases.collect()
}

fn open(lie: Lie) -> impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    move |_, _| Ok(Box::new(Fake { lie, pairs: BTreeMap::new() }))
}

impl PairStore for Fake {
    fn insert(&mut self, number: &Key, value: &Value) -> Outcome<()> {
        if self.lie != Lie::Forgets || *number != key(5) {
            self.pairs.insert(*number, *value);
        }
        Ok(())
    }

    fn overwrite(&mut self, number: &Key, value: &Value) -> Outcome<()> {
        if self.lie == Lie::KeepsOld && *number == key(7) {
            return Ok(());
        }
        self.insert(number, value)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        pairs.iter().try_for_each(|(key, value)| self.insert(key, value))
    }

    fn read(&mut self, number: &Key, out: &mut Value) -> Outcome<bool> {
        let another = self.lie == Lie::ReadsAnother && *number == key(9);
        let number = if another { key(10) } else { *number };
        let found = self.pairs.get(&number);
        *out = found.copied().unwrap_or(*out);
        Ok(found.is_some())
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        match self.lie {
            Lie::StopsEarly => drop(pairs.pop()),
            Lie::Disorders => pairs.swap(3, 4),
            _ => {}
        }
        pairs.into_iter().for_each(|(key, value)| seen.see(key, value));
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
