//! Freezing again: segments of which many rows were changed or deleted get new columns.
//!
//! Each case compares what a table holds with a model of it, by pieces, by key and by an index
//! whose key was changed. The model test and the histories of the simulator freeze again at random
//! moments; here stand what is in the way, what it costs, and what becomes of what others hold.

use std::cell::RefCell;
use std::collections::BTreeMap;

use remanent_engine::schema::{ColumnType, ColumnValues, IndexSchema, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, FreezeReport, Options, Piece, ReadTransaction, Result, RowId,
    SEGMENT_ROWS, Table, WriteTransaction,
};

/// What a row holds, by its key: a number that has an index, and text.
type Model = BTreeMap<i64, (i64, String)>;

struct World {
    db: Database,
    table: Table,
    model: RefCell<Model>,
}

impl World {
    /// A table of so many rows, all in columns.
    fn frozen(rows: i64) -> Result<Self> {
        let db = Database::open(Options::new().budget(256 << 20))?;
        let schema = TableSchema::new("T")
            .column("key", ColumnType::I64)
            .column("number", ColumnType::I64)
            .nullable_column("text", ColumnType::STRING)
            .primary_key(["key"])
            .index(IndexSchema::new("by_number", ["number"]));
        let world = Self { table: db.create_table(schema)?, db, model: RefCell::default() };
        world.insert(0..rows)?;
        world.db.freeze_all(&world.table)?;
        Ok(world)
    }

    fn insert(&self, keys: std::ops::Range<i64>) -> Result<()> {
        let added: Model =
            keys.map(|key| (key, (key % 1000, format!("text {}", key % 77)))).collect();
        self.db.write(|tx| {
            let rows = added.iter().map(|(key, (number, text))| {
                [Some((*key).into()), Some((*number).into()), Some(Value::String(text))]
            });
            tx.insert_all_values(&self.table, rows).map(|_| ())
        })?;
        self.model.borrow_mut().extend(added);
        Ok(())
    }

    /// Changes all three of what rows hold but their keys, in a transaction.
    fn change(&self, keys: impl Iterator<Item = i64> + Clone) -> Result<()> {
        self.db.write(|tx| keys.clone().try_for_each(|key| self.change_in(tx, key)))?;
        for key in keys {
            self.model.borrow_mut().insert(key, (-key, format!("changed {}", key % 5)));
        }
        Ok(())
    }

    fn change_in(&self, tx: &WriteTransaction<'_>, key: i64) -> Result<()> {
        let row = self.row(tx, key)?.expect("it is there");
        let (number, text) = (self.table.column("number")?, self.table.column("text")?);
        let changed = format!("changed {}", key % 5);
        let values = [(number, Value::I64(-key)), (text, Value::String(&changed))];
        tx.update_values(&self.table, row, &values)
    }

    fn delete(&self, keys: impl Iterator<Item = i64> + Clone) -> Result<()> {
        self.db.write(|tx| {
            keys.clone().try_for_each(|key| {
                let row = self.row(tx, key)?.expect("it is there");
                tx.delete(&self.table, row)
            })
        })?;
        keys.for_each(|key| drop(self.model.borrow_mut().remove(&key)));
        Ok(())
    }

    fn row(&self, tx: &ReadTransaction<'_>, key: i64) -> Result<Option<RowId>> {
        let primary = self.table.index("primary")?;
        Ok(tx.find(&self.table, primary, &[Value::I64(key)])?.map(|row| row.id()))
    }

    /// What a transaction sees, by pieces, and how many of the rows are in columns.
    fn seen(&self, tx: &ReadTransaction<'_>) -> Result<(Model, usize)> {
        let [key, number, text] = ["key", "number", "text"].map(|name| self.table.column(name));
        let (key, number, text) = (key?, number?, text?);
        let (mut seen, mut frozen) = (Model::new(), 0);
        let mut pieces = tx.scan_pieces(&self.table)?;
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Rows(rows) => seen.extend(rows.iter().map(|row| {
                    let text = row.str(text).unwrap_or_default().to_owned();
                    let number = row.get::<i64>(number).unwrap_or_default();
                    (row.get::<i64>(key).unwrap_or_default(), (number, text))
                })),
                Piece::Frozen(rows) => {
                    let (keys, numbers) = (rows.column(key)?, rows.column(number)?);
                    let texts = rows.column(text)?;
                    let sees = |i: &usize| {
                        rows.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                    };
                    for i in (0..rows.len()).filter(sees) {
                        let integer = |value: Value<'_>| value.as_integer().unwrap_or_default();
                        let key = integer(keys.value(i, &mut Vec::new())) as i64;
                        let number = integer(numbers.value(i, &mut Vec::new())) as i64;
                        let mut room = Vec::new();
                        let text = texts.value(i, &mut room).as_str().unwrap_or_default();
                        frozen += 1;
                        assert_eq!(seen.insert(key, (number, text.to_owned())), None, "once");
                    }
                }
            }
        }
        Ok((seen, frozen))
    }

    /// Compares what is committed with the model, as it is read in three ways.
    fn check(&self) -> Result<()> {
        let tx = self.db.begin_read()?;
        let model = self.model.borrow();
        assert!(self.seen(&tx)?.0 == *model, "by pieces");
        let (number, by_number) = (self.table.column("number")?, self.table.index("by_number")?);
        let primary = self.table.index("primary")?;
        for (key, (expected, _)) in model.iter().step_by(7) {
            let row = tx.find(&self.table, primary, &[Value::I64(*key)])?;
            assert_eq!(row.and_then(|row| row.get::<i64>(number)), Some(*expected), "{key}");
        }
        let mut numbers: Vec<i64> = model.values().map(|(number, _)| *number).collect();
        numbers.sort_unstable();
        let (mut cursor, mut met) = (tx.cursor(&self.table, by_number)?, Vec::new());
        let mut next = cursor.first();
        while let Some(row) = next {
            met.extend(row.get::<i64>(number));
            next = cursor.next();
        }
        assert!(met == numbers, "in the order of an index");
        assert_eq!(tx.scan(&self.table)?.count(), model.len());
        Ok(())
    }

    fn freeze(&self) -> Result<FreezeReport> {
        self.db.freeze_all(&self.table)
    }
}

fn evens(rows: i64) -> impl Iterator<Item = i64> + Clone {
    (0..rows).step_by(2)
}

#[test]
fn what_was_changed_and_deleted_is_columns_again() -> Result<()> {
    let rows = 2 * SEGMENT_ROWS as i64 + 100;
    let world = World::frozen(rows)?;
    let frozen = world.db.memory();
    world.change(evens(SEGMENT_ROWS as i64))?;
    world.delete((0..SEGMENT_ROWS as i64).step_by(10))?;
    // Of the second segment too few.
    world.change((SEGMENT_ROWS as i64..2 * SEGMENT_ROWS as i64).step_by(20))?;
    world.check()?;
    assert!(world.db.memory().rows > frozen.columns);
    let report = world.freeze()?;
    let left = (SEGMENT_ROWS - SEGMENT_ROWS.div_ceil(10)) as u64;
    assert_eq!((report.segments, report.refrozen, report.rows), (1, 1, left), "{report:?}");
    assert_eq!(report.skipped, 0);
    assert!(report.bytes_after * 3 < report.bytes_before, "{report:?}");
    world.check()?;
    let tx = world.db.begin_read()?;
    let columns = world.seen(&tx)?.1;
    assert_eq!(columns as u64, left + (SEGMENT_ROWS - SEGMENT_ROWS.div_ceil(20)) as u64 + 100);
    drop(tx);
    // The versions are gone but for those of the second segment.
    let memory = world.db.memory();
    assert!(memory.rows < 1 << 19, "{memory:?}");
    assert_eq!(world.freeze()?, FreezeReport::default());
    // And once more, with rows that were changed twice.
    world.change((1..SEGMENT_ROWS as i64).step_by(2))?;
    assert_eq!(world.freeze()?.refrozen, 1);
    world.check()?;
    world.db.drop_table(&world.table)?;
    world.db.reclaim();
    let memory = world.db.memory();
    assert_eq!([memory.rows, memory.segments, memory.columns, memory.indexes], [0; 4]);
    Ok(())
}

#[test]
fn what_others_see_otherwise_is_passed_over() -> Result<()> {
    let world = World::frozen(1000)?;
    let old = world.db.begin_read()?;
    world.change(evens(500))?;
    let before = world.seen(&old)?;
    // An old snapshot sees the rows otherwise.
    assert_eq!(world.freeze()?.skipped, 1);
    assert!(world.seen(&old)? == before, "it sees what it saw");
    drop(old);
    // A row is being changed, or deleted in the columns.
    let changing = world.db.begin_write()?;
    world.change_in(&changing, 2)?;
    assert_eq!(world.freeze()?.skipped, 1);
    drop(changing);
    let deleting = world.db.begin_write()?;
    let row = world.row(&deleting, 7)?.expect("it is there");
    deleting.delete(&world.table, row)?;
    assert_eq!(world.freeze()?.skipped, 1);
    // One that is committed and that a snapshot does not see.
    let old = world.db.begin_read()?;
    deleting.commit()?;
    world.model.borrow_mut().remove(&7);
    assert_eq!(world.freeze()?.skipped, 1);
    assert!(world.row(&old, 7)?.is_some());
    drop(old);
    world.check()?;
    assert_eq!(world.freeze()?.rows, 999);
    world.check()
}

#[test]
fn readers_keep_what_they_were_given() -> Result<()> {
    let world = World::frozen(1000)?;
    world.change(evens(1000))?;
    world.db.reclaim();
    let tx = world.db.begin_read()?;
    let text = world.table.column("text")?;
    let given: Vec<_> = tx.scan(&world.table)?.collect();
    let mut pieces = tx.scan_pieces(&world.table)?;
    let Some(Piece::Frozen(columns)) = pieces.next_piece() else { panic!("half are in columns") };
    assert!(columns.is_worn());
    let report = world.freeze()?;
    assert_eq!((report.refrozen, report.rows), (1, 1000));
    let expected = world.model.borrow().clone();
    world.delete(0..1000)?;
    world.db.reclaim();
    for (row, (_, expected)) in given.iter().zip(expected.values()) {
        assert_eq!(row.str(text), Some(expected.as_str()));
    }
    assert_eq!(columns.visible_count(), 500);
    let mut room = Vec::new();
    assert_eq!(columns.column(text)?.value(1, &mut room).as_str(), Some(expected[&1].1.as_str()));
    assert!(matches!(pieces.next_piece(), Some(Piece::Rows(rows)) if rows.len() == 500));
    assert!(pieces.next_piece().is_none());
    assert!(world.seen(&tx)?.0 == expected);
    drop((columns, pieces));
    drop(tx);
    world.check()?;
    world.db.reclaim();
    assert_eq!((world.db.memory().rows, world.db.memory().columns), (0, 0));
    Ok(())
}

#[test]
fn changes_taken_back_and_free_row_ids_are_no_hindrance() -> Result<()> {
    let world = World::frozen(1000)?;
    let tx = world.db.begin_write()?;
    evens(600).try_for_each(|key| world.change_in(&tx, key))?;
    drop(tx);
    // They were changed before they were deleted, so their ids are free.
    world.change(900..920)?;
    world.delete(900..920)?;
    world.db.reclaim();
    world.check()?;
    let some = |world: &World| world.db.freeze_segments(&world.table, &[0], || true);
    assert_eq!(some(&world)?.skipped, 1, "rows may come where ids are free");
    let report = world.freeze()?;
    assert_eq!((report.refrozen, report.rows), (1, 980), "{report:?}");
    world.check()?;
    world.insert(2000..2050)?;
    let tx = world.db.begin_read()?;
    let ids: Vec<_> = tx.scan(&world.table)?.map(|row| row.id().number()).collect();
    assert_eq!(ids.iter().filter(|id| **id >= SEGMENT_ROWS as u64).count(), 50);
    drop(tx);
    // Ids that become free later, of a freeze that comes to nothing, are given out again.
    world.change(0..300)?;
    world.delete(0..30)?;
    world.db.reclaim();
    let changing = world.db.begin_write()?;
    world.change_in(&changing, 500)?;
    assert_eq!(world.freeze()?.skipped, 1);
    drop(changing);
    world.insert(3000..3030)?;
    let tx = world.db.begin_read()?;
    assert_eq!(world.row(&tx, 3000)?.map(|row| row.number() < 30), Some(true));
    drop(tx);
    assert_eq!(world.freeze()?.skipped, 0);
    world.check()
}

#[test]
fn a_segment_laid_as_columns_is_frozen_again() -> Result<()> {
    let world = World::frozen(0)?;
    let rows = SEGMENT_ROWS as i64;
    let (keys, numbers): (Vec<i64>, Vec<i64>) = (0..rows).map(|key| (key, 7)).unzip();
    let text = |_: usize| "laid";
    let columns =
        [ColumnValues::I64(&keys), ColumnValues::I64(&numbers), ColumnValues::Text(&text)];
    world.db.write(|tx| tx.insert_frozen(&world.table, &columns, keys.len()))?;
    world.model.borrow_mut().extend((0..rows).map(|key| (key, (7, "laid".to_owned()))));
    world.change(evens(rows))?;
    world.delete((0..rows).step_by(3))?;
    let report = world.freeze()?;
    assert_eq!((report.refrozen, report.skipped), (1, 0), "{report:?}");
    world.check()
}

#[test]
fn an_image_has_the_new_columns() -> Result<()> {
    let world = World::frozen(3000)?;
    world.change(evens(3000))?;
    world.delete(0..100)?;
    world.freeze()?;
    world.change(200..203)?;
    let mut image = Vec::new();
    world.db.save(&mut image)?;
    let db = Database::load(Options::new().budget(256 << 20), &mut image.as_slice())?;
    let loaded = World { table: db.table("T")?, db, model: world.model.clone() };
    loaded.check()?;
    assert_eq!(loaded.seen(&loaded.db.begin_read()?)?.1, 3000 - 100 - 3);
    Ok(())
}

#[test]
fn where_memory_is_refused_nothing_has_changed() -> Result<()> {
    let rows = 20_000;
    let world = World::frozen(rows)?;
    world.change(evens(rows))?;
    world.db.reclaim();
    let used = |world: &World| {
        let memory = world.db.memory();
        (memory.rows, memory.segments, memory.columns)
    };
    let (before, budget) = (used(&world), world.db.memory().held);
    let mut refused = 0;
    // Ever more memory, until it is enough.
    for step in 0.. {
        world.db.set_budget(budget + step * (16 << 10))?;
        match world.freeze() {
            Ok(report) if report.refrozen == 1 => break,
            Ok(report) => panic!("it is not in the way: {report:?}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::BudgetReached),
        }
        refused += 1;
        assert_eq!(used(&world), before, "all is as it was");
        assert_eq!(world.seen(&world.db.begin_read()?)?.1 as i64, rows / 2);
    }
    assert!(refused > 3, "{refused}");
    world.db.set_budget(256 << 20)?;
    world.check()?;
    world.db.reclaim();
    assert_eq!(world.db.memory().rows, 0);
    Ok(())
}
