//! Going through the rows of a table one call at a time, while the transaction that does it inserts
//! and deletes, takes back and begins again, against a list of row ids.

use std::collections::BTreeSet;

use proptest::prelude::*;
use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Options, ReadTransaction, Result, RowId, Table};

fn check(tx: &ReadTransaction<'_>, table: &Table, rows: &BTreeSet<RowId>, from: RowId) {
    let after = |row| tx.row_after(table, row).expect("a read").map(|row| row.id());
    let before = |row| tx.row_before(table, row).expect("a read").map(|row| row.id());
    assert_eq!(after(None), rows.first().copied());
    assert_eq!(after(Some(from)), rows.range(from..).find(|row| **row != from).copied());
    assert_eq!(before(Some(from)), rows.range(..from).next_back().copied());
    assert_eq!(before(None), rows.last().copied());
}

fn new_world() -> Result<(Database, [Table; 2])> {
    let db = Database::open(Options::new())?;
    let make = |name| db.create_table(TableSchema::new(name).column("a", ColumnType::I32));
    let tables = [make("A")?, make("B")?];
    Ok((db, tables))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn neighbours_are_what_the_list_says(
        steps in prop::collection::vec((0..16_u8, any::<prop::sample::Index>()), 1..120),
    ) {
        let (db, [table, other]) = new_world().expect("memory");
        let mut kept = BTreeSet::new();
        let mut tx = db.begin_write().expect("a slot");
        let mut rows = kept.clone();
        for (step, dice) in steps {
            let any = (!rows.is_empty())
                .then(|| *rows.iter().nth(dice.index(rows.len())).expect("it is in there"));
            match (step, any) {
                (0..=4, _) => {
                    let row = tx.insert_values(&table, &[Some(1.into())]).expect("a row");
                    prop_assert!(rows.insert(row));
                }
                (5, _) => {
                    let row = tx.insert_values(&other, &[Some(1.into())]).expect("a row");
                    check(&tx, &other, &BTreeSet::from([row]), row);
                    tx.delete(&other, row).expect("it is there");
                }
                (6, _) => {
                    tx.commit().expect("nobody is beside it");
                    kept.clone_from(&rows);
                    tx = db.begin_write().expect("a slot");
                }
                (7, _) => {
                    drop(tx);
                    rows.clone_from(&kept);
                    tx = db.begin_write().expect("a slot");
                }
                (8, Some(row)) => {
                    let savepoint = tx.savepoint();
                    let new = tx.insert_values(&table, &[Some(2.into())]).expect("a row");
                    tx.delete(&table, row).expect("it is there");
                    let mut inside = rows.clone();
                    inside.insert(new);
                    inside.remove(&row);
                    check(&tx, &table, &inside, row);
                    tx.roll_back_to(savepoint).expect("it is of this transaction");
                }
                (9..=11, Some(_)) => {
                    let row = rows.pop_first().expect("there is one");
                    tx.delete(&table, row).expect("it is there");
                }
                (12..=14, Some(_)) => {
                    let row = rows.pop_last().expect("there is one");
                    tx.delete(&table, row).expect("it is there");
                }
                (_, Some(row)) => {
                    tx.delete(&table, row).expect("it is there");
                    rows.remove(&row);
                }
                (_, None) => {}
            }
            let from = RowId::from_number(dice.index(60) as u64).expect("a small number");
            check(&tx, &table, &rows, from);
        }
    }
}
