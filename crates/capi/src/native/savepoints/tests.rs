//! A transaction with many savepoints, which must not take more and more places.

use remanent_engine::schema::{ColumnType, TableSchema};
use remanent_engine::{Database, Options, Result};

use super::*;

/// Savepoints took places for as long as the transaction lasted, however many were taken back.
#[test]
fn savepoints_leave_their_places() -> Result<()> {
    let db = Database::open(Options::new())?;
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    let tx = db.begin_write()?;
    let mut points = Savepoints::default();
    let first = points.set(&tx);
    for _ in 0..1000 {
        assert_eq!(points.set(&tx), first);
        tx.insert_values(&table, &[Some(1.into())])?;
        let later = points.set(&tx);
        tx.insert_values(&table, &[Some(2.into())])?;
        assert_eq!(points.roll_back_to(&tx, later), Ok(()));
        assert_eq!(points.roll_back_to(&tx, first), Ok(()));
        assert_eq!(points.roll_back_to(&tx, later), Err(REM_TRANSACTION_ENDED));
        assert_eq!(points.roll_back_to(&tx, later + 1), Err(REM_BAD_HANDLE));
    }
    assert!(points.all.len() == 1 && points.all.capacity() < 10);
    Ok(())
}
