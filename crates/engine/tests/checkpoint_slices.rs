//! Checkpoints that transactions make, a slice each as they begin: none makes all of it, and who
//! waits for the slices' snapshot does not wait for long.

use std::path::{Path, PathBuf};

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, Durability, ErrorKind, Folder, Options, Result, Row, Table, WriteTransaction,
};

const AFTER: u64 = 256 << 10;
const SLICE: u64 = 32 << 10;

fn folder(name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn options() -> Options {
    let options = Options::new().budget(64 << 20).durability(Durability::Buffered);
    options.checkpoint_after(AFTER).checkpoint_slice(SLICE)
}

fn schema() -> TableSchema {
    let schema = TableSchema::new("T").column("id", ColumnType::I64);
    schema.column("data", ColumnType::BLOB).primary_key(["id"])
}

/// A database of about 4 MB, of which nothing is in an image yet.
fn filled(path: &Path, options: Options) -> Result<(Database, Table)> {
    let db = Database::open_at(path, options)?;
    let table = db.create_table(schema())?;
    db.write(|tx| (0..4000).try_for_each(|id| insert(tx, &table, id)))?;
    Ok((db, table))
}

fn insert(tx: &WriteTransaction<'_>, table: &Table, id: i64) -> Result<()> {
    let data = vec![id as u8; 1000];
    tx.insert_values(table, &[Some(Value::I64(id)), Some(data.as_slice().into())]).map(|_| ())
}

/// Changes a row, or deletes it.
fn change(tx: &WriteTransaction<'_>, table: &Table, id: i64) -> Result<()> {
    let found = tx.find(table, table.index("primary")?, &[Value::I64(id)])?;
    let row = found.expect("each is changed once").id();
    if id % 3 == 0 {
        return tx.delete(table, row);
    }
    let data = vec![1; 900 + id as usize % 200];
    tx.update_values(table, row, &[(table.column("data")?, data.as_slice().into())]).map(|_| ())
}

/// All rows.
fn contents(db: &Database, table: &Table) -> Result<Vec<(i64, Vec<u8>)>> {
    let (id, data) = (table.column("id")?, table.column("data")?);
    db.read(|tx| {
        let rows = tx.scan(table)?;
        let whole = |row: Row<'_>| {
            (row.get(id).expect("it is not null"), row.blob(data).unwrap_or_default().to_vec())
        };
        Ok(rows.map(whole).collect())
    })
}

/// Bytes of the image that is being written, if there is one.
fn new_image(path: &Path) -> Option<u64> {
    std::fs::metadata(path.join("image.new")).ok().map(|it| it.len())
}

fn count(db: &Database, table: &Table) -> Result<usize> {
    db.read(|tx| Ok(tx.scan(table)?.count()))
}

#[test]
fn many_transactions_make_one() -> Result<()> {
    let path = folder("slices_many");
    let (db, table) = filled(&path, options())?;
    let (mut largest, mut parts, mut before) = (0, 0, 0);
    let mut id = 4000;
    while db.statistics().checkpoints == 0 {
        db.write(|tx| {
            insert(tx, &table, id)?;
            change(tx, &table, id * 37 % 4000)
        })?;
        id += 1;
        if let Some(bytes) = new_image(&path).filter(|bytes| *bytes != before) {
            (largest, parts, before) = (largest.max(bytes - before), parts + 1, bytes);
        }
        assert!(id < 4900, "it is made before much is logged");
    }
    // What is written goes through a buffer of a megabyte.
    assert!(parts >= 3 && largest <= 5 << 18, "{parts} parts, the largest {largest}");
    assert!(id > 4008, "{id}: a transaction makes two slices at most");
    assert_eq!(new_image(&path), None);
    // The image is of one snapshot, and the log has what came after it.
    let before = contents(&db, &table)?;
    assert_eq!(before.len(), id as usize - (4000..id).filter(|id| id * 37 % 4000 % 3 == 0).count());
    drop(db);
    let db = Database::open_at(&path, options())?;
    let table = db.table("T")?;
    assert!(contents(&db, &table)? == before, "other rows after opening again");
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

/// What is not needed any more goes a file at a time; whoever ends checkpoints does not make
/// another one of it.
#[test]
fn files_go_behind_it() -> Result<()> {
    let path = folder("slices_files");
    let (db, table) = filled(&path, options().log_file_size(64 << 10).transactions_max(2))?;
    let files = || std::fs::read_dir(&path).expect("it is there").count();
    let before = files();
    assert!(before > 40, "{before} files");
    let mut id = 4000;
    while db.statistics().checkpoints == 0 {
        db.write(|tx| insert(tx, &table, id))?;
        id += 1;
    }
    assert!(files() + 5 > before, "most are there when the image is");
    let readers = (db.begin_read()?, db.begin_read()?);
    assert!(db.begin_read().is_err_and(|it| it.kind() == ErrorKind::TooManyTransactions));
    drop(readers);
    while files() > 20 {
        db.write(|tx| insert(tx, &table, id))?;
        id += 1;
        assert!(id < 5500, "{} files", files());
    }
    assert_eq!(db.statistics().checkpoints, 1);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

/// To remove a large file takes its time, too: it is no image any more, and gets shorter.
#[test]
fn an_image_goes_a_part_at_a_time() -> Result<()> {
    const ROWS: i64 = 120;
    let path = folder("slices_image");
    let large = Options::new().budget(512 << 20).durability(Durability::Buffered);
    let db = Database::open_at(&path, large.checkpoint_after(125 << 20).checkpoint_slice(1 << 20))?;
    let table = db.create_table(schema())?;
    let insert = |id: i64| {
        let data = vec![id as u8; 1 << 20];
        let values = [Some(Value::I64(id)), Some(data.as_slice().into())];
        db.write(|tx| tx.insert_values(&table, &values).map(|_| ()))
    };
    (0..ROWS).try_for_each(insert)?;
    assert!(db.checkpoint()? > ROWS as u64 * (1 << 20));
    let (mut id, mut lens) = (ROWS, Vec::new());
    while db.statistics().checkpoints == 1 {
        insert(id)?;
        id += 1;
        assert!(id < 4 * ROWS, "none is due");
    }
    let storage = Folder::existing(&path).expect("it is there");
    while let Some(len) = new_image(&path).filter(|_| lens.len() < 3) {
        lens.push(len);
        // What is there beside it is the image that was made.
        let images = Database::images(&storage)?;
        assert_eq!((images.len(), &images[0].damage), (1, &None), "of {len} bytes");
        insert(id)?;
        id += 1;
    }
    let most = lens.windows(2).map(|pair| pair[0].saturating_sub(pair[1])).max();
    assert!(lens.len() == 3 && lens.is_sorted_by(|a, b| a > b), "{lens:?}");
    assert!(most <= Some(2 * (16 << 20)), "{lens:?}");
    drop(db);
    assert_eq!(new_image(&path), None);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

/// Begins a checkpoint of which much is left.
fn begun(path: &Path, options: Options) -> Result<(Database, Table)> {
    let (db, table) = filled(path, options)?;
    drop(db.begin_write()?);
    assert_eq!(db.statistics().checkpoints, 0);
    assert!(db.snapshots().iter().any(|it| it.name == "checkpoint"));
    assert!(new_image(path).is_some());
    Ok((db, table))
}

#[test]
fn an_index_is_dropped_beside_it() -> Result<()> {
    let path = folder("slices_index");
    let (db, table) = begun(&path, options())?;
    let (start, primary) = (std::time::Instant::now(), table.index("primary")?);
    db.write(|tx| tx.drop_index(&table, primary))?;
    assert!(start.elapsed().as_secs() < 4, "who drops an index waits for those that read");
    assert!(db.snapshots().is_empty());
    assert_eq!(new_image(&path), None);
    // The next one is made at once: else who drops indexes again and again keeps it from ending.
    drop(db.begin_write()?);
    assert_eq!(db.statistics().checkpoints, 1);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

#[test]
fn all_slots_can_be_used() -> Result<()> {
    let path = folder("slices_slots");
    let (db, table) = begun(&path, options().transactions_max(2))?;
    let (first, second) = (db.begin_read()?, db.begin_read()?);
    assert!(db.begin_read().is_err_and(|it| it.kind() == ErrorKind::TooManyTransactions));
    assert_eq!(first.scan(&table)?.count() + second.scan(&table)?.count(), 8000);
    drop((first, second));
    drop(db.begin_write()?);
    assert_eq!(db.statistics().checkpoints, 1);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

/// A slice that begins needs a slot, as does the transaction that makes it.
#[test]
fn it_is_due_while_all_slots_are_taken() -> Result<()> {
    let path = folder("slices_no_slot");
    let (db, _) = filled(&path, options().transactions_max(2))?;
    let (first, second) = (db.begin_read()?, db.begin_read()?);
    for _ in 0..3 {
        assert!(db.begin_write().is_err_and(|it| it.kind() == ErrorKind::TooManyTransactions));
    }
    drop(first);
    drop(db.begin_write()?);
    drop(second);
    assert_eq!((db.statistics().checkpoints, new_image(&path)), (0, None));
    db.checkpoint()?;
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

/// Where transactions log more than slices keep up with, one makes the rest.
#[test]
fn large_transactions_do_not_put_it_off() -> Result<()> {
    let path = folder("slices_large");
    let (db, table) = begun(&path, options().checkpoint_slice(1).log_buffer_size(32 << 10))?;
    for first in [5000, 5300] {
        db.write(|tx| (first..first + 300).try_for_each(|id| insert(tx, &table, id)))?;
    }
    drop(db.begin_write()?);
    assert_eq!((db.statistics().checkpoints, new_image(&path)), (1, None));
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

#[test]
fn what_it_keeps_is_free_when_memory_is_short() -> Result<()> {
    let path = folder("slices_memory");
    let (db, table) = begun(&path, options().budget(8 << 20))?;
    // All rows twice do not fit; the old ones are kept for the checkpoint alone.
    let ids = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect::<Vec<_>>()))?;
    let data = table.column("data")?;
    for ids in ids.chunks(100) {
        db.write(|tx| {
            let new = [(data, [7; 1000].as_slice().into())];
            ids.iter().try_for_each(|id| tx.update_values(&table, *id, &new).map(|_| ()))
        })?;
    }
    assert_eq!(count(&db, &table)?, 4000);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

#[test]
fn who_asks_for_one_gets_one_of_what_is_there_now() -> Result<()> {
    let path = folder("slices_asked");
    let (db, table) = begun(&path, options())?;
    db.write(|tx| insert(tx, &table, 5000))?;
    assert!(db.checkpoint()? > 4_000_000);
    assert!(db.snapshots().is_empty());
    // Whose thread it is, goes on with what was begun.
    db.write(|tx| (6000..12_000).try_for_each(|id| insert(tx, &table, id)))?;
    drop(db.begin_write()?);
    assert!(new_image(&path).is_some());
    assert!(db.checkpoint_if_due()?.is_some_and(|bytes| bytes > 8_000_000));
    assert_eq!((db.statistics().checkpoints, new_image(&path)), (2, None));
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}

#[test]
fn closing_leaves_nothing_of_it() -> Result<()> {
    let path = folder("slices_closed");
    let (db, _) = begun(&path, options())?;
    drop(db);
    assert_eq!(new_image(&path), None);
    let db = Database::open_at(&path, options())?;
    assert_eq!(count(&db, &db.table("T")?)?, 4000);
    drop(db);
    std::fs::remove_dir_all(&path).expect("it is there");
    Ok(())
}
