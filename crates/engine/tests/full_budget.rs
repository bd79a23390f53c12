//! A database at the end of its budget: what can always be done there.
//!
//! Deleting, rolling back and reclaiming work however full it is, in one transaction of any size
//! and beside an old reader; and what they free can be used again. One thread is enough for all of
//! it: `remanent-simulator soak` does the same with several.

use remanent_engine::schema::{ColumnType, ColumnValues, TableSchema, Value};
use remanent_engine::{
    CallerMemory, Database, Error, ErrorKind, Options, Piece, Result, RowId, SEGMENT_ROWS, Table,
};

const BUDGET: u64 = 8 << 20;

fn open() -> Database {
    Database::open(Options::new().budget(BUDGET)).expect("8 MiB hold a database")
}

/// A table of which every update changes keys, in indexes of both kinds.
fn numbers(db: &Database) -> Result<Table> {
    db.create_table(
        TableSchema::new("T")
            .column("a", ColumnType::U64)
            .column("b", ColumnType::U64)
            .primary_key(["a"])
            .ordered_index("by_b", ["b"])
            .hash_index("hashed", ["b"]),
    )
}

/// Numbers in no order, the same ones every time.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        self.0 >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

fn values(a: u64, b: u64) -> [Option<Value<'static>>; 2] {
    [Some(Value::U64(a)), Some(Value::U64(b))]
}

/// Inserts rows until the budget is reached; those that are in.
fn fill(db: &Database, table: &Table, numbers: &mut Numbers) -> Result<Vec<RowId>> {
    let mut rows = Vec::new();
    let mut together = 100;
    loop {
        let inserted = db.write(|tx| {
            (0..together)
                .map(|i| tx.insert_values(table, &values(rows.len() as u64 + i, numbers.next())))
                .collect::<Result<Vec<_>>>()
        });
        match inserted {
            Ok(more) => rows.extend(more),
            Err(error) if error.kind() == ErrorKind::BudgetReached && together > 1 => together = 1,
            Err(error) if error.kind() == ErrorKind::BudgetReached => return Ok(rows),
            Err(error) => return Err(error),
        }
    }
}

fn delete(db: &Database, table: &Table, rows: &[RowId]) -> Result<()> {
    db.write(|tx| rows.iter().try_for_each(|row| tx.delete(table, *row)))
}

fn count(db: &Database, table: &Table) -> Result<usize> {
    db.read(|tx| Ok(tx.scan(table)?.count()))
}

fn is_full(error: &Error) -> bool {
    error.kind() == ErrorKind::BudgetReached
}

/// Working a row off that was updated took more places in the queue than it gave back, and the
/// chunk kept back for that was anybody's: in the end nothing could be drained, nor deleted.
#[test]
fn a_full_database_whose_updates_change_keys_can_always_be_emptied() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let b = table.column("b")?;
    let mut numbers = Numbers(1);
    let mut rows = fill(&db, &table, &mut numbers)?;
    let mut refused = 0;
    for round in 0..3000_u64 {
        let changes = 1 + numbers.below(100);
        let updated = db.write(|tx| {
            (0..changes).try_for_each(|_| {
                let row = rows[numbers.below(rows.len())];
                tx.update_values(&table, row, &[(b, Value::U64(numbers.next()))])
            })
        });
        match updated {
            Ok(()) => {
                for next in (round << 32)..(round << 32) + 5 {
                    if let Ok(row) = db.write(|tx| tx.insert_values(&table, &values(next, next))) {
                        rows.push(row);
                    }
                }
            }
            Err(error) => {
                assert!(is_full(&error), "{error}");
                refused += 1;
                let keep = rows.len().saturating_sub(20);
                delete(&db, &table, &rows[keep..])?;
                rows.truncate(keep);
            }
        }
        if rows.len() < 500 {
            break;
        }
    }
    assert!(refused > 10, "the budget was reached {refused} times");
    for some in rows.chunks(500) {
        delete(&db, &table, some)?;
    }
    db.reclaim();
    assert_eq!(count(&db, &table)?, 0);
    assert_eq!(db.memory().rows, 0);
    db.drop_table(&table)?;
    assert_eq!(db.memory().indexes, 0, "key blocks are left");
    Ok(())
}

/// A deletion that failed left fewer notes than are drained at a time; the next one found the
/// reserve used up by them, failed as well, and so did every smaller one, down to single rows.
#[test]
fn a_deletion_that_failed_does_not_stand_in_the_way_of_the_next() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let rows = fill(&db, &table, &mut Numbers(2))?;
    for share in [2, 3, 5, 8, 16, 32] {
        let _ = delete(&db, &table, &rows[rows.len() - rows.len() / share..]);
    }
    if count(&db, &table)? > 0 {
        let first = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).next()))?;
        delete(&db, &table, &[first.expect("there is a row")])?;
    }
    Ok(())
}

/// The slot of a transaction that changed more than 16,384 rows is left to be stamped by others:
/// what it had deleted was left out when everything was reclaimed.
#[test]
fn what_a_large_transaction_deleted_is_reclaimed_at_once() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let table = numbers(&db)?;
    let rows = db.write(|tx| {
        (0..40_000).map(|i| tx.insert_values(&table, &values(i, i))).collect::<Result<Vec<_>>>()
    })?;
    delete(&db, &table, &rows)?;
    db.reclaim();
    assert_eq!(db.memory().rows, 0);
    Ok(())
}

/// Deletes each `step`-th row, in the order of their ids or in none, and all of the rest after
/// that; then the database can be filled again, with so many percent of the rows.
fn delete_much(
    db: &Database,
    table: &Table,
    (step, in_order): (usize, bool),
    percent: usize,
) -> Result<()> {
    let mut all = db.read(|tx| Ok(tx.scan(table)?.map(|row| row.id()).collect::<Vec<_>>()))?;
    let mut numbers = Numbers(step as u64);
    if !in_order {
        for i in (1..all.len()).rev() {
            all.swap(i, numbers.below(i + 1));
        }
    }
    let some: Vec<_> = all.iter().copied().step_by(step).collect();
    delete(db, table, &some)?;
    assert_eq!(count(db, table)?, all.len() - some.len());
    db.write(|tx| tx.insert_values(table, &values(1 << 40, 1)))?;
    let rest = db.read(|tx| Ok(tx.scan(table)?.map(|row| row.id()).collect::<Vec<_>>()))?;
    delete(db, table, &rest)?;
    assert_eq!(count(db, table)?, 0);
    db.reclaim();
    assert_eq!(db.memory().rows, 0);
    let again = fill(db, table, &mut numbers)?.len();
    assert!(again * 100 > all.len() * percent, "{again} rows fit instead of {}", all.len());
    Ok(())
}

#[test]
fn a_third_or_all_of_a_full_database_is_deleted_in_one_transaction() -> Result<()> {
    for (step, in_order) in [(3, true), (3, false), (1, true), (1, false), (64, true)] {
        let db = open();
        let table = numbers(&db)?;
        fill(&db, &table, &mut Numbers(3))?;
        let deleted = delete_much(&db, &table, (step, in_order), 90);
        deleted.inspect_err(|error| eprintln!("each {step}-th, in order: {in_order}: {error}"))?;
    }
    Ok(())
}

/// A transaction that has written and is between two calls refers to rows alone: nodes and keys
/// that others take out of indexes meanwhile are freed, though it lasts.
#[test]
fn an_idle_writer_does_not_keep_what_others_take_out_of_indexes() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let b = table.column("b")?;
    let mut numbers = Numbers(16);
    let rows = fill(&db, &table, &mut numbers)?;
    delete(&db, &table, &rows[rows.len() - 600..])?;
    db.reclaim();
    let idle = db.begin_write()?;
    idle.insert_values(&table, &values(1 << 50, 1))?;
    idle.update_values(&table, rows[0], &[(b, Value::U64(2))])?;
    let mut done = 0;
    for _ in 0..20_000 {
        // Rows that it sees: each has one old version to keep for it, and no more.
        let row = rows[1 + numbers.below(100)];
        let changed = [(b, Value::U64(numbers.next()))];
        if db.write(|tx| tx.update_values(&table, row, &changed)).is_err() {
            break;
        }
        done += 1;
    }
    assert_eq!(done, 20_000, "{:?}", db.memory());
    assert_eq!(idle.scan(&table)?.count(), rows.len() - 600 + 1);
    let mut cursor = idle.cursor(&table, table.index("by_b")?)?;
    let mut met = usize::from(cursor.first().is_some());
    while cursor.next().is_some() {
        met += 1;
    }
    assert_eq!(met, rows.len() - 600 + 1);
    drop(cursor);
    idle.insert_values(&table, &values(1 << 51, 3))?;
    idle.roll_back();
    assert_eq!(count(&db, &table)?, rows.len() - 600);
    Ok(())
}

/// In the memory of a small device all blocks share pages, and the reserve is counted by the byte.
/// Where an index grows by a large block there may be none in one piece.
#[test]
fn a_small_memory_is_emptied_in_one_transaction_and_filled_again() -> Result<()> {
    for size in [120 << 10, 256 << 10, 1 << 20] {
        for (step, in_order) in [(3, true), (3, false), (1, false)] {
            let memory = CallerMemory::from_vec(vec![0; size]);
            let db = Database::open(Options::new().caller_memory(memory))?;
            let table = numbers(&db)?;
            let b = table.column("b")?;
            let mut numbers = Numbers(15);
            let rows = fill(&db, &table, &mut numbers)?;
            assert!(rows.len() > 100, "{} rows", rows.len());
            for row in rows.iter().take(rows.len() / 2) {
                let changed = [(b, Value::U64(numbers.next()))];
                // As long as there is room for it.
                let _ = db.write(|tx| tx.update_values(&table, *row, &changed));
            }
            let deleted = delete_much(&db, &table, (step, in_order), 50);
            deleted.inspect_err(|error| eprintln!("{size}, {step}, {in_order}: {error}"))?;
            db.drop_table(&table)?;
            db.reclaim();
            assert_eq!((db.memory().rows, db.memory().indexes), (0, 0));
        }
    }
    Ok(())
}

/// What a transaction deleted comes back with its rollback, whole or to a savepoint, and takes
/// nothing of the reserve then.
#[test]
fn a_large_deletion_can_be_taken_back_at_a_full_budget() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let rows = fill(&db, &table, &mut Numbers(4))?;
    let held = db.memory().held;
    for _ in 0..20 {
        let tx = db.begin_write()?;
        rows[..100].iter().try_for_each(|row| tx.delete(&table, *row))?;
        let before = tx.savepoint();
        rows[100..].iter().step_by(2).try_for_each(|row| tx.delete(&table, *row))?;
        tx.roll_back_to(before)?;
        assert_eq!(tx.scan(&table)?.count(), rows.len() - 100);
        drop(tx);
        assert_eq!(count(&db, &table)?, rows.len());
    }
    db.reclaim();
    assert!(db.memory().held <= held);
    delete(&db, &table, &rows)?;
    assert_eq!(count(&db, &table)?, 0);
    Ok(())
}

/// As soon as it is open, and before anything was drained.
#[test]
fn a_full_database_that_was_opened_again_is_emptied() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("full_budget_{}", std::process::id()));
    let open = || Database::open_at(&folder, Options::new().budget(BUDGET));
    let filled = {
        let db = open()?;
        let table = numbers(&db)?;
        fill(&db, &table, &mut Numbers(5))?.len()
    };
    for step in [3, 1] {
        let db = open()?;
        let table = db.table("T")?;
        let all = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect::<Vec<_>>()))?;
        let some: Vec<_> = all.iter().copied().step_by(step).collect();
        delete(&db, &table, &some)?;
        assert_eq!(count(&db, &table)?, all.len() - some.len());
    }
    assert!(filled > 10_000);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// A transaction that has read and sees all rows is there all the time: deleting them frees
/// nothing yet, but it is done, however often it fails or is taken back before.
#[test]
fn an_idle_transaction_does_not_keep_others_from_deleting() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let rows = fill(&db, &table, &mut Numbers(6))?;
    let idle = db.begin_write()?;
    assert_eq!(idle.scan(&table)?.count(), rows.len());
    for _ in 0..2 {
        let tx = db.begin_write()?;
        rows.iter().try_for_each(|row| tx.delete(&table, *row))?;
        tx.roll_back();
    }
    for row in &rows[..40] {
        delete(&db, &table, &[*row])?;
    }
    delete(&db, &table, &rows[40..])?;
    assert_eq!(count(&db, &table)?, 0);
    assert_eq!(idle.scan(&table)?.count(), rows.len());
    let refused = db.write(|tx| tx.insert_values(&table, &values(1, 1)));
    let refused = refused.expect_err("nothing is free");
    assert!(is_full(&refused) && refused.to_string().contains("snapshot"), "{refused}");
    drop(idle);
    db.write(|tx| tx.insert_values(&table, &values(1, 1)))?;
    Ok(())
}

/// Fills the database with rows in columns, as far as they go.
fn fill_frozen(db: &Database, table: &Table, numbers: &mut Numbers) -> Result<()> {
    const AT_ONCE: u64 = 4000;
    for first in (0..).step_by(AT_ONCE as usize) {
        let rows = first..first + AT_ONCE;
        let inserted = db.write(|tx| {
            rows.clone()
                .try_for_each(|key| tx.insert_values(table, &values(key, numbers.next())).map(drop))
        });
        let frozen = inserted.and_then(|()| db.freeze_all(table));
        db.reclaim();
        match frozen {
            Ok(_) => {}
            Err(error) if is_full(&error) => {
                fill_with(db, table, 1 << 32)?;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The ids of all rows, which takes no memory for rows in columns, and how many lie there.
fn ids(db: &Database, table: &Table) -> Result<(Vec<RowId>, usize)> {
    db.read(|tx| {
        let (mut ids, mut frozen) = (Vec::new(), 0);
        let mut pieces = tx.scan_pieces(table)?;
        while let Some(piece) = pieces.next_piece() {
            match piece {
                Piece::Rows(rows) => ids.extend(rows.iter().map(|row| row.id())),
                Piece::Frozen(rows) => {
                    let sees = |i: usize| {
                        rows.visible().is_none_or(|bits| bits[i / 64] >> (i % 64) & 1 == 1)
                    };
                    ids.extend((0..rows.len()).filter(|&i| sees(i)).map(|i| rows.row_id(i)));
                    frozen += rows.visible_count();
                }
            }
        }
        Ok((ids, frozen))
    })
}

/// A deletion made each row in columns a row in memory first, of the reserve, so a third of a full
/// database could not be deleted in one transaction.
#[test]
fn a_third_or_all_of_frozen_rows_is_deleted_in_one_transaction() -> Result<()> {
    for (step, in_order) in [(3, true), (3, false), (1, true), (64, true)] {
        let db = open();
        let table = numbers(&db)?;
        let mut numbers = Numbers(11);
        fill_frozen(&db, &table, &mut numbers)?;
        let (mut all, frozen) = ids(&db, &table)?;
        assert!(frozen * 10 > all.len() * 9, "{frozen} of {} are frozen", all.len());
        if !in_order {
            (1..all.len()).rev().for_each(|i| all.swap(i, numbers.below(i + 1)));
        }
        let some: Vec<_> = all.iter().copied().step_by(step).collect();
        delete(&db, &table, &some)?;
        assert_eq!(count(&db, &table)?, all.len() - some.len());
        let (rest, _) = ids(&db, &table)?;
        assert_eq!(rest.len(), all.len() - some.len());
        delete(&db, &table, &rest)?;
        assert_eq!(count(&db, &table)?, 0);
        db.reclaim();
        let memory = db.memory();
        assert_eq!((memory.rows, memory.columns), (0, 0), "nothing of them is left");
        fill_frozen(&db, &table, &mut numbers)?;
        let again = count(&db, &table)?;
        assert!(again * 10 > all.len() * 9, "{again} rows fit instead of {}", all.len());
    }
    Ok(())
}

/// However little a row takes: a deletion takes nothing for each of them.
#[test]
fn frozen_rows_of_a_byte_are_deleted_in_one_transaction() -> Result<()> {
    let db = Database::open(Options::new().budget(2 << 20))?;
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    let values: Vec<i32> = (0..SEGMENT_ROWS as i32).map(|i| i % 251).collect();
    let insert_bulk = |db: &Database| {
        db.write(|tx| tx.insert_frozen(&table, &[ColumnValues::I32(&values)], values.len()))
    };
    let mut segments = 0;
    while insert_bulk(&db).is_ok() {
        segments += 1;
    }
    assert!(segments > 10, "{segments} segments");
    while db.write(|tx| tx.insert_values(&table, &[Some(Value::I32(1))])).is_ok() {}
    let (all, _) = ids(&db, &table)?;
    for step in [3, 1] {
        let tx = db.begin_write()?;
        all.iter().step_by(step).try_for_each(|row| tx.delete(&table, *row))?;
        drop(tx);
        assert_eq!(count(&db, &table)?, all.len());
    }
    delete(&db, &table, &all)?;
    assert_eq!(count(&db, &table)?, 0);
    db.reclaim();
    assert_eq!(db.memory().columns, 0);
    // What the table keeps for each segment that there was is little.
    (0..segments * 9 / 10).try_for_each(|_| insert_bulk(&db).map(drop))
}

/// As with rows in memory: beside a transaction that has read, after two attempts that were taken
/// back, by many small transactions and a large one; and to a savepoint.
#[test]
fn an_idle_transaction_does_not_keep_others_from_deleting_frozen_rows() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    fill_frozen(&db, &table, &mut Numbers(12))?;
    let (rows, _) = ids(&db, &table)?;
    let idle = db.begin_write()?;
    assert_eq!(idle.scan(&table)?.count(), rows.len());
    for _ in 0..2 {
        let tx = db.begin_write()?;
        rows.iter().try_for_each(|row| tx.delete(&table, *row))?;
        tx.roll_back();
        assert_eq!(count(&db, &table)?, rows.len());
    }
    for row in &rows[..40] {
        delete(&db, &table, &[*row])?;
    }
    let tx = db.begin_write()?;
    rows[40..100].iter().try_for_each(|row| tx.delete(&table, *row))?;
    let before = tx.savepoint();
    rows[100..].iter().try_for_each(|row| tx.delete(&table, *row))?;
    assert_eq!(tx.scan(&table)?.count(), 0);
    tx.roll_back_to(before)?;
    assert_eq!(tx.scan(&table)?.count(), rows.len() - 100);
    rows[100..].iter().try_for_each(|row| tx.delete(&table, *row))?;
    tx.commit()?;
    assert_eq!(count(&db, &table)?, 0);
    assert_eq!(idle.scan(&table)?.count(), rows.len());
    drop(idle);
    db.reclaim();
    assert_eq!(db.memory().columns, 0);
    db.drop_table(&table)?;
    assert_eq!(db.memory().indexes, 0);
    Ok(())
}

/// The table goes with all of its columns, full or not.
#[test]
fn a_full_table_of_columns_is_dropped() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    fill_frozen(&db, &table, &mut Numbers(13))?;
    db.drop_table(&table)?;
    let memory = db.memory();
    assert_eq!((memory.rows, memory.columns, memory.indexes), (0, 0, 0));
    Ok(())
}

/// From an image that has the columns, of which some rows were deleted. Loading it takes more than
/// what is loaded, so the budget is lowered to that when it is open.
#[test]
fn a_full_database_of_columns_that_was_opened_again_is_emptied() -> Result<()> {
    let folder = std::env::temp_dir().join(format!("full_columns_{}", std::process::id()));
    let open = || Database::open_at(&folder, Options::new().budget(3 * BUDGET));
    let mut left = {
        let db = open()?;
        db.set_budget(BUDGET)?;
        let table = numbers(&db)?;
        fill_frozen(&db, &table, &mut Numbers(14))?;
        let (all, _) = ids(&db, &table)?;
        let some: Vec<_> = all.iter().copied().step_by(4).collect();
        delete(&db, &table, &some)?;
        db.checkpoint()?;
        count(&db, &table)?
    };
    for step in [4, 1] {
        let db = open()?;
        let table = db.table("T")?;
        let (all, frozen) = ids(&db, &table)?;
        assert_eq!((all.len(), count(&db, &table)?), (left, left));
        assert!(frozen * 10 > left * 9, "{frozen} of {left} are frozen");
        db.set_budget(db.memory().held)?;
        let some: Vec<_> = all.iter().copied().step_by(step).collect();
        delete(&db, &table, &some)?;
        left = all.len() - some.len();
        assert_eq!(count(&db, &table)?, left);
        db.checkpoint()?;
    }
    let db = open()?;
    assert_eq!(count(&db, &db.table("T")?)?, 0);
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}

/// A transaction that has read before memory fails it keeps the rows that it sees, but not what has
/// been taken out of the indexes: what was deleted beside an old snapshot has room for it.
#[test]
fn what_was_deleted_is_free_for_one_who_has_read() -> Result<()> {
    let db = open();
    let schema = TableSchema::new("T").column("a", ColumnType::U64).column("b", ColumnType::STRING);
    let table = db.create_table(schema.primary_key(["a"]))?;
    let primary = table.index("primary")?;
    let text = "x".repeat(2000);
    let row = |a: u64| [Some(Value::U64(a)), Some(Value::from(text.as_str()))];
    let first = db.write(|tx| tx.insert_values(&table, &row(0)))?;
    let old = db.begin_read()?;
    assert_eq!(old.scan(&table)?.count(), 1);
    let mut rows = 1;
    while db.write(|tx| tx.insert_values(&table, &row(rows))).is_ok() {
        rows += 1;
    }
    let all: Vec<RowId> = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect()))?;
    delete(&db, &table, &all[1..])?;
    drop(old);
    let tx = db.begin_write()?;
    let mut cursor = tx.cursor(&table, primary)?;
    assert_eq!(cursor.first().map(|row| row.id()), Some(first));
    for a in rows..rows + 50 {
        tx.insert_values(&table, &row(a))?;
    }
    assert_eq!(cursor.next().and_then(|row| row.get::<u64>(table.column("a").ok()?)), Some(rows));
    drop(cursor);
    tx.commit()?;
    assert_eq!(count(&db, &table)?, 51);
    Ok(())
}

/// What others left is drained without any memory: entries that it leaves behind, here five for
/// each row, go to a chunk that nothing else can use.
#[test]
fn what_is_superseded_is_reclaimed_when_all_of_the_reserve_is_gone() -> Result<()> {
    let db = open();
    let schema = ["b1", "b2", "b3", "b4", "b5"].into_iter().fold(
        TableSchema::new("T")
            .column("a", ColumnType::U64)
            .column("b", ColumnType::U64)
            .primary_key(["a"]),
        |schema, name| schema.ordered_index(name, ["b"]),
    );
    let table = db.create_table(schema)?;
    let b = table.column("b")?;
    let mut numbers = Numbers(7);
    let rows = db.write(|tx| {
        let rows = 0..6000;
        rows.map(|i| tx.insert_values(&table, &values(i, i))).collect::<Result<Vec<_>>>()
    })?;
    let old = db.begin_read()?;
    assert_eq!(old.scan(&table)?.count(), rows.len());
    // Some rows stay as they are, so that no page becomes free as a whole.
    for (_, row) in rows.iter().enumerate().filter(|(i, _)| i % 50 != 0) {
        let updated =
            db.write(|tx| tx.update_values(&table, *row, &[(b, Value::U64(numbers.next()))]));
        if updated.is_err() {
            break;
        }
    }
    fill_with(&db, &table, 1 << 32)?;
    // Deletions of rows with old versions take memory, which stays for as long as they are seen.
    // It does not get the place whose queue has what is superseded.
    let place = db.begin_write()?;
    let other = db.begin_read()?;
    drop(place);
    let deleted = rows.iter().take_while(|row| delete(&db, &table, &[**row]).is_ok()).count();
    assert!(deleted > 100 && deleted < rows.len(), "{deleted}");
    let before = db.memory();
    assert!(before.held + (32 << 10) > before.budget, "the reserve is gone: {before:?}");
    drop(old);
    db.reclaim();
    assert!(db.memory().rows < before.rows);
    let left = db.statistics().pinned_rows;
    assert!(left < deleted as u64 + 1000, "{left} rows are left, {deleted} are still seen");
    drop(other);
    Ok(())
}

/// Inserts rows with keys from one on, until the budget is reached.
fn fill_with(db: &Database, table: &Table, first: u64) -> Result<u64> {
    for key in first.. {
        match db.write(|tx| tx.insert_values(table, &values(key, key))) {
            Ok(_) => {}
            Err(error) if is_full(&error) => return Ok(key),
            Err(error) => return Err(error),
        }
    }
    Ok(first)
}

/// Pages that deletions had opened in the reserve were filled by whatever was inserted next: in the
/// end nothing of the reserve was left for deletions.
#[test]
fn ordinary_work_leaves_half_of_the_reserve() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let b = table.column("b")?;
    let mut numbers = Numbers(8);
    let rows = db.write(|tx| {
        let rows = 0..10_000;
        rows.map(|i| tx.insert_values(&table, &values(i, i))).collect::<Result<Vec<_>>>()
    })?;
    let old = db.begin_write()?;
    assert_eq!(old.scan(&table)?.count(), rows.len());
    for row in &rows[..6000] {
        db.write(|tx| tx.update_values(&table, *row, &[(b, Value::U64(numbers.next()))]))?;
    }
    let mut next = 1 << 32;
    for some in rows[..6000].chunks(100) {
        // Each of these deletions takes a tombstone of the reserve, which stays for the old one.
        if delete(&db, &table, some).is_err() {
            break;
        }
        next = fill_with(&db, &table, next)? + 1;
        let memory = db.memory();
        let ordinary_max = memory.budget - memory.reserve / 2;
        if memory.held > ordinary_max {
            let refused = db.write(|tx| tx.insert_values(&table, &values(next, next)));
            assert!(refused.is_err_and(|error| is_full(&error)), "{memory:?}");
            let live = memory.rows;
            let _ = fill_with(&db, &table, next + 1)?;
            assert!(db.memory().rows <= live + 100, "free places there are not for insertions");
        }
    }
    assert!(db.memory().held > db.memory().budget - db.memory().reserve / 2);
    Ok(())
}
