//! A store that loses a commit, or has one that nobody made, must not get a time.

use std::collections::HashMap;
use std::sync::Mutex;

use lab_harness::pairs::{Key, Value};
use lab_harness::{Medium, Promise};

use super::*;
use crate::testing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    None,
    Loses,
    /// It writes a pair more than it was given.
    Adds,
    /// Every other commit is aborted: no lie.
    Aborts,
    /// A committer cannot be had.
    Refuses,
}

struct Fake {
    lie: Lie,
    pairs: Mutex<HashMap<Key, Value>>,
    calls: AtomicU64,
}

#[test]
fn honest_commits_are_counted_by_thread_and_by_sync() {
    let sample = measured(Lie::None, 3).unwrap();
    assert!(sample.verified && sample.note.is_empty(), "{sample:?}");
    assert!(sample.operations >= 3);
    // The fake syncs once for each commit, and those before the clock do not count.
    assert_eq!(sample.syncs, Some(sample.operations));
}

#[test]
fn an_aborted_commit_is_tried_again_and_told() {
    let sample = measured(Lie::Aborts, 2).unwrap();
    assert!(sample.verified, "{sample:?}");
    assert!(sample.note.contains("tried again"), "{sample:?}");
}

#[test]
fn a_lost_commit_and_one_too_many_are_found() {
    for lie in [Lie::Loses, Lie::Adds] {
        let sample = measured(lie, 2).unwrap();
        assert!(!sample.verified && !sample.note.is_empty(), "{lie:?}: {sample:?}");
    }
}

#[test]
fn a_thread_that_fails_keeps_nobody_waiting() {
    assert!(measured(Lie::Refuses, 4).is_err());
}

fn measured(lie: Lie, threads: u64) -> Outcome<PhaseSample> {
    let setting = testing::setting(Promise::Disk, Medium::Disk);
    let request =
        CaseRequest { seconds_max: Some(0.01), ..testing::request("ladder", &setting, 100) };
    let mut lines = measure(&request, open(lie), &setting, threads)?;
    match lines.pop() {
        Some(Line::Phase(sample)) => Ok(sample),
        line => panic!("{line:?}"),
    }
}

fn open(lie: Lie) -> impl Fn(&Setting, &Location<'_>) -> Outcome<Box<dyn CommitStore>> {
    move |_, _| Ok(Box::new(Fake { lie, pairs: Mutex::default(), calls: AtomicU64::new(0) }))
}

impl CommitStore for Fake {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        match self.lie {
            Lie::Refuses => Err("refused".into()),
            _ => Ok(Box::new(self)),
        }
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        Ok(Some(self.pairs.lock().unwrap().len() as u64))
    }
}

impl Committer for &Fake {
    fn commit(&mut self, number: &Key, value: &Value) -> Outcome<Ended> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        if self.lie == Lie::Aborts && call.is_multiple_of(2) {
            return Ok(Ended::Aborted);
        }
        let mut pairs = self.pairs.lock().unwrap();
        if self.lie != Lie::Loses || *number != key(1) {
            pairs.insert(*number, *value);
        }
        if self.lie == Lie::Adds {
            pairs.insert(key(u64::from_be_bytes(*number) + 1), *value);
        }
        Ok(Ended::Committed)
    }

    fn read(&mut self, number: &Key, out: &mut Value) -> Outcome<bool> {
        let pairs = self.pairs.lock().unwrap();
        let found = pairs.get(number);
        *out = found.copied().unwrap_or(*out);
        Ok(found.is_some())
    }
}
