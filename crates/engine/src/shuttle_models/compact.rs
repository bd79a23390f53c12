//! Rows that are moved while others read, change and delete them.

use super::{Rows, check, race};
use crate::memory::modelled;

/// Rows are moved out of a page in which most is free; a reader holds on to what it was given, and
/// writers change and delete the same rows.
#[test]
fn shuttle_rows_are_moved_under_readers_and_writers() {
    check(|| {
        let rows = Rows::ordered(&[1, 2, 3, 4, 5, 6]);
        modelled::quietly(|| {
            for key in [2, 4, 6] {
                let deleted = rows.db.write(|tx| {
                    let row = rows.find(tx, key).expect("it is there").id();
                    tx.delete(&rows.table, row)
                });
                deleted.expect("nobody else is there");
            }
            rows.db.reclaim();
        });
        let read = || {
            let tx = rows.db.begin_read().expect("there are slots");
            let first = rows.find(&tx, 1).expect("nobody deletes it");
            let before = rows.read(first);
            for key in [3, 5, 1] {
                rows.find(&tx, key).map(|row| rows.read(row));
            }
            assert_eq!(rows.read(first), before, "what was read stays");
            assert_eq!(rows.read(rows.find(&tx, 1).expect("it is there")), before);
        };
        let write = || {
            let written = rows.db.write(|tx| {
                let row = rows.find(tx, 3).expect("nobody else deletes it").id();
                tx.update_values(&rows.table, row, &rows.changes(3, 7))?;
                rows.find(tx, 5).map_or(Ok(()), |row| tx.delete(&rows.table, row.id()))
            });
            written.expect("it is retried");
        };
        let compact = || {
            rows.db.compact().expect("there is memory");
        };
        race(vec![Box::new(compact), Box::new(read), Box::new(write)]);
        assert_eq!(rows.all(), [(1, 0), (3, 7)]);
    });
}
