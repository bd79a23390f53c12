//! Which entry a key has: one of the different keys of a build side, in the order of the entries.
//!
//! Keys are one number where that can be: the numbers of several columns are packed. Numbers that
//! lie close together have a bit each, and the entry of a key is how many bits come before its own:
//! for six million numbers that takes a megabyte, which stays in a processor's cache. Others are
//! found by a hash. (Bits and ranks: Jacobson, Space-efficient Static Trees and Graphs, FOCS 1989.)

use std::sync::Arc;

use crate::conditions::key_set::KeySet;
use crate::keys::hash::{HashTable, Hasher};
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
    /// A power of two, of which at most half are taken.
    slots: Vec<Slot>,
    hasher: Hasher,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    number: i64,
    /// One more than the entry; 0 if the slot is free.
    entry: u32,
}

impl NumberTable {
    /// A table with room for so many numbers.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn new(numbers: usize, account: &mut Account<'_>) -> Result<Self, Refused> {
        let len = (numbers * 2).next_power_of_two();
        let mut slots = Vec::new();
        account.reserve(&mut slots, len)?;
        slots.resize(len, Slot { number: 0, entry: 0 });
        Ok(Self { slots, hasher: Hasher::new() })
    }

    /// The entry of a number, which is `next` if it was not there.
    pub(crate) fn insert(&mut self, number: i64, next: u32) -> u32 {
        let at = self.place_of(number);
        let slot = &mut self.slots[at];
        if slot.entry == 0 {
            *slot = Slot { number, entry: next + 1 };
        }
        slot.entry - 1
    }

    /// Puts numbers into a table without any, and the entry of each in its place; the first slots
    /// of some are read at once, as by [`NumberTable::find_all`].
    pub(crate) fn insert_all(&mut self, numbers: &[i64], into: &mut [u32]) {
        let (mut first, mut next) = ([Slot { number: 0, entry: 0 }; AT_ONCE], 0);
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

    /// All numbers, in any order.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = i64> {
        self.slots.iter().filter(|slot| slot.entry != 0).map(|slot| slot.number)
    }

    /// Puts the entry of each number in its place. Of some numbers the first slots are read before
    /// the first of these is compared: no read of memory waits for another one.
    pub(crate) fn find_all(&self, numbers: &[i64], into: &mut [u32]) {
        let mut first = [Slot { number: 0, entry: 0 }; AT_ONCE];
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
        (self.hasher.of_numbers(&[number as u64]) >> 32) as usize & (self.slots.len() - 1)
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

    /// The numbers of all keys with this place among each one's.
    pub(crate) fn numbers(&self, place: usize) -> impl Iterator<Item = i64> {
        self.numbers.iter().copied().skip(place).step_by(self.width)
    }

    /// The entry of a key.
    pub(crate) fn find(&self, key: &[i64]) -> u32 {
        self.find_hashed(self.hash(key), key).unwrap_or(NO_ENTRY)
    }

    fn find_hashed(&self, hash: u64, key: &[i64]) -> Option<u32> {
        let of = |entry: u32| &self.numbers[entry as usize * self.width..][..self.width];
        self.table.find(hash, |entry| of(entry) == key)
    }

    fn hash(&self, key: &[i64]) -> u64 {
        self.hasher.of_all(key)
    }
}
