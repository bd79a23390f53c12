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
    Promise,
    Redeem { and_push: bool },
    Pop(u8),
    Release,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => any::<u8>().prop_map(|count| Step::Push(count % 50)),
        4 => Just(Step::Promise),
        4 => any::<bool>().prop_map(|and_push| Step::Redeem { and_push }),
        5 => any::<u8>().prop_map(|count| Step::Pop(count % 60)),
        1 => Just(Step::Release),
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
    let heap = memory.heap(cache);
    let queue = &cache.retired;
    let mut model = VecDeque::new();
    let (mut number, mut promised) = (0, 0);
    let mut push = |model: &mut VecDeque<(u64, Retired)>| {
        number += 7;
        queue.push(heap, number, item(number));
        model.push_back((number, item(number)));
    };
    for step in steps {
        match step {
            Step::Push(count) => {
                let count = u64::from(count);
                queue.make_room(heap, count, Entitlement::Ordinary).expect("memory is there");
                (0..count).for_each(|_| push(&mut model));
            }
            Step::Promise => {
                queue.promise_many(heap, 3, Entitlement::Ordinary).expect("memory is there");
                promised += 3;
            }
            Step::Redeem { and_push } if promised > 0 => {
                queue.redeem();
                promised -= 1;
                if and_push {
                    push(&mut model);
                }
            }
            Step::Pop(count) => {
                for _ in 0..usize::from(count).min(model.len()) {
                    assert_eq!(queue.front(heap), model.pop_front());
                    queue.pop(heap);
                }
            }
            Step::Release if promised == 0 => queue.release(heap),
            Step::Redeem { .. } | Step::Release => {}
        }
        assert_eq!(queue.count(), model.len() as u64);
        assert_eq!(queue.front(heap), model.front().copied());
        check_room(heap, promised);
    }
    for expected in model {
        assert_eq!(queue.front(heap), Some(expected));
        queue.pop(heap);
    }
    (0..promised).for_each(|_| queue.redeem());
    queue.release(heap);
    let usage = memory.usage([cache].into_iter());
    assert_eq!(usage.internal, cache_size(), "chunks are left");
}

/// The room is what the chunks have, and no less than was promised.
fn check_room(heap: Heap<'_>, promised: u64) {
    let queue = &heap.cache.retired;
    let chunk = |at: u64| (at != 0).then(|| heap.memory.get(Ref::<Chunk>::new(at)));
    let spare = std::iter::successors(chunk(queue.spare.load(Relaxed)), |here| {
        chunk(here.next.load(Relaxed))
    });
    let tail = match queue.tail.load(Relaxed) {
        0 => 0,
        _ => CHUNK_ENTRIES as u64 - queue.tail_at.load(Relaxed),
    };
    let room = queue.room.load(Relaxed);
    assert_eq!(room, tail + (spare.count() * CHUNK_ENTRIES) as u64);
    assert!(room >= promised && queue.promised.load(Relaxed) == promised);
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

/// When even the reserve is used up, a queue can be worked off, however many entries working one
/// off leaves: they go apart, which nobody else can use, and are freed from there.
#[test]
fn a_queue_is_worked_off_without_memory() {
    for pushes in 0..7 {
        let (memory, cache) = memory();
        let cache = memory.get(cache);
        let heap = memory.heap(cache);
        let queue = &cache.retired;
        queue.keep_apart(heap).expect("memory is there");
        while heap.allocate(512, Purpose::Internal, Entitlement::Reserve).is_ok() {
            if queue.make_room(heap, 1, Entitlement::Ordinary).is_ok() {
                queue.push(heap, 1, item(0));
            }
        }
        for entitlement in [Entitlement::Ordinary, Entitlement::Reserve] {
            // Filled to the last place, it has none for anybody, whatever is kept apart.
            while queue.room.load(Relaxed) > 0 {
                queue.push(heap, 1, item(0));
            }
            assert!(queue.make_room(heap, 1, entitlement).is_err());
        }
        let count = queue.count();
        assert!(count > 1000);
        for number in 0..count {
            let pressed = queue.press();
            queue.promise_many(heap, pushes, Entitlement::Reserve).expect("there is room apart");
            queue.redeem_many(pushes);
            (0..pushes).for_each(|i| queue.push(heap, number, item(i)));
            queue.relax(pressed);
            if number > 0 {
                assert_eq!(queue.pop_apart(heap, number - 1), None, "it is not due yet");
            }
            let mut freed = 0;
            while queue.pop_apart(heap, number).is_some() {
                freed += 1;
            }
            assert_eq!(freed, pushes);
            queue.pop(heap);
        }
        assert_eq!(queue.count(), 0);
    }
}

/// What is apart is bounded, and so is what may be promised there.
#[test]
fn room_apart_ends() {
    let (memory, cache) = memory();
    let cache = memory.get(cache);
    let heap = memory.heap(cache);
    let queue = &cache.retired;
    queue.keep_apart(heap).expect("memory is there");
    let pressed = queue.press();
    let all = CHUNK_ENTRIES as u64;
    queue.promise_many(heap, 30, Entitlement::Reserve).expect("there is room");
    assert!(queue.make_room(heap, 2, Entitlement::Reserve).is_err());
    queue.redeem_many(30);
    (0..all).for_each(|i| queue.push(heap, i, item(i)));
    assert!(queue.make_room(heap, 1, Entitlement::Reserve).is_err());
    queue.relax(pressed);
    queue.make_room(heap, 1, Entitlement::Reserve).expect("the queue has memory");
    assert_eq!(queue.count(), 0);
    (0..all).for_each(|i| assert_eq!(queue.pop_apart(heap, i), Some(item(i))));
    assert_eq!(queue.apart_count(), 0);
}
