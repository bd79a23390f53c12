//! Uniqueness while the other row is being changed, made to happen in one thread.

use super::*;
use crate::error::ErrorKind;
use crate::schema::{ColumnType, TableSchema, Value};
use crate::{Database, Options};

/// An update had its new entry in the index and its version not yet in the row when somebody else
/// inserted the same key: the row's newest version did not hold the key, and it was taken twice.
/// The update holds the row's latch meanwhile.
#[test]
fn a_latched_row_may_be_about_to_hold_the_key() -> Result<()> {
    let db = Database::open(Options::new())?;
    let schema = TableSchema::new("T")
        .column("a", ColumnType::U32)
        .primary_key(["a"])
        .unique_hash_index("hash", ["a"]);
    let table = db.create_table(schema)?;
    let row = db.write(|tx| tx.insert_values(&table, &[Some(Value::U32(1))]))?;
    let tx = db.begin_write()?;
    let at = tx.table_at(&table)?;
    let key = 1u32.to_be_bytes();
    let version = at.directory().newest(at.memory, row.0);
    let (changed, snapshot) = ((99, bytes_at(at.memory, version)), tx.snapshot.get());
    for index in table.core.indexes() {
        let check = || {
            check_unique(at, index, &key, changed, Placement::Shared, snapshot)
                .map_err(|e| e.kind())
        };
        assert_eq!(check(), Err(ErrorKind::DuplicateKey));
        let latched = at.directory().latch(at.memory, row.0);
        assert_eq!(check(), Err(ErrorKind::Conflict), "{}", index.schema.name);
        drop(latched);
        assert_eq!(check(), Err(ErrorKind::DuplicateKey));
        let free =
            check_unique(at, index, &2u32.to_be_bytes(), changed, Placement::Shared, snapshot);
        assert!(free.is_ok());
    }
    Ok(())
}
