//! A cursor beside a position in the model.
//!
//! In a hashed database without duplicates the model does not know the order: there, moves that go
//! by it are left out, but for those that begin and end where the model knows it.

use remanent_engine::{ErrorKind, Result, WriteTransaction};
use remanent_kv::{Cursor, KeyValue, Kind, KvDatabase};

use crate::operation::{Bytes, Step};
use crate::run::{Model, pairs, put};

/// Where the cursor stands, and whether the record is still there that it came to.
#[derive(Clone)]
struct ModelPosition {
    pair: (Bytes, Bytes),
    alive: bool,
}

struct Walk<'m> {
    seen: &'m mut Model,
    duplicates: bool,
    at: Option<ModelPosition>,
}

pub(crate) fn walk(
    database: &KvDatabase,
    tx: &WriteTransaction<'_>,
    seen: &mut Model,
    steps: &[Step],
) {
    let duplicates = database.options().has_duplicates();
    let known_order = duplicates || database.options().kind() == Kind::Ordered;
    let mut walk = Walk { seen, duplicates, at: None };
    let mut cursor = database.cursor(tx).unwrap();
    for step in steps {
        if !known_order && goes_by_order(step) {
            continue;
        }
        match step {
            Step::Count => assert_eq!(cursor.count().unwrap(), walk.count()),
            Step::Duplicate => cursor = cursor.duplicate_cursor().unwrap(),
            Step::Bulk(size) => {
                let mut buffer = vec![0; *size];
                match cursor.next_bulk(&mut buffer) {
                    Ok(records) => walk.bulk(records.collect(), *size),
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::ValueTooLong);
                        walk.bulk(Vec::new(), *size);
                    }
                }
            }
            Step::Put(key, value) => {
                cursor.put(tx, key, value).unwrap();
                walk.put(key, value);
                walk.at = Some(ModelPosition { pair: (key.clone(), value.clone()), alive: true });
            }
            Step::PutCurrent(value) => {
                let done = cursor.put_current(tx, value).map_err(|e| e.kind());
                assert_eq!(done, walk.put_current(value));
            }
            Step::Delete => {
                let done = cursor.delete(tx).map_err(|e| e.kind());
                assert_eq!(done, walk.delete());
            }
            Step::PutBeside(key, value) => {
                database.put(tx, key, value).unwrap();
                walk.put(key, value);
            }
            Step::DeleteBeside(key) => {
                database.delete(tx, key).unwrap();
                walk.delete_beside(key);
            }
            _ => {
                let expected = walk.step(step);
                let found = moved(&mut cursor, step);
                let expected = expected.as_ref().map(|(key, value)| (&key[..], &value[..]));
                assert_eq!(found.unwrap(), expected, "{step:?}");
            }
        }
    }
}

/// The move that a step is.
fn moved<'t>(cursor: &mut Cursor<'t>, step: &Step) -> Result<Option<KeyValue<'t>>> {
    match step {
        Step::First => cursor.first(),
        Step::Last => cursor.last(),
        Step::Next => cursor.next(),
        Step::Previous => cursor.previous(),
        Step::Current => cursor.current(),
        Step::Set(key) => cursor.set(key),
        Step::SetRange(key) => cursor.set_range(key),
        Step::GetBoth(key, value) => cursor.get_both(key, value),
        Step::GetBothRange(key, value) => cursor.get_both_range(key, value),
        Step::NextDuplicate => cursor.next_duplicate(),
        Step::PreviousDuplicate => cursor.previous_duplicate(),
        Step::NextNoDuplicate => cursor.next_no_duplicate(),
        Step::PreviousNoDuplicate => cursor.previous_no_duplicate(),
        _ => unreachable!("handled above"),
    }
}

fn goes_by_order(step: &Step) -> bool {
    matches!(
        step,
        Step::First
            | Step::Last
            | Step::Next
            | Step::Previous
            | Step::NextNoDuplicate
            | Step::PreviousNoDuplicate
            | Step::SetRange(_)
            | Step::Bulk(_)
    )
}

impl Walk<'_> {
    /// Where a move leads to; if nowhere, the place stays.
    fn step(&mut self, step: &Step) -> Option<(Bytes, Bytes)> {
        let found = self.target(step).map(|(key, value)| (key.clone(), value.clone()));
        if let Some(pair) = &found {
            self.at = Some(ModelPosition { pair: pair.clone(), alive: true });
        }
        found
    }

    fn target(&self, step: &Step) -> Option<(&Bytes, &Bytes)> {
        let mut all = pairs(self.seen);
        let at = self.at.as_ref().map(|place| (&place.pair.0, &place.pair.1));
        match step {
            Step::First => all.next(),
            Step::Last => all.last(),
            Step::Next => all.find(|pair| at.is_none_or(|at| self.is_beyond(*pair, at))),
            Step::Previous => {
                all.filter(|pair| at.is_none_or(|at| self.is_beyond(at, *pair))).last()
            }
            Step::Current => {
                let place = self.at.as_ref().filter(|place| place.alive)?;
                all.find(|pair| self.is_same(*pair, (&place.pair.0, &place.pair.1)))
            }
            Step::Set(key) => all.find(|pair| pair.0 == key),
            Step::SetRange(key) => all.find(|pair| pair.0 >= key),
            Step::GetBoth(key, value) => all.find(|pair| *pair == (key, value)),
            Step::GetBothRange(key, value) if self.duplicates => {
                all.find(|pair| pair.0 == key && pair.1 >= value)
            }
            Step::GetBothRange(key, value) => all.find(|pair| *pair == (key, value)),
            Step::NextDuplicate => {
                let at = at.filter(|_| self.duplicates)?;
                all.find(|pair| pair.0 == at.0 && pair.1 > at.1)
            }
            Step::PreviousDuplicate => {
                let at = at.filter(|_| self.duplicates)?;
                all.filter(|pair| pair.0 == at.0 && pair.1 < at.1).last()
            }
            Step::NextNoDuplicate => all.find(|pair| at.is_none_or(|at| pair.0 > at.0)),
            Step::PreviousNoDuplicate => {
                all.filter(|pair| at.is_none_or(|at| pair.0 < at.0)).last()
            }
            _ => unreachable!("not a move"),
        }
    }

    fn is_beyond(&self, pair: (&Bytes, &Bytes), at: (&Bytes, &Bytes)) -> bool {
        if self.duplicates { pair > at } else { pair.0 > at.0 }
    }

    fn is_same(&self, pair: (&Bytes, &Bytes), at: (&Bytes, &Bytes)) -> bool {
        if self.duplicates { pair == at } else { pair.0 == at.0 }
    }

    fn count(&self) -> u64 {
        let Some(place) = &self.at else { return 0 };
        self.seen.get(&place.pair.0).map_or(0, |values| values.len() as u64)
    }

    /// That these are the next records, as many as a buffer of this size holds.
    fn bulk(&mut self, records: Vec<KeyValue<'_>>, size: usize) {
        let mut left = size;
        for (key, value) in records {
            let expected = self.step(&Step::Next).unwrap();
            assert_eq!((key, value), (&expected.0[..], &expected.1[..]));
            left -= 8 + key.len() + value.len();
        }
        if let Some((key, value)) = self.target(&Step::Next) {
            assert!(8 + key.len() + value.len() > left);
        }
    }

    fn put(&mut self, key: &Bytes, value: &Bytes) {
        put(self.seen, self.duplicates, key, value);
    }

    fn put_current(&mut self, value: &Bytes) -> Result<(), ErrorKind> {
        let Some(pair) = self.step(&Step::Current) else { return Err(ErrorKind::RowNotFound) };
        if self.duplicates && pair.1 != *value {
            return Err(ErrorKind::InvalidOptions);
        }
        self.put(&pair.0, value);
        Ok(())
    }

    fn delete(&mut self) -> Result<(), ErrorKind> {
        let Some(pair) = self.target(&Step::Current) else { return Err(ErrorKind::RowNotFound) };
        let (key, value) = (pair.0.clone(), pair.1.clone());
        if let Some(values) = self.seen.get_mut(&key) {
            values.remove(&value);
            if values.is_empty() {
                self.seen.remove(&key);
            }
        }
        if let Some(place) = &mut self.at {
            place.alive = false;
        }
        Ok(())
    }

    fn delete_beside(&mut self, key: &Bytes) {
        self.seen.remove(key);
        if let Some(place) = self.at.as_mut().filter(|place| place.pair.0 == *key) {
            place.alive = false;
        }
    }
}
