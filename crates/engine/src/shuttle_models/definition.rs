//! Changes of tables and indexes: writers are kept out, readers go on.

use super::{Rows, check, content, prove, race};
use crate::error::{ErrorKind, Result};
use crate::schema::IndexSchema;
use crate::table::Table;
use crate::transaction::{ReadTransaction, WriteTransaction};

/// An index is created while somebody inserts, somebody deletes, and somebody reads by the other
/// index: it has every row, whether that came before or after.
#[test]
fn shuttle_new_indexes_have_every_row() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let create = || {
            let schema = IndexSchema::new("by_key_too", ["key"]);
            rows.db.create_index(&rows.table, schema).expect("writers end soon");
        };
        let insert = || {
            rows.insert(3, 1).expect("there is memory");
        };
        let delete = || {
            let deleted = rows.db.write(|tx| {
                let row = rows.find(tx, 2).expect("nobody else deletes it").id();
                tx.delete(&rows.table, row)
            });
            deleted.expect("nobody else changes it");
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            assert!(rows.find(&tx, 1).is_some());
            if let Ok(index) = rows.table.index("by_key_too") {
                let mut cursor = tx.cursor(&rows.table, index).expect("it is ordered");
                assert_eq!(cursor.first().map(|row| rows.read(row).0), Some(1));
                let scanned = tx.scan(&rows.table).expect("it is there").count();
                let met = 1 + std::iter::from_fn(|| cursor.next()).count();
                assert_eq!(met, scanned, "both find the snapshot's rows");
            }
        };
        race(vec![Box::new(create), Box::new(insert), Box::new(delete), Box::new(read)]);
        let tx = rows.db.begin_read().expect("there are slots");
        let index = rows.table.index("by_key_too").expect("it was created");
        for key in [1, 3] {
            let found = tx.find(&rows.table, index, &[key.into()]).expect("it is there");
            assert!(found.is_some(), "the new index has key {key}");
        }
        drop(tx);
        assert_eq!(rows.all().len(), 2);
    });
}

/// An index is dropped, and then the table, while readers and a writer use them: they either find
/// what is there or find that it is gone.
#[test]
fn shuttle_dropped_tables_leave_no_reader_behind() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let remove = || {
            rows.db.drop_index(&rows.table, rows.index).expect("readers end soon");
            rows.db.drop_table(&rows.table).expect("readers end soon");
        };
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            match tx.find(&rows.table, rows.index, &[1.into()]) {
                Ok(row) => assert_eq!(rows.read(row.expect("it was committed")).0, 1),
                Err(error) => {
                    let kind = error.kind();
                    assert!(matches!(kind, ErrorKind::UnknownIndex | ErrorKind::UnknownTable));
                }
            }
            match tx.scan(&rows.table) {
                Ok(scan) => assert!(scan.map(|row| rows.read(row)).count() >= 2),
                Err(error) => assert_eq!(error.kind(), ErrorKind::UnknownTable),
            }
        };
        let write = || match rows.insert(3, 1) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), ErrorKind::UnknownTable),
        };
        race(vec![Box::new(remove), Box::new(read), Box::new(write)]);
        assert!(rows.db.table_names().is_empty());
    });
}

/// A table is replaced by a copy of its rows while somebody inserts into the table of that name:
/// its row is in the copy, or it inserts into that.
#[test]
fn shuttle_replaced_tables_lose_no_row() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let db = &rows.db;
        let replace = || {
            let tx = db.begin_write().expect("there are slots");
            replace(&rows, &tx).expect("writers end soon");
            tx.commit().expect("nobody else writes");
        };
        let insert = || {
            let tx = db.begin_write().expect("there are slots");
            let table = tx.table(rows.table.name()).expect("it is always there");
            tx.insert_values(&table, &content(3, 1)).expect("it is seen");
            tx.commit().expect("nothing was read");
        };
        let read = || {
            let tx = db.begin_read().expect("there are slots");
            let table = tx.table(rows.table.name()).expect("it is always there");
            assert!(tx.scan(&table).expect("it is seen").count() >= 2);
        };
        race(vec![Box::new(replace), Box::new(insert), Box::new(read)]);
        let tx = db.begin_read().expect("there are slots");
        let table = tx.table(rows.table.name()).expect("it is there");
        assert_eq!(tx.scan(&table).expect("it is seen").count(), 3);
    });
}

/// Readers go on with a table that is replaced, and then dropped, and it is freed behind them.
#[test]
fn shuttle_replaced_tables_are_read_on() {
    check(|| {
        let rows = Rows::ordered(&[1, 2]);
        let db = &rows.db;
        let remove = || {
            db.write(|tx| replace(&rows, tx)).expect("writers end soon");
            let table = db.table(rows.table.name()).expect("it is there");
            db.drop_table(&table).expect("writers end soon");
        };
        let read = || {
            let tx = db.begin_read().expect("there are slots");
            let Ok(table) = tx.table(rows.table.name()) else { return };
            for _ in 0..2 {
                assert_eq!(keys(&tx, &table).expect("it is seen as long as it was"), [1, 2]);
            }
            let index = table.indexes().next().expect("it has one").1;
            assert!(tx.find(&table, index, &[2.into()]).expect("it is seen").is_some());
        };
        race(vec![Box::new(remove), Box::new(read), Box::new(read)]);
        db.reclaim();
        assert_eq!((db.table_names().len(), db.memory().rows), (0, 0));
    });
}

/// Puts a copy in the place of the table.
fn replace(rows: &Rows, tx: &WriteTransaction<'_>) -> Result<()> {
    tx.begin_defining()?;
    let old = tx.table(rows.table.name())?;
    let copied = keys(tx, &old)?;
    tx.drop_table(&old)?;
    let new = tx.create_table(old.schema().clone())?;
    copied.iter().try_for_each(|&key| tx.insert_values(&new, &content(key, 0)).map(|_| ()))
}

/// The keys of a table's rows, each row checked against its proof.
fn keys(tx: &ReadTransaction<'_>, table: &Table) -> Result<Vec<u32>> {
    let columns = (table.column("key")?, table.column("value")?, table.column("proof")?);
    let mut keys = Vec::new();
    for row in tx.scan(table)? {
        let key = row.get::<u32>(columns.0).expect("it is not null");
        let value = row.get::<u64>(columns.1).expect("it is not null");
        assert_eq!(row.get::<u64>(columns.2), Some(prove(key, value)));
        keys.push(key);
    }
    keys.sort_unstable();
    Ok(keys)
}
