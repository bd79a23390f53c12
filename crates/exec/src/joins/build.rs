//! A build side on its way into a table: the numbers of its keys, row by row.
//!
//! How a key is looked up is decided when all rows have come: by where its numbers lie.

use std::borrow::Cow;
use std::sync::Arc;

use super::lookup::{Lookup, NumberTable, RankedSet, WideTable};
use super::table::{JoinKey, JoinTable, Order, Part};
use crate::conditions::key_set::{KeySet, ends_of};
use crate::conditions::key_sketch::KeySketch;
use crate::conditions::ranges::NumberRange;
use crate::keys::column::{KeyColumn, TextNumbers};
use crate::keys::texts::KnownTexts;
use crate::rows::Rows;
use crate::sources::account::{Account, Refused};
use crate::sources::source::{Given, Slice, Source, has_bit};

/// Rows of a build side, at most: the last numbers stand for no row.
pub(super) const ROWS_MAX: usize = (u32::MAX - 3) as usize;

/// Packed numbers have at most so many bits.
const PACKED_BITS: u32 = 62;

/// The rows of a build side that have come so far.
///
/// # Examples
/// ```
/// use remanent_exec::*;
/// let ids = [30, 10, 20, 10];
/// let given = Given { values: Slice::I64(&ids), nulls: None, range: None };
/// let memory = &mut |_| true;
/// let mut build = JoinBuild::new(&[JoinKey { is_text: false }], false);
/// build.add(&[given], ids.len(), memory).expect("memory");
/// let table = build.finish(&[true], memory).expect("memory");
/// assert!(!table.is_unique());
/// assert!(table.wanted(0).is_some_and(|it| it.may_have(20) && !it.may_have(25)));
///
/// let wanted = [10, 11];
/// let given = Given { values: Slice::I64(&wanted), nulls: None, range: None };
/// let mut probe = Probe::new(&table);
/// let mut columns = table.columns(&[ProbeSource::first(Source::Given(given))]);
/// let mut entries = Vec::new();
/// let rows = Rows::Stretch(0, 2);
/// table.find(&mut probe, &mut columns, &[], &[rows], &mut entries).expect("memory");
/// assert!(entries[0] != NO_ENTRY && entries[1] == NO_ENTRY);
/// ```
pub struct JoinBuild {
    pub(super) keys: Vec<JoinKey>,
    nulls_are_equal: bool,
    /// The numbers of each key, and of which are null, if these are equal.
    pub(super) numbers: Vec<Vec<i64>>,
    /// A bit for each row whose key is null, once there is one.
    pub(super) null_keys: Option<Vec<u64>>,
    pub(super) texts: Vec<KnownTexts>,
    pub(super) rows: usize,
    /// Whether the only key is a number that has ascended from row to row so far.
    pub(super) ascends: bool,
    pub(super) taken: usize,
    scratch: Vec<i64>,
    words: Vec<u64>,
}

impl JoinBuild {
    /// No rows yet, of keys of these columns; whether one that is null equals another.
    pub fn new(keys: &[JoinKey], nulls_are_equal: bool) -> Self {
        Self {
            keys: keys.to_vec(),
            nulls_are_equal,
            numbers: vec![Vec::new(); keys.len() + usize::from(nulls_are_equal)],
            null_keys: None,
            texts: keys.iter().map(|_| KnownTexts::new()).collect(),
            rows: 0,
            ascends: matches!(keys, [JoinKey { is_text: false }]) && !nulls_are_equal,
            taken: 0,
            scratch: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Adds rows, whose keys are given column by column; `memory` says whether there may be so many
    /// bytes in all.
    ///
    /// # Errors
    /// Memory is refused, or there are too many rows; then it is of no use any more.
    ///
    /// # Panics
    /// If a column has other values than the key.
    pub fn add(
        &mut self,
        columns: &[Given<'_>],
        rows: usize,
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<(), Refused> {
        let mut account = Account { taken: &mut self.taken, memory };
        if self.rows + rows > ROWS_MAX {
            return Err(Refused);
        }
        for numbers in &mut self.numbers {
            account.reserve(numbers, rows)?;
            numbers.resize(self.rows + rows, 0);
        }
        for (key, given) in columns.iter().enumerate() {
            let mut given = *given;
            if let Slice::I64(_) = given.values {
                // All have room in 8 bytes, and nobody asks for more.
                given.range = Some(NumberRange { low: i64::MIN.into(), high: i64::MAX.into() });
            }
            let column = KeyColumn::of(&Source::Given(given));
            let column = column.filter(|column| column.is_text() == self.keys[key].is_text);
            let mut column = column.expect("values of a key");
            let into = &mut self.numbers[key][self.rows..];
            let known = &mut self.texts[key];
            match &mut column {
                KeyColumn::Numbers(loader) => loader.load(Rows::Stretch(0, rows), into),
                column => {
                    self.words.resize(rows, 0);
                    let number_of = &mut |text: &[u8]| known.number_of(text, &mut account);
                    let known = &mut TextNumbers { number_of, by_row: &mut Vec::new() };
                    let all = Rows::Stretch(0, rows);
                    column.load(all, known, &mut self.words, &mut self.scratch)?;
                    into.iter_mut().zip(&self.words).for_each(|(to, word)| *to = *word as i64);
                }
            }
        }
        for (key, given) in columns.iter().enumerate() {
            if let Some(nulls) = given.nulls {
                self.note_nulls(key, nulls, rows);
            }
        }
        if self.ascends {
            let from = self.rows.saturating_sub(1);
            self.ascends = self.null_keys.is_none() && self.numbers[0][from..].is_sorted_by(less);
        }
        self.rows += rows;
        if let Some(nulls) = &mut self.null_keys {
            nulls.resize(self.rows.div_ceil(64), 0);
        }
        Ok(())
    }

    /// Notes which of the rows that are being added have no value of a key.
    fn note_nulls(&mut self, key: usize, nulls: &[u64], rows: usize) {
        let (first, end) = (self.rows, self.rows + rows);
        for row in (0..rows).filter(|row| has_bit(nulls, *row)) {
            let at = first + row;
            self.numbers[key][at] = 0;
            if self.nulls_are_equal {
                self.numbers[self.keys.len()][at] |= 1 << key;
            } else {
                let bits = self.null_keys.get_or_insert_default();
                bits.resize(bits.len().max(end.div_ceil(64)), 0);
                bits[at / 64] |= 1 << (at % 64);
            }
        }
    }

    /// The table, with sets of the numbers of those keys for which they are wanted.
    ///
    /// # Errors
    /// Memory is refused.
    pub fn finish(
        mut self,
        wanted: &[bool],
        memory: &mut dyn FnMut(usize) -> bool,
    ) -> Result<JoinTable, Refused> {
        let mut taken = self.taken;
        let mut account = Account { taken: &mut taken, memory };
        let parts = self.parts();
        let sets = self.sets(wanted, &parts, &mut account)?;
        let sketches = self.sketches(wanted, &parts, &sets, &mut account)?;
        if let (true, [Some(set)]) = (self.ascends && self.rows > 0, sets.as_slice()) {
            // Each row is the entry of its key.
            let (ranked, entries) = RankedSet::new(Arc::clone(set), &mut account)?;
            account.give_back(self.numbers[0].capacity() * size_of::<i64>());
            return Ok(JoinTable {
                parts,
                nulls_are_equal: false,
                lookup: Some(Lookup::Ranked(ranked)),
                order: Order::Same,
                entries,
                rows: self.rows,
                null_keys: None,
                texts: self.texts,
                sets,
                sketches,
                bytes: taken,
            });
        }
        let valid = self.valid();
        let (lookup, entries) = match valid {
            0 => (None, Vec::new()),
            _ => {
                let (lookup, entries) = self.lookup(&parts, &sets, valid, &mut account)?;
                (Some(lookup), entries)
            }
        };
        // What is left of the numbers is not needed any more.
        let numbers: usize = self.numbers.iter().map(Vec::capacity).sum();
        self.numbers.clear();
        account.give_back(numbers * size_of::<i64>());
        let count = entries.iter().filter(|entry| **entry != NONE).max();
        let count = count.map_or(0, |entry| *entry as usize + 1);
        let order = order_of(&entries, count, valid, &mut account)?;
        account.give_back(entries.capacity() * size_of::<u32>());
        Ok(JoinTable {
            parts,
            nulls_are_equal: self.nulls_are_equal,
            lookup,
            order,
            entries: count,
            rows: self.rows,
            null_keys: self.null_keys,
            texts: self.texts,
            sets,
            sketches,
            bytes: taken,
        })
    }

    /// How many rows have a key that another one can equal.
    fn valid(&self) -> usize {
        let nulls = self.null_keys.iter().flatten().map(|word| word.count_ones() as usize);
        self.rows - nulls.sum::<usize>()
    }

    fn is_valid(&self, row: usize) -> bool {
        self.null_keys.as_ref().is_none_or(|nulls| !has_bit(nulls, row))
    }

    /// Those numbers of a key whose rows have one that another can equal.
    fn of_valid<'n>(&self, numbers: &'n [i64]) -> Cow<'n, [i64]> {
        match self.null_keys {
            None => numbers.into(),
            Some(_) => {
                let rows = (0..self.rows).filter(|row| self.is_valid(*row));
                rows.map(|row| numbers[row]).collect()
            }
        }
    }

    /// The least and the greatest of each of the numbers of keys, and how they are packed.
    fn parts(&self) -> Vec<Part> {
        let mut parts: Vec<Part> = Vec::with_capacity(self.numbers.len());
        for (part, numbers) in self.numbers.iter().enumerate() {
            let (mut low, mut high) = (i64::MAX, i64::MIN);
            match (&self.null_keys, numbers.first().zip(numbers.last())) {
                (None, Some((first, last))) if self.ascends => (low, high) = (*first, *last),
                (None, _) => {
                    (low, high) = ends_of(numbers).unwrap_or((low, high));
                }
                (Some(_), _) => {
                    for row in (0..self.rows).filter(|row| self.is_valid(*row)) {
                        (low, high) = (low.min(numbers[row]), high.max(numbers[row]));
                    }
                }
            }
            let is_text = self.keys.get(part).is_some_and(|key| key.is_text);
            parts.push(Part { is_text, low: low.min(high), high, stride: 0 });
        }
        let mut product: i64 = 1;
        let packed = parts.iter().map(|part| {
            let stride = product;
            let steps = part.high.checked_sub(part.low)?.checked_add(1)?;
            product = product.checked_mul(steps).filter(|product| *product < 1 << PACKED_BITS)?;
            Some(stride)
        });
        if let Some(strides) = packed.collect::<Option<Vec<_>>>() {
            parts.iter_mut().zip(strides).for_each(|(part, stride)| part.stride = stride);
        }
        parts
    }

    /// The numbers of keys that are wanted.
    fn sets(
        &self,
        wanted: &[bool],
        parts: &[Part],
        account: &mut Account<'_>,
    ) -> Result<Vec<Option<Arc<KeySet>>>, Refused> {
        let is_alone = parts.len() == 1 && !parts[0].is_text;
        let sets = (0..self.keys.len()).map(|key| {
            let is_wanted = wanted.get(key).copied().unwrap_or_default() || is_alone;
            if !is_wanted || parts[key].is_text {
                return Ok(None);
            }
            let set = KeySet::of_numbers(&self.of_valid(&self.numbers[key]));
            set.iter().try_for_each(|set| account.take(set.bytes()))?;
            Ok(set.map(Arc::new))
        });
        sets.collect()
    }

    /// Sketches of keys that are wanted and lie too far apart for sets.
    fn sketches(
        &self,
        wanted: &[bool],
        parts: &[Part],
        sets: &[Option<Arc<KeySet>>],
        account: &mut Account<'_>,
    ) -> Result<Vec<Option<Arc<KeySketch>>>, Refused> {
        let sketches = sets.iter().enumerate().map(|(key, set)| {
            let is_wanted = wanted.get(key).copied().unwrap_or_default();
            if !is_wanted || set.is_some() || parts[key].is_text {
                return Ok(None);
            }
            account.take(KeySketch::bytes_for(self.rows))?;
            let sketch = KeySketch::of_numbers(&self.of_valid(&self.numbers[key]));
            Ok(sketch.map(Arc::new))
        });
        sketches.collect()
    }

    /// How keys are looked up, and the entry of each row.
    fn lookup(
        &mut self,
        parts: &[Part],
        sets: &[Option<Arc<KeySet>>],
        valid: usize,
        account: &mut Account<'_>,
    ) -> Result<(Lookup, Vec<u32>), Refused> {
        let mut entries = Vec::new();
        account.reserve(&mut entries, self.rows)?;
        entries.resize(self.rows, NONE);
        if parts.len() > 1 && parts[0].stride == 0 {
            let table = self.wide(valid, &mut entries, account)?;
            return Ok((Lookup::Wide(table), entries));
        }
        let numbers = match parts {
            [_] => std::mem::take(&mut self.numbers[0]),
            parts => self.packed(parts),
        };
        let set = match (parts, sets) {
            ([part], [set]) if !part.is_text => set.clone(),
            _ => {
                let set = KeySet::of_numbers(&self.of_valid(&numbers));
                set.iter().try_for_each(|set| account.take(set.bytes()))?;
                set.map(Arc::new)
            }
        };
        let lookup = if let Some(set) = set {
            let (ranked, _) = RankedSet::new(set, account)?;
            ranked.find_all(&numbers, &mut entries);
            Lookup::Ranked(ranked)
        } else {
            Lookup::Hashed(match self.null_keys {
                None => NumberTable::of(&numbers, &mut entries, account)?,
                Some(_) => {
                    let mut of_valid = Vec::new();
                    account.reserve(&mut of_valid, valid)?;
                    of_valid.resize(valid, NONE);
                    account.take(valid * size_of::<i64>())?;
                    let numbers = self.of_valid(&numbers);
                    let table = NumberTable::of(&numbers, &mut of_valid, account)?;
                    let rows = (0..self.rows).filter(|row| self.is_valid(*row));
                    account.give_back(valid * size_of::<i64>());
                    account.give_back(of_valid.capacity() * size_of::<u32>());
                    rows.zip(of_valid).for_each(|(row, entry)| entries[row] = entry);
                    table
                }
            })
        };
        if self.null_keys.is_some() {
            for row in (0..self.rows).filter(|row| !self.is_valid(*row)) {
                entries[row] = NONE;
            }
        }
        Ok((lookup, entries))
    }

    /// The numbers of each row's key as one.
    fn packed(&self, parts: &[Part]) -> Vec<i64> {
        let mut packed = vec![0_i64; self.rows];
        for (part, numbers) in parts.iter().zip(&self.numbers) {
            for (to, number) in packed.iter_mut().zip(numbers) {
                // What null rows have does not matter, and may be out of bounds.
                *to = to.wrapping_add(number.wrapping_sub(part.low).wrapping_mul(part.stride));
            }
        }
        packed
    }

    fn wide(
        &self,
        valid: usize,
        entries: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<WideTable, Refused> {
        let mut table = WideTable::new(self.numbers.len(), valid, account)?;
        if self.null_keys.is_none() {
            table.insert_all(&self.numbers, entries);
            return Ok(table);
        }
        let (mut key, mut next) = (vec![0; self.numbers.len()], 0);
        for row in (0..self.rows).filter(|row| self.is_valid(*row)) {
            key.iter_mut().zip(&self.numbers).for_each(|(to, numbers)| *to = numbers[row]);
            entries[row] = table.insert(&key, next);
            next = next.max(entries[row] + 1);
        }
        Ok(table)
    }
}

pub(super) fn less(one: &i64, other: &i64) -> bool {
    one < other
}

/// The entry of a row whose key is null.
const NONE: u32 = super::lookup::NO_ENTRY;

/// The rows of so many entries, by the entry of each row.
fn order_of(
    entries: &[u32],
    count: usize,
    valid: usize,
    account: &mut Account<'_>,
) -> Result<Order, Refused> {
    if count == entries.len() && entries.iter().zip(0..).all(|(entry, row)| *entry == row) {
        return Ok(Order::Same);
    }
    let with_entry = || entries.iter().zip(0_u32..).filter(|(entry, _)| **entry != NONE);
    let mut rows = Vec::new();
    account.reserve(&mut rows, valid)?;
    rows.resize(valid, 0);
    if count == valid {
        with_entry().for_each(|(entry, row)| rows[*entry as usize] = row);
        return Ok(Order::One(rows));
    }
    let mut starts: Vec<u32> = Vec::new();
    account.reserve(&mut starts, count + 2)?;
    starts.resize(count + 2, 0);
    // Each place is that of the next row of the entry before, and at last where the entry begins.
    with_entry().for_each(|(entry, _)| starts[*entry as usize + 2] += 1);
    for entry in 2..starts.len() {
        starts[entry] += starts[entry - 1];
    }
    for (entry, row) in with_entry() {
        let at = &mut starts[*entry as usize + 1];
        rows[*at as usize] = row;
        *at += 1;
    }
    starts.pop();
    Ok(Order::Many { starts, rows })
}
