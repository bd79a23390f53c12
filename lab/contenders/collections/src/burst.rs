//! A bare `BTreeMap` into which many pairs are inserted: the limit of a large transaction.
//!
//! No lock and no transaction: what is inserted is there, and cannot be taken back. Nobody can read
//! beside whoever inserts.

use std::cell::RefCell;
use std::collections::BTreeMap;

use lab_harness::Outcome;
use lab_harness::burst::{Burst, BurstStore};
use lab_harness::pairs::{Pair, Seen, Value};

#[derive(Default)]
pub(crate) struct Bare(RefCell<BTreeMap<u64, Value>>);

struct Insert<'m>(std::cell::RefMut<'m, BTreeMap<u64, Value>>);

impl BurstStore for Bare {
    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        Ok(Box::new(Insert(self.0.borrow_mut())))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        self.0.borrow().iter().for_each(|(key, value)| seen.see(&key.to_be_bytes(), value));
        Ok(())
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Insert<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        for (key, value) in pairs {
            self.0.insert(u64::from_be_bytes(*key), *value);
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }

    fn roll_back(self: Box<Self>) -> Outcome<()> {
        Err("it has no transactions".into())
    }
}
