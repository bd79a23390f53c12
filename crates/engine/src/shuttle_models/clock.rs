//! Snapshots against reclamation: what an active transaction sees or may be reading stays.

use super::{Rows, check, race, settings};
use crate::instance::Instance;
use crate::memory::atomic::{Acquire, AtomicU64, Relaxed, Release};
use crate::memory::{AllocationClass, Allocator, Purpose, Ref, modelled};
use crate::slot::snapshot_of_state;
use crate::table::columns::copies::RowCopies;
use crate::table::read::reader::Reader;
use crate::transaction::begin::clock;
use crate::transaction::cleanup::reclaim;

/// A block as the models below share it: two words that go together.
#[repr(C)]
struct Pair {
    first: AtomicU64,
    second: AtomicU64,
}

fn create_pair(alloc: Allocator<'_>, word: u64) -> u64 {
    let size = size_of::<Pair>();
    let at =
        alloc.allocate(size, Purpose::Indexes, AllocationClass::Normal).expect("there is memory");
    let pair: &Pair = alloc.memory.get(Ref::new(at));
    pair.first.store(word, Relaxed);
    pair.second.store(!word, Relaxed);
    at
}

/// A writer replaces a shared block and retires the old one while somebody commits; a reader
/// within its snapshot reads a block that nobody has freed. The block is replaced by a plain
/// store, as that in a node is: nothing but `Allocator::retire` keeps it before the reading of the
/// clock.
#[test]
fn shuttle_retired_blocks_outlive_their_readers() {
    check(|| {
        let db = modelled::quietly(|| Instance::create(settings()));
        let db = db.expect("the budget is large enough");
        let memory = db.memory();
        let shared = AtomicU64::new(0);
        let (held, snapshot, old, new) = modelled::quietly(|| {
            let (held, snapshot) = clock::begin_write(memory, 8, None).expect("there are slots");
            let alloc = memory.allocator(held.cache());
            let (old, new) = (create_pair(alloc, 1), create_pair(alloc, 2));
            shared.store(old, Release);
            let queue = &alloc.cache.retired;
            queue.make_room(alloc, 1, AllocationClass::Normal).expect("there is memory");
            (held, snapshot, old, new)
        });
        let replace = || {
            let alloc = memory.allocator(held.cache());
            shared.store(new, Release);
            alloc.retire(old, Purpose::Indexes);
            reclaim::after_transaction(&db, alloc, held.number(), snapshot.own, 0);
        };
        let commit = || {
            let _latched = memory.header().commit.0.latch.lock();
            let clock = &memory.header().clock.0;
            clock.store(clock.load(Relaxed) + 1, Release);
        };
        let read = || {
            let (held, snapshot) = clock::begin_read(memory, 8).expect("there are slots");
            let copies = RowCopies::new(memory, held.slot());
            let reader = Reader { snapshot, slot: held.slot(), reads: None, copies: &copies };
            let _operation = reader.enter(memory);
            let pair: &Pair = memory.get(Ref::new(shared.load(Acquire)));
            let first = pair.first.load(Relaxed);
            assert_eq!(pair.second.load(Relaxed), !first);
        };
        race(vec![Box::new(replace), Box::new(commit), Box::new(read)]);
    });
}

/// A transaction begins while others commit: what its slot says is the snapshot that it has. By
/// another one, versions between the snapshots that slots say would be cut out of its own.
#[test]
fn shuttle_slots_say_the_snapshot_that_is_used() {
    check(|| {
        let db = modelled::quietly(|| Instance::create(settings()));
        let db = db.expect("the budget is large enough");
        let memory = db.memory();
        let commit = || {
            for _ in 0..2 {
                let _latched = memory.header().commit.0.latch.lock();
                let clock = &memory.header().clock.0;
                clock.store(clock.load(Relaxed) + 1, Release);
            }
        };
        let begin = |writes: bool| {
            let begun = match writes {
                true => clock::begin_write(memory, 8, None),
                false => clock::begin_read(memory, 8),
            };
            let (held, snapshot) = begun.expect("there are slots");
            let said = snapshot_of_state(held.slot().state.load(Relaxed));
            assert_eq!(said, snapshot.timestamp);
        };
        race(vec![Box::new(commit), Box::new(|| begin(false)), Box::new(|| begin(true))]);
    });
}

/// Writers update, delete and insert, and reclaim as they go; somebody reclaims everything besides.
/// A reader finds in its snapshot the same rows with the same content, however often it looks, and
/// what it was given stays readable.
#[test]
fn shuttle_snapshots_keep_their_rows() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let update = || {
            for value in 1..3 {
                let done = rows.db.write(|tx| {
                    let row = rows.find(tx, 1).expect("nobody deletes it").id();
                    tx.update_values(&rows.table, row, &rows.changes(1, value))
                });
                done.expect("nobody else changes it");
            }
        };
        let replace = || {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, 2).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else changes it");
            rows.insert(3, 7).expect("there is memory");
        };
        let reclaim = || rows.db.reclaim();
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let first: Vec<_> = tx.scan(&rows.table).expect("the table is there").collect();
            let contents: Vec<_> = first.iter().map(|&row| rows.read(row)).collect();
            for (&row, &content) in first.iter().zip(&contents) {
                assert_eq!(rows.find(&tx, content.0).map(|row| rows.read(row)), Some(content));
                assert_eq!(rows.read(row), content, "what was read stays readable");
            }
            let second = tx.scan(&rows.table).expect("the table is there");
            let second: Vec<_> = second.map(|row| rows.read(row)).collect();
            assert_eq!(contents, second, "a snapshot does not change");
            assert!(contents.iter().any(|&(key, _)| key == 1));
        };
        race(vec![Box::new(update), Box::new(replace), Box::new(reclaim), Box::new(read)]);
        let left = rows.all();
        assert_eq!(left, [(1, 2), (3, 7)]);
    });
}
