//! What the size of the engine is measured with: a program that really uses it.
//!
//! `cargo xtask size` links this into a C program and counts the bytes of the stripped result.
//! Whatever an application calls is called here, so that the linker keeps it.

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{Database, Find, Options, Result};

/// Uses the engine; 0 if all went well.
#[unsafe(no_mangle)]
pub extern "C" fn probe() -> i32 {
    match use_everything() {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(error) => i32::from(error.kind().code()),
    }
}

fn use_everything() -> Result<bool> {
    let db = Database::open(Options::new().budget(8 << 20))?;
    let schema = TableSchema::new("Measure")
        .column("sensor_id", ColumnType::U32)
        .column("timestamp", ColumnType::U32)
        .column("spectra", ColumnType::String { max: Some(1000) })
        .primary_key(["sensor_id", "timestamp"])
        .hash_index("by_time", ["timestamp"]);
    let table = db.create_table(schema)?;
    let (primary, by_time) = (table.index("primary")?, table.index("by_time")?);
    let spectra = table.column("spectra")?;
    let row = db.write(|tx| {
        let values = |n: u32| [Some(Value::U32(1)), Some(Value::U32(n)), Some("red".into())];
        let first = tx.insert_values(&table, &values(1))?;
        let savepoint = tx.savepoint();
        tx.insert_values(&table, &values(2))?;
        tx.roll_back_to(savepoint)?;
        for n in 3..1000 {
            tx.insert_values(&table, &values(n))?;
        }
        tx.update_values(&table, first, &[(spectra, "blue".into())])?;
        Ok(first)
    })?;
    let by_spectra = IndexSchema::new("by_spectra", ["spectra"]);
    let by_spectra = db.create_index(&table, by_spectra)?;
    let right = db.read(|tx| {
        let found = tx.find(&table, primary, &[Value::U32(1), Value::U32(1)])?;
        let hashed = tx.find(&table, by_time, &[Value::U32(500)])?;
        let mut cursor = tx.cursor(&table, by_spectra)?;
        let least = cursor.find(Find::AtLeast, &["a".into()])?.and_then(|row| row.str(spectra));
        let next = cursor.next().and_then(|row| row.str(spectra));
        let count = tx.scan(&table)?.count();
        Ok(found.is_some()
            && hashed.is_some()
            && (least, next) == (Some("blue"), Some("red"))
            && count == 998)
    })?;
    let tx = db.begin_write()?;
    tx.delete(&table, row)?;
    tx.roll_back();
    drop(tx);
    db.write(|tx| tx.delete(&table, row))?;
    db.drop_index(&table, by_spectra)?;
    db.reclaim();
    db.drop_table(&table)?;
    let tables = db.memory_by_table()?;
    let observed = tables.is_empty() && db.statistics().commits > 0 && db.snapshots().is_empty();
    Ok(right && observed && db.memory().rows == 0)
}
