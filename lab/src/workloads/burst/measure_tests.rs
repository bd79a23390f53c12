//! A store that lies about a transaction must not get a time: each lie below is one gone wrong.

use std::cell::RefCell;
use std::collections::BTreeMap;

use lab_harness::Medium;
use lab_harness::pairs::{Key, Pair, Value as PairValue};

use super::super::{ASCENDING, COMMIT};
use super::*;
use crate::testing;

const ROWS: u64 = 2000;

const SETTING: Setting = testing::setting(Promise::Memory, Medium::Memory);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    /// One pair is never inserted.
    Forgets,
    /// One pair has another's value.
    Changes,
    /// What is rolled back stays.
    KeepsAll,
    /// What is committed is lost.
    KeepsNone,
    /// A snapshot sees the whole of the transaction.
    MovingSnapshots,
    /// A snapshot that is in the middle sees one key of it.
    OneMoves,
}

type Map = BTreeMap<Key, PairValue>;

struct Fake {
    lie: Lie,
    pairs: RefCell<Map>,
    opened: RefCell<u64>,
}

struct Inserts<'s>(&'s Fake, Map);

struct Open<'s>(&'s Fake, u64);

#[test]
fn an_honest_store_is_verified_in_every_phase() {
    for order in [ASCENDING, RANDOM] {
        let (phases, held) = measured(Lie::None, order, COMMIT, 0);
        let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
        assert_eq!(names, ["open", "insert", "commit", "close"]);
        assert!(phases.iter().all(|phase| phase.verified && phase.note.is_empty()), "{phases:?}");
        assert_eq!(phases[1].operations, ROWS);
        assert_eq!(held.data_bytes, ROWS * 40);
        assert!(held.resident_peak_bytes > Some(0));
    }
}

#[test]
fn what_is_rolled_back_is_gone() {
    let (phases, _) = measured(Lie::None, RANDOM, ABORT, 0);
    let names: Vec<_> = phases.iter().map(|phase| phase.phase.as_str()).collect();
    assert_eq!(names, ["open", "insert", "rollback", "close"]);
    assert!(phases.iter().all(|phase| phase.verified), "{phases:?}");
}

#[test]
fn snapshots_that_see_nothing_are_as_they_should_be() {
    let (phases, _) = measured(Lie::None, ASCENDING, COMMIT, 10);
    assert!(phases.iter().all(|phase| phase.verified), "{phases:?}");
}

#[test]
fn every_lie_takes_all_times_away() {
    for (lie, ending, snapshots) in [
        (Lie::Forgets, COMMIT, 0),
        (Lie::Changes, COMMIT, 0),
        (Lie::KeepsNone, COMMIT, 0),
        (Lie::KeepsAll, ABORT, 0),
        (Lie::MovingSnapshots, COMMIT, 10),
        (Lie::OneMoves, COMMIT, 10),
    ] {
        let (phases, _) = measured(lie, ASCENDING, ending, snapshots);
        for phase in phases {
            assert!(!phase.verified && !phase.note.is_empty(), "{lie:?}: {phase:?}");
        }
    }
}

#[test]
fn snapshots_are_opened_evenly_along_the_way() {
    let store = Fake { lie: Lie::None, pairs: RefCell::default(), opened: RefCell::default() };
    let keys = Keys::new(ROWS, false).unwrap();
    let phases = Phases { store: &store, keys, snapshots: 7, limit_ns: u64::MAX };
    let (burst, open, inserted, _) = phases.insert().unwrap();
    assert_eq!((open.len(), inserted), (7, ROWS));
    drop(burst);
}

#[test]
fn inserts_out_of_time_say_so_and_are_ended_all_the_same() {
    let store = Fake { lie: Lie::None, pairs: RefCell::default(), opened: RefCell::default() };
    let keys = Keys::new(ROWS, true).unwrap();
    let phases = Phases { store: &store, keys, snapshots: 0, limit_ns: 0 };
    let (burst, _, inserted, _) = phases.insert().unwrap();
    assert_eq!(inserted, 256);
    end(burst, false, Promise::Memory, inserted).unwrap();
    assert_eq!(phases.difference(inserted).unwrap(), None);
    assert!(phases.difference(inserted + 1).unwrap().unwrap().contains("256 records"));

    let mut request = request(ASCENDING, COMMIT, 0);
    request.seconds_max = Some(0.0);
    let lines = measure(&request, open(Lie::None), &SETTING).unwrap();
    let Line::Phase(insert) = &lines[2] else { panic!("{lines:?}") };
    assert!(insert.verified && insert.note.starts_with(STOPPED), "{insert:?}");
}

#[test]
fn shuffled_keys_are_all_keys() {
    let keys = Keys::new(1000, true).unwrap();
    let mut numbers: Vec<u64> = keys.range(0, 600).chain(keys.range(600, 1000)).collect();
    assert!(numbers.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() < 10);
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..1000));
}

fn measured(lie: Lie, order: &str, ending: &str, snapshots: u64) -> (Vec<PhaseSample>, Held) {
    let request = request(order, ending, snapshots);
    let lines = measure(&request, open(lie), &SETTING).unwrap();
    let (mut phases, mut bytes) = (Vec::new(), Held::default());
    for line in lines {
        match line {
            Line::Phase(sample) => phases.push(sample),
            Line::Held(held) => bytes = held,
            Line::Failed { reason } => panic!("{reason}"),
        }
    }
    (phases, bytes)
}

fn request(order: &str, ending: &str, snapshots: u64) -> CaseRequest {
    let mut parameters = BTreeMap::from([
        (ORDER.to_owned(), Value::from(order)),
        (ENDING.to_owned(), Value::from(ending)),
    ]);
    if snapshots > 0 {
        parameters.insert(SNAPSHOTS.to_owned(), Value::from(snapshots));
    }
    CaseRequest { per_transaction: ROWS, parameters, ..testing::request("burst", &SETTING, ROWS) }
}

fn open(lie: Lie) -> impl Fn(&Setting, &Location<'_>, u64) -> Outcome<Box<dyn BurstStore>> {
    move |_, _, _| Ok(Box::new(Fake { lie, pairs: RefCell::default(), opened: RefCell::default() }))
}

impl BurstStore for Fake {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        Ok(Box::new(Inserts(self, Map::new())))
    }

    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        *self.opened.borrow_mut() += 1;
        Ok(Box::new(Open(self, *self.opened.borrow())))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        self.pairs.borrow().iter().for_each(|(key, value)| seen.see(key, value));
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Inserts<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        for (number, content) in pairs {
            let content = match self.0.lie {
                Lie::Forgets if *number == key(5) => continue,
                Lie::Changes if *number == key(7) => value(8, 0),
                _ => *content,
            };
            self.1.insert(*number, content);
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        if self.0.lie != Lie::KeepsNone {
            *self.0.pairs.borrow_mut() = self.1;
        }
        Ok(())
    }

    fn roll_back(self: Box<Self>) -> Outcome<()> {
        if self.0.lie == Lie::KeepsAll {
            *self.0.pairs.borrow_mut() = self.1;
        }
        Ok(())
    }
}

impl BurstSnapshot for Open<'_> {
    fn sees(&mut self, number: &Key) -> Outcome<bool> {
        let moves = self.0.lie == Lie::MovingSnapshots
            || self.0.lie == Lie::OneMoves && self.1 == 5 && *number == key(30);
        Ok(moves && self.0.pairs.borrow().contains_key(number))
    }

    fn count(&mut self) -> Outcome<u64> {
        let moves = self.0.lie == Lie::MovingSnapshots;
        Ok(if moves { self.0.pairs.borrow().len() as u64 } else { 0 })
    }
}
