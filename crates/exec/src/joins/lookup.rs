//! Which entry a key has: one of the different keys of a build side, in the order of the entries.
//!
//! Keys are one number where that can be: the numbers of several columns are packed. Numbers that
//! lie close together have a bit each, and the entry of a key is how many bits come before its own:
//! for six million numbers that takes a megabyte, which stays in a processor's cache. Others are
//! found by a hash. (Bits and ranks: Jacobson, Space-efficient Static Trees and Graphs, FOCS 1989.)

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::Arc;

use crate::conditions::key_set::KeySet;
use crate::keys::hash::{FirstSlot, HashTable, Hasher};
use crate::simd::vectorized;
use crate::sources::account::{Account, Refused};

/// The entry of a key that there is not.
pub const NO_ENTRY: u32 = u32::MAX;

/// Keys, each with the number of its entry.
#[derive(Debug)]
pub(crate) enum Lookup {
    /// Numbers that lie close together; entries are in their order.
    Ranked(RankedSet),
    /// Other numbers; entries are in the order in which they came.
    Hashed(NumberTable),
    /// Keys of several numbers that have no room in one; entries are in the order of coming.
    Wide(WideTable),
}

/// Numbers with a bit for each, and how many there are before every 64th.
#[derive(Debug)]
pub(crate) struct RankedSet {
    pub(crate) set: Arc<KeySet>,
    ranks: Vec<u32>,
}

impl RankedSet {
    /// The numbers of a set; how many there are beside it.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn new(
        set: Arc<KeySet>,
        account: &mut Account<'_>,
    ) -> Result<(Self, usize), Refused> {
        let mut ranks = Vec::new();
        account.reserve(&mut ranks, set.words().len())?;
        let mut count = 0_u32;
        ranks.extend(set.words().iter().map(|word| {
            let before = count;
            count += word.count_ones();
            before
        }));
        Ok((Self { set, ranks }, count as usize))
    }

    /// Puts the entry of each number in its place.
    pub(crate) fn find_all(&self, numbers: &[i64], into: &mut [u32]) {
        let words = self.set.words();
        find_ranks(self.set.low(), words, &self.ranks, numbers, into);
    }
}

/// How many bits come before a bit, if it is set.
#[inline(always)]
fn rank(at: usize, words: &[u64], ranks: &[u32]) -> u32 {
    let Some(word) = words.get(at / 64) else { return NO_ENTRY };
    let bit = 1_u64 << (at % 64);
    let rank = ranks[at / 64] + (word & (bit - 1)).count_ones();
    if word & bit != 0 { rank } else { NO_ENTRY }
}

vectorized! {
    /// Puts the rank of each number's bit in its place.
    fn find_ranks(low: i64, words: &[u64], ranks: &[u32], numbers: &[i64], into: &mut [u32]) {
        let ranks = &ranks[..words.len()];
        for (to, number) in into.iter_mut().zip(numbers) {
            // What is less than the first number wraps around to more than the last.
            *to = rank(number.wrapping_sub(low) as usize, words, ranks);
        }
    }
}

/// Numbers that are looked up at once.
const AT_ONCE: usize = 64;

/// A hash table of numbers, which lie in it.
#[derive(Debug)]
pub(crate) struct NumberTable {
    /// Of these at most half are taken; a number lies the further behind, the greater its hash.
    slots: Vec<Slot>,
    /// By how much half a hash is moved down to be the number of a slot, of which there are a power
    /// of two.
    shift: u32,
    hasher: Hasher,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: i64,
    /// One more than the entry; 0 if the slot is free.
    entry: u32,
}

const FREE: Slot = Slot { number: 0, entry: 0 };

/// As many as half a hash can choose from.
const SLOTS_MAX: usize = 1 << 32;

/// Numbers from which on those are put into a table together that lie side by side in it: the table
/// is larger than a processor's cache.
const TOGETHER_MIN: usize = 1 << 17;

/// A number of so many bits says which are put into it together.
const TOGETHER_BITS: u32 = 8;

impl NumberTable {
    /// A table of these numbers; puts the entry of each in its place, in the order in which the
    /// different ones come.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn of(
        numbers: &[i64],
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<Self, Refused> {
        let len = (numbers.len() * 2).next_power_of_two().clamp(AT_ONCE, SLOTS_MAX);
        let mut table = Self { slots: Vec::new(), shift: 32 - len.ilog2(), hasher: Hasher::new() };
        account.reserve(&mut table.slots, len)?;
        if numbers.len() >= TOGETHER_MIN {
            table.insert_together(numbers, into, len, account)?;
        } else {
            table.slots.resize(len, FREE);
            table.insert_as_they_come(numbers, into);
        }
        Ok(table)
    }

    /// Puts numbers into a table without any; the first slots of some are read at once, as by
    /// [`NumberTable::find_all`].
    fn insert_as_they_come(&mut self, numbers: &[i64], into: &mut [u32]) {
        let (mut first, mut next) = ([FREE; AT_ONCE], 0);
        for (numbers, into) in numbers.chunks(AT_ONCE).zip(into.chunks_mut(AT_ONCE)) {
            for (slot, number) in first.iter_mut().zip(numbers) {
                *slot = self.slots[self.first_place_of(*number)];
            }
            for ((to, number), slot) in into.iter_mut().zip(numbers).zip(&first) {
                // What was free may have been taken since.
                *to = match slot.entry > 0 && slot.number == *number {
                    true => slot.entry - 1,
                    false => self.insert(*number, next),
                };
                next = next.max(*to + 1);
            }
        }
    }

    /// Puts numbers into a table that has no slots yet. Those that lie side by side in it are
    /// brought together before, and their slots are made just before they come: these then are in
    /// the cache. (Manegold, Boncz, Kersten, Optimizing Main-Memory Join on Modern Hardware, TKDE
    /// 2002.)
    fn insert_together(
        &mut self,
        numbers: &[i64],
        into: &mut [u32],
        len: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let part_of = |half: u32| (half >> (32 - TOGETHER_BITS)) as usize;
        let mut ends = [0_usize; 1 << TOGETHER_BITS];
        numbers.iter().for_each(|number| ends[part_of(self.half(*number))] += 1);
        let mut first = 0;
        for end in &mut ends {
            first += std::mem::replace(end, first);
        }
        let mut together: Vec<(i64, u32)> = Vec::new();
        account.reserve(&mut together, numbers.len())?;
        together.resize(numbers.len(), (0, 0));
        for (number, row) in numbers.iter().zip(0..) {
            let end = &mut ends[part_of(self.half(*number))];
            together[*end] = (*number, row);
            *end += 1;
        }
        // Until all are there, the entry of a number is the first of its rows.
        let (mut is_unique, mut first) = (true, 0);
        for (part, end) in (1..).zip(ends) {
            // What had no room in front of these slots may lie in some of them already.
            let slots = self.slots.len().max((part * len) >> TOGETHER_BITS);
            self.slots.resize(slots, FREE);
            for (number, row) in &together[first..end] {
                let entry = self.insert_among(*number, *row, len);
                into[*row as usize] = entry;
                is_unique &= entry == *row;
            }
            first = end;
        }
        account.give_back(together.capacity() * size_of::<(i64, u32)>());
        if !is_unique {
            self.renumber(into);
        }
        Ok(())
    }

    /// Gives numbers whose entries are the first of their rows such in the order of these rows.
    fn renumber(&mut self, into: &mut [u32]) {
        let mut next = 0;
        for row in 0..into.len() {
            let first = into[row] as usize;
            into[row] = if first == row { next } else { into[first] };
            next += u32::from(first == row);
        }
        for slot in self.slots.iter_mut().filter(|slot| slot.entry != 0) {
            slot.entry = into[slot.entry as usize - 1] + 1;
        }
    }

    /// The entry of a number, which is `next` if it was not there.
    fn insert(&mut self, number: i64, next: u32) -> u32 {
        let at = self.place_of(number);
        let slot = &mut self.slots[at];
        if slot.entry == 0 {
            *slot = Slot { number, entry: next + 1 };
        }
        slot.entry - 1
    }

    /// The same in a table that is to have so many slots, of which the last may not be there yet.
    fn insert_among(&mut self, number: i64, next: u32, len: usize) -> u32 {
        let mut at = self.first_place_of(number);
        loop {
            match self.slots.get_mut(at) {
                Some(slot) if slot.entry == 0 => {
                    *slot = Slot { number, entry: next + 1 };
                    return next;
                }
                Some(slot) if slot.number == number => return slot.entry - 1,
                Some(_) => at += 1,
                None if at < len => self.slots.push(FREE),
                None => at = 0,
            }
        }
    }

    /// All numbers, in any order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.slots.iter().filter(|slot| slot.entry != 0).map(|slot| slot.number)
    }

    /// Puts the entry of each number in its place. Of some numbers the first slots are read before
    /// the first of these is compared: no read of memory waits for another one.
    pub(crate) fn find_all(&self, numbers: &[i64], into: &mut [u32]) {
        let mut first = [FREE; AT_ONCE];
        for (numbers, into) in numbers.chunks(AT_ONCE).zip(into.chunks_mut(AT_ONCE)) {
            for (slot, number) in first.iter_mut().zip(numbers) {
                *slot = self.slots[self.first_place_of(*number)];
            }
            for ((to, number), slot) in into.iter_mut().zip(numbers).zip(&first) {
                // One less than 0 is that of no entry.
                *to = match slot.entry == 0 || slot.number == *number {
                    true => slot.entry.wrapping_sub(1),
                    false => self.slots[self.place_of(*number)].entry.wrapping_sub(1),
                };
            }
        }
    }

    /// The slot of a number, or the free one where it would be.
    #[inline]
    fn place_of(&self, number: i64) -> usize {
        let mut at = self.first_place_of(number);
        while self.slots[at].entry != 0 && self.slots[at].number != number {
            at = (at + 1) & (self.slots.len() - 1);
        }
        at
    }

    /// The slot where a number is, if no other one is there.
    #[inline]
    fn first_place_of(&self, number: i64) -> usize {
        (u64::from(self.half(number)) >> self.shift) as usize
    }

    /// Half of a number's hash.
    #[inline]
    fn half(&self, number: i64) -> u32 {
        (self.hasher.of_numbers(&[number as u64]) >> 32) as u32
    }
}

/// A hash table of keys of several numbers.
#[derive(Debug)]
pub(crate) struct WideTable {
    width: usize,
    /// The numbers of all keys, entry by entry.
    numbers: Vec<i64>,
    table: HashTable,
    hasher: Hasher,
}

impl WideTable {
    /// A table with room for so many keys of so many numbers.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn new(
        width: usize,
        keys: usize,
        account: &mut Account<'_>,
    ) -> Result<Self, Refused> {
        let mut table = HashTable::new();
        table.make_room(keys, account)?;
        let mut numbers = Vec::new();
        account.reserve(&mut numbers, keys * width)?;
        Ok(Self { width, numbers, table, hasher: Hasher::new() })
    }

    /// The entry of a key, which is `next` if it was not there.
    pub(crate) fn insert(&mut self, key: &[i64], next: u32) -> u32 {
        let hash = self.hash(key);
        let found = self.find_hashed(hash, key);
        found.unwrap_or_else(|| {
            self.table.insert(hash, next);
            self.numbers.extend_from_slice(key);
            next
        })
    }

    /// Puts keys, given part by part, into a table without any, and the entry of each in its place.
    pub(crate) fn insert_all(&mut self, parts: &[Vec<i64>], into: &mut [u32]) {
        let (mut likely, mut key, mut next) = (Likely::new(), vec![0; self.width], 0);
        for from in (0..into.len()).step_by(AT_ONCE) {
            let chunk = from..into.len().min(from + AT_ONCE);
            likely.read(self, parts, chunk.clone());
            for row in chunk {
                key.iter_mut().zip(parts).for_each(|(to, part)| *to = part[row]);
                let hash = likely.hashes[row - from];
                // What was free may have been taken since.
                let found = match likely.entry(row - from, &key, self) {
                    Some(entry) if entry != NO_ENTRY => Some(entry),
                    _ => self.find_hashed(hash, &key),
                };
                into[row] = found.unwrap_or_else(|| {
                    self.table.insert(hash, next);
                    self.numbers.extend_from_slice(&key);
                    next
                });
                next = next.max(into[row] + 1);
            }
        }
    }

    /// Puts the entry of each key, given part by part, in its place. The first slots of some, and
    /// the entries that are there, are read before the first of these is compared.
    pub(crate) fn find_all(&self, parts: &[Vec<i64>], into: &mut [u32]) {
        let (mut likely, mut key) = (Likely::new(), vec![0; self.width]);
        for from in (0..into.len()).step_by(AT_ONCE) {
            let chunk = from..into.len().min(from + AT_ONCE);
            likely.read(self, parts, chunk.clone());
            for row in chunk {
                key.iter_mut().zip(parts).for_each(|(to, part)| *to = part[row]);
                let found = likely.entry(row - from, &key, self);
                into[row] = found.unwrap_or_else(|| {
                    self.find_hashed(likely.hashes[row - from], &key).unwrap_or(NO_ENTRY)
                });
            }
        }
    }

    /// The numbers of all keys with this place among each one's.
    pub(crate) fn numbers(&self, place: usize) -> impl Iterator<Item = i64> {
        self.numbers.iter().copied().skip(place).step_by(self.width)
    }

    fn find_hashed(&self, hash: u64, key: &[i64]) -> Option<u32> {
        let of = |entry: u32| &self.numbers[entry as usize * self.width..][..self.width];
        self.table.find(hash, |entry| of(entry) == key)
    }

    fn hash(&self, key: &[i64]) -> u64 {
        self.hasher.of_all(key)
    }
}

/// What is in the first slots of some keys that are looked up at once.
struct Likely {
    hashes: [u64; AT_ONCE],
    slots: [FirstSlot; AT_ONCE],
    /// The first number of the entry that is there.
    first: [i64; AT_ONCE],
}

impl Likely {
    fn new() -> Self {
        let slots = [FirstSlot::default(); AT_ONCE];
        Self { hashes: [0; AT_ONCE], slots, first: [0; AT_ONCE] }
    }

    /// Reads it for those rows of keys that are given part by part: no read waits for another one
    /// but an entry for its slot.
    fn read(&mut self, table: &WideTable, parts: &[Vec<i64>], rows: Range<usize>) {
        let hashes = &mut self.hashes[..rows.len()];
        hashes.fill(table.hasher.start());
        for part in parts {
            for (hash, number) in hashes.iter_mut().zip(&part[rows.clone()]) {
                *hash = table.hasher.add(*hash, *number as u64);
            }
        }
        table.table.first_slots(hashes, &mut self.slots);
        for (first, slot) in self.first.iter_mut().zip(&self.slots).take(rows.len()) {
            let at = slot.index() as usize * table.width;
            *first = table.numbers.get(at).copied().unwrap_or_default();
        }
    }

    /// The entry of a key, as far as the first slot says: [`NO_ENTRY`] if that is free, nothing if
    /// another key is there.
    fn entry(&self, at: usize, key: &[i64], table: &WideTable) -> Option<u32> {
        let slot = self.slots[at];
        if slot.is_free() {
            return Some(NO_ENTRY);
        }
        if !slot.is_likely(self.hashes[at]) || self.first[at] != key[0] {
            return None;
        }
        let from = slot.index() as usize * table.width;
        (table.numbers[from..][..table.width] == *key).then(|| slot.index())
    }
}
