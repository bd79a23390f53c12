//! A database at the end of its budget: what can always be done there.
//!
//! Deleting, rolling back and reclaiming work however full it is, in one transaction of any size
//! and beside an old reader; and what they free can be used again. One thread is enough for all of
//! it: `remanent-simulator soak` does the same with several.

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{Database, Error, ErrorKind, Options, Result, RowId, Table};

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
/// chunk kept back for that was anybody's: in the end nothing could be worked off, nor deleted.
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

/// A deletion that failed left fewer notes than are worked off at a time; the next one found the
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
/// what it had deleted was passed by when everything was reclaimed.
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
/// that; then the database can be filled again.
fn delete_much(db: &Database, table: &Table, step: usize, in_order: bool) -> Result<()> {
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
    assert!(again * 10 > all.len() * 9, "{again} rows fit instead of {}", all.len());
    Ok(())
}

#[test]
fn a_third_or_all_of_a_full_database_is_deleted_in_one_transaction() -> Result<()> {
    for (step, in_order) in [(3, true), (3, false), (1, true), (1, false), (64, true)] {
        let db = open();
        let table = numbers(&db)?;
        fill(&db, &table, &mut Numbers(3))?;
        let deleted = delete_much(&db, &table, step, in_order);
        deleted.inspect_err(|error| eprintln!("each {step}-th, in order: {in_order}: {error}"))?;
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

/// As soon as it is open, and before anything was worked off.
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

/// Rows in columns are deleted a few at a time, each few by a transaction of its own, however full
/// memory is.
#[test]
fn frozen_rows_are_deleted_a_few_at_a_time() -> Result<()> {
    let db = open();
    let table = numbers(&db)?;
    let mut next = fill(&db, &table, &mut Numbers(11))?.len() as u64;
    loop {
        db.freeze_all(&table).ok();
        let end = fill_with(&db, &table, next)?;
        if end == next {
            break;
        }
        next = end;
    }
    let all: Vec<RowId> = db.read(|tx| Ok(tx.scan(&table)?.map(|row| row.id()).collect()))?;
    all.chunks(100).try_for_each(|few| delete(&db, &table, few))?;
    assert_eq!(count(&db, &table)?, 0);
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

/// What others left is worked off without any memory: entries that it leaves behind, here five for
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
