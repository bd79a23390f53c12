//! Small pairs in the standard library's maps, and in a flat array: the limit.
//!
//! A map lies behind one uncontended mutex, its key in it as an integer that orders as the bytes
//! do, its value in it too. The array holds records of 40 bytes, key and value, each at the place
//! that its key says; nothing is looked for, and nothing can be faster to read in order.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use lab_harness::Outcome;
use lab_harness::pairs::{KEY_LEN, Key, Pair, PairStore, Seen, VALUE_LEN, Value};
use rustc_hash::FxBuildHasher;

/// An ordered map of pairs.
#[derive(Default)]
pub(crate) struct Ordered(Mutex<BTreeMap<u64, Value>>);

/// A hashed map of pairs.
#[derive(Default)]
pub(crate) struct Hashed(Mutex<HashMap<u64, Value, FxBuildHasher>>);

/// Records one behind the other.
#[derive(Default)]
pub(crate) struct Flat(Vec<[u8; KEY_LEN + VALUE_LEN]>);

fn lock<T>(map: &Mutex<T>) -> Outcome<MutexGuard<'_, T>> {
    map.lock().map_err(|_| "poisoned".into())
}

macro_rules! map_store {
    () => {
        fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
            lock(&self.0)?.insert(u64::from_be_bytes(*key), *value);
            Ok(())
        }

        fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
            match lock(&self.0)?.get_mut(&u64::from_be_bytes(*key)) {
                Some(place) => *place = *value,
                None => return Err("a key is not there".into()),
            }
            Ok(())
        }

        fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
            let mut map = lock(&self.0)?;
            map.extend(pairs.iter().map(|(key, value)| (u64::from_be_bytes(*key), *value)));
            Ok(())
        }

        fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
            match lock(&self.0)?.get(&u64::from_be_bytes(*key)) {
                Some(value) => *out = *value,
                None => return Ok(false),
            }
            Ok(true)
        }

        fn close(self: Box<Self>) -> Outcome<()> {
            Ok(())
        }
    };
}

impl PairStore for Ordered {
    map_store!();

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        for (key, value) in lock(&self.0)?.iter() {
            seen.see(&key.to_be_bytes(), value);
        }
        Ok(())
    }
}

impl PairStore for Hashed {
    map_store!();

    fn is_ordered(&self) -> bool {
        false
    }
}

impl Flat {
    fn at(&mut self, key: &Key) -> Option<&mut [u8; KEY_LEN + VALUE_LEN]> {
        let place = usize::try_from(u64::from_be_bytes(*key)).ok()?;
        self.0.get_mut(place).filter(|record| record[..KEY_LEN] == *key)
    }
}

impl PairStore for Flat {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        let mut record = [0; KEY_LEN + VALUE_LEN];
        record[..KEY_LEN].copy_from_slice(key);
        record[KEY_LEN..].copy_from_slice(value);
        self.0.push(record);
        Ok(())
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        let record = self.at(key).ok_or("a key is not there")?;
        record[KEY_LEN..].copy_from_slice(value);
        Ok(())
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        pairs.iter().try_for_each(|(key, value)| self.insert(key, value))
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let Some(record) = self.at(key) else { return Ok(false) };
        out.copy_from_slice(&record[KEY_LEN..]);
        Ok(true)
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        for record in &self.0 {
            let (key, value) = record.split_at(KEY_LEN);
            seen.see_bytes(key, value);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}
