//! The directory of rows: an id belongs to one row at a time.

use super::{Rows, check, race, settings};
use crate::error::Result;
use crate::instance::Instance;
use crate::memory::atomic::{AtomicU32, Relaxed};
use crate::memory::modelled;
use crate::schema::{ColumnType, TableSchema};
use crate::table::table::TableAt;
use crate::transaction::begin::clock;
use crate::transaction::write::define::{self, Beside};

/// Three threads take ids and give some of them back, over the list's head and over the end of a
/// chunk; nobody gets an id that somebody else has.
#[test]
fn shuttle_row_ids_are_given_out_once() {
    check(|| {
        let opened: Result<_> = modelled::quietly(|| {
            let db = Instance::create(settings())?;
            let schema = TableSchema::new("T").column("a", ColumnType::U32);
            let table = define::run_definition(&db, Beside::Writers, |tx| tx.create_table(schema))?;
            Ok((db, table.core))
        });
        let (db, core) = opened.expect("the budget is large enough");
        let memory = db.memory();
        let directory = TableAt { memory, core: &core }.directory();
        let taken: Vec<AtomicU32> = (0..80).map(|_| AtomicU32::new(0)).collect();
        modelled::quietly(|| {
            let (held, _) = clock::begin_write(memory, 8, None).expect("there are slots");
            let alloc = memory.allocator(held.cache());
            let ids: Vec<u32> = (0..63).filter_map(|_| directory.allocate(alloc).ok()).collect();
            ids.iter().skip(3).for_each(|&id| taken[id as usize].store(1, Relaxed));
            ids.iter().take(3).for_each(|&id| directory.give_back(memory, id));
        });
        let take_and_give = || {
            let (held, _) = clock::begin_write(memory, 8, None).expect("there are slots");
            let alloc = memory.allocator(held.cache());
            for _ in 0..2 {
                let ids: Vec<u32> = (0..2).filter_map(|_| directory.allocate(alloc).ok()).collect();
                assert_eq!(ids.len(), 2, "there is memory");
                for &id in &ids {
                    let before = taken[id as usize].fetch_add(1, Relaxed);
                    assert_eq!(before, 0, "row id {id} belongs to somebody");
                }
                taken[ids[0] as usize].fetch_sub(1, Relaxed);
                directory.give_back(memory, ids[0]);
            }
        };
        race(vec![Box::new(take_and_give), Box::new(take_and_give), Box::new(take_and_give)]);
    });
}

/// Threads insert, roll back and delete rows at the end of a chunk; all that were committed are
/// there, and a reader never meets a row that is not.
#[test]
fn shuttle_row_ids_are_used_again() {
    check(|| {
        let rows = Rows::ordered(&(0..62).collect::<Vec<_>>());
        let insert = |keys: [u32; 2]| {
            let tx = rows.db.begin_write().expect("there are slots");
            for key in keys {
                tx.insert_values(&rows.table, &super::content(key, 2)).expect("there is memory");
            }
            tx.roll_back();
            drop(tx);
            for key in keys {
                rows.insert(key, 1).expect("there is memory");
            }
        };
        let delete = || {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, 1).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else changes it");
            rows.db.reclaim();
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let last = tx.scan(&rows.table).expect("the table is there").skip(55);
            let known = last.map(|row| rows.read(row)).all(|(_, value)| value < 2);
            assert!(known, "a row that was rolled back is not met");
        };
        race(vec![
            Box::new(|| insert([100, 101])),
            Box::new(|| insert([102, 103])),
            Box::new(delete),
            Box::new(read),
        ]);
        assert_eq!(rows.all().len(), 65);
    });
}
