//! The hash index alone, against a set of hashes with their rows.
//!
//! Few hashes make long chains, many make many buckets; entries come and go at random. Every hash
//! leads to its rows, each once; the count of full chains is exact, whatever was split and
//! compacted; and what is destroyed leaves nothing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::memory::{Cache, Memory};

const BUDGET: u64 = 16 << 20;

#[derive(Clone, Debug)]
enum Step {
    Insert { hash: u32, row: u32 },
    InsertMany { hash: u32, stride: u32, count: u32 },
    Remove { pick: usize },
    RemoveMany { step: usize },
    Find { hash: u32 },
}

fn hash() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 0..3u32,
        // Alike in the bits that choose a bucket.
        2 => (0..5u32).prop_map(|n| n << 20 | 5),
        3 => any::<u32>(),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let pick = || any::<u16>().prop_map(usize::from);
    let stride = prop_oneof![Just(0), Just(1), Just(0x9e37_79b9)];
    prop_oneof![
        10 => (hash(), 0..ROWS_MAX).prop_map(|(hash, row)| Step::Insert { hash, row }),
        3 => (hash(), stride, 1..200u32)
            .prop_map(|(hash, stride, count)| Step::InsertMany { hash, stride, count }),
        8 => pick().prop_map(|pick| Step::Remove { pick }),
        2 => (1..4usize).prop_map(|step| Step::RemoveMany { step }),
        3 => hash().prop_map(|hash| Step::Find { hash }),
    ]
}

fn memory() -> (Memory, Ref<Cache>) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let cache = memory.create_cache().expect("room");
    (memory, cache)
}

struct Run<'m> {
    alloc: Allocator<'m>,
    index: HashIndex<'m>,
    entries: BTreeSet<(u32, u32)>,
}

impl Run<'_> {
    fn insert(&mut self, hash: u32, row: u32) {
        let same = self.entries.range((hash, 0)..=(hash, u32::MAX)).count();
        let expected = match same {
            _ if self.entries.contains(&(hash, row)) => Placement::Present,
            0 => Placement::Alone,
            _ => Placement::Shared,
        };
        let placement = self.index.insert(self.alloc, hash, row, u64::from(row) << 6);
        assert_eq!(placement.expect("memory is there"), expected);
        self.entries.insert((hash, row));
    }

    fn remove(&mut self, (hash, row): (u32, u32)) {
        assert!(self.index.remove(self.alloc, hash, row));
        assert!(!self.index.remove(self.alloc, hash, row));
        self.entries.remove(&(hash, row));
    }

    fn find(&self, hash: u32) {
        let mut found = Vec::new();
        let broken = for_each_match(self.index, hash, |row, hint| {
            // In a tree it has 30 bits.
            assert_eq!(hint << 28, u64::from(row) << 34);
            found.push(row);
            ControlFlow::<()>::Continue(())
        });
        assert_eq!(broken, None);
        found.sort_unstable();
        let expected = self.entries.range((hash, 0)..=(hash, u32::MAX));
        assert_eq!(found, expected.map(|(_, row)| *row).collect::<Vec<_>>());
        if let Some(row) = found.last() {
            let stop = |here: u32, _| match here == *row {
                true => ControlFlow::Break(here),
                false => ControlFlow::Continue(()),
            };
            assert_eq!(for_each_match(self.index, hash, stop), Some(*row));
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert { hash, row } => self.insert(hash, row),
            Step::InsertMany { hash, stride, count } => {
                (0..count).for_each(|i| self.insert(hash.wrapping_add(i.wrapping_mul(stride)), i));
            }
            Step::Remove { pick } => {
                let entry = self.entries.iter().nth(pick % self.entries.len().max(1)).copied();
                entry.into_iter().for_each(|entry| self.remove(entry));
            }
            Step::RemoveMany { step } => {
                let entries: Vec<_> = self.entries.iter().step_by(step).copied().collect();
                entries.into_iter().for_each(|entry| self.remove(entry));
            }
            Step::Find { hash } => self.find(hash),
        }
    }

    /// Looks at every bucket.
    fn check_buckets(&self) {
        let (level, next) = level_of(self.index.root.state.load(Relaxed));
        let chains = (1u32 << (FIRST_BUCKETS_SHIFT + level)) + next;
        let (mut full, mut entries, mut in_trees) = (0, 0, 0);
        for number in 0..chains {
            let first = self.index.bucket(self.index.address(number));
            full += u32::from(first.is_full());
            let mut equal = BTreeMap::<u32, usize>::new();
            for bucket in std::iter::successors(Some(first), |bucket| self.index.next(bucket)) {
                for entry in (0..bucket.count()).map(|i| bucket.entry(i)) {
                    *equal.entry(entry.hash).or_default() += 1;
                    if entry.row >= ROWS_MAX {
                        in_trees +=
                            self.entries.range((entry.hash, 0)..=(entry.hash, ROWS_MAX)).count();
                        continue;
                    }
                    entries += 1;
                    assert!(self.entries.contains(&(entry.hash, entry.row)));
                    let home =
                        self.index.bucket_at(self.index.root.state.load(Relaxed), entry.hash);
                    assert_eq!(home, self.index.address(number));
                }
            }
            let longest = equal.values().max().copied().unwrap_or(0);
            assert!(longest <= EQUAL_MAX, "a change walks {longest} entries of one hash");
        }
        assert_eq!(entries + in_trees, self.entries.len());
        assert_eq!(self.index.root.full.load(Relaxed), full, "chains that are full");
    }
}

/// Frees what was retired, and gives the bytes that indexes take.
fn index_bytes(alloc: Allocator<'_>) -> u64 {
    use crate::memory::retire::Retired;
    let queue = &alloc.cache.retired;
    while let Some((_, item)) = queue.front(alloc) {
        queue.pop(alloc);
        if let Retired::Block { offset, purpose } = item {
            alloc.free_block(offset, purpose);
        }
    }
    alloc.memory.usage([alloc.cache].into_iter()).indexes
}

fn run(steps: Vec<Step>) {
    let (memory, cache) = memory();
    let alloc = memory.allocator(memory.get(cache));
    let root = HashIndex::create_root(alloc).expect("room");
    let index = HashIndex::at(alloc.region(), root);
    let mut run = Run { alloc, index, entries: BTreeSet::new() };
    for step in steps {
        run.step(step);
    }
    run.check_buckets();
    let hashes: BTreeSet<_> = run.entries.iter().map(|(hash, _)| *hash).collect();
    hashes.iter().for_each(|hash| run.find(*hash));
    let entries: Vec<_> = run.entries.iter().copied().collect();
    entries.into_iter().for_each(|entry| run.remove(entry));
    run.check_buckets();
    index.destroy(alloc, root);
    assert_eq!(index_bytes(alloc), 0, "buckets are left");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_hash_index_holds_what_a_set_holds(steps in prop::collection::vec(step(), 1..100)) {
        run(steps);
    }
}

/// Different hashes spread over buckets that are about half full, as the index was tuned for.
#[test]
fn buckets_are_half_full() {
    let (memory, cache) = memory();
    let alloc = memory.allocator(memory.get(cache));
    let root = HashIndex::create_root(alloc).expect("room");
    let index = HashIndex::at(alloc.region(), root);
    for row in 0..60_000u32 {
        let hash = row.wrapping_mul(0x9e37_79b9).rotate_left(11) ^ row;
        index.insert(alloc, hash, row, 0).expect("memory is there");
        if row.is_power_of_two() && row > 500 {
            let (level, next) = level_of(index.root.state.load(Relaxed));
            let chains = (1u32 << (FIRST_BUCKETS_SHIFT + level)) + next;
            assert!((4..=7).contains(&(row / chains)), "{row} entries in {chains} chains");
        }
    }
}

/// Rows of one hash go to a tree and come back from it, and a reader who is on its way through them
/// meanwhile meets those that stay.
#[test]
fn many_rows_of_a_hash_are_in_a_tree_until_one_is_left() {
    const HASH: u32 = 7;
    let (memory, cache) = memory();
    let alloc = memory.allocator(memory.get(cache));
    let root = HashIndex::create_root(alloc).expect("room");
    let index = HashIndex::at(alloc.region(), root);
    let rows = EQUAL_MAX as u32 * 3;
    for row in 0..rows {
        index.insert(alloc, HASH, row, 0).expect("memory is there");
    }
    assert!(index.next_tree(u64::from(HASH), 0).is_some_and(|(hash, _)| hash == HASH));
    let again = index.insert(alloc, HASH, 5, 0).expect("memory is there");
    assert_eq!(again, Placement::Present);
    let mut met = Vec::new();
    for_each_match(index, HASH, |row, _| {
        if met.is_empty() {
            (0..rows - 1).for_each(|row| assert!(index.remove(alloc, HASH, row)));
            assert!(index.next_tree(u64::from(HASH), 0).is_none(), "the one has a plain entry");
        }
        met.push(row);
        ControlFlow::<()>::Continue(())
    });
    assert_eq!(met, [0, rows - 1]);
    assert_eq!(index.matches(HASH).first_row(), Some((rows - 1, 0)));
    assert!(index.remove(alloc, HASH, rows - 1));
    index.destroy(alloc, root);
    assert_eq!(index_bytes(alloc), 0, "trees are left");
}

/// Two databases hash a key differently, so that nobody can choose keys that collide; unless they
/// have one seed.
#[test]
fn each_database_has_a_seed() {
    use crate::{Database, Options};
    let hash = |options: Options| {
        let db = Database::open(options.budget(1 << 20)).expect("it opens");
        let memory = db.instance.memory();
        let alloc = memory.allocator(memory.get(memory.create_cache().expect("room")));
        let root = HashIndex::create_root(alloc).expect("room");
        HashIndex::at(alloc.region(), root).hash_of(b"a key")
    };
    let drawn: BTreeSet<u32> = (0..8).map(|_| hash(Options::new())).collect();
    assert!(drawn.len() > 6, "{drawn:?}");
    let given: BTreeSet<u32> = (0..8).map(|_| hash(Options::new().hash_seed(7))).collect();
    assert_eq!(given.len(), 1);
}
