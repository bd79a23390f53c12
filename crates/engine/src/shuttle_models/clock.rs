//! Snapshots against reclamation: what an active transaction sees or may be reading stays.

use super::{check, race};
use crate::instance::Instance;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release};
use crate::memory::{Entitlement, Heap, Purpose, Ref, modelled};
use crate::transaction::{clock, reclaim};

/// A block as the models below share it: two words that go together.
#[repr(C)]
struct Pair {
    first: AtomicU64,
    second: AtomicU64,
}

fn create_pair(heap: Heap<'_>, word: u64) -> u64 {
    let size = size_of::<Pair>();
    let at = heap.allocate(size, Purpose::Indexes, Entitlement::Ordinary).expect("there is memory");
    let pair: &Pair = heap.memory.get(Ref::new(at));
    pair.first.store(word, Relaxed);
    pair.second.store(!word, Relaxed);
    at
}

/// Two writers replace a shared block and retire the old one while commits go on; readers within
/// their snapshots read blocks that nobody has freed.
#[test]
fn shuttle_retired_blocks_outlive_their_readers() {
    check(|| {
        let db = modelled::quietly(|| Instance::create(2 << 20, 8, None));
        let db = db.expect("the budget is large enough");
        let memory = db.memory();
        let shared = AtomicU64::new(0);
        modelled::quietly(|| {
            let (held, _) = clock::begin_write(memory, 8).expect("there are slots");
            shared.store(create_pair(memory.heap(held.cache()), 1), Release);
        });
        let replace = |word: u64| {
            let (shared, db) = (&shared, &db);
            move || {
                let (held, snapshot) = clock::begin_write(memory, 8).expect("there are slots");
                let heap = memory.heap(held.cache());
                let queue = &heap.cache.retired;
                queue.make_room(heap, 1, Entitlement::Ordinary).expect("there is memory");
                let new = create_pair(heap, word);
                let mut old = shared.load(Acquire);
                while let Err(now) = shared.compare_exchange(old, new, Release, Acquire) {
                    old = now;
                }
                heap.retire(old, Purpose::Indexes);
                reclaim::after_transaction(db, heap, held.number(), snapshot.own);
            }
        };
        let commit = || {
            for _ in 0..2 {
                let _latched = memory.header().commit.0.lock();
                let clock = &memory.header().clock.0;
                clock.store(clock.load(Relaxed) + 1, Release);
            }
        };
        let read = || {
            for _ in 0..2 {
                let (_held, _) = clock::begin_read(memory, 8).expect("there are slots");
                let pair: &Pair = memory.get(Ref::new(shared.load(Acquire)));
                let first = pair.first.load(Relaxed);
                assert_eq!(pair.second.load(Relaxed), !first);
            }
        };
        race(vec![
            Box::new(replace(2)),
            Box::new(replace(3)),
            Box::new(commit),
            Box::new(read),
        ]);
    });
}
