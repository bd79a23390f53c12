//! Groups that were moved out of a table that had become too large, partitioned by hashes of their
//! keys.
//!
//! A table of many groups does not stay in the processor's cache: each row waits for memory. So
//! groups are found in a table that is kept small; when it is full, they are written to partitions,
//! one behind the other, whether their keys are there or not. In the end each partition is put
//! together by itself, with a table that stays in the cache again; several threads have the same
//! partitions, and each can take others of them. (Manegold, Boncz, Kersten, Optimizing Main-Memory
//! Join on Modern Hardware, TKDE 2002; Leis, Boncz, Kemper, Neumann, Morsel-Driven Parallelism,
//! SIGMOD 2014.)

use std::ops::Range;

use super::grouping::Grouping;
use super::groups::{AnyGroups, LookUp, groups_of};
use super::states::States;
use crate::keys::hash::Hasher;
use crate::rows::TILE_ROWS;
use crate::sources::account::{Account, Refused};

/// How many partitions there are: a number of so many bits.
const PARTITION_BITS: u32 = 7;

/// How many there are.
pub(crate) const PARTITIONS: usize = 1 << PARTITION_BITS;

/// Groups of a partition that are put together while rows still come, at least; and as many times
/// more as there were different ones before.
const MERGED_MIN: usize = 1 << 16;
const MERGED_TIMES: usize = 4;

/// Bytes of groups that lie side by side, about: what is full stays where it is.
const BLOCK_BYTES: usize = 1 << 16;

/// Of so many groups of a partition one is expected to be a new one, when room is made.
const SAME_GUESS: usize = 4;

/// Groups with a part of all hashes, of which several may have the same key.
#[derive(Default)]
pub(crate) struct Partition {
    blocks: Vec<Block>,
    /// So many of the first groups have keys that differ.
    merged: usize,
}

/// Some groups.
struct Block {
    /// The numbers of all keys, one key behind the other.
    keys: Vec<u64>,
    states: States,
}

/// All groups that were moved out.
pub(crate) struct Partitions {
    list: Vec<Partition>,
    /// Numbers of a key.
    numbers: usize,
    hasher: Hasher,
    /// The hashes of all texts that were met, by key.
    texts: Vec<Vec<u64>>,
    /// The groups of each partition.
    chosen: Vec<Vec<u32>>,
}

impl Partitions {
    /// None yet, of the groups of a grouping with these states.
    pub(crate) fn new(grouping: &Grouping, hasher: Hasher) -> Self {
        Self {
            list: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            numbers: grouping.key_numbers(),
            hasher,
            texts: Vec::new(),
            chosen: vec![Vec::new(); PARTITIONS],
        }
    }

    /// Writes all groups to their partitions.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn take(
        &mut self,
        grouping: &Grouping,
        states: &States,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (count, mut hashes) = (grouping.len(), Vec::with_capacity(TILE_ROWS));
        self.chosen.iter_mut().for_each(Vec::clear);
        grouping.hash_texts(self.hasher, &mut self.texts, account)?;
        for from in (0..count).step_by(TILE_ROWS) {
            let taken = from..count.min(from + TILE_ROWS);
            grouping.hash_keys(self.hasher, &self.texts, taken, &mut hashes);
            for (hash, group) in hashes.iter().zip(from as u32..) {
                self.chosen[(hash >> (64 - PARTITION_BITS)) as usize].push(group);
            }
        }
        let (all, width) = grouping.all_numbers();
        let most = BLOCK_BYTES / (width * size_of::<u64>() + states.group_bytes());
        let chosen = self.list.iter_mut().zip(&self.chosen);
        for (partition, chosen) in chosen.filter(|(_, chosen)| !chosen.is_empty()) {
            let room = most.max(chosen.len());
            match partition.blocks.last() {
                Some(last) if last.states.len() + chosen.len() <= most => {}
                _ => partition.blocks.push(Block::with_room(states, width, room, account)?),
            }
            let Some(block) = partition.blocks.last_mut() else { continue };
            let keys = chosen.iter().map(|group| *group as usize * width);
            match width {
                1 => block.keys.extend(keys.map(|at| all[at])),
                _ => keys.for_each(|at| block.keys.extend_from_slice(&all[at..at + width])),
            }
            block.states.append(states, chosen, account)?;
        }
        let (numbers, partitions) = (self.numbers, self.list.iter_mut());
        let limit = |merged: usize| (merged * MERGED_TIMES).max(MERGED_MIN);
        let large = partitions.filter(|partition| partition.len() >= limit(partition.merged));
        for partition in large {
            partition.merge(numbers, width, account)?;
        }
        Ok(())
    }

    /// All of them.
    pub(crate) fn into_list(self) -> Vec<Partition> {
        self.list
    }

    /// All of them.
    pub(crate) fn list(&self) -> &[Partition] {
        &self.list
    }
}

impl Block {
    /// Of no groups, with room for so many.
    fn with_room(
        states: &States,
        width: usize,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<Self, Refused> {
        let mut block = Self { keys: Vec::new(), states: states.none_yet() };
        account.reserve(&mut block.keys, groups * width)?;
        block.states.make_room(groups, account)?;
        Ok(block)
    }

    /// Puts the numbers of some keys into a column for each place of a key.
    fn load(&self, groups: Range<usize>, width: usize, columns: &mut [Vec<u64>]) {
        let keys = &self.keys[groups.start * width..groups.end * width];
        for (place, column) in columns.iter_mut().enumerate() {
            column.clear();
            column.extend(keys.iter().skip(place).step_by(width));
        }
    }

    fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>() + self.states.bytes()
    }
}

impl Partition {
    fn len(&self) -> usize {
        self.blocks.iter().map(|block| block.states.len()).sum()
    }

    /// The bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(Block::bytes).sum()
    }

    /// Makes one of all groups with the same key.
    fn merge(
        &mut self,
        numbers: usize,
        width: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (Some(mut groups), Some(first)) = (groups_of(numbers), self.blocks.first()) else {
            return Ok(());
        };
        let mut states = first.states.none_yet();
        Merge { numbers, groups: groups.as_mut(), states: &mut states }.add(self, &[], account)?;
        let before = self.bytes();
        let mut keys = Vec::new();
        account.reserve(&mut keys, groups.len() * width)?;
        keys.extend_from_slice(groups.all_numbers());
        account.give_back(groups.bytes() + before);
        *self = Self { blocks: vec![Block { keys, states }], merged: groups.len() };
        Ok(())
    }
}

/// Groups of different keys, and what others are put together with.
pub(crate) struct Merge<'m> {
    /// How many numbers a key has.
    pub(crate) numbers: usize,
    pub(crate) groups: &'m mut dyn AnyGroups,
    pub(crate) states: &'m mut States,
}

impl Merge<'_> {
    /// Adds the groups of a partition; `texts` are the numbers here of the texts there, by key, if
    /// they are others.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn add(
        &mut self,
        partition: &Partition,
        texts: &[Vec<u64>],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (mut columns, mut found) = (vec![Vec::new(); self.numbers], Vec::new());
        if self.groups.len() == 0 {
            // They come in no order: there is a table from the first on, with room for all.
            let room = partition.len() / SAME_GUESS;
            self.groups.clear(room, LookUp::All, account)?;
            self.groups.make_room(room, account)?;
        }
        for block in &partition.blocks {
            let count = block.states.len();
            for from in (0..count).step_by(TILE_ROWS) {
                let taken = from..count.min(from + TILE_ROWS);
                self.groups.make_room(taken.len(), account)?;
                self.states.make_room(self.groups.len() + taken.len(), account)?;
                block.load(taken.clone(), self.groups.width(), &mut columns);
                renumber(&mut columns, texts);
                found.resize(taken.len(), 0);
                self.groups.find_all(&columns, &mut found, account)?;
                self.states.resize(self.groups.len());
                self.states.absorb(&block.states, taken, &found, account)?;
            }
        }
        Ok(())
    }
}

/// Puts the numbers that texts have here in the place of those that they have there, by key: keys
/// of texts alone have some. Null has the number 0 in both.
fn renumber(columns: &mut [Vec<u64>], texts: &[Vec<u64>]) {
    let (keys, nulls) = columns.split_at_mut(texts.len());
    let nulls = nulls.first();
    for (key, (numbers, texts)) in keys.iter_mut().zip(texts).enumerate() {
        if texts.is_empty() {
            continue;
        }
        for (at, number) in numbers.iter_mut().enumerate() {
            if nulls.is_none_or(|nulls| nulls[at] >> key & 1 == 0) {
                *number = texts[*number as usize];
            }
        }
    }
}
