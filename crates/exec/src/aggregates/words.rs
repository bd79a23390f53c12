//! What is counted and added up in 8 bytes, for each group side by side.
//!
//! All counts and sums of a group lie in one block, so that a row costs one miss of the cache
//! whatever is added up of it.

use std::ops::Range;

use super::bytes;
use super::few_groups;
use crate::simd::vectorized;

/// Words of the largest block: those of a cache line.
pub(crate) const BLOCK_WORDS: usize = 8;

/// The words of all groups.
pub(crate) struct Words {
    blocks: Vec<Box<dyn AnyBlocks>>,
}

impl Words {
    /// So many words for each group, of which there is none yet.
    pub(crate) fn new(words: usize) -> Self {
        let blocks = (0..words).step_by(BLOCK_WORDS);
        let blocks = blocks.map(|from| blocks_of((words - from).min(BLOCK_WORDS)));
        Self { blocks: blocks.collect() }
    }

    /// Bytes of a group.
    pub(crate) fn group_bytes(&self) -> usize {
        self.blocks.iter().map(|blocks| blocks.words() * size_of::<i64>()).sum()
    }

    /// How many groups there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.blocks.first().map_or(0, |blocks| blocks.capacity())
    }

    /// Makes room for groups.
    pub(crate) fn reserve(&mut self, groups: usize) {
        self.blocks.iter_mut().for_each(|blocks| blocks.reserve(groups));
    }

    /// Makes so many groups of them, all of whose new words are 0.
    pub(crate) fn resize(&mut self, groups: usize) {
        self.blocks.iter_mut().for_each(|blocks| blocks.resize(groups));
    }

    /// Adds to the words of each row's group; there are as many tiles as words.
    pub(crate) fn add(&mut self, groups: &[u32], tiles: &[&[i64]]) {
        for (blocks, tiles) in self.blocks.iter_mut().zip(tiles.chunks(BLOCK_WORDS)) {
            let count = blocks.len();
            let are_added = few_groups::add(groups, count, tiles, |word, group, more| {
                let word = &mut blocks.block_mut(group)[word];
                *word = word.wrapping_add(more);
            });
            if !are_added {
                blocks.add(groups, tiles);
            }
        }
    }

    /// Makes each group another one of so many, whose other words are 0.
    pub(crate) fn spread(&mut self, groups: &[u32], count: usize) {
        self.blocks.iter_mut().for_each(|blocks| blocks.spread(groups, count));
    }

    /// Adds the words of some groups of others, which have as many.
    pub(crate) fn absorb(&mut self, other: &Self, taken: Range<usize>, groups: &[u32]) {
        for (blocks, others) in self.blocks.iter_mut().zip(&other.blocks) {
            blocks.absorb(others.as_ref(), taken.clone(), groups);
        }
    }

    /// Puts the words of some groups of others, which have as many, behind these.
    pub(crate) fn append(&mut self, other: &Self, groups: &[u32]) {
        for (blocks, others) in self.blocks.iter_mut().zip(&other.blocks) {
            blocks.append(others.as_ref(), groups);
        }
    }

    /// Writes the words of some groups behind bytes.
    pub(crate) fn write(&self, groups: Range<usize>, into: &mut Vec<u8>) {
        for blocks in &self.blocks {
            let words = blocks.words();
            bytes::put(&blocks.all()[groups.start * words..groups.end * words], into);
        }
    }

    /// Takes the words of so many groups from the beginning of bytes, in the place of all others.
    pub(crate) fn read(&mut self, groups: usize, from: &mut &[u8]) {
        for blocks in &mut self.blocks {
            let words = bytes::take(groups * blocks.words(), from);
            blocks.replace(&words);
        }
    }

    /// No groups yet, of as many words.
    pub(crate) fn none_yet(&self) -> Self {
        Self { blocks: self.blocks.iter().map(|blocks| blocks_of(blocks.words())).collect() }
    }

    /// Adds to the words of the only group.
    pub(crate) fn add_to_first(&mut self, tiles: &[&[i64]]) {
        for (word, tile) in tiles.iter().enumerate() {
            let mut sum = 0;
            add_all(tile, &mut sum);
            let to = self.word(0, word);
            *to = to.wrapping_add(sum);
        }
    }

    /// A word of some groups.
    pub(crate) fn get(&self, groups: Range<usize>, word: usize) -> Vec<i64> {
        self.blocks[word / BLOCK_WORDS].get(groups, word % BLOCK_WORDS)
    }

    /// The same as numbers of 16 bytes.
    pub(crate) fn get_wide(&self, groups: Range<usize>, word: usize) -> Vec<i128> {
        self.blocks[word / BLOCK_WORDS].get_wide(groups, word % BLOCK_WORDS)
    }

    /// A group's word, to change it.
    pub(crate) fn word(&mut self, group: usize, word: usize) -> &mut i64 {
        &mut self.blocks[word / BLOCK_WORDS].block_mut(group)[word % BLOCK_WORDS]
    }
}

/// Blocks of any number of words.
trait AnyBlocks: Send + Sync {
    fn words(&self) -> usize;
    fn len(&self) -> usize;
    fn capacity(&self) -> usize;
    fn reserve(&mut self, groups: usize);
    fn resize(&mut self, groups: usize);
    fn add(&mut self, groups: &[u32], tiles: &[&[i64]]);
    fn get(&self, groups: Range<usize>, word: usize) -> Vec<i64>;
    fn get_wide(&self, groups: Range<usize>, word: usize) -> Vec<i128>;
    fn spread(&mut self, groups: &[u32], count: usize);
    fn absorb(&mut self, other: &dyn AnyBlocks, taken: Range<usize>, groups: &[u32]);
    fn append(&mut self, other: &dyn AnyBlocks, groups: &[u32]);
    /// Puts words in the place of all groups', one group behind the other.
    fn replace(&mut self, words: &[i64]);
    /// All words, one group behind the other.
    fn all(&self) -> &[i64];
    fn block_mut(&mut self, group: usize) -> &mut [i64];
}

fn blocks_of(words: usize) -> Box<dyn AnyBlocks> {
    match words {
        1 => Box::new(Blocks::<1>(Vec::new())),
        2 => Box::new(Blocks::<2>(Vec::new())),
        3 => Box::new(Blocks::<3>(Vec::new())),
        4 => Box::new(Blocks::<4>(Vec::new())),
        5 => Box::new(Blocks::<5>(Vec::new())),
        6 => Box::new(Blocks::<6>(Vec::new())),
        7 => Box::new(Blocks::<7>(Vec::new())),
        _ => Box::new(Blocks::<BLOCK_WORDS>(Vec::new())),
    }
}

struct Blocks<const W: usize>(Vec<[i64; W]>);

impl<const W: usize> AnyBlocks for Blocks<W> {
    fn words(&self) -> usize {
        W
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn capacity(&self) -> usize {
        self.0.capacity()
    }

    fn reserve(&mut self, groups: usize) {
        self.0.reserve_exact(groups.saturating_sub(self.0.len()));
    }

    fn resize(&mut self, groups: usize) {
        self.0.resize(groups, [0; W]);
    }

    /// Sums wrap; whoever adds keeps them from that.
    fn add(&mut self, groups: &[u32], tiles: &[&[i64]]) {
        add_rows::<W>(&mut self.0, groups, tiles);
    }

    fn get(&self, groups: Range<usize>, word: usize) -> Vec<i64> {
        self.0[groups].iter().map(|block| block[word]).collect()
    }

    fn get_wide(&self, groups: Range<usize>, word: usize) -> Vec<i128> {
        self.0[groups].iter().map(|block| block[word].into()).collect()
    }

    fn spread(&mut self, groups: &[u32], count: usize) {
        self.0 = spread(&self.0, groups, count, [0; W]);
    }

    fn absorb(&mut self, other: &dyn AnyBlocks, taken: Range<usize>, groups: &[u32]) {
        let (others, _) = other.all().as_chunks::<W>();
        for (other, group) in others[taken].iter().zip(groups) {
            let words = self.0[*group as usize].iter_mut().zip(other);
            words.for_each(|(word, more)| *word = word.wrapping_add(*more));
        }
    }

    fn append(&mut self, other: &dyn AnyBlocks, groups: &[u32]) {
        let (others, _) = other.all().as_chunks::<W>();
        self.0.extend(groups.iter().map(|group| others[*group as usize]));
    }

    fn replace(&mut self, words: &[i64]) {
        self.0 = words.as_chunks::<W>().0.to_vec();
    }

    fn all(&self) -> &[i64] {
        self.0.as_flattened()
    }

    fn block_mut(&mut self, group: usize) -> &mut [i64] {
        &mut self.0[group]
    }
}

/// What each group has, where it has become another one of so many; others have `none`.
pub(super) fn spread<T: Copy>(values: &[T], groups: &[u32], count: usize, none: T) -> Vec<T> {
    let mut moved = vec![none; count];
    values.iter().zip(groups).for_each(|(value, group)| moved[*group as usize] = *value);
    moved
}

vectorized! {
    /// The sum of all numbers of a tile.
    fn add_all(tile: &[i64], into: &mut i64) {
        *into = tile.iter().fold(0, |sum, number| sum.wrapping_add(*number));
    }
}

vectorized! {
    /// Adds a number of each tile to the words of each row's group.
    fn add_rows<const W: usize>(blocks: &mut [[i64; W]], groups: &[u32], tiles: &[&[i64]]) {
        let rows = groups.len();
        let tiles: [&[i64]; W] = std::array::from_fn(|word| &tiles[word][..rows]);
        for (row, group) in groups.iter().enumerate() {
            let block = &mut blocks[*group as usize];
            for (word, tile) in block.iter_mut().zip(&tiles) {
                *word = word.wrapping_add(tile[row]);
            }
        }
    }
}
