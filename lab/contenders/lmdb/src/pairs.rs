//! Small pairs in LMDB: keys are bytes, values are written in place.
//!
//! The environment takes a key as an integer whose bytes in memory are the key's own, and compares
//! bytes. One renewed read transaction serves all reads of its owner; reading in order is a cursor
//! over the map. Threads that commit wait for each other, each commit with a sync of its own.

use lab_harness::pairs::{CommitStore, Committer, Key, Pair, PairStore, Seen, VALUE_LEN, Value};
use lab_harness::readers::Ended;
use lab_harness::{Location, Outcome, Promise, Setting};
use lmdb_master_sys::{MDB_NOSYNC, MDB_WRITEMAP};

use crate::environment::{Environment, Move, Reading};

pub(crate) struct Pairs(Environment);

struct Thread<'e> {
    environment: &'e Environment,
    reading: Reading<'e>,
}

/// Opens a database, new or not.
pub(crate) fn open(setting: &Setting, location: &Location<'_>) -> Outcome<Pairs> {
    let flags = match setting.promise {
        Promise::Disk => 0,
        Promise::Memory => MDB_NOSYNC | MDB_WRITEMAP,
        _ => MDB_NOSYNC,
    };
    let map_bytes = location.data_bytes as usize * 4 + (1 << 30);
    Ok(Pairs(Environment::open_bytes(location.files()?, flags, map_bytes)?))
}

impl PairStore for Pairs {
    fn insert(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.0.put(u64::from_ne_bytes(*key), VALUE_LEN, |place| place.copy_from_slice(value))
    }

    fn overwrite(&mut self, key: &Key, value: &Value) -> Outcome<()> {
        self.0.set(u64::from_ne_bytes(*key), VALUE_LEN, |place| place.copy_from_slice(value))
    }

    fn insert_many(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let mut writing = self.0.writing()?;
        for (key, value) in pairs {
            let key = u64::from_ne_bytes(*key);
            writing.insert(key, VALUE_LEN, |place| place.copy_from_slice(value))?;
        }
        writing.commit()
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let copied = self.0.get(u64::from_ne_bytes(*key), |value| copy(value, out))?;
        Ok(copied.unwrap_or(false))
    }

    fn read_in_order(&mut self, seen: &mut Seen) -> Outcome<()> {
        self.0.reading()?.run(|reading| {
            let mut see = |key: u64, value: &[u8]| seen.see_bytes(&key.to_ne_bytes(), value);
            let mut found = reading.walk(Move::First, &mut see)?;
            while found.is_some() {
                found = reading.walk(Move::Next, &mut see)?;
            }
            Ok(())
        })
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl CommitStore for Pairs {
    fn committer(&self) -> Outcome<Box<dyn Committer + '_>> {
        Ok(Box::new(Thread { environment: &self.0, reading: self.0.reading()? }))
    }

    fn syncs(&self) -> Outcome<Option<u64>> {
        Ok(None)
    }
}

impl Committer for Thread<'_> {
    fn commit(&mut self, key: &Key, value: &Value) -> Outcome<Ended> {
        let key = u64::from_ne_bytes(*key);
        self.environment.set(key, VALUE_LEN, |place| place.copy_from_slice(value))?;
        Ok(Ended::Committed)
    }

    fn read(&mut self, key: &Key, out: &mut Value) -> Outcome<bool> {
        let key = u64::from_ne_bytes(*key);
        let mut found = false;
        self.reading.run(|reading| {
            found = reading.get(key, |value| copy(value, out))?.unwrap_or(false);
            Ok(())
        })?;
        Ok(found)
    }
}

fn copy(value: &[u8], out: &mut Value) -> bool {
    let whole = value.len() == out.len();
    if whole {
        out.copy_from_slice(value);
    }
    whole
}
