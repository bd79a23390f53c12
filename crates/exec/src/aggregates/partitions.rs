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
use std::sync::Arc;

use super::block::{Block, SpillStore, Written};
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
pub(crate) const BLOCK_BYTES: usize = 1 << 16;

/// What finds a group takes so many bytes, about.
const SLOT_BYTES: usize = 24;

/// Bytes of a group in a table, about: its key has so many numbers.
pub(crate) fn table_bytes(states: &States, width: usize) -> usize {
    width * size_of::<u64>() + states.group_bytes() + SLOT_BYTES
}

/// How many groups have so many bytes without a table; one at least.
fn groups_in(bytes: usize, states: &States, width: usize) -> usize {
    (bytes / (width * size_of::<u64>() + states.group_bytes())).max(1)
}

/// Of so many groups of a partition one is expected to be a new one, when room is made.
const SAME_GUESS: usize = 4;

/// Groups with a part of all hashes, of which several may have the same key.
#[derive(Default)]
pub(crate) struct Partition {
    blocks: Vec<Block>,
    /// So many of the first groups have keys that differ.
    merged: usize,
    /// Those that memory was refused to.
    written: Vec<Written>,
}

/// All groups that were moved out.
pub(crate) struct Partitions {
    list: Vec<Partition>,
    /// Bytes of groups that lie side by side, about.
    block_bytes: usize,
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
    /// Those that lie side by side have so many bytes at most, and never more than
    /// [`BLOCK_BYTES`].
    pub(crate) fn new(grouping: &Grouping, hasher: Hasher, block_bytes: usize) -> Self {
        Self {
            block_bytes: block_bytes.min(BLOCK_BYTES),
            list: (0..PARTITIONS).map(|_| Partition::default()).collect(),
            numbers: grouping.key_numbers(),
            hasher,
            texts: Vec::new(),
            chosen: vec![Vec::new(); PARTITIONS],
        }
    }

    /// Writes all groups to their partitions. If memory is refused to these, all that they have
    /// goes to a file, if there is one.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn take(
        &mut self,
        grouping: &Grouping,
        states: &States,
        store: Option<&Arc<dyn SpillStore>>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (count, mut hashes) = (grouping.len(), Vec::with_capacity(TILE_ROWS));
        self.chosen.iter_mut().for_each(Vec::clear);
        if grouping.hash_texts(self.hasher, &mut self.texts, account).is_err() {
            self.spill(grouping.all_numbers().1, store.ok_or(Refused)?, account)?;
            grouping.hash_texts(self.hasher, &mut self.texts, account)?;
        }
        for from in (0..count).step_by(TILE_ROWS) {
            let taken = from..count.min(from + TILE_ROWS);
            grouping.hash_keys(self.hasher, &self.texts, taken, &mut hashes);
            for (hash, group) in hashes.iter().zip(from as u32..) {
                self.chosen[(hash >> (64 - PARTITION_BITS)) as usize].push(group);
            }
        }
        let (all, width) = grouping.all_numbers();
        let most = groups_in(self.block_bytes, states, width);
        for at in 0..self.list.len() {
            let count = self.chosen[at].len();
            if count == 0 {
                continue;
            }
            if self.list[at].make_room(states, width, count, most, account).is_err() {
                self.spill(width, store.ok_or(Refused)?, account)?;
                // No more than has to be: others want some, too.
                self.list[at].make_room(states, width, count, count, account)?;
            }
            let (partition, chosen) = (&mut self.list[at], &self.chosen[at]);
            let Some(block) = partition.blocks.last_mut() else { continue };
            let keys = chosen.iter().map(|group| *group as usize * width);
            match width {
                1 => block.keys.extend(keys.map(|at| all[at])),
                _ => keys.for_each(|at| block.keys.extend_from_slice(&all[at..at + width])),
            }
            block.states.append(states, chosen, account)?;
        }
        self.merge_large(width, store, account)
    }

    /// Makes one of all groups with the same key where there are many of a partition.
    fn merge_large(
        &mut self,
        width: usize,
        store: Option<&Arc<dyn SpillStore>>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let limit = |merged: usize| (merged * MERGED_TIMES).max(MERGED_MIN);
        for at in 0..self.list.len() {
            let (partition, numbers) = (&mut self.list[at], self.numbers);
            let is_large = partition.held() >= limit(partition.merged);
            let is_refused = is_large
                && account.attempt(|account| partition.merge(numbers, width, account)).is_err();
            if is_refused {
                return self.spill(width, store.ok_or(Refused)?, account);
            }
        }
        Ok(())
    }

    /// Writes all groups that are in memory to a file, many at once.
    ///
    /// # Errors
    /// The file refuses them.
    pub(crate) fn spill(
        &mut self,
        width: usize,
        store: &Arc<dyn SpillStore>,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        // What is not in the file yet, with the partition of each part.
        let (mut bytes, mut parts) = (Vec::new(), Vec::new());
        for at in 0..self.list.len() {
            for block in std::mem::take(&mut self.list[at].blocks) {
                let most = groups_in(BLOCK_BYTES, &block.states, width);
                for from in (0..block.states.len()).step_by(most) {
                    let (groups, before) = (from..block.states.len().min(from + most), bytes.len());
                    block.write(groups.clone(), width, &mut bytes);
                    parts.push((at, groups.len(), before..bytes.len()));
                    if bytes.len() >= BLOCK_BYTES {
                        self.append(&mut bytes, &mut parts, store)?;
                    }
                }
                account.give_back(block.bytes());
            }
            self.list[at].merged = 0;
        }
        self.append(&mut bytes, &mut parts, store)?;
        account.report()
    }

    /// Puts groups behind those of the file: so many of a partition, within these bytes.
    fn append(
        &mut self,
        bytes: &mut Vec<u8>,
        parts: &mut Vec<(usize, usize, Range<usize>)>,
        store: &Arc<dyn SpillStore>,
    ) -> Result<(), Refused> {
        if bytes.is_empty() {
            return Ok(());
        }
        let at = store.append(bytes)?;
        for (partition, groups, within) in parts.drain(..) {
            let (at, bytes) = (at + within.start as u64, within.len());
            let written = Written { store: Arc::clone(store), at, bytes, groups };
            self.list[partition].written.push(written);
        }
        bytes.clear();
        Ok(())
    }

    /// Bytes of those in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.list.iter().map(Partition::bytes).sum()
    }

    /// Whether some were written to a file.
    pub(crate) fn has_spilled(&self) -> bool {
        self.list.iter().any(|partition| !partition.written.is_empty())
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

impl Partition {
    /// How many groups it has, whether they have different keys or not.
    fn len(&self) -> usize {
        self.held() + self.written.iter().map(Written::len).sum::<usize>()
    }

    /// How many of them are in memory.
    fn held(&self) -> usize {
        self.blocks.iter().map(|block| block.states.len()).sum()
    }

    /// Makes room for so many groups in the last block, or in a new one, for as many as `most`.
    fn make_room(
        &mut self,
        states: &States,
        width: usize,
        groups: usize,
        most: usize,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        if let Some(last) = self.blocks.last_mut()
            && last.states.len() + groups <= most
        {
            return last.states.make_wide_room(states, last.states.len() + groups, account);
        }
        self.blocks.push(Block::with_room(states, width, most.max(groups), account)?);
        Ok(())
    }

    /// Bytes of its groups if all keys differ, and of a block that is read, about; there is a table
    /// of them while they are put together, and what it grows out of.
    pub(crate) fn merging_bytes(&self, like: &States, width: usize) -> usize {
        self.len() * table_bytes(like, width) * 2 + BLOCK_BYTES * 2
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
        let mut merge = Merge { numbers, groups: groups.as_mut(), states: &mut states };
        merge.add_blocks(self, account)?;
        let before = self.bytes();
        let mut keys = Vec::new();
        account.reserve(&mut keys, groups.len() * width)?;
        keys.extend_from_slice(groups.all_numbers());
        account.give_back(groups.bytes() + before);
        self.blocks = vec![Block { keys, states }];
        self.merged = groups.len();
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
        self.make_room(partition.len(), account)?;
        for block in &partition.blocks {
            self.add_block(block, texts, account)?;
        }
        let like = self.states.none_yet();
        for written in &partition.written {
            written.read(&like, self.groups.width(), account, |block, account| {
                self.add_block(block, texts, account)
            })?;
        }
        Ok(())
    }

    /// Adds the groups of a partition that are in memory, whose texts have the same numbers here.
    fn add_blocks(
        &mut self,
        partition: &Partition,
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        self.make_room(partition.held(), account)?;
        partition.blocks.iter().try_for_each(|block| self.add_block(block, &[], account))
    }

    /// Makes room for groups before there are any, of which some have the same key.
    fn make_room(&mut self, groups: usize, account: &mut Account<'_>) -> Result<(), Refused> {
        if self.groups.len() > 0 {
            return Ok(());
        }
        // They come in no order: there is a table from the first on, with room for all.
        let room = groups / SAME_GUESS;
        self.groups.clear(room, LookUp::All, account)?;
        self.groups.make_room(room, account)
    }

    fn add_block(
        &mut self,
        block: &Block,
        texts: &[Vec<u64>],
        account: &mut Account<'_>,
    ) -> Result<(), Refused> {
        let (mut columns, mut found) = (vec![Vec::new(); self.numbers], Vec::new());
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
