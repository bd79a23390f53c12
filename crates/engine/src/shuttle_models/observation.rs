//! What a database says of itself while it is used: whoever goes through tables meets nothing that
//! was freed, and finds all of it when the others have ended.

use super::{Rows, check, race};
use crate::memory::modelled;

/// Under the root's child 1: a node that grows and shrinks.
const NODE: u32 = 0x0100_0000;

/// That the table's parts are what is live.
fn check_sum(rows: &Rows) {
    modelled::quietly(|| {
        rows.db.reclaim();
        let (tables, memory) = (rows.db.memory_by_table(), rows.db.memory());
        let tables = tables.expect("there are slots");
        let [table] = &tables[..] else { panic!("there is one table: {tables:?}") };
        assert_eq!(table.row_bytes, memory.rows);
        assert_eq!((table.segment_bytes, table.index_bytes()), (memory.segments, memory.indexes));
        assert_eq!(table.rows, rows.all().len() as u64);
    });
}

/// The only table is gone through.
fn measure(rows: &Rows, least: u64) {
    let tables = rows.db.memory_by_table().expect("there are slots");
    assert!(tables[0].rows >= least, "committed rows are counted: {tables:?}");
    assert!(tables[0].versions >= tables[0].rows);
    assert!(rows.db.statistics().writers <= 3);
}

/// A node grows and shrinks, a key changes, while tables are measured.
fn beside_writers(make: fn(&[u32]) -> Rows) {
    check(move || {
        let keys: Vec<_> = (0..4).map(|byte| NODE | byte).collect();
        let rows = make(&keys);
        let insert = || {
            rows.insert(NODE | 4, 1).expect("there is memory");
            rows.insert(NODE | 0x0001_0000, 1).expect("there is memory");
        };
        let change = || {
            let changed = rows.db.write(|tx| {
                let row = rows.find(tx, NODE).expect("nobody else changes it").id();
                tx.update_values(&rows.table, row, &rows.all_changes(NODE | 7, 1))
            });
            changed.expect("nobody else changes it");
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, NODE | 1).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else changes it");
            rows.db.reclaim();
        };
        race(vec![Box::new(insert), Box::new(change), Box::new(|| measure(&rows, 3))]);
        assert_eq!(rows.all().len(), 5);
        check_sum(&rows);
    });
}

#[test]
fn shuttle_ordered_indexes_are_measured_beside_writers() {
    beside_writers(Rows::ordered);
}

#[test]
fn shuttle_hash_indexes_are_measured_beside_writers() {
    beside_writers(Rows::hashed);
}

/// An index is dropped, and then the table, while they are measured.
#[test]
fn shuttle_dropped_tables_are_not_measured() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let remove = || {
            rows.db.drop_index(&rows.table, rows.index).expect("readers end soon");
            rows.db.drop_table(&rows.table).expect("readers end soon");
        };
        let look = || {
            let tables = rows.db.memory_by_table().expect("there are slots");
            assert!(tables.iter().all(|table| table.rows == 2));
        };
        race(vec![Box::new(remove), Box::new(look), Box::new(look)]);
        modelled::quietly(|| {
            rows.db.reclaim();
            assert_eq!(rows.db.memory_by_table().expect("there are slots"), []);
            let memory = rows.db.memory();
            assert_eq!((memory.rows, memory.segments, memory.indexes), (0, 0, 0));
        });
    });
}
