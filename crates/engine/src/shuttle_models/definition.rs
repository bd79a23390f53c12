//! Changes of tables and indexes: writers are kept out, readers go on.

use super::{Rows, check, race};
use crate::error::ErrorKind;
use crate::schema::IndexSchema;

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
/// what is there or are told that it is gone.
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
