//! The tree alone, against a set of keys with their rows.
//!
//! Keys are dense numbers and scattered ones, pairs of numbers whose rows follow one another, and
//! texts that share long stems; no key begins with another, as the key codec promises. Entries are
//! added, removed and replaced at random, which grows, splits, shrinks and merges nodes of every
//! kind, and bundles are made of nodes in between; look-ups, walks in both directions and searches
//! from any bound must agree with the set. An emptied tree is its root and nothing else.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use proptest::prelude::*;

use super::*;
use crate::index::build::{self, BuildEntry};
use crate::index::cursor::{Bound, Direction, IndexCursor};
use crate::index::pack::Packing;
use crate::memory::account::Purpose;
use crate::memory::retire::Retired;
use crate::memory::{Cache, Memory};

const BUDGET: u64 = 16 << 20;

type Entry = (Vec<u8>, u32);

/// The keys of rows with a plain leaf: one each.
#[derive(Default)]
struct Keys(RefCell<HashMap<u32, Vec<u8>>>);

#[derive(Clone, Debug)]
enum Step {
    Insert { key: Vec<u8>, row: u32, keyed: bool },
    Dense { from: u32, count: u32 },
    Pairs { from: u8, count: u8, lines: u8 },
    Pack { odd: bool },
    Remove { pick: usize },
    RemoveMany { step: usize },
    Replace { pick: usize },
    Find { key: Vec<u8> },
}

impl LeafKeys for Keys {
    fn load_key(&self, row: u32, key: &mut KeyBuffer) -> bool {
        key.clear();
        self.0.borrow().get(&row).is_some_and(|bytes| key.push(bytes).is_ok())
    }
}

fn key() -> impl Strategy<Value = Vec<u8>> {
    let text = |stem: &'static str| {
        "[ab]{0,4}".prop_map(move |end| [stem.as_bytes(), end.as_bytes(), &[0, 1]].concat())
    };
    prop_oneof![
        3 => (0..600u32).prop_map(|n| [&[1], n.to_be_bytes().as_slice()].concat()),
        2 => any::<u64>().prop_map(|n| [&[2], n.to_be_bytes().as_slice()].concat()),
        4 => (0..40u8, 0..10u8).prop_map(|(order, line)| pair(order, line)),
        2 => text("c"),
        2 => text("dddddddddddddddd"),
        2 => text("eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"),
    ]
}

/// The key of a pair of numbers.
fn pair(order: u8, line: u8) -> Vec<u8> {
    vec![4, 0, order, 0x80, 0, 0, line]
}

fn step() -> impl Strategy<Value = Step> {
    let row = || prop_oneof![1 => 0..4u32, 1 => any::<u32>()];
    let pick = || any::<u16>().prop_map(usize::from);
    prop_oneof![
        12 => (key(), row(), any::<bool>())
            .prop_map(|(key, row, keyed)| Step::Insert { key, row, keyed }),
        1 => (0..600u32, 1..300u32).prop_map(|(from, count)| Step::Dense { from, count }),
        4 => (0..40u8, 1..20u8, 1..12u8)
            .prop_map(|(from, count, lines)| Step::Pairs { from, count, lines }),
        4 => any::<bool>().prop_map(|odd| Step::Pack { odd }),
        8 => pick().prop_map(|pick| Step::Remove { pick }),
        1 => (1..4usize).prop_map(|step| Step::RemoveMany { step }),
        3 => pick().prop_map(|pick| Step::Replace { pick }),
        4 => key().prop_map(|key| Step::Find { key }),
    ]
}

struct Run<'m> {
    alloc: Allocator<'m>,
    tree: OrderedIndex<'m>,
    keys: Keys,
    entries: BTreeSet<Entry>,
}

impl<'m> Run<'m> {
    fn new(alloc: Allocator<'m>, root: u64) -> Self {
        let tree = OrderedIndex::at(alloc.region(), root);
        Self { alloc, tree, keys: Keys::default(), entries: BTreeSet::new() }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Insert { key, row, keyed } => self.insert(key, row, keyed),
            Step::Dense { from, count } => {
                for n in from..from + count {
                    self.insert([&[1], n.to_be_bytes().as_slice()].concat(), 1 << 20 | n, false);
                }
            }
            Step::Pairs { from, count, lines } => {
                for (order, line) in
                    (from..from + count).flat_map(|it| (0..lines).map(move |line| (it, line)))
                {
                    let row = 1 << 21 | u32::from(order) << 8 | u32::from(line);
                    self.insert(pair(order, line), row, false);
                }
            }
            Step::Pack { odd } => {
                // Of the others, rows keep their hints.
                let needs_no_hint = |row: u32| odd || row >> 8 & 1 == 0;
                let mut packing = Packing::default();
                while packing.step(self.tree, self.alloc, &needs_no_hint) {}
            }
            Step::Remove { pick } => {
                let entry = self.entries.iter().nth(pick % self.entries.len().max(1)).cloned();
                entry.iter().for_each(|entry| self.remove(entry));
            }
            Step::RemoveMany { step } => {
                let entries: Vec<_> = self.entries.iter().step_by(step).cloned().collect();
                entries.iter().for_each(|entry| self.remove(entry));
            }
            Step::Replace { pick } => {
                let entry = self.entries.iter().nth(pick % self.entries.len().max(1)).cloned();
                let Some((key, row)) = entry else { return };
                let plain = self.keys.0.borrow().get(&row) == Some(&key);
                let leaf = if plain && pick % 2 == 0 {
                    Leaf::plain(row, 0)
                } else {
                    KeyBlock::create(self.alloc, &key, row).expect("memory is there")
                };
                self.make_room();
                let replaced = self.tree.replace(self.alloc, &key, row, leaf);
                assert!(replaced.expect("memory is there"));
            }
            Step::Find { key } => self.find(&key),
        }
    }

    /// Adds an entry; a row's second key needs a leaf that holds it.
    fn insert(&mut self, key: Vec<u8>, row: u32, keyed: bool) {
        let others = self.entries.iter().filter(|(other, _)| *other == key);
        let others: Vec<_> = others.map(|(_, row)| *row).collect();
        let expected = match others.len() {
            _ if self.entries.contains(&(key.clone(), row)) => Placement::Present,
            0 => Placement::Alone,
            _ => Placement::Shared,
        };
        let known = self.keys.0.borrow().get(&row).cloned();
        let plain = !keyed && known.is_none_or(|known| known == key);
        let leaf = if plain {
            self.keys.0.borrow_mut().insert(row, key.clone());
            Leaf::plain(row, 0)
        } else {
            KeyBlock::create(self.alloc, &key, row).expect("memory is there")
        };
        let placement = self.tree.insert(self.alloc, &self.keys, &key, row, leaf);
        // Where entries with the key went, their nodes may be left: that looks like sharing.
        let placement = placement.expect("memory is there");
        let fits = match placement {
            Placement::SharedWith(other) => others == [other],
            Placement::Shared => expected == Placement::Shared || expected == Placement::Alone,
            placement => placement == expected,
        };
        assert!(fits, "{placement:?}, not {expected:?}");
        if expected == Placement::Present {
            leaf.block().iter().for_each(|at| self.alloc.free_block(*at, Purpose::Indexes));
        }
        self.entries.insert((key, row));
    }

    fn remove(&mut self, entry: &Entry) {
        let (key, row) = entry;
        assert!(self.tree.remove(self.alloc, key, *row));
        self.entries.remove(entry);
        // Only an entry that is there may be removed from a row that has another one.
        if self.entries.iter().all(|(_, other)| other != row) {
            assert!(!self.tree.remove(self.alloc, key, *row));
        }
        if self.keys.0.borrow().get(row) == Some(key) {
            self.keys.0.borrow_mut().remove(row);
        }
    }

    fn find(&self, key: &[u8]) {
        let rows: Vec<_> =
            self.entries.iter().filter(|(other, _)| other == key).map(|(_, row)| *row).collect();
        match self.tree.lookup(key) {
            Found::None => assert!(rows.is_empty(), "{key:?}"),
            Found::One { leaf, exact } => {
                let row = self.tree.row_of(leaf);
                assert!(rows.is_empty() || rows == [row], "{key:?}");
                assert!(!exact || rows == [row], "{key:?}");
            }
            Found::Many => {}
        }
        for length in [key.len(), key.len() / 2, 1] {
            let bytes = &key[..length];
            self.search(Direction::Forward, Bound { bytes, inclusive: true });
            self.search(Direction::Forward, Bound { bytes, inclusive: false });
            self.search(Direction::Backward, Bound { bytes, inclusive: true });
            self.search(Direction::Backward, Bound { bytes, inclusive: false });
        }
    }

    /// Walks on from a bound, and a step back.
    fn search(&self, direction: Direction, bound: Bound<'_>) {
        let begins = |key: &[u8]| key.starts_with(bound.bytes);
        let beyond = |entry: &&Entry| match direction {
            _ if begins(&entry.0) => bound.inclusive,
            Direction::Forward => entry.0.as_slice() > bound.bytes,
            Direction::Backward => entry.0.as_slice() < bound.bytes,
        };
        let rows = |entry: &Entry| entry.1;
        let expected: Vec<u32> = match direction {
            Direction::Forward => self.entries.iter().filter(beyond).map(rows).take(5).collect(),
            Direction::Backward => {
                self.entries.iter().rev().filter(beyond).map(rows).take(5).collect()
            }
        };
        let mut cursor = IndexCursor::new(self.tree);
        let mut found = Vec::new();
        let mut leaf = cursor.seek(&self.keys, direction, Some(bound));
        while let Some(here) = leaf.filter(|_| found.len() < 5) {
            found.push(self.tree.row_of(here));
            leaf = cursor.step(&self.keys, direction);
        }
        assert_eq!(found, expected, "{direction:?} from {:?}", bound.bytes);
    }

    fn check_all(&self) {
        for direction in [Direction::Forward, Direction::Backward] {
            let mut cursor = IndexCursor::new(self.tree);
            let mut found = Vec::new();
            let mut leaf = cursor.seek(&self.keys, direction, None);
            while let Some(here) = leaf {
                found.push(self.tree.row_of(here));
                leaf = cursor.step(&self.keys, direction);
            }
            if direction == Direction::Backward {
                found.reverse();
            }
            let expected: Vec<_> = self.entries.iter().map(|(_, row)| *row).collect();
            assert_eq!(found, expected, "{direction:?}");
        }
    }

    fn make_room(&self) {
        let room = self.alloc.cache.retired.make_room(self.alloc, 1, AllocationClass::Normal);
        room.expect("memory is there");
    }
}

fn memory() -> (Memory, Ref<Cache>) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let cache = memory.create_cache().expect("room");
    (memory, cache)
}

/// Frees what was retired, and gives the bytes that indexes take.
fn index_bytes(alloc: Allocator<'_>) -> u64 {
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
    let root = OrderedIndex::create_root(alloc).expect("room");
    let empty = index_bytes(alloc);
    let mut run = Run::new(alloc, root);
    for step in steps {
        run.step(step);
    }
    run.check_all();
    check_build(&run, false);
    check_build(&run, true);
    let entries: Vec<_> = run.entries.iter().cloned().collect();
    entries.iter().for_each(|entry| run.remove(entry));
    run.check_all();
    assert_eq!(index_bytes(alloc), empty, "nodes are left");
    build::destroy(alloc, root);
    assert_eq!(index_bytes(alloc), 0);
}

/// Builds the same tree at once and checks it the same way; with leaves that can be in runs, and
/// with some that cannot.
fn check_build(run: &Run<'_>, plain: bool) {
    let before = index_bytes(run.alloc);
    let keys = run.keys.0.borrow().clone();
    let leaf = |(key, row): &Entry| match keys.get(row) {
        Some(own) if plain && own == key => Leaf::plain(*row, 0),
        _ => KeyBlock::create(run.alloc, key, *row).expect("memory is there"),
    };
    let entry =
        |entry: &Entry| BuildEntry { key: entry.0.clone(), row: entry.1, leaf: leaf(entry) };
    let entries: Vec<_> = run.entries.iter().map(entry).collect();
    let root = build::build(run.alloc, &entries).expect("memory is there");
    let keys = Keys(RefCell::new(keys));
    let built = Run { entries: run.entries.clone(), keys, ..Run::new(run.alloc, root) };
    built.check_all();
    run.entries.iter().step_by(5).for_each(|(key, _)| built.find(key));
    build::destroy(run.alloc, root);
    assert_eq!(index_bytes(run.alloc), before);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_tree_holds_what_a_set_holds(steps in prop::collection::vec(step(), 1..150)) {
        run(steps);
    }
}
