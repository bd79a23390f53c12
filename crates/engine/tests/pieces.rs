//! Rows that come in pieces are those that the snapshot sees, whoever wrote their neighbours.
//!
//! Versions of a large transaction carry its stamp long after it has committed, and whoever goes
//! through a table remembers what it found of the last stamp. Here rows of one that has committed,
//! of one that has not, and of the reader itself lie side by side.

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Database, Options, Piece, ReadTransaction, Result, Table, WriteTransaction,
};

/// Rows of one transaction: so many that others are left to exchange their stamps.
const ROWS: usize = 3_000;

struct World {
    db: Database,
    table: Table,
    by: ColumnHandle,
}

impl World {
    fn insert(&self, tx: &WriteTransaction<'_>, by: i32) -> Result<()> {
        tx.insert_values(&self.table, &[Some(Value::I32(by))]).map(drop)
    }

    /// How many rows of each of four writers are seen.
    fn seen(&self, tx: &ReadTransaction<'_>) -> Result<[usize; 4]> {
        let mut counts = [0; 4];
        let mut pieces = tx.scan_pieces(&self.table)?;
        while let Some(Piece::Rows(rows)) = pieces.next_piece() {
            rows.iter().filter_map(|row| row.get::<i32>(self.by)).for_each(|by| {
                counts[by as usize] += 1;
            });
        }
        Ok(counts)
    }
}

#[test]
fn stamps_of_several_transactions_side_by_side_are_told_apart() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let table = db.create_table(TableSchema::new("T").column("by", ColumnType::I32))?;
    let by = table.column("by")?;
    let world = World { db, table, by };
    world.db.write(|tx| (0..ROWS).try_for_each(|_| world.insert(tx, 0)))?;
    let before = world.db.begin_read()?;
    let (one, two) = (world.db.begin_write()?, world.db.begin_write()?);
    for _ in 0..ROWS {
        world.insert(&one, 1)?;
        world.insert(&two, 2)?;
    }
    assert_eq!(world.seen(&before)?, [ROWS, 0, 0, 0]);
    assert_eq!(world.seen(&one)?, [ROWS, ROWS, 0, 0]);
    assert_eq!(world.seen(&two)?, [ROWS, 0, ROWS, 0]);
    two.commit()?;
    assert_eq!(world.seen(&world.db.begin_read()?)?, [ROWS, 0, ROWS, 0]);
    assert_eq!(world.seen(&one)?, [ROWS, ROWS, 0, 0], "its snapshot is older");
    one.roll_back();
    world.db.write(|tx| (0..ROWS).try_for_each(|_| world.insert(tx, 3)))?;
    assert_eq!(world.seen(&before)?, [ROWS, 0, 0, 0]);
    assert_eq!(world.seen(&world.db.begin_read()?)?, [ROWS, 0, ROWS, ROWS]);
    Ok(())
}
