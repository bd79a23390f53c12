//! A slot's queue against a `VecDeque`, and what it holds on to.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::allocator::{Cache, Memory};
use super::super::region::Region;
use super::*;

const BUDGET: u64 = 2 << 20;

#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Reserve,
    Release { and_push: bool },
    Pop(u8),
    FreeChunks,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any::<u8>().prop_map(|count| Step::Push(count % 50)),
        4 => Just(Step::Reserve),
        4 => any::<bool>().prop_map(|and_push| Step::Release { and_push }),
        5 => any::<u8>().prop_map(|count| Step::Pop(count % 60)),
        1 => Just(Step::FreeChunks),
    ]
}

fn memory() -> (Memory, Ref<Cache>) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let cache = memory.create_cache().expect("room");
    (memory, cache)
}

fn item(number: u64) -> Retired {
    match number % 3 {
        0 => Retired::Row { table: (number % (1 << 24)) as u32, row: number as u32 },
        1 => Retired::Deletion { offset: number << 4 },
        _ => {
            let purposes = [Purpose::Rows, Purpose::Segments, Purpose::Indexes, Purpose::Internal];
            Retired::Block { offset: number << 4, purpose: purposes[(number >> 2) as usize % 4] }
        }
    }
}

fn run(steps: Vec<Step>) {
    let (memory, cache) = memory();
    let cache = memory.get(cache);
    let alloc = memory.allocator(cache);
    let queue = &cache.retired;
    let mut model = VecDeque::new();
    let (mut number, mut reserved) = (0, 0);
    let mut push = |model: &mut VecDeque<(u64, Retired)>| {
        number += 7;
        queue.push(alloc, number, item(number));
        model.push_back((number, item(number)));
    };
    for step in steps {
        match step {
            Step::Push(count) => {
                let count = u64::from(count);
                queue.make_room(alloc, count, AllocationClass::Normal).expect("memory is there");
                (0..count).for_each(|_| push(&mut model));
            }
            Step::Reserve => {
                queue.reserve_many(alloc, 3, AllocationClass::Normal).expect("memory is there");
                reserved += 3;
            }
            Step::Release { and_push } if reserved > 0 => {
                queue.release();
                reserved -= 1;
                if and_push {
                    push(&mut model);
                }
            }
            Step::Pop(count) => {
                for _ in 0..usize::from(count).min(model.len()) {
                    assert_eq!(queue.front(alloc), model.pop_front());
                    queue.pop(alloc);
                }
            }
            Step::FreeChunks if reserved == 0 => queue.free_chunks(alloc),
            Step::Release { .. } | Step::FreeChunks => {}
        }
        assert_eq!(queue.count(), model.len() as u64);
        assert_eq!(queue.front(alloc), model.front().copied());
        check_room(alloc, reserved);
    }
    for expected in model {
        assert_eq!(queue.front(alloc), Some(expected));
        queue.pop(alloc);
    }
    (0..reserved).for_each(|_| queue.release());
    queue.free_chunks(alloc);
    let usage = memory.usage([cache].into_iter());
    assert_eq!(usage.internal, cache_size(), "chunks are left");
}

/// The room is what the chunks have, and no less than was reserved.
fn check_room(alloc: Allocator<'_>, reserved: u64) {
    let queue = &alloc.cache.retired;
    let chunk = |at: u64| (at != 0).then(|| alloc.memory.get(Ref::<Chunk>::new(at)));
    let spare = std::iter::successors(chunk(queue.spare.load(Relaxed)), |here| {
        chunk(here.next.load(Relaxed))
    });
    let tail = match queue.tail.load(Relaxed) {
        0 => 0,
        _ => CHUNK_ENTRIES as u64 - queue.tail_at.load(Relaxed),
    };
    let room = queue.room.load(Relaxed);
    assert_eq!(room, tail + (spare.count() * CHUNK_ENTRIES) as u64);
    assert!(room >= reserved && queue.reserved.load(Relaxed) == reserved);
}

fn cache_size() -> u64 {
    super::super::class::occupied(size_of::<Cache>()) as u64
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_queue_gives_what_it_was_given(steps in prop::collection::vec(step(), 1..200)) {
        run(steps);
    }
}

/// When even the reserve is used up, a queue can be drained, however many entries draining one
/// leaves: they go apart, which nobody else can use, and are freed from there.
#[test]
fn a_queue_is_drained_without_memory() {
    for pushes in 0..7 {
        let (memory, cache) = memory();
        let cache = memory.get(cache);
        let alloc = memory.allocator(cache);
        let queue = &cache.retired;
        queue.keep_apart(alloc).expect("memory is there");
        while alloc.allocate(512, Purpose::Internal, AllocationClass::Emergency).is_ok() {
            if queue.make_room(alloc, 1, AllocationClass::Normal).is_ok() {
                queue.push(alloc, 1, item(0));
            }
        }
        for class in [AllocationClass::Normal, AllocationClass::Emergency] {
            // Filled to the last place, it has none for anybody, whatever is kept apart.
            while queue.room.load(Relaxed) > 0 {
                queue.push(alloc, 1, item(0));
            }
            assert!(queue.make_room(alloc, 1, class).is_err());
        }
        let count = queue.count();
        assert!(count > 1000);
        for number in 0..count {
            let pressed = queue.press();
            queue
                .reserve_many(alloc, pushes, AllocationClass::Emergency)
                .expect("there is room apart");
            queue.release_many(pushes);
            (0..pushes).for_each(|i| queue.push(alloc, number, item(i)));
            queue.relax(pressed);
            if number > 0 {
                assert_eq!(queue.pop_apart(alloc, number - 1), None, "it is not due yet");
            }
            let mut freed = 0;
            while queue.pop_apart(alloc, number).is_some() {
                freed += 1;
            }
            assert_eq!(freed, pushes);
            queue.pop(alloc);
        }
        assert_eq!(queue.count(), 0);
    }
}

/// What is apart is bounded, and so is what may be reserved there.
#[test]
fn room_apart_ends() {
    let (memory, cache) = memory();
    let cache = memory.get(cache);
    let alloc = memory.allocator(cache);
    let queue = &cache.retired;
    queue.keep_apart(alloc).expect("memory is there");
    let pressed = queue.press();
    let all = CHUNK_ENTRIES as u64;
    queue.reserve_many(alloc, 30, AllocationClass::Emergency).expect("there is room");
    assert!(queue.make_room(alloc, 2, AllocationClass::Emergency).is_err());
    queue.release_many(30);
    (0..all).for_each(|i| queue.push(alloc, i, item(i)));
    assert!(queue.make_room(alloc, 1, AllocationClass::Emergency).is_err());
    queue.relax(pressed);
    queue.make_room(alloc, 1, AllocationClass::Emergency).expect("the queue has memory");
    assert_eq!(queue.count(), 0);
    (0..all).for_each(|i| assert_eq!(queue.pop_apart(alloc, i), Some(item(i))));
    assert_eq!(queue.apart_count(), 0);
}
