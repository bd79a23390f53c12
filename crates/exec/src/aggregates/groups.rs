//! The groups of rows by their keys, each of which is a few numbers.
//!
//! As long as keys come in ascending order, a key is that of the last group or of a new one, and no
//! table is needed; rows that were loaded in the order of a key are often grouped by it. The table
//! is made when a key comes that is less than the last.

#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::keys::hash::{FirstSlot, HashTable, Hasher};
use crate::rows::TILE_ROWS;
use crate::simd::vectorized;
use crate::sources::account::{Account, Refused};

/// Numbers of the longest key.
pub(crate) const KEY_NUMBERS_MAX: usize = 16;

/// The numbers that a key does not have, of the rows of a tile.
static ZEROS: [u64; TILE_ROWS] = [0; TILE_ROWS];

/// Groups of keys of any number of numbers.
pub(crate) trait AnyGroups: Send + Sync {
    /// How many there are.
    fn len(&self) -> usize;

    /// The numbers with this place of the keys of some groups.
    fn numbers(&self, groups: Range<usize>, place: usize) -> Vec<u64>;

    /// Makes room for so many groups more.
    ///
    /// # Errors
    /// Memory is refused.
    fn make_room(&mut self, more: usize, account: &mut Account<'_>) -> Result<(), Refused>;

    /// The numbers of all keys, one key behind the other.
    fn all_numbers(&self) -> &[u64];

    /// How many numbers a key has there: those that it does not have are 0.
    fn width(&self) -> usize;

    /// The bytes that they take.
    fn bytes(&self) -> usize;

    /// Forgets all groups, which will be no more than some again before that; from then on each
    /// key has a group of its own if none is looked up.
    ///
    /// # Errors
    /// Memory is refused.
    fn clear(
        &mut self,
        most: usize,
        look_up: LookUp,
        account: &mut Account<'_>,
    ) -> Result<(), Refused>;

    /// Merges others into these, if the keys of both ascend; `None` if they do not.
    ///
    /// # Errors
    /// Memory is refused.
    fn merge(
        &mut self,
        others: &dyn AnyGroups,
        account: &mut Account<'_>,
    ) -> Result<Option<Merged>, Refused>;

    /// Whether keys have come in ascending order, each once.
    fn ascends(&self) -> bool;

    /// Adds a group whose key nobody looks up; there has to be room for it.
    fn add(&mut self, key: &[u64]) -> u32;

    /// Puts the group of each key of a tile, whose numbers come column by column, into `into`;
    /// there has to be room for as many new ones.
    ///
    /// # Errors
    /// Memory for the table is refused.
    fn find_all(
        &mut self,
        columns: &[Vec<u64>],
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused>;
}

/// Whether the groups of keys are looked up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LookUp {
    /// A key has the group that it had before.
    All,
    /// A key may have several groups.
    None,
}

/// Where groups go that are merged with others.
pub(crate) struct Merged {
    /// For each group the one that it has become.
    pub(crate) own: Vec<u32>,
    /// The same of the others.
    pub(crate) others: Vec<u32>,
}

/// No groups yet, of keys of so many numbers; `None` if these are too many.
pub(crate) fn groups_of(numbers: usize) -> Option<Box<dyn AnyGroups>> {
    Some(match numbers {
        1 => Box::new(Groups::<1>::new()),
        2 => Box::new(Groups::<2>::new()),
        3 => Box::new(Groups::<3>::new()),
        4 => Box::new(Groups::<4>::new()),
        5..=8 => Box::new(Groups::<8>::new()),
        9..=KEY_NUMBERS_MAX => Box::new(Groups::<KEY_NUMBERS_MAX>::new()),
        _ => return None,
    })
}

/// Keys that are looked up at once.
const AT_ONCE: usize = 256;

/// The groups of keys of `K` numbers; those that a key does not have are 0.
#[derive(Debug)]
pub(crate) struct Groups<const K: usize> {
    /// The key of each group, in the order in which they came.
    keys: Vec<[u64; K]>,
    /// `None` as long as keys have come in ascending order.
    table: Option<HashTable>,
    look_up: LookUp,
    hasher: Hasher,
}

impl<const K: usize> AnyGroups for Groups<K> {
    fn len(&self) -> usize {
        self.keys.len()
    }

    fn numbers(&self, groups: Range<usize>, place: usize) -> Vec<u64> {
        self.keys[groups].iter().map(|key| key[place]).collect()
    }

    fn make_room(&mut self, more: usize, account: &mut Account<'_>) -> Result<(), Refused> {
        // A slot of the table has 32 bits for a group.
        if self.keys.len() + more >= u32::MAX as usize {
            return Err(Refused);
        }
        account.reserve(&mut self.keys, more)?;
        if self.look_up == LookUp::None {
            return Ok(());
        }
        self.table.as_mut().map_or(Ok(()), |table| table.make_room(more, account))
    }

    fn all_numbers(&self) -> &[u64] {
        self.keys.as_flattened()
    }

    fn width(&self) -> usize {
        K
    }

    fn bytes(&self) -> usize {
        let table = self.table.as_ref().map_or(0, HashTable::bytes);
        self.keys.capacity() * size_of::<[u64; K]>() + table
    }

    fn clear(
        &mut self,
        most: usize,
        look_up: LookUp,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.look_up = look_up;
        self.keys.clear();
        let room = if look_up == LookUp::All { most + TILE_ROWS } else { 0 };
        match &mut self.table {
            Some(table) => table.clear(room, account),
            None => self.make_table(room, account),
        }
    }

    fn ascends(&self) -> bool {
        self.table.is_none()
    }

    fn merge(
        &mut self,
        others: &dyn AnyGroups,
        account: &mut Account<'_>,
    ) -> Result<Option<Merged>, Refused> {
        if !self.ascends() || !others.ascends() {
            return Ok(None);
        }
        let count = others.len();
        let columns: [Vec<u64>; K] = std::array::from_fn(|place| others.numbers(0..count, place));
        let mut merged = Merged { own: Vec::new(), others: Vec::new() };
        let mut keys: Vec<[u64; K]> = Vec::new();
        account.reserve(&mut keys, self.keys.len() + count)?;
        account.reserve(&mut merged.own, self.keys.len())?;
        account.reserve(&mut merged.others, count)?;
        let mut own = self.keys.iter().peekable();
        for key in (0..count).map(|at| columns.each_ref().map(|column| column[at])) {
            while let Some(before) = own.next_if(|own| **own < key) {
                merged.own.push(keys.len() as u32);
                keys.push(*before);
            }
            merged.others.push(keys.len() as u32);
            if own.next_if(|own| **own == key).is_some() {
                merged.own.push(keys.len() as u32);
            }
            keys.push(key);
        }
        for key in own {
            merged.own.push(keys.len() as u32);
            keys.push(*key);
        }
        account.give_back(self.keys.capacity() * size_of::<[u64; K]>());
        self.keys = keys;
        Ok(Some(merged))
    }

    fn add(&mut self, key: &[u64]) -> u32 {
        let number = |place: usize| key.get(place).copied().unwrap_or_default();
        self.keys.push(std::array::from_fn(number));
        (self.keys.len() - 1) as u32
    }

    fn find_all(
        &mut self,
        columns: &[Vec<u64>],
        into: &mut [u32],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let rows = into.len();
        let column = |place: usize| columns.get(place).map_or(ZEROS.as_slice(), Vec::as_slice);
        let columns: [&[u64]; K] = std::array::from_fn(|place| &column(place)[..rows]);
        let key = |row: usize| columns.map(|column| column[row]);
        if self.look_up == LookUp::None {
            let first = self.keys.len() as u32;
            into.iter_mut().zip(first..).for_each(|(group, next)| *group = next);
            self.keys.extend((0..rows).map(key));
            return Ok(());
        }
        let from = match self.table {
            Some(_) => 0,
            None if K == 1 && self.do_ascend(columns[0]) => self.find_numbers(columns[0], into),
            None => self.find_ascending(key, into),
        };
        if from < into.len() {
            self.make_table(into.len() - from, account)?;
        }
        for first in (from..rows).step_by(AT_ONCE) {
            let end = rows.min(first + AT_ONCE);
            self.find_some(|at| key(first + at), &mut into[first..end]);
        }
        Ok(())
    }
}

impl<const K: usize> Groups<K> {
    pub(crate) fn new() -> Self {
        Self { keys: Vec::new(), table: None, look_up: LookUp::All, hasher: Hasher::new() }
    }

    /// Whether keys of one number ascend, from the last that there is on.
    fn do_ascend(&self, numbers: &[u64]) -> bool {
        let mut do_ascend = true;
        find_descent(numbers, &mut do_ascend);
        let last = self.keys.last().zip(numbers.first());
        do_ascend && last.is_none_or(|(last, number)| last[0] <= *number)
    }

    /// Finds the groups of keys of one number, which ascend; of how many, which is all. Whether a
    /// number is a new one cannot be foreseen, and nothing branches by it.
    fn find_numbers(&mut self, numbers: &[u64], into: &mut [u32]) -> usize {
        let mut groups = self.keys.len();
        let before = self.keys.last().map(|last| last[0]);
        let mut last = before.unwrap_or(!numbers.first().copied().unwrap_or_default());
        self.keys.resize(groups + numbers.len(), [0; K]);
        let keys = self.keys.as_mut_slice();
        for (number, group) in numbers.iter().zip(into.iter_mut()) {
            keys[groups] = [*number; K];
            groups += usize::from(*number != last);
            *group = (groups - 1) as u32;
            last = *number;
        }
        self.keys.truncate(groups);
        into.len()
    }

    /// Finds the groups of keys as long as they ascend; of how many that was.
    fn find_ascending(&mut self, key: impl Fn(usize) -> [u64; K], into: &mut [u32]) -> usize {
        let mut last = self.keys.last().copied();
        for (row, group) in into.iter_mut().enumerate() {
            let key = key(row);
            if last != Some(key) {
                if last.is_some_and(|last| key < last) {
                    return row;
                }
                self.keys.push(key);
                last = Some(key);
            }
            *group = (self.keys.len() - 1) as u32;
        }
        into.len()
    }

    /// Makes the table, if there is none, with room for so many more.
    fn make_table(&mut self, more: usize, account: &mut Account<'_>) -> Result<(), Refused> {
        if self.table.is_some() {
            return Ok(());
        }
        let mut table = HashTable::new();
        table.make_room(self.keys.len() + more, account)?;
        for (key, group) in self.keys.iter().zip(0..) {
            table.insert(self.hasher.of_numbers(key), group);
        }
        self.table = Some(table);
        Ok(())
    }

    /// Finds the groups of some keys, for which there is room in the table. Of all of them the
    /// slots are read before the groups that these lead to, and these before anything is decided:
    /// no read of memory waits for another one.
    fn find_some(&mut self, key: impl Fn(usize) -> [u64; K], into: &mut [u32]) {
        let (mut hashes, mut slots) = ([0; AT_ONCE], [FirstSlot::default(); AT_ONCE]);
        let mut is_found = [false; AT_ONCE];
        let hashes = &mut hashes[..into.len()];
        for (row, hash) in hashes.iter_mut().enumerate() {
            *hash = self.hasher.of_numbers(&key(row));
        }
        if let (Some(table), Some(last)) = (&self.table, self.keys.len().checked_sub(1)) {
            table.first_slots(hashes, &mut slots);
            let likely = into.iter_mut().zip(&mut is_found).zip(slots.iter().zip(hashes.iter()));
            for (row, ((group, is_found), (slot, hash))) in likely.enumerate() {
                *group = slot.index().min(last as u32);
                *is_found = slot.is_likely(*hash) & (self.keys[*group as usize] == key(row));
            }
        }
        for (row, group) in into.iter_mut().enumerate().filter(|(row, _)| !is_found[*row]) {
            *group = self.find(key(row), hashes[row]);
        }
    }

    /// The group of a key with this hash, for which there is room in the table.
    #[inline]
    fn find(&mut self, key: [u64; K], hash: u64) -> u32 {
        let Some(table) = &mut self.table else { return 0 };
        let keys = &self.keys;
        table.find(hash, |group| keys[group as usize] == key).unwrap_or_else(|| {
            let group = self.keys.len() as u32;
            table.insert(hash, group);
            self.keys.push(key);
            group
        })
    }
}

vectorized! {
    /// Says no where a number is less than the one before it.
    fn find_descent(numbers: &[u64], do_ascend: &mut bool) {
        let pairs = numbers.iter().zip(numbers.iter().skip(1));
        *do_ascend = pairs.fold(true, |all, (one, next)| all & (one <= next));
    }
}
