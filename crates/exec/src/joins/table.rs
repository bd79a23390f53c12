//! The rows of a build side, found by their keys.
//!
//! A key leads to an entry, and an entry to its rows. Where no two rows have one key, and the rows
//! came in the order of the entries, an entry is the number of its row.

use std::sync::Arc;

use super::lookup::{Lookup, NO_ENTRY};
use crate::conditions::key_set::KeySet;
use crate::conditions::key_sketch::{KeySketch, WantedNumbers};
use crate::keys::texts::KnownTexts;

/// One column of the keys of a join.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JoinKey {
    /// Whether it is a text; else it is a whole number of 8 bytes.
    pub is_text: bool,
}

/// The rows of a build side, found by their keys.
///
/// # Examples
/// See [`JoinBuild`](crate::JoinBuild).
pub struct JoinTable {
    pub(crate) parts: Vec<Part>,
    pub(crate) nulls_are_equal: bool,
    /// `None` if no row has a key that another one can equal.
    pub(crate) lookup: Option<Lookup>,
    pub(crate) order: Order,
    pub(crate) entries: usize,
    pub(crate) rows: usize,
    /// Whether the key of some row is null, and equals none; a bit for each such row.
    pub(crate) null_keys: Option<Vec<u64>>,
    /// The texts of each part.
    pub(crate) texts: Vec<KnownTexts>,
    pub(crate) sets: Vec<Option<Arc<KeySet>>>,
    pub(crate) sketches: Vec<Option<Arc<KeySketch>>>,
    pub(crate) bytes: usize,
}

/// Different values of a column of keys.
#[derive(Clone, Debug)]
pub enum KeyList<'t> {
    /// Whole numbers.
    Numbers(Vec<i64>),
    /// Texts.
    Texts(Vec<&'t [u8]>),
}

/// A number of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(crate) is_text: bool,
    /// The least and the greatest.
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// What a step of it is in the packed number; 0 if keys are not packed.
    pub(crate) stride: i64,
}

/// The rows of each entry.
#[derive(Debug)]
pub(crate) enum Order {
    /// Each entry is its row.
    Same,
    /// Each entry has one row.
    One(Vec<u32>),
    /// The rows of an entry begin at its place of the first, and end at the next.
    Many { starts: Vec<u32>, rows: Vec<u32> },
}

impl JoinTable {
    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether no two rows have one key.
    pub fn is_unique(&self) -> bool {
        !matches!(self.order, Order::Many { .. })
    }

    /// Whether no two rows have one key, those included whose key is null and equals none.
    pub fn is_unique_with_nulls(&self) -> bool {
        self.is_unique() && self.null_keys.is_none()
    }

    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The numbers of a column of the keys, if they were wanted; where they are too far apart, some
    /// others, too.
    pub fn wanted(&self, key: usize) -> Option<WantedNumbers> {
        let set = self.sets.get(key)?.clone().map(WantedNumbers::Set);
        let sketch = || self.sketches.get(key)?.clone().map(WantedNumbers::Sketch);
        set.or_else(sketch)
    }

    /// The different values of a column of the keys, if there are at most so many keys.
    pub fn list(&self, key: usize, keys_max: usize) -> Option<KeyList<'_>> {
        let part = self.parts.get(key)?;
        if self.entries > keys_max {
            return None;
        }
        let packed = |number: i64| match self.parts.len() {
            1 => number,
            _ => {
                let steps = part.high.wrapping_sub(part.low).wrapping_add(1);
                part.low.wrapping_add(number / part.stride % steps)
            }
        };
        let mut numbers: Vec<i64> = match &self.lookup {
            None => Vec::new(),
            Some(Lookup::Ranked(ranked)) => ranked.set.numbers().map(packed).collect(),
            Some(Lookup::Hashed(table)) => table.numbers().map(packed).collect(),
            Some(Lookup::Wide(table)) => table.numbers(key).collect(),
        };
        // Where nulls are equal, they have a number, which is 0 and no value.
        if self.nulls_are_equal {
            return None;
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(match part.is_text {
            false => KeyList::Numbers(numbers),
            true => {
                let texts = numbers.into_iter();
                KeyList::Texts(texts.map(|number| self.texts[key].get(number as u64)).collect())
            }
        })
    }

    /// Whether a row's key is null, and so equals none.
    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.null_keys.as_ref().is_some_and(|nulls| nulls[row / 64] >> (row % 64) & 1 == 1)
    }

    /// The row of an entry, of a table in which no two rows have one key.
    #[inline]
    pub(crate) fn row_of(&self, entry: u32) -> u32 {
        match &self.order {
            Order::Same => entry,
            Order::One(rows) => rows[entry as usize],
            Order::Many { starts, rows } => rows[starts[entry as usize] as usize],
        }
    }

    /// The rows of an entry from one of them on, of any table.
    #[inline]
    pub(crate) fn rows_of(&self, entry: u32, from: usize) -> RowsOfEntry<'_> {
        match &self.order {
            Order::Same | Order::One(_) if from > 0 => RowsOfEntry::Many(&[]),
            Order::Same | Order::One(_) => RowsOfEntry::One(self.row_of(entry)),
            Order::Many { starts, rows } => {
                let [start, end] = [entry, entry + 1].map(|entry| starts[entry as usize] as usize);
                RowsOfEntry::Many(&rows[start + from..end])
            }
        }
    }

    /// Which entry each row has; [`NO_ENTRY`] if its key is null.
    pub(crate) fn entries_of_rows(&self) -> Vec<u32> {
        let mut entries = vec![NO_ENTRY; self.rows];
        for entry in 0..self.entries as u32 {
            match self.rows_of(entry, 0) {
                RowsOfEntry::One(row) => entries[row as usize] = entry,
                RowsOfEntry::Many(rows) => {
                    rows.iter().for_each(|row| entries[*row as usize] = entry);
                }
            }
        }
        entries
    }
}

/// The rows of an entry.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowsOfEntry<'t> {
    One(u32),
    Many(&'t [u32]),
}
