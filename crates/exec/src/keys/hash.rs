//! A hash table of entries that lie elsewhere, by their index.
//!
//! A slot has 32 bits of an entry's hash beside its index, so that an entry is compared only where
//! it is most likely the one. The first of these bits are its place, so entries lie in the order of
//! their hashes: a table that grows is read and written from its beginning to its end, and nobody
//! looks at the entries. Hashes have a seed that is drawn for each table: whoever chooses the keys
//! does not know which of them meet.

use std::hash::{BuildHasher, RandomState};

use crate::sources::account::{Account, Refused};

/// Slots of the smallest table.
const SLOTS_MIN: usize = 64;

/// A hash function with a seed of its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hasher {
    seeds: [u64; 2],
}

impl Default for Hasher {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher {
    pub(crate) fn new() -> Self {
        let state = RandomState::new();
        Self { seeds: [state.hash_one(0_u64) | 1, state.hash_one(1_u64) | 1] }
    }

    /// What the hash of numbers that are added one by one begins with.
    pub(crate) fn start(self) -> u64 {
        self.seeds[1]
    }

    /// The hash of some numbers.
    #[inline]
    pub(crate) fn of_numbers<const K: usize>(self, numbers: &[u64; K]) -> u64 {
        numbers.iter().fold(self.seeds[1], |hash, number| self.add(hash, *number))
    }

    /// The same, of any number of them.
    pub(crate) fn of_all(self, numbers: &[i64]) -> u64 {
        numbers.iter().fold(self.seeds[1], |hash, number| self.add(hash, *number as u64))
    }

    /// The hash of some bytes.
    pub(crate) fn of_bytes(self, bytes: &[u8]) -> u64 {
        let (eights, rest) = bytes.as_chunks::<8>();
        let hash = self.add(self.seeds[1], bytes.len() as u64);
        let hash = eights.iter().fold(hash, |hash, it| self.add(hash, u64::from_le_bytes(*it)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(hash, u64::from_le_bytes(last))
    }

    /// The hash of one number more: both halves of a product depend on all bits of its factors.
    #[inline]
    pub(crate) fn add(self, hash: u64, number: u64) -> u64 {
        let factors = [hash ^ number, self.seeds[0] ^ number.rotate_left(32)];
        let product = u128::from(factors[0]) * u128::from(factors[1] | 1);
        (product as u64) ^ (product >> 64) as u64
    }
}

/// The table.
#[derive(Clone, Debug)]
pub(crate) struct HashTable {
    /// The upper half of a hash, and one more than the entry's index; 0 if the slot is free. There
    /// are a power of two, of which at most half are taken.
    slots: Vec<u64>,
    taken: usize,
    /// By how much half a hash, moved up by 31 bits, is moved down to be the number of a slot: 63
    /// less the bits that such a number has.
    shift: u32,
}

/// The first slot of a hash, where its entry is if no other one is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct FirstSlot(u64);

impl FirstSlot {
    /// The index of the entry that most likely is the one; any, if there is none.
    #[inline]
    pub(crate) fn index(self) -> u32 {
        ((self.0 >> 32) as u32).wrapping_sub(1)
    }

    /// Whether there is no entry.
    #[inline]
    pub(crate) fn is_free(self) -> bool {
        self.0 == 0
    }

    /// Whether the entry may be the one with a hash.
    #[inline]
    pub(crate) fn is_likely(self, hash: u64) -> bool {
        (self.0 != 0) & (self.0 as u32 == (hash >> 32) as u32)
    }
}

impl HashTable {
    pub(crate) fn new() -> Self {
        Self { slots: Vec::new(), taken: 0, shift: 63 }
    }

    /// The bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<u64>()
    }

    /// Forgets all entries, and makes room for so many.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn clear(&mut self, room: usize, account: &mut Account<'_>) -> Result<(), Refused> {
        self.taken = 0;
        let wanted = slots_for(room);
        if wanted == self.slots.len() {
            self.slots.fill(0);
            return Ok(());
        }
        account.give_back(self.bytes());
        *self = Self::new();
        self.make_room(room, account)
    }

    /// Makes room for so many entries more.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn make_room(
        &mut self,
        more: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let wanted = slots_for(self.taken + more);
        if wanted <= self.slots.len() {
            return Ok(());
        }
        // Both are there while entries are put into the new one.
        account.take(wanted * size_of::<u64>())?;
        let slots = std::mem::replace(&mut self.slots, vec![0; wanted]);
        account.give_back(slots.len() * size_of::<u64>());
        self.shift = 63 - wanted.ilog2();
        for slot in slots.into_iter().filter(|slot| *slot != 0) {
            self.put(slot);
        }
        Ok(())
    }

    /// The entry with this hash that `is` says is the one.
    #[inline]
    pub(crate) fn find(&self, hash: u64, is: impl Fn(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len().checked_sub(1)?;
        let half = (hash >> 32) as u32;
        let mut at = self.place_of(half);
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return None;
            }
            if slot as u32 == half && is(index_of(slot)) {
                return Some(index_of(slot));
            }
            at = (at + 1) & mask;
        }
    }

    /// The first slots of some hashes. Nothing is decided by what is in them, so that no read of
    /// memory waits for another one.
    pub(crate) fn first_slots(&self, hashes: &[u64], into: &mut [FirstSlot]) {
        for (slot, hash) in into.iter_mut().zip(hashes) {
            let place = self.place_of((hash >> 32) as u32);
            *slot = FirstSlot(self.slots.get(place).copied().unwrap_or_default());
        }
    }

    /// Puts an entry that is not there; there has to be room.
    pub(crate) fn insert(&mut self, hash: u64, index: u32) {
        self.put(hash >> 32 | (u64::from(index) + 1) << 32);
        self.taken += 1;
    }

    fn put(&mut self, slot: u64) {
        let mask = self.slots.len() - 1;
        let mut at = self.place_of(slot as u32);
        while self.slots[at] != 0 {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// The place of the upper half of a hash: its first bits, in a table of any size.
    #[inline]
    fn place_of(&self, half: u32) -> usize {
        (u64::from(half) << 31 >> self.shift) as usize
    }
}

/// Slots of a table with room for so many entries.
fn slots_for(entries: usize) -> usize {
    (entries * 2).next_power_of_two().max(SLOTS_MIN)
}

#[inline]
fn index_of(slot: u64) -> u32 {
    ((slot >> 32) - 1) as u32
}
