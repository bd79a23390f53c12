//! Frozen segments, case by case: what is frozen and what is passed over, what it costs, and that
//! rows in columns are rows in every respect.
//!
//! The model test freezes at random moments; here stand the cases that it meets seldom or cannot
//! see: memory, reports, errors, tables of many segments, and what is in the way of freezing.

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Find, FreezeReport, Options, Piece, ReadTransaction, Result, RowId, Table,
    WriteTransaction,
};

/// Row ids of a segment.
const SEGMENT: u64 = 1 << 16;

struct World {
    db: Database,
    table: Table,
}

impl World {
    /// A table of so many rows; row `i` has the key `i`.
    fn of(rows: u64) -> Result<Self> {
        Self::open(Options::new().budget(256 << 20), rows)
    }

    fn open(options: Options, rows: u64) -> Result<Self> {
        let db = Database::open(options)?;
        let schema = TableSchema::new("T")
            .column("key", ColumnType::U64)
            .column("text", ColumnType::STRING)
            .primary_key(["key"])
            .hash_index("by_text", ["text"]);
        let world = Self { table: db.create_table(schema)?, db };
        world.db.write(|tx| world.fill(tx, 0..rows))?;
        Ok(world)
    }

    fn fill(&self, tx: &WriteTransaction<'_>, keys: std::ops::Range<u64>) -> Result<()> {
        let texts: Vec<_> = keys.clone().map(text).collect();
        let rows = keys
            .zip(&texts)
            .map(|(key, text)| [Some(Value::U64(key)), Some(Value::String(text.as_str()))]);
        tx.insert_all_values(&self.table, rows).map(|_| ())
    }

    fn find(&self, tx: &ReadTransaction<'_>, key: u64) -> Result<Option<(RowId, String)>> {
        let row = tx.find(&self.table, self.table.index("primary")?, &[Value::U64(key)])?;
        let text = self.table.column("text")?;
        Ok(row.map(|row| (row.id(), row.str(text).unwrap_or_default().to_owned())))
    }

    fn set_text(&self, tx: &WriteTransaction<'_>, key: u64, text: &str) -> Result<()> {
        let (row, _) = self.find(tx, key)?.expect("it is there");
        tx.update_values(&self.table, row, &[(self.table.column("text")?, text.into())])
    }

    fn delete(&self, tx: &WriteTransaction<'_>, key: u64) -> Result<()> {
        let (row, _) = self.find(tx, key)?.expect("it is there");
        tx.delete(&self.table, row)
    }

    /// Key and text of all rows, by pieces, of which so many are columns.
    fn rows(&self, tx: &ReadTransaction<'_>) -> Result<(Vec<(u64, String)>, usize)> {
        let (key, text) = (self.table.column("key")?, self.table.column("text")?);
        let (mut rows, mut frozen) = (Vec::new(), 0);
        let mut pieces = tx.scan_pieces(&self.table)?;
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Rows(hot) => rows.extend(hot.iter().map(|row| {
                    let text = row.str(text).unwrap_or_default().to_owned();
                    (row.get::<u64>(key).unwrap_or_default(), text)
                })),
                Piece::Frozen(columns) => {
                    frozen += columns.visible_count();
                    let (keys, texts) = (columns.column(key)?, columns.column(text)?);
                    let sees = |i: &usize| {
                        columns.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                    };
                    rows.extend((0..columns.len()).filter(sees).map(|i| {
                        let key =
                            keys.value(i, &mut Vec::new()).as_integer().unwrap_or_default() as u64;
                        (
                            key,
                            texts.value(i, &mut Vec::new()).as_str().unwrap_or_default().to_owned(),
                        )
                    }));
                }
            }
        }
        rows.sort_unstable();
        Ok((rows, frozen))
    }
}

fn text(key: u64) -> String {
    format!("row number {key}")
}

fn expected(keys: impl IntoIterator<Item = u64>) -> Vec<(u64, String)> {
    keys.into_iter().map(|key| (key, text(key))).collect()
}

#[test]
fn full_segments_are_frozen_and_the_rest_on_request() -> Result<()> {
    let world = World::of(2 * SEGMENT + 100)?;
    let before = world.db.memory();
    let report = world.db.freeze(&world.table)?;
    assert_eq!((report.segments, report.rows, report.skipped), (2, 2 * SEGMENT, 0));
    let after = world.db.memory();
    assert!(after.columns > 0 && after.columns < report.bytes_before / 2, "{after:?}");
    assert!(after.rows < before.rows / 100, "the versions are gone: {after:?}");
    assert_eq!(world.db.freeze(&world.table)?, Default::default());
    let rest = world.db.freeze_all(&world.table)?;
    assert_eq!((rest.segments, rest.rows), (1, 100));
    assert_eq!(world.db.memory().rows, 0);
    let tx = world.db.begin_read()?;
    assert_eq!(world.rows(&tx)?, (expected(0..2 * SEGMENT + 100), 2 * SEGMENT as usize + 100));
    drop(tx);
    // Rows that come lie in the next segment.
    world.db.write(|tx| world.fill(tx, 1_000_000..1_000_001))?;
    let (row, _) = world.find(&world.db.begin_read()?, 1_000_000)?.expect("it was inserted");
    assert_eq!(row.number(), 3 * SEGMENT);
    let by_table = world.db.memory_by_table()?;
    let (table, memory) = (&by_table[0], world.db.memory());
    assert_eq!((table.rows, table.frozen_rows), (2 * SEGMENT + 101, 2 * SEGMENT + 100));
    assert_eq!((table.column_bytes, table.segment_bytes), (memory.columns, memory.segments));
    assert_eq!(table.row_bytes, memory.rows);
    Ok(())
}

#[test]
fn what_is_in_flight_or_too_new_is_passed_over() -> Result<()> {
    let world = World::of(10)?;
    let old = world.db.begin_read()?;
    world.db.write(|tx| world.set_text(tx, 3, "new"))?;
    // The snapshot needs the version before.
    assert_eq!(world.db.freeze_all(&world.table)?.skipped, 1);
    drop(old);
    let writer = world.db.begin_write()?;
    world.set_text(&writer, 4, "in flight")?;
    assert_eq!(world.db.freeze_all(&world.table)?.skipped, 1);
    drop(writer);
    let writer = world.db.begin_write()?;
    world.fill(&writer, 100..101)?;
    assert_eq!(world.db.freeze_all(&world.table)?.skipped, 1);
    drop(writer);
    assert_eq!(world.db.freeze_all(&world.table)?.rows, 10);
    assert_eq!(world.find(&world.db.begin_read()?, 3)?.map(|found| found.1), Some("new".into()));
    Ok(())
}

#[test]
fn an_old_reader_keeps_what_it_was_given() -> Result<()> {
    let world = World::of(100)?;
    let text_column = world.table.column("text")?;
    let tx = world.db.begin_read()?;
    let given: Vec<_> = tx.scan(&world.table)?.collect();
    assert_eq!(world.db.freeze_all(&world.table)?.rows, 100);
    world.db.write(|tx| (0..100).try_for_each(|key| world.delete(tx, key)))?;
    world.db.reclaim();
    for (key, row) in (0..).zip(&given) {
        assert_eq!(row.str(text_column), Some(text(key).as_str()));
    }
    assert_eq!(world.rows(&tx)?.0, expected(0..100));
    assert_eq!(world.find(&tx, 7)?.map(|found| found.1), Some(text(7)));
    drop(tx);
    assert_eq!(world.rows(&world.db.begin_read()?)?.0, []);
    world.db.reclaim();
    assert_eq!(world.db.memory().rows, 0);
    Ok(())
}

#[test]
fn frozen_rows_are_changed_deleted_and_rolled_back() -> Result<()> {
    let world = World::of(1000)?;
    world.db.freeze_all(&world.table)?;
    let tx = world.db.begin_write()?;
    world.set_text(&tx, 5, "five")?;
    world.delete(&tx, 6)?;
    let savepoint = tx.savepoint();
    world.delete(&tx, 5)?;
    world.set_text(&tx, 7, "seven")?;
    tx.roll_back_to(savepoint)?;
    let mut rows = expected((0..1000).filter(|key| *key != 6));
    rows[5].1 = "five".into();
    assert_eq!(world.rows(&tx)?, (rows.clone(), 997));
    assert_eq!(world.rows(&world.db.begin_read()?)?.0, expected(0..1000));
    drop(tx);
    assert_eq!(world.rows(&world.db.begin_read()?)?.0, expected(0..1000));
    world.db.write(|tx| {
        world.set_text(tx, 5, "five")?;
        world.delete(tx, 6)
    })?;
    assert_eq!(world.rows(&world.db.begin_read()?)?.0, rows);
    // The id of a row that was deleted in the columns is not given out again, that of one that was
    // changed before it was deleted is.
    world.db.reclaim();
    world.db.write(|tx| world.fill(tx, 6..7))?;
    assert_eq!(
        world.find(&world.db.begin_read()?, 6)?.map(|found| found.0.number()),
        Some(SEGMENT)
    );
    world.db.write(|tx| world.set_text(tx, 8, "eight"))?;
    world.db.write(|tx| world.delete(tx, 8))?;
    world.db.reclaim();
    world.db.write(|tx| world.fill(tx, 8..9))?;
    assert_eq!(world.find(&world.db.begin_read()?, 8)?.map(|found| found.0.number()), Some(8));
    rows.insert(6, (6, text(6)));
    assert_eq!(world.rows(&world.db.begin_read()?)?.0, rows);
    Ok(())
}

#[test]
fn gaps_stay_gaps() -> Result<()> {
    let world = World::of(1000)?;
    world.db.write(|tx| (0..1000).step_by(3).try_for_each(|key| world.delete(tx, key)))?;
    world.db.reclaim();
    assert_eq!(world.db.freeze_all(&world.table)?.rows, 666);
    let left = || expected((0..1000).filter(|key| key % 3 != 0));
    assert_eq!(world.rows(&world.db.begin_read()?)?, (left(), 666));
    assert!(
        world.db.begin_read()?.row(&world.table, RowId::from_number(3).expect("an id"))?.is_none()
    );
    world.db.write(|tx| world.fill(tx, 5000..5400))?;
    let tx = world.db.begin_read()?;
    let first = world.find(&tx, 5000)?.expect("it was inserted").0.number();
    assert_eq!(first, SEGMENT);
    assert_eq!(tx.scan(&world.table)?.count(), 666 + 400);
    Ok(())
}

#[test]
fn unique_keys_of_frozen_rows_are_taken() -> Result<()> {
    let world = World::of(1000)?;
    world.db.freeze_all(&world.table)?;
    let error = world.db.write(|tx| world.fill(tx, 500..501)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    assert!(error.to_string().contains("key 500"), "{error}");
    let key = world.table.column("key")?;
    let moved = world.db.write(|tx| {
        let (row, _) = world.find(tx, 1)?.expect("it is there");
        tx.update_values(&world.table, row, &[(key, Value::U64(2))])
    });
    assert_eq!(moved.unwrap_err().kind(), ErrorKind::DuplicateKey);
    world.db.write(|tx| world.delete(tx, 2))?;
    world.db.write(|tx| {
        let (row, _) = world.find(tx, 1)?.expect("it is there");
        tx.update_values(&world.table, row, &[(key, Value::U64(2))])
    })?;
    assert!(world.find(&world.db.begin_read()?, 1)?.is_none());
    Ok(())
}

#[test]
fn an_index_is_made_of_frozen_rows() -> Result<()> {
    let world = World::of(1000)?;
    world.db.freeze_all(&world.table)?;
    world.db.write(|tx| world.set_text(tx, 5, "row number 6"))?;
    let unique = IndexSchema::new("late", ["text"]).unique();
    let refused = world.db.create_index(&world.table, unique.clone()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::DuplicateKey);
    world.db.write(|tx| world.set_text(tx, 5, "row number 5"))?;
    let late = world.db.create_index(&world.table, unique)?;
    let tx = world.db.begin_read()?;
    let mut cursor = tx.cursor(&world.table, late)?;
    let found = cursor.find(Find::Equal, &["row number 77".into()])?;
    assert_eq!(found.and_then(|row| row.get::<u64>(world.table.column("key").ok()?)), Some(77));
    let count = 1 + std::iter::from_fn(|| cursor.previous()).count();
    let before = (0..1000).map(text).filter(|other| *other <= text(77)).count();
    assert_eq!(count, before);
    Ok(())
}

#[test]
fn a_read_of_a_frozen_row_is_validated() -> Result<()> {
    let world = World::of(100)?;
    world.db.freeze_all(&world.table)?;
    for reads in [0, 1, 2] {
        let tx = world.db.begin_write()?;
        match reads {
            0 => drop(world.find(&tx, 3)?),
            1 => drop(world.rows(&tx)?),
            _ => drop(tx.scan(&world.table)?.count()),
        }
        world.db.write(|other| world.set_text(other, 3, "changed"))?;
        world.set_text(&tx, 9, "depends on it")?;
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict, "read {reads}");
    }
    let (first, second) = (world.db.begin_write()?, world.db.begin_write()?);
    world.set_text(&first, 20, "first")?;
    let refused = world.set_text(&second, 20, "second").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    Ok(())
}

#[test]
fn visiting_rows_takes_no_memory_and_holding_them_is_counted() -> Result<()> {
    let world = World::open(Options::new().budget(24 << 20), 50_000)?;
    world.db.freeze_all(&world.table)?;
    let start = world.db.memory().held;
    let tx = world.db.begin_read()?;
    let (mut count, mut most) = (0, 0);
    tx.each_row(&world.table, |_| {
        count += 1;
        most = most.max(world.db.memory().held);
        Ok(())
    })?;
    assert_eq!((count, most), (50_000, start));
    assert_eq!(tx.scan(&world.table)?.count(), 50_000);
    assert_eq!(world.db.memory().held, start, "counting holds no rows");
    let held = tx.scan(&world.table)?.take(20_000).last();
    assert!(held.is_some() && world.db.memory().held > start + (1 << 20));
    drop(tx);
    world.db.reclaim();
    assert!(world.db.memory().held <= start + (64 << 10), "the rows went with the transaction");
    Ok(())
}

#[test]
fn a_read_without_memory_says_so() -> Result<()> {
    let world = World::open(Options::new().budget(24 << 20), 50_000)?;
    world.db.freeze_all(&world.table)?;
    world.db.set_budget(world.db.memory().held + (1 << 20))?;
    let texts = |tx: &ReadTransaction<'_>| Ok(tx.scan(&world.table)?.map(|row| row.id()).last());
    let error = world.db.read(texts).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BudgetReached);
    let tx = world.db.begin_write()?;
    texts(&tx)?;
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::BudgetReached);
    let tx = world.db.begin_read()?;
    texts(&tx)?;
    assert_eq!(
        tx.scan(&world.table).err().map(|error| error.kind()),
        Some(ErrorKind::BudgetReached)
    );
    assert_eq!(tx.status().unwrap_err().kind(), ErrorKind::BudgetReached);
    // Who was told may go on, with what needs no memory.
    assert_eq!(tx.scan(&world.table)?.count(), 50_000);
    Ok(())
}

#[test]
fn a_dropped_table_leaves_nothing() -> Result<()> {
    let world = World::of(3 * SEGMENT)?;
    world.db.freeze(&world.table)?;
    let keys = || (0..3 * SEGMENT).step_by(999);
    world.db.write(|tx| keys().try_for_each(|key| world.delete(tx, key)))?;
    world.db.drop_table(&world.table)?;
    world.db.reclaim();
    let memory = world.db.memory();
    assert_eq!([memory.rows, memory.segments, memory.columns, memory.indexes], [0; 4]);
    assert_eq!(world.db.freeze(&world.table).unwrap_err().kind(), ErrorKind::UnknownTable);
    Ok(())
}

#[test]
fn an_image_keeps_what_is_frozen() -> Result<()> {
    let world = World::of(SEGMENT + 1000)?;
    world.db.write(|tx| (0..900).step_by(9).try_for_each(|key| world.delete(tx, key)))?;
    world.db.reclaim();
    world.db.freeze_all(&world.table)?;
    world.db.write(|tx| {
        world.set_text(tx, 5, "five")?;
        world.set_text(tx, 66_000, "late")?;
        world.delete(tx, 6)
    })?;
    let old = world.db.begin_read()?;
    let rows = world.rows(&old)?;
    let mut image = Vec::new();
    world.db.save(&mut image)?;
    let db = Database::load(Options::new().budget(256 << 20), &mut image.as_slice())?;
    let loaded = World { table: db.table("T")?, db };
    let tx = loaded.db.begin_read()?;
    let loaded_rows = loaded.rows(&tx)?;
    assert_eq!(loaded_rows.1, rows.1, "as many rows are in columns");
    assert!(loaded_rows == rows, "the rows");
    for key in [1, 5, 7, 100, 65_536, 66_000] {
        assert_eq!(loaded.find(&tx, key)?, world.find(&old, key)?);
    }
    for key in [0, 6, 9, 1_000_000] {
        assert!(loaded.find(&tx, key)?.is_none());
    }
    drop(tx);
    // Rows come where none were, and are changed as before.
    loaded.db.write(|tx| {
        loaded.fill(tx, 2_000_000..2_000_500)?;
        loaded.set_text(tx, 7, "seven")?;
        loaded.delete(tx, 8)
    })?;
    assert_eq!(loaded.rows(&loaded.db.begin_read()?)?.0.len(), rows.0.len() + 499);
    let mut again = Vec::new();
    loaded.db.save(&mut again)?;
    let db = Database::load(Options::new().budget(256 << 20), &mut again.as_slice())?;
    let twice = World { table: db.table("T")?, db };
    let (first, second) = (loaded.db.begin_read()?, twice.db.begin_read()?);
    assert_eq!(loaded.rows(&first)?, twice.rows(&second)?);
    Ok(())
}

#[test]
fn an_image_of_columns_fills_a_larger_table() -> Result<()> {
    let world = World::of(500)?;
    world.db.freeze_all(&world.table)?;
    world.db.write(|tx| world.set_text(tx, 5, "five"))?;
    let mut image = Vec::new();
    world.db.save(&mut image)?;
    let db = Database::open(Options::new().budget(64 << 20))?;
    let schema = TableSchema::new("T")
        .column("text", ColumnType::STRING)
        .nullable_column("note", ColumnType::STRING)
        .column("key", ColumnType::U64)
        .primary_key(["key"]);
    let table = db.create_table(schema)?;
    db.load_into(&mut image.as_slice())?;
    let larger = World { table, db };
    let (tx, before) = (larger.db.begin_read()?, world.db.begin_read()?);
    assert_eq!(larger.rows(&tx)?.0, world.rows(&before)?.0);
    assert_eq!(larger.find(&tx, 77)?, world.find(&before, 77)?);
    Ok(())
}

#[test]
fn no_change_of_an_image_of_columns_loads_or_panics() -> Result<()> {
    let world = World::of(70)?;
    world.db.freeze_all(&world.table)?;
    world.db.write(|tx| world.set_text(tx, 5, "five"))?;
    let mut image = Vec::new();
    world.db.save(&mut image)?;
    let options = || Options::new().budget(8 << 20);
    for place in 8..image.len() {
        let mut changed = image.clone();
        changed[place] ^= 0x10;
        let refused = Database::load(options(), &mut changed.as_slice()).err();
        assert!(refused.is_some_and(|error| error.kind() == ErrorKind::DamagedImage), "{place}");
    }
    for length in (0..image.len()).step_by(7) {
        assert!(Database::load(options(), &mut &image[..length]).is_err());
    }
    Ok(())
}

#[test]
fn of_some_segments_those_are_frozen_that_nobody_changes() -> Result<()> {
    let db = Database::open(Options::new().budget(256 << 20))?;
    let schema = TableSchema::new("T").column("a", ColumnType::I64).primary_key(["a"]);
    let table = db.create_table(schema)?;
    let before = db.begin_read()?;
    let rows = (0..4 * 65_536 + 10_i64).map(|i| [Some(Value::I64(i))]);
    db.write(|tx| tx.insert_all_values(&table, rows.clone()))?;
    let ids: Vec<RowId> = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect()))?;
    // A snapshot is held that sees none of the rows.
    assert_eq!(db.freeze_segments(&table, &[0], || true)?.skipped, 1);
    assert_eq!(before.scan(&table)?.count(), 0);
    drop(before);
    let old = db.begin_read()?;
    // A row of the first segment is gone, one of the second is being changed.
    db.write(|tx| tx.delete(&table, ids[5]))?;
    let changing = db.begin_write()?;
    changing.update_values(&table, ids[70_000], &[(table.column("a")?, Value::I64(-1))])?;
    let freeze = |numbers: &[u32]| db.freeze_segments(&table, numbers, || true);
    let report = freeze(&[0, 1, 2, 4, 70_000])?;
    assert_eq!((report.segments, report.skipped), (1, 2), "{report:?}");
    assert_eq!(freeze(&[2])?, FreezeReport::default());
    assert_eq!(old.scan(&table)?.count(), 4 * 65_536 + 10);
    drop(old);
    changing.commit()?;
    db.reclaim();
    // A free row id keeps the first one hot; rows of the second have one version each again.
    let report = freeze(&[0, 1])?;
    assert_eq!((report.segments, report.skipped), (1, 1), "{report:?}");
    let id = db.write(|tx| tx.insert_values(&table, &[Some(Value::I64(-2))]))?;
    assert_eq!(id, ids[5]);
    assert_eq!(db.freeze_segments(&table, &[0], || false)?, FreezeReport::default());
    assert_eq!(freeze(&[0])?.segments, 1);
    assert_eq!(db.statistics().frozen_segments, 3);
    // While tables are changed nobody is waited for.
    let defining = db.begin_write()?;
    defining.create_table(TableSchema::new("U").column("a", ColumnType::I64))?;
    assert_eq!(freeze(&[3])?, FreezeReport::default());
    drop(defining);
    assert_eq!(freeze(&[3])?.segments, 1);
    let sum = |row: remanent_engine::Row<'_>| row.get::<i64>(table.column("a").ok()?);
    let count = 4 * 65_536 + 10_i64;
    let found: i64 = db.read(|tx| Ok(tx.scan(&table)?.filter_map(sum).sum()))?;
    assert_eq!(found, count * (count - 1) / 2 - 5 - 2 - 70_000 - 1);
    Ok(())
}
