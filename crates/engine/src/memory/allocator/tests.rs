//! Blocks of all sizes and purposes, through the caches of two slots, against a model.
//!
//! Each block is filled with a pattern of its own and must still hold it when it is freed, by
//! whichever slot: so no two overlap, and the allocator writes in none. Live bytes are those of the
//! model; when all is freed and the caches are flushed, every page is back.

use proptest::prelude::*;

use super::super::class::{BLOCK_SIZE_MAX, GRANULE};
use super::super::row_blocks;
use super::*;

const BUDGET: u64 = 8 << 20;
const PURPOSES_USED: [Purpose; 3] = [Purpose::Rows, Purpose::Indexes, Purpose::Internal];

#[derive(Clone, Debug)]
enum Step {
    Allocate { slot: usize, size: usize, purpose: usize },
    Free { slot: usize, pick: usize },
    Flush { slot: usize },
}

struct Block {
    at: u64,
    size: usize,
    purpose: Purpose,
    fill: u8,
}

fn step() -> impl Strategy<Value = Step> {
    let size = prop_oneof![
        4 => 24..100usize,
        3 => 24..1200usize,
        2 => Just(64usize),
        1 => 24..BLOCK_SIZE_MAX + 100,
        1 => BLOCK_SIZE_MAX..60_000,
    ];
    // Rows are more than half: their blocks are cut, split and put together.
    let purpose = prop_oneof![3 => Just(0), 1 => 0..3usize];
    let slot = || 0..2usize;
    prop_oneof![
        12 => (slot(), size, purpose)
            .prop_map(|(slot, size, purpose)| Step::Allocate { slot, size, purpose }),
        10 => (slot(), any::<u16>())
            .prop_map(|(slot, pick)| Step::Free { slot, pick: usize::from(pick) }),
        1 => slot().prop_map(|slot| Step::Flush { slot }),
    ]
}

fn memory() -> (Memory, [u64; 2]) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let caches = [0, 1].map(|_| memory.create_cache().expect("room").offset());
    (memory, caches)
}

fn free(alloc: Allocator<'_>, block: &Block) {
    let bytes = alloc.region().bytes(block.at, block.size);
    let place = bytes.iter().position(|byte| *byte != block.fill);
    assert_eq!(place, None, "a block of {} bytes was written to", block.size);
    alloc.free(block.at, block.size, block.purpose);
}

fn check_usage(memory: &Memory, caches: [u64; 2], blocks: &[Block], internal: u64) {
    let usage = memory.usage(caches.iter().map(|cache| memory.get(Ref::new(*cache))));
    let live = |purpose: Purpose| {
        let blocks = blocks.iter().filter(|block| block.purpose == purpose);
        let sizes = blocks.map(|block| match purpose {
            Purpose::Rows => row_blocks::occupied(block.size) as u64,
            _ => occupied(block.size) as u64,
        });
        sizes.sum::<u64>()
    };
    assert_eq!((usage.rows, usage.indexes), (live(Purpose::Rows), live(Purpose::Indexes)));
    assert_eq!(usage.internal, internal + live(Purpose::Internal));
}

fn run(steps: Vec<Step>) {
    let (memory, caches) = memory();
    let alloc = |slot: usize| memory.allocator(memory.get(Ref::new(caches[slot])));
    let usage = memory.usage(caches.iter().map(|cache| memory.get(Ref::new(*cache))));
    let mut blocks: Vec<Block> = Vec::new();
    for (i, step) in steps.into_iter().enumerate() {
        match step {
            Step::Allocate { slot, size, purpose } => {
                let purpose = PURPOSES_USED[purpose];
                let Ok(at) = alloc(slot).allocate(size, purpose, AllocationClass::Normal) else {
                    continue;
                };
                assert!(at.is_multiple_of(GRANULE as u64));
                let overlaps = |other: &Block| {
                    at < other.at + other.size as u64 && other.at < at + size as u64
                };
                assert!(!blocks.iter().any(overlaps), "{size} bytes at {at} are out twice");
                if purpose != Purpose::Rows {
                    assert!(alloc(slot).size_of_block(at) >= size);
                }
                let fill = i as u8;
                memory.region().fresh_bytes(at, size).fill(fill);
                blocks.push(Block { at, size, purpose, fill });
            }
            Step::Free { slot, pick } if !blocks.is_empty() => {
                let block = blocks.swap_remove(pick % blocks.len());
                free(alloc(slot), &block);
            }
            Step::Free { .. } => {}
            Step::Flush { slot } => alloc(slot).flush(),
        }
    }
    check_usage(&memory, caches, &blocks, usage.internal);
    for (i, block) in blocks.iter().enumerate() {
        free(alloc(i % 2), block);
    }
    (0..2).for_each(|slot| alloc(slot).flush());
    check_usage(&memory, caches, &[], usage.internal);
    let held = memory.header().account.used.load(Relaxed);
    assert_eq!(held, usage.held, "pages are left when all blocks are free");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn blocks_do_not_overlap_and_all_come_back(steps in prop::collection::vec(step(), 1..500)) {
        run(steps);
    }
}

/// Memory is full for rows while the reserve is not, then full for all; what was freed can be had
/// again.
#[test]
fn a_full_memory_gives_back_what_was_freed() {
    let (memory, caches) = memory();
    let alloc = memory.allocator(memory.get(Ref::new(caches[0])));
    let fill = |class| {
        let allocate = || alloc.allocate(1000, Purpose::Rows, class).ok();
        std::iter::from_fn(allocate).collect::<Vec<_>>()
    };
    let normal = fill(AllocationClass::Normal);
    let emergency = fill(AllocationClass::Emergency);
    assert!(normal.len() > 7000 && (50..500).contains(&emergency.len()));
    for block in normal.iter().step_by(2) {
        alloc.free(*block, 1000, Purpose::Rows);
    }
    assert_eq!(fill(AllocationClass::Emergency).len(), normal.len().div_ceil(2));
}
