//! One thread of a soak: what it does to its rows, and what they must be.
//!
//! Each thread has keys of its own, so that its model says exactly what must be there; all are in
//! the same pages, nodes and buckets. The model has each row's key and a number from which its size
//! and content follow. Sizes are drawn from the *age* of the run: small rows at first, then larger
//! ones, then mixed, over and over, so that what one age leaves free is of the wrong size for the
//! next.

use std::error::Error;
use std::sync::atomic::Ordering;
use std::time::Duration;

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{ReadTransaction, Row, WriteTransaction};

use super::Shared;
use crate::random::Random;

/// Old transactions that only read: how often one is begun, in so many of 1000 transactions, and
/// for how many of them it stays at most.
const OLD_PER_MILLE: u64 = 10;
const OLD_MAX: u64 = 60;
/// How often the rows are frozen, in so many of 1000 transactions of the age of small rows.
const FROZEN_PER_MILLE: u64 = 1;

/// Operations of an age.
const AGE: u64 = 50_000;

/// Changes that a transaction makes, at most.
const CHANGES_MAX: u64 = 20;

/// Transactions refused one after the other, before it counts as for good.
const REFUSED_MAX: u32 = 1000;

/// The sizes of each age, with how often each is drawn.
const AGES: [&[(u64, (u64, u64))]; 5] = [
    &[(1, (0, 60))],
    &[(8, (20, 400)), (1, (1000, 4000))],
    &[(1, (400, 900))],
    &[(20, (0, 200)), (5, (4000, 9000)), (1, (20_000, 300_000))],
    &[(1, (1500, 1700)), (1, (8000, 8300))],
];

/// The table: keys in two indexes, and columns that every update changes in five more.
pub(super) fn schema() -> TableSchema {
    TableSchema::new("Soak")
        .column("key", ColumnType::U64)
        .column("number", ColumnType::U64)
        .column("data", ColumnType::BLOB)
        .primary_key(["key"])
        .ordered_index("by_number", ["number"])
        .ordered_index("by_both", ["number", "key"])
        .ordered_index("by_key_number", ["key", "number"])
        .hash_index("hashed", ["key"])
        .hash_index("numbered", ["number"])
}

pub(super) struct Worker<'s> {
    shared: &'s Shared,
    random: Random,
    /// Which thread it is, and of how many.
    place: (u64, u64),
    /// Keys with their numbers, in no order.
    rows: Vec<(u64, u64)>,
    next_key: u64,
    done: u64,
    /// A transaction that goes on beside this thread's others, and how many of those yet.
    old: Option<(ReadTransaction<'s>, u64)>,
}

/// A change of the model, to be made if the transaction commits.
enum Step {
    Add(u64, u64),
    Set(usize, u64),
    Remove(usize),
}

impl<'s> Worker<'s> {
    pub(super) fn new(shared: &'s Shared, seed: u64, place: (u64, u64)) -> Self {
        let random = Random::new(seed.wrapping_mul(1000) + place.0);
        Self { shared, random, place, rows: Vec::new(), next_key: 0, done: 0, old: None }
    }

    /// Does so many operations, then checks and deletes all its rows.
    pub(super) fn work(&mut self, operations: u64) -> Result<(), String> {
        let worked = self.work_on(operations);
        if worked.is_err() {
            self.shared.stop.store(true, Ordering::Relaxed);
        }
        worked.map_err(|error| format!("thread {}: {error}", self.place.0))
    }

    fn work_on(&mut self, operations: u64) -> Result<(), Box<dyn Error>> {
        let mut refused_in_a_row = 0;
        while self.done < operations && !self.shared.stop.load(Ordering::Relaxed) {
            let changes = self.random.between(1, CHANGES_MAX);
            self.beside()?;
            match self.transaction(changes) {
                Ok(()) => refused_in_a_row = 0,
                Err(error) if error.is_out_of_memory() => {
                    // Others may have filled it: what this one takes then is rows away.
                    self.shared.refused.fetch_add(1, Ordering::Relaxed);
                    refused_in_a_row += 1;
                    if refused_in_a_row > REFUSED_MAX / 100 {
                        // What is deleted is held for as long as it is seen.
                        self.old = None;
                    }
                    if refused_in_a_row > REFUSED_MAX {
                        return Err(format!("refused again and again: {error}").into());
                    }
                    if refused_in_a_row > REFUSED_MAX / 100 {
                        // Others may have to wait for their turn before they let go of theirs.
                        std::thread::sleep(Duration::from_millis(1));
                    }
                    self.delete(50)?;
                }
                Err(error) => return Err(error.into()),
            }
            if self.random.percent(2) {
                self.check_some(20)?;
            }
        }
        self.old = None;
        self.check_some(self.rows.len())?;
        self.shared.emptying.store(true, Ordering::Relaxed);
        // A third of them, in no order, then all the rest, in one transaction each.
        let most = self.rows.len();
        (1..most).rev().for_each(|i| {
            let other = self.random.below(i as u64 + 1) as usize;
            self.rows.swap(i, other);
        });
        self.delete(most / 3)?;
        self.delete(most)
    }

    /// Now and then begins a transaction that sees what is there now for a while, and freezes rows.
    fn beside(&mut self) -> Result<(), Box<dyn Error>> {
        match &mut self.old {
            Some((_, 0)) => self.old = None,
            Some((_, left)) => *left -= 1,
            None if self.random.below(1000) < OLD_PER_MILLE => {
                let old = self.shared.db.begin_read()?;
                self.old = Some((old, self.random.between(1, OLD_MAX)));
            }
            None => {}
        }
        let small = self.age() == 0;
        if small && self.random.below(1000) < FROZEN_PER_MILLE {
            match self.shared.db.freeze_all(&self.shared.table) {
                Err(error) if !error.is_out_of_memory() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn transaction(&mut self, changes: u64) -> remanent_engine::Result<()> {
        let (insert, delete) = (60, 10);
        let tx = self.shared.db.begin_write()?;
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..changes {
            let chance = self.random.below(100);
            let step = if chance < insert || self.rows.is_empty() {
                self.insert(&tx, steps.len() as u64)?
            } else {
                let place = self.random.below(self.rows.len() as u64) as usize;
                let is_taken = |step: &Step| match step {
                    Step::Set(other, _) | Step::Remove(other) => *other == place,
                    Step::Add(..) => false,
                };
                if steps.iter().any(is_taken) {
                    continue;
                }
                if chance < insert + delete {
                    self.remove(&tx, place)?
                } else {
                    self.set(&tx, place)?
                }
            };
            steps.push(step);
        }
        // Now and then it thinks better of it.
        if self.random.percent(5) {
            drop(tx);
        } else {
            tx.commit()?;
            self.note(steps);
        }
        self.done += changes;
        self.shared.operations.fetch_add(changes, Ordering::Relaxed);
        Ok(())
    }

    fn insert(&mut self, tx: &WriteTransaction<'_>, ahead: u64) -> remanent_engine::Result<Step> {
        let key = (self.next_key + ahead) * self.place.1 + self.place.0;
        let number = self.draw();
        let data = content(key, number);
        let values = [Some(key.into()), Some(number.into()), Some((&data).into())];
        tx.insert_values(&self.shared.table, &values)?;
        Ok(Step::Add(key, number))
    }

    fn set(&mut self, tx: &WriteTransaction<'_>, place: usize) -> remanent_engine::Result<Step> {
        let table = &self.shared.table;
        let key = self.rows[place].0;
        let number = self.draw();
        let data = content(key, number);
        let row = tx.find(table, table.index("hashed")?, &[key.into()])?.map(|row| row.id());
        let changes =
            [(table.column("number")?, number.into()), (table.column("data")?, (&data).into())];
        if let Some(row) = row {
            tx.update_values(table, row, &changes)?;
        }
        Ok(Step::Set(place, number))
    }

    fn remove(&self, tx: &WriteTransaction<'_>, place: usize) -> remanent_engine::Result<Step> {
        let table = &self.shared.table;
        let key = self.rows[place].0;
        if let Some(row) = tx.find(table, table.index("primary")?, &[key.into()])? {
            tx.delete(table, row.id())?;
        }
        Ok(Step::Remove(place))
    }

    fn note(&mut self, steps: Vec<Step>) {
        let mut removed: Vec<usize> = Vec::new();
        for step in steps {
            match step {
                Step::Add(key, number) => {
                    self.next_key = self.next_key.max(key / self.place.1 + 1);
                    self.rows.push((key, number));
                }
                Step::Set(place, number) => self.rows[place].1 = number,
                Step::Remove(place) => removed.push(place),
            }
        }
        removed.sort_unstable();
        removed.into_iter().rev().for_each(|place| {
            self.rows.swap_remove(place);
        });
    }

    /// Deletes some of its rows; that works however full the database is.
    ///
    /// What is deleted stays for as long as others may see it; until they end, the reserve that
    /// deletions have may be used up, on a busy machine where they wait for their turn.
    fn delete(&mut self, most: usize) -> Result<(), Box<dyn Error>> {
        let from = self.rows.len().saturating_sub(most);
        let mut refused = 0;
        loop {
            let deleted = self.shared.db.write(|tx| {
                (from..self.rows.len()).try_for_each(|place| self.remove(tx, place).map(|_| ()))
            });
            match deleted {
                Ok(()) => break,
                Err(error) if error.is_out_of_memory() && refused < REFUSED_MAX => {
                    // Frozen rows become versions before they are deleted, which stay for it.
                    self.old = None;
                    refused += 1;
                }
                Err(error) => return Err(error.into()),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.rows.truncate(from);
        Ok(())
    }

    /// Some of its rows are what the model says, by each index.
    fn check_some(&mut self, most: usize) -> Result<(), Box<dyn Error>> {
        let table = &self.shared.table;
        let all = most >= self.rows.len();
        for i in 0..most.min(self.rows.len()) {
            // Of frozen rows a transaction is given a few small ones, whatever the budget.
            let tx = self.shared.db.begin_read()?;
            let place = if all { i } else { self.random.below(self.rows.len() as u64) as usize };
            let (key, number) = self.rows[place];
            let (by_key, by_number) = (["primary", "hashed"], ["by_number", "numbered"]);
            let by_key = by_key.map(|index| (index, key));
            for (index, wanted) in by_key.into_iter().chain(by_number.map(|it| (it, number))) {
                let found = match tx.find(table, table.index(index)?, &[wanted.into()]) {
                    Err(error) if error.is_out_of_memory() => continue,
                    found => found?,
                };
                let found = found.ok_or_else(|| format!("key {key} is not in `{index}`"))?;
                check(self.shared, found, key, number)?;
            }
        }
        Ok(())
    }

    /// Which age it is.
    fn age(&self) -> usize {
        (self.done / AGE) as usize % AGES.len()
    }

    /// A number whose size is one of the age's.
    fn draw(&mut self) -> u64 {
        let (low, high) = self.random.weighted(AGES[self.age()]).unwrap_or((0, 0));
        let size = self.random.between(low, high);
        self.random.word() << 20 | size
    }
}

fn check(shared: &Shared, row: Row<'_>, key: u64, number: u64) -> Result<(), Box<dyn Error>> {
    let table = &shared.table;
    let is_right = row.get::<u64>(table.column("number")?) == Some(number)
        && row.blob(table.column("data")?) == Some(&content(key, number));
    if is_right { Ok(()) } else { Err(format!("the row of key {key} is another").into()) }
}

/// What the row of a key holds: as many bytes as the low bits of its number say.
fn content(key: u64, number: u64) -> Vec<u8> {
    let size = (number & 0xf_ffff) as usize;
    let word = (key ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    word.to_le_bytes().into_iter().cycle().take(size).collect()
}
