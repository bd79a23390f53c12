//! What comes back wrong must not get a time.

use std::collections::BTreeMap;

use lab_harness::pairs::{Key, Pair, Seen, Value};
use lab_harness::{Medium, Promise};

use super::*;
use crate::testing;

const ROWS: u64 = 250;

/// A contender whose log is a file of pairs; it may lose the end of it, or change a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fake {
    Honest,
    LosesTheEnd,
    Changes,
    ComesBackEmpty,
}

struct Store {
    pairs: BTreeMap<Key, Value>,
    log: Vec<u8>,
    path: std::path::PathBuf,
}

#[test]
fn what_comes_back_whole_has_a_time_and_bytes() {
    let sample = returned(Fake::Honest);
    assert!(sample.verified, "{sample:?}");
    assert_eq!((sample.phase.as_str(), sample.operations), ("replay", ROWS));
    assert_eq!(sample.bytes, Some(ROWS * 40), "the file beside the log does not count");
}

#[test]
fn what_comes_back_wrong_has_none() {
    for fake in [Fake::LosesTheEnd, Fake::Changes, Fake::ComesBackEmpty] {
        let sample = returned(fake);
        assert!(!sample.verified && !sample.note.is_empty(), "{fake:?}: {sample:?}");
    }
}

fn returned(fake: Fake) -> PhaseSample {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("other"), [0; 1000]).unwrap();
    let setting = testing::setting(Promise::Os, Medium::Disk);
    let request = CaseRequest {
        per_transaction: 100,
        directory: Some(directory.path().to_path_buf()),
        ..testing::request("recovery", &setting, ROWS)
    };
    let mut store = create(&setting, &crash_child::location(&request)).unwrap();
    crash_child::write_all(store.as_mut(), &request, &setting).unwrap();
    drop(store);
    let reopen = |_: &Setting, location: &Location<'_>| fake.reopen(location);
    match measure(&request, reopen, |file| file == "log", &setting).unwrap().pop() {
        Some(Line::Phase(sample)) => sample,
        line => panic!("{line:?}"),
    }
}

fn create(_: &Setting, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
    let path = location.files()?.join("log");
    Ok(Box::new(Store { pairs: BTreeMap::new(), log: Vec::new(), path }))
}

impl Fake {
    fn reopen(self, location: &Location<'_>) -> Outcome<Box<dyn PairStore>> {
        let path = location.files()?.join("log");
        let log = fs::read(&path)?;
        let mut pairs = BTreeMap::new();
        for record in log.chunks(40) {
            let (key, value) = record.split_at(8);
            pairs.insert(key.try_into()?, value.try_into()?);
        }
        match self {
            Self::Honest => {}
            Self::LosesTheEnd => drop(pairs.pop_last()),
            Self::Changes => drop(pairs.insert(key(3), [0; VALUE_LEN])),
            Self::ComesBackEmpty => pairs.clear(),
        }
        Ok(Box::new(Store { pairs, log, path }))
    }
}

impl PairStore for Store {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.pairs.insert(*key, *value);
        self.log.extend(key.iter().chain(value));
        Ok(())
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.insert(key, value)
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        pairs.iter().try_for_each(|(key, value)| self.insert(key, value))
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let found = self.pairs.get(key);
        *out = found.copied().unwrap_or(*out);
        Ok(found.is_some())
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        self.pairs.iter().for_each(|(key, value)| seen.see(key, value));
        Ok(())
    }

    fn finish(&mut self) -> Outcome<()> {
        Ok(fs::write(&self.path, &self.log)?)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
