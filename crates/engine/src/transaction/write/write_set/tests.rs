//! A write set of rows that have ended against the set of those rows, and what reservations it
//! keeps.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::memory::Memory;
use crate::memory::region::Region;
use crate::table::cleanup::ended::rows_of;
use crate::transaction::begin::clock;

const BUDGET: u64 = 4 << 20;
const TABLES: u32 = 3;

#[derive(Clone, Debug)]
enum Step {
    /// Rows that end, of a table, from one on, at a distance.
    End {
        table: u32,
        first: u32,
        step: u32,
        count: u32,
    },
    /// A row that is inserted: it ends the stretch.
    Insert,
    Condense,
    /// Goes back to the savepoint made last, of those that are left.
    RollBack,
    Savepoint,
}

fn step() -> impl Strategy<Value = Step> {
    let end = (1..=TABLES, 0..20_000_u32, prop_oneof![Just(1_u32), 1..200_u32], 1..300_u32);
    prop_oneof![
        6 => end.prop_map(|(table, first, step, count)| Step::End { table, first, step, count }),
        1 => Just(Step::Insert),
        3 => Just(Step::Condense),
        1 => Just(Step::RollBack),
        1 => Just(Step::Savepoint),
    ]
}

/// All rows that have ended, each once.
fn ended(writes: &WriteSet<'_>) -> BTreeSet<(u32, u32)> {
    let mut all = BTreeSet::new();
    writes.each(|table, written| {
        if let Written::Ended { first, bits } = written {
            rows_of(first, bits).for_each(|row| assert!(all.insert((table, row)), "{row} twice"));
        }
    });
    all
}

fn reservations(writes: &WriteSet<'_>) -> u64 {
    let mut all = 0;
    writes.each(|_, written| all += written.reservations());
    all
}

fn run(steps: Vec<Step>) {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let slots = memory.create_fixed(size_of::<Slot>()).expect("room");
    memory.header().slots[0].store(slots, Relaxed);
    let (held, _) = clock::begin_write(&memory, 1, None).expect("a slot");
    let alloc = memory.allocator(held.cache());
    let writes = WriteSet::new(alloc, held.slot()).expect("room");
    let queue = &alloc.cache.retired;
    let (mut model, mut inserted) = (BTreeSet::new(), 0);
    let mut savepoints = Vec::new();
    for step in steps {
        match step {
            Step::End { table, first, step, count } => {
                for row in (0..count).map(|i| first + i * step) {
                    if !model.insert((table, row)) {
                        continue;
                    }
                    writes.make_room(AllocationClass::Emergency).expect("memory is there");
                    let reservations = writes.reservations_of_end(table, row);
                    queue
                        .reserve_many(alloc, reservations, AllocationClass::Emergency)
                        .expect("memory");
                    writes.push(table, Change::end(row), false);
                }
            }
            Step::Insert => {
                writes.make_room(AllocationClass::Normal).expect("memory is there");
                queue.reserve(alloc, AllocationClass::Normal).expect("memory is there");
                writes.push(1, Change::new((1 << 20) | (inserted * 2), 16), false);
                inserted += 1;
            }
            Step::Condense => {
                writes.condense();
            }
            Step::Savepoint => savepoints.push((writes.mark(), model.clone(), inserted)),
            Step::RollBack => {
                let Some((len, before, count)) = savepoints.pop() else { continue };
                while writes.len() > len {
                    let (_, written) = writes.pop().expect("there are entries");
                    queue.release_many(written.reservations());
                }
                (model, inserted) = (before, count);
            }
        }
        assert_eq!(ended(&writes), model);
        assert_eq!(writes.len(), model.len() as u64 + u64::from(inserted));
    }
    // What was reserved is what the entries say: all of it can be given back.
    queue.release_many(reservations(&writes));
    queue.reserve(alloc, AllocationClass::Normal).expect("memory is there");
    queue.release();
    writes.clear();
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn rows_that_end_are_in_the_set_once_whatever_becomes_of_its_entries(
        steps in prop::collection::vec(step(), 1..40),
    ) {
        run(steps);
    }
}

/// Rows that end in no order take an entry for each 64 of them when they are condensed, and those
/// that follow find it.
#[test]
fn rows_in_no_order_take_few_entries() {
    let region = Region::reserve(BUDGET).expect("addresses");
    let memory = Memory::format(region, BUDGET).expect("room for the page table");
    let slots = memory.create_fixed(size_of::<Slot>()).expect("room");
    memory.header().slots[0].store(slots, Relaxed);
    let (held, _) = clock::begin_write(&memory, 1, None).expect("a slot");
    let alloc = memory.allocator(held.cache());
    let writes = WriteSet::new(alloc, held.slot()).expect("room");
    let mut entries = 0;
    for i in 0..64_000_u32 {
        let row = (i * 7919) % 64_000;
        writes.make_room(AllocationClass::Emergency).expect("memory is there");
        let reservations = writes.reservations_of_end(1, row);
        alloc
            .cache
            .retired
            .reserve_many(alloc, reservations, AllocationClass::Emergency)
            .expect("memory");
        entries += u32::from(reservations > 0);
        writes.push(1, Change::end(row), false);
        if entries == 2000 {
            assert!(writes.condense());
            entries = 0;
        }
    }
    assert!(entries < 2000);
    writes.condense();
    let mut count = 0;
    writes.each(|_, _| count += 1);
    assert_eq!((count, writes.len()), (1000, 64_000));
}
