//! Frozen segments of databases in folders: what is there after opening again, from log and image.

#[path = "durability/temp_folder.rs"]
mod temp_folder;

use std::collections::BTreeMap;

use remanent_engine::schema::{ColumnType, ColumnValues, TableSchema, Value};
use remanent_engine::{Database, Durability, Options, Result, RowId, Table, WriteTransaction};
use temp_folder::TempFolder;

const SEGMENT: u64 = 1 << 16;

fn options() -> Options {
    Options::new().budget(256 << 20).durability(Durability::Buffered).checkpoint_after(0)
}

fn create(db: &Database) -> Result<Table> {
    let schema = TableSchema::new("T")
        .column("key", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .primary_key(["key"]);
    db.create_table(schema)
}

fn fill(db: &Database, table: &Table, keys: std::ops::Range<u64>) -> Result<()> {
    let rows = keys.map(|key| [Some(Value::U64(key)), Some(Value::String("as it was"))]);
    db.write(|tx| tx.insert_all_values(table, rows.clone()).map(|_| ()))
}

/// Changes and deletes some rows, by their keys.
fn change(db: &Database, table: &Table, keys: &[u64]) -> Result<()> {
    let (primary, text) = (table.index("primary")?, table.column("text")?);
    db.write(|tx| {
        for key in keys {
            let row = tx.find(table, primary, &[Value::U64(*key)])?.expect("it is there").id();
            match key % 2 {
                0 => tx.delete(table, row)?,
                _ => tx.update_values(table, row, &[(text, "changed".into())])?,
            }
        }
        Ok(())
    })
}

/// Id, key and text of every row.
fn content(db: &Database, table: &Table) -> Result<BTreeMap<u64, (u64, String)>> {
    let (key, text) = (table.column("key")?, table.column("text")?);
    let mut all = BTreeMap::new();
    db.read(|tx| {
        tx.each_row(table, |row| {
            let text = row.str(text).unwrap_or_default().to_owned();
            all.insert(row.id().number(), (row.get(key).unwrap_or(0), text));
            Ok(())
        })
    })?;
    Ok(all)
}

/// What is there when the folder is opened again, and how many rows are in columns.
fn reopened(place: &TempFolder, options: Options) -> Result<(Database, Table, u64)> {
    let db = place.open(options);
    let table = db.table("T")?;
    let frozen = db.memory_by_table()?[0].frozen_rows;
    Ok((db, table, frozen))
}

#[test]
fn freezing_is_forgotten_without_an_image_and_nothing_else() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..1000)?;
    change(&db, &table, &[2, 4, 5])?;
    db.reclaim();
    db.freeze_all(&table)?;
    change(&db, &table, &[10, 11])?;
    db.reclaim();
    fill(&db, &table, 5000..5100)?;
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!((content(&db, &table)?, frozen), (before, 0));
    Ok(())
}

#[test]
fn a_checkpoint_keeps_what_is_frozen() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..1000)?;
    change(&db, &table, &[2, 4, 5])?;
    db.reclaim();
    db.freeze_all(&table)?;
    change(&db, &table, &[10, 11])?;
    db.checkpoint()?;
    // What the image does not have is repeated on frozen rows.
    change(&db, &table, &[20, 21, 23])?;
    db.reclaim();
    fill(&db, &table, 5000..5100)?;
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!(content(&db, &table)?, before);
    assert_eq!(frozen, 998 - 5, "two were gone, and five have changed since");
    // Ids are given out as before: never one that is taken.
    fill(&db, &table, 7000..7200)?;
    assert_eq!(content(&db, &table)?.len(), before.len() + 200);
    let row = RowId::from_number(2).expect("an id");
    assert!(db.begin_read()?.row(&table, row)?.is_none(), "a gap stays one");
    Ok(())
}

#[test]
fn checkpoints_freeze_what_is_unchanged() -> Result<()> {
    let place = TempFolder::new();
    let options = || options().freeze_at_checkpoint(true);
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..2 * SEGMENT + 10)?;
    db.checkpoint()?;
    assert_eq!(db.memory().columns, 0, "all of it is new");
    change(&db, &table, &[SEGMENT + 1])?;
    db.reclaim();
    db.checkpoint()?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, SEGMENT, "one segment was left alone");
    db.checkpoint()?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, 2 * SEGMENT);
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!((content(&db, &table)?, frozen), (before, 2 * SEGMENT));
    Ok(())
}

#[test]
fn checkpoints_freeze_again_what_is_worn_and_unchanged() -> Result<()> {
    let place = TempFolder::new();
    let options = || options().freeze_at_checkpoint(true);
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..SEGMENT)?;
    db.freeze(&table)?;
    let odd: Vec<u64> = (1..SEGMENT).step_by(4).collect();
    change(&db, &table, &odd)?;
    change(&db, &table, &[0, 2])?;
    db.checkpoint()?;
    let changed = odd.len() as u64 + 2;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, SEGMENT - changed, "all of it is new");
    db.checkpoint()?;
    assert_eq!(db.memory_by_table()?[0].frozen_rows, SEGMENT - 2);
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!((content(&db, &table)?, frozen), (before, SEGMENT - 2));
    Ok(())
}

#[test]
fn recovery_makes_columns_of_rows_that_came_so_alone() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    // A full segment of two transactions, one of a single one, and one that is not full.
    fill(&db, &table, 0..SEGMENT / 2)?;
    fill(&db, &table, SEGMENT / 2..SEGMENT)?;
    fill(&db, &table, SEGMENT..2 * SEGMENT)?;
    fill(&db, &table, 2 * SEGMENT..2 * SEGMENT + 100)?;
    db.write(|tx| insert_bulk(tx, &table, 10 * SEGMENT))?;
    // Rows that are changed, deleted and inserted under ids that were free.
    let keys: Vec<u64> = (SEGMENT..2 * SEGMENT).step_by(1000).collect();
    change(&db, &table, &keys)?;
    db.reclaim();
    change(&db, &table, &[10 * SEGMENT + 2, 10 * SEGMENT + 3])?;
    db.reclaim();
    fill(&db, &table, 5 * SEGMENT..5 * SEGMENT + 200)?;
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, table, frozen) = reopened(&place, options())?;
    assert!(content(&db, &table)? == before);
    let changed = keys.len() as u64 + 2;
    assert_eq!(frozen, 2 * SEGMENT - changed);
    assert!(db.memory().rows < 24 << 20, "{:?}", db.memory());
    fill(&db, &table, 6 * SEGMENT..6 * SEGMENT + 200)?;
    assert_eq!(content(&db, &table)?.len(), before.len() + 200);
    Ok(())
}

/// A last segment that was frozen before it was full was emptied, and its row ids given to rows
/// that came as columns. The log repeated them on an image that had the small segment, and scans
/// passed over those with higher ids than it had rows.
#[test]
fn rows_in_the_place_of_a_small_segment_are_met_after_recovery() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..10)?;
    db.freeze_all(&table)?;
    db.checkpoint()?;
    let keys: Vec<u64> = (0..10).step_by(2).collect();
    change(&db, &table, &keys)?;
    let (primary, all) = (table.index("primary")?, (1..10).step_by(2));
    db.write(|tx| {
        all.clone().try_for_each(|key| {
            let row = tx.find(&table, primary, &[Value::U64(key)])?.expect("it is there").id();
            tx.delete(&table, row)
        })
    })?;
    db.reclaim();
    db.write(|tx| insert_bulk(tx, &table, 100))?;
    let before = content(&db, &table)?;
    assert_eq!(before.keys().next(), Some(&0), "the place is used again");
    drop((db, table));
    let (db, table, _) = reopened(&place, options())?;
    assert!(content(&db, &table)? == before, "{} rows", content(&db, &table)?.len());
    Ok(())
}

#[test]
fn frozen_rows_are_salvaged() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    fill(&db, &table, 0..1000)?;
    db.freeze_all(&table)?;
    assert!(place.path().is_dir());
    change(&db, &table, &[2, 4, 5])?;
    db.checkpoint()?;
    let before = content(&db, &table)?;
    drop((db, table));
    let (db, salvaged) = Database::salvage(&*place.folder(), options())?;
    assert_eq!((salvaged.rows, salvaged.rows_refused, salvaged.gaps), (998, 0, 0));
    assert_eq!(content(&db, &db.table("T")?)?, before);
    Ok(())
}

/// Inserts a segment of rows as columns, from this key on.
fn insert_bulk(tx: &WriteTransaction<'_>, table: &Table, first: u64) -> Result<()> {
    let key = |row: usize| Some(Value::U64(first + row as u64));
    let columns = [ColumnValues::Any(&key), ColumnValues::Text(&|_| "as it was")];
    tx.insert_frozen(table, &columns, SEGMENT as usize).map(|_| ())
}

#[test]
fn rows_inserted_as_columns_are_there_from_log_and_image() -> Result<()> {
    let place = TempFolder::new();
    let db = place.open(options());
    let table = create(&db)?;
    db.write(|tx| insert_bulk(tx, &table, 0))?;
    change(&db, &table, &[9, 10])?;
    let lost = db.begin_write()?;
    insert_bulk(&lost, &table, SEGMENT)?;
    drop(lost);
    let before = content(&db, &table)?;
    drop((table, db));
    let rows_alone = options().freeze_at_recovery(false);
    let (db, table, frozen) = reopened(&place, rows_alone)?;
    assert_eq!(frozen, 0, "the log has them one by one");
    assert!(content(&db, &table)? == before);
    drop((table, db));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!(frozen, SEGMENT - 2, "and so they are columns again");
    assert!(content(&db, &table)? == before);
    // An image is made while a transaction is under way, which commits afterwards.
    let tx = db.begin_write()?;
    insert_bulk(&tx, &table, 2 * SEGMENT)?;
    db.checkpoint()?;
    tx.commit()?;
    let before = content(&db, &table)?;
    assert_eq!(before.len() as u64, 2 * SEGMENT - 1);
    drop((table, db));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!(frozen, 2 * SEGMENT - 2, "of the image, and of the log behind it");
    assert!(content(&db, &table)? == before);
    db.write(|tx| insert_bulk(tx, &table, 3 * SEGMENT))?;
    db.checkpoint()?;
    let before = content(&db, &table)?;
    drop((table, db));
    let (db, table, frozen) = reopened(&place, options())?;
    assert_eq!(frozen, 3 * SEGMENT - 2, "images keep them as they are");
    assert!(content(&db, &table)? == before);
    assert_eq!(before.len() as u64, 3 * SEGMENT - 1);
    Ok(())
}
