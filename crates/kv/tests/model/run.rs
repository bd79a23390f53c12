//! A database beside its model, and the operations on both.

use std::collections::{BTreeMap, BTreeSet};

use remanent_engine::{ErrorKind, Options, ReadTransaction, Savepoint, WriteTransaction};
use remanent_kv::{BulkRecords, Environment, KvDatabase, KvOptions, Secondary, SecondaryKeys};

use crate::cursor::walk;
use crate::operation::{Bytes, Operation};

/// What a database holds.
pub(crate) type Model = BTreeMap<Bytes, BTreeSet<Bytes>>;

pub(crate) struct Run {
    environment: Environment,
    pub(crate) database: KvDatabase,
    secondary: Option<Secondary>,
    committed: Model,
}

/// A transaction under way: what it sees, and what it saw at its savepoint.
struct Active<'e> {
    tx: WriteTransaction<'e>,
    seen: Model,
    savepoint: Option<(Savepoint, Model)>,
}

/// The secondary keys of a value: its first byte, and its last.
fn ends(_: &[u8], value: &[u8], keys: &mut SecondaryKeys) {
    value.first().into_iter().chain(value.last()).for_each(|byte| keys.push(&[*byte]));
}

fn as_slices<'m>((key, value): (&'m Bytes, &'m Bytes)) -> (&'m [u8], &'m [u8]) {
    (key, value)
}

impl Run {
    pub(crate) fn new(options: KvOptions) -> Self {
        let environment = Environment::open(Options::new().budget(32 << 20)).unwrap();
        let database = environment.create("primary", options).unwrap();
        let secondary = (!options.has_duplicates()).then(|| {
            let options = options.with_duplicates();
            let index = environment.create("secondary", options).unwrap();
            database.associate(&index, ends).unwrap()
        });
        Self { environment, database, secondary, committed: Model::new() }
    }

    pub(crate) fn all(mut self, operations: &[Operation]) {
        let environment = self.environment.clone();
        let mut rest = operations;
        while !rest.is_empty() {
            let tx = environment.begin_write().unwrap();
            let mut active = Active { tx, seen: self.committed.clone(), savepoint: None };
            let is_end = |one: &Operation| matches!(one, Operation::Commit | Operation::RollBack);
            let end = rest.iter().position(is_end).unwrap_or(rest.len());
            rest[..end].iter().for_each(|operation| self.one(&mut active, operation));
            if let Some(Operation::RollBack) = rest.get(end) {
                drop(active);
            } else {
                active.tx.commit().unwrap();
                self.committed = active.seen;
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
        self.check(&environment.begin_read().unwrap(), &self.committed);
    }

    fn one(&self, active: &mut Active<'_>, operation: &Operation) {
        let Active { tx, seen, savepoint } = active;
        match operation {
            Operation::Savepoint => *savepoint = Some((tx.savepoint(), seen.clone())),
            Operation::RollBackToSavepoint => {
                if let Some((at, before)) = savepoint {
                    tx.roll_back_to(*at).unwrap();
                    seen.clone_from(before);
                }
            }
            Operation::Get(_) | Operation::GetPartial(..) | Operation::Check => {
                self.read(tx, seen, operation);
            }
            Operation::Cursor(steps) => walk(&self.database, tx, seen, steps),
            _ => self.change(tx, seen, operation),
        }
    }

    fn change(&self, tx: &WriteTransaction<'_>, seen: &mut Model, operation: &Operation) {
        let database = &self.database;
        let duplicates = database.options().has_duplicates();
        match operation {
            Operation::Put(key, value) => {
                database.put(tx, key, value).unwrap();
                put(seen, duplicates, key, value);
            }
            Operation::PutNoOverwrite(key, value) => {
                let done = database.put_no_overwrite(tx, key, value).map_err(|e| e.kind());
                if seen.contains_key(key) {
                    assert_eq!(done, Err(ErrorKind::DuplicateKey));
                } else {
                    assert_eq!(done, Ok(()));
                    put(seen, duplicates, key, value);
                }
            }
            Operation::PutNoDuplicate(key, value) => {
                let done = database.put_no_duplicate(tx, key, value).map_err(|e| e.kind());
                if !duplicates {
                    assert_eq!(done, Err(ErrorKind::InvalidOptions));
                } else if seen.get(key).is_some_and(|values| values.contains(value)) {
                    assert_eq!(done, Err(ErrorKind::DuplicateKey));
                } else {
                    assert_eq!(done, Ok(()));
                    put(seen, duplicates, key, value);
                }
            }
            Operation::PutPartial(key, offset, length, bytes) => {
                let done = database.put_partial(tx, key, *offset, *length, bytes);
                let done = done.map_err(|e| e.kind());
                if duplicates {
                    assert_eq!(done, Err(ErrorKind::InvalidOptions));
                } else {
                    assert_eq!(done, Ok(()));
                    let mut value = first(seen, key).cloned().unwrap_or_default();
                    value.resize(value.len().max(*offset), 0);
                    let end = (offset + length).min(value.len());
                    value.splice(offset..&end, bytes.iter().copied());
                    put(seen, duplicates, key, &value);
                }
            }
            Operation::Delete(key) => {
                let removed = seen.remove(key).map_or(0, |values| values.len() as u64);
                assert_eq!(database.delete(tx, key).unwrap(), removed);
            }
            Operation::DeleteBySecondary(key) => self.delete_by_secondary(tx, seen, key),
            Operation::Truncate => {
                let records: usize = seen.values().map(BTreeSet::len).sum();
                assert_eq!(database.truncate(tx).unwrap(), records as u64);
                seen.clear();
            }
            _ => unreachable!("not a change"),
        }
    }

    fn delete_by_secondary(&self, tx: &WriteTransaction<'_>, seen: &mut Model, key: &Bytes) {
        let Some(secondary) = &self.secondary else { return };
        let before = seen.len();
        seen.retain(|_, values| {
            let value = values.first().unwrap();
            let ends = [value.first(), value.last()];
            !ends.iter().flatten().any(|byte| key.as_slice() == [**byte])
        });
        let removed = secondary.delete(tx, key).unwrap();
        assert_eq!(removed, (before - seen.len()) as u64);
    }

    fn read(&self, tx: &ReadTransaction<'_>, seen: &Model, operation: &Operation) {
        match operation {
            Operation::Get(keys) => {
                for key in keys {
                    let expected = first(seen, key).map(Vec::as_slice);
                    assert_eq!(self.database.get(tx, key).unwrap(), expected);
                    assert_eq!(self.database.exists(tx, key).unwrap(), expected.is_some());
                }
                let mut numbers = 0..;
                let batch = self.database.get_batch(tx, keys, |i, value| {
                    assert_eq!(Some(i), numbers.next());
                    assert_eq!(value, first(seen, &keys[i]).map(Vec::as_slice));
                });
                batch.unwrap();
                assert_eq!(numbers.start, keys.len());
            }
            Operation::GetPartial(key, offset, length) => {
                let found = self.database.get_partial(tx, key, *offset, *length).unwrap();
                let expected = first(seen, key).map(|value| {
                    value.iter().skip(*offset).take(*length).copied().collect::<Bytes>()
                });
                assert_eq!(found, expected.as_deref());
            }
            _ => self.check(tx, seen),
        }
    }

    /// That the database holds what the model holds, however it is read.
    fn check(&self, tx: &ReadTransaction<'_>, seen: &Model) {
        let expected: Vec<_> = pairs(seen).map(as_slices).collect();
        let mut bulk: Vec<_> = self.database.bulk(tx).unwrap().collect();
        let mut folded = Vec::new();
        self.database.bulk(tx).unwrap().for_each(|record| folded.push(record));
        assert_eq!(bulk, folded);
        let mut copied: Vec<(Bytes, Bytes)> = Vec::new();
        let mut cursor = self.database.cursor(tx).unwrap();
        let mut buffer = vec![0; 1000];
        loop {
            let records = cursor.next_bulk(&mut buffer).unwrap();
            let again = BulkRecords::of(records.as_bytes());
            assert!(again.eq(records.clone()));
            let before = copied.len();
            copied.extend(records.map(|(key, value)| (key.to_vec(), value.to_vec())));
            if copied.len() == before {
                break;
            }
        }
        assert!(copied.iter().map(|(key, value)| as_slices((key, value))).eq(bulk.iter().copied()));
        let mut backwards = Vec::new();
        let mut cursor = self.database.cursor(tx).unwrap();
        while let Some(record) = cursor.previous().unwrap() {
            backwards.push(record);
        }
        backwards.reverse();
        assert_eq!(bulk, backwards);
        bulk.sort();
        assert_eq!(bulk, expected);
        let statistics = self.database.statistics(tx).unwrap();
        assert_eq!(statistics.keys, seen.len() as u64);
        assert_eq!(statistics.records, expected.len() as u64);
        self.check_secondary(tx, seen);
    }

    fn check_secondary(&self, tx: &ReadTransaction<'_>, seen: &Model) {
        let Some(secondary) = &self.secondary else { return };
        let mut expected = BTreeMap::new();
        for (key, value) in pairs(seen) {
            for byte in value.first().into_iter().chain(value.last()) {
                expected.insert((vec![*byte], key.clone()), value.clone());
            }
        }
        let mut cursor = secondary.cursor(tx).unwrap();
        let mut found = BTreeMap::new();
        while let Some(record) = cursor.step(|index| index.next()).unwrap() {
            let (key, primary_key) = (record.key.to_vec(), record.primary_key.to_vec());
            assert_eq!(found.insert((key, primary_key), record.value.to_vec()), None);
        }
        assert_eq!(found, expected);
        for (key, primary_key) in expected.keys() {
            let first = expected.range((key.clone(), Vec::new())..).next().unwrap();
            let found = secondary.get_primary(tx, key).unwrap().unwrap();
            assert_eq!(found, as_slices((&first.0.1, first.1)));
            assert!(found.0 <= primary_key.as_slice());
        }
    }
}

pub(crate) fn put(seen: &mut Model, duplicates: bool, key: &Bytes, value: &Bytes) {
    let values = seen.entry(key.clone()).or_default();
    if !duplicates {
        values.clear();
    }
    values.insert(value.clone());
}

pub(crate) fn pairs(seen: &Model) -> impl Iterator<Item = (&Bytes, &Bytes)> {
    seen.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)))
}

fn first<'m>(seen: &'m Model, key: &Bytes) -> Option<&'m Bytes> {
    seen.get(key)?.first()
}
