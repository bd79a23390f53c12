//! Bad days: memory that runs out at every place where it can.
//!
//! A small workload of every kind of change, with freezing in its midst, is run again and again;
//! the first time its first allocation fails, then its second, and so on until none does. Each
//! failure is a clean error of one statement, after which the transaction can go on or be rolled
//! back; the rows are those of the model, and once the table is dropped all memory is back, to the
//! byte. Then databases that are really small are filled to the brim and emptied, twenty times
//! over, with nothing lost.

use std::collections::BTreeMap;

use remanent_engine::schema::{ColumnType, IndexSchema, KeyPart, TableSchema, Value};
use remanent_engine::{
    CallerMemory, Database, Error, ErrorKind, MemoryUse, Options, Result, RowId, Savepoint, Table,
    WriteTransaction,
};

/// The workload has more allocations than this, and fewer than that.
const ALLOCATIONS_MIN: u64 = 400;
const ALLOCATIONS_MAX: u64 = 900;

/// What a row holds besides its key.
type Content = (String, Option<u32>);
/// The rows of the table, by key.
type Rows = BTreeMap<u32, Content>;

/// What a workload does when a statement fails for lack of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum After {
    /// Roll the transaction back and stop.
    Stop,
    /// Let memory be there again, do the same statement again, and go on.
    GoOn,
}

/// A run of the workload.
struct Workload<'db> {
    db: &'db Database,
    after: After,
    committed: Rows,
}

/// A transaction of the workload with the rows as it sees them.
struct Changes<'w, 'db> {
    workload: &'w Workload<'db>,
    tx: WriteTransaction<'db>,
    rows: Rows,
}

fn small_schema() -> TableSchema {
    TableSchema::new("T")
        .column("key", ColumnType::U32)
        .column("name", ColumnType::String { max: None })
        .nullable_column("code", ColumnType::U32)
        .primary_key(["key"])
}

fn schema() -> TableSchema {
    small_schema()
        .ordered_index("by_name", [KeyPart::desc("name"), KeyPart::asc("key")])
        .unique_index("by_code", ["code"])
        .hash_index("hash_name", ["name"])
}

/// Names that share more than a node's prefix, some of them too long for a block.
fn name(key: u32) -> String {
    let stem = if key.is_multiple_of(17) { 400 } else { 30 };
    format!("{}{}", "n".repeat(stem), key % 7)
}

fn content(key: u32) -> Content {
    (name(key), (!key.is_multiple_of(3)).then_some(key + 1000))
}

fn check_kind(error: &Error) {
    assert_eq!(error.kind(), ErrorKind::BudgetReached, "{error}");
    assert!(error.is_out_of_memory());
}

impl<'db> Workload<'db> {
    /// Does something that may fail for lack of memory, once more if this run goes on.
    fn attempt<T>(&self, mut work: impl FnMut() -> Result<T>) -> Result<T> {
        match work() {
            Err(error) if self.after == After::GoOn => {
                check_kind(&error);
                self.db.fail_allocations_from(0);
                work()
            }
            done => done.inspect_err(check_kind),
        }
    }

    fn run(&mut self) -> Result<()> {
        let table = self.attempt(|| self.db.create_table(schema()))?;
        self.transaction(&table, |changes| {
            (0..70).try_for_each(|key| changes.insert(&table, key * 5, content(key * 5)))
        })?;
        self.transaction(&table, |changes| {
            for key in (0..300).step_by(15) {
                changes.update(&table, key, (name(key + 1), Some(key)))?;
            }
            let savepoint = changes.savepoint();
            for key in 0..20 {
                changes.insert(&table, 1_000_000 + key, content(1_000_000 + key))?;
                changes.update(&table, 1_000_000 + key, content(1_000_040 + key))?;
            }
            changes.delete(&table, 5)?;
            changes.roll_back_to(savepoint)?;
            changes.update(&table, 10, (name(10), None))
        })?;
        self.attempt(|| self.db.freeze_all(&table))?;
        self.transaction(&table, |changes| {
            for key in (0..300).step_by(45) {
                changes.update(&table, key, (name(key + 2), Some(key + 2_000_000)))?;
            }
            changes.delete(&table, 335)
        })?;
        let late = IndexSchema::new("late", ["code", "name"]);
        let late = self.attempt(|| self.db.create_index(&table, late.clone()))?;
        let hash = IndexSchema::new("late_hash", ["key"]).hash().unique();
        self.attempt(|| self.db.create_index(&table, hash.clone()))?;
        self.transaction(&table, |changes| {
            (0..200).step_by(10).try_for_each(|key| changes.delete(&table, key))?;
            (0..100).step_by(10).try_for_each(|key| changes.insert(&table, key, content(key)))?;
            changes.update(&table, 0, (name(1), Some(1)))?;
            changes.update(&table, 0, content(0))
        })?;
        self.db.drop_index(&table, late)?;
        self.transaction(&table, |changes| {
            let keys: Vec<_> = changes.rows.keys().copied().collect();
            keys.iter().step_by(2).try_for_each(|key| changes.delete(&table, *key))
        })
    }

    fn transaction(
        &mut self,
        table: &Table,
        change: impl FnOnce(&mut Changes<'_, 'db>) -> Result<()>,
    ) -> Result<()> {
        let tx = self.attempt(|| self.db.begin_write())?;
        let mut changes = Changes { workload: self, tx, rows: self.committed.clone() };
        change(&mut changes)?;
        let Changes { tx, rows, .. } = changes;
        self.attempt(|| check(&tx, table, &rows))?;
        tx.commit()?;
        self.committed = rows;
        Ok(())
    }
}

impl Changes<'_, '_> {
    fn insert(&mut self, table: &Table, key: u32, content: Content) -> Result<()> {
        let values = [Some(Value::U32(key)), Some(Value::String(&content.0)), code(&content)];
        self.workload.attempt(|| self.tx.insert_values(table, &values))?;
        self.rows.insert(key, content);
        Ok(())
    }

    fn update(&mut self, table: &Table, key: u32, content: Content) -> Result<()> {
        let row = self.row(table, key)?;
        let values = [
            (table.column("name")?, Value::String(&content.0)),
            (table.column("code")?, code(&content).unwrap_or(Value::Null)),
        ];
        self.workload.attempt(|| self.tx.update_values(table, row, &values))?;
        self.rows.insert(key, content);
        Ok(())
    }

    /// Deleting never fails: it may use the reserve.
    fn delete(&mut self, table: &Table, key: u32) -> Result<()> {
        self.tx.delete(table, self.row(table, key)?).expect("the reserve is there");
        self.rows.remove(&key);
        Ok(())
    }

    fn row(&self, table: &Table, key: u32) -> Result<RowId> {
        let (index, key) = (table.index("primary")?, [Value::U32(key)]);
        let found = |tx: &WriteTransaction<'_>| Ok(tx.find(table, index, &key)?.map(|it| it.id()));
        let row = self.workload.attempt(|| found(&self.tx))?;
        Ok(row.expect("the model has it"))
    }

    fn savepoint(&self) -> (Savepoint, Rows) {
        (self.tx.savepoint(), self.rows.clone())
    }

    fn roll_back_to(&mut self, (savepoint, rows): (Savepoint, Rows)) -> Result<()> {
        self.tx.roll_back_to(savepoint).expect("rolling back needs no memory");
        self.rows = rows;
        Ok(())
    }
}

fn code(content: &Content) -> Option<Value<'static>> {
    content.1.map(Value::U32)
}

/// Compares the rows with the model, by the scan and by every index.
fn check(tx: &WriteTransaction<'_>, table: &Table, rows: &Rows) -> Result<()> {
    let read = |row: &remanent_engine::Row<'_>| {
        let values: Vec<_> = row.values().collect();
        let key = values[0].as_integer().expect("a number") as u32;
        let name = values[1].as_str().expect("a text").to_owned();
        (key, (name, values[2].as_integer().map(|code| code as u32)))
    };
    let scanned: Rows = tx.scan(table)?.map(|row| read(&row)).collect();
    tx.status()?;
    assert_eq!(&scanned, rows, "the scan");
    for (index_name, index) in table.indexes() {
        if let Ok(mut cursor) = tx.cursor(table, index) {
            let first = cursor.first();
            let listed: Vec<_> = std::iter::successors(first, |_| cursor.next()).collect();
            tx.status()?;
            assert_eq!(listed.len(), rows.len(), "{index_name}");
            assert_eq!(&listed.iter().map(read).collect::<Rows>(), rows, "{index_name}");
            continue;
        }
        for (key, content) in rows {
            let value = match index_name {
                "hash_name" => Value::String(&content.0),
                _ => Value::U32(*key),
            };
            let mut found = 0;
            tx.each(table, index, &[value], |row| {
                found += u32::from(read(&row).0 == *key);
                Ok(())
            })?;
            assert_eq!(found, 1, "{index_name}: {key}");
        }
    }
    Ok(())
}

/// Bytes in use by purpose, and pages.
fn in_use(memory: MemoryUse) -> [u64; 5] {
    [memory.rows, memory.segments, memory.indexes, memory.internal, memory.held]
}

/// Runs the workload with allocations failing from the n-th on, and gives back how it ended.
fn run_with_failures(n: u64, after: After) -> Result<()> {
    let db = Database::open(Options::new().budget(16 << 20))?;
    // The slot's own memory stays with it.
    drop(db.begin_write()?);
    db.reclaim();
    let before = in_use(db.memory());
    let mut workload = Workload { db: &db, after, committed: Rows::new() };
    db.fail_allocations_from(n);
    let done = workload.run();
    db.fail_allocations_from(0);
    let committed = workload.committed;
    if let Ok(table) = db.table("T") {
        check(&db.begin_write()?, &table, &committed)?;
        // Memory is there again, and all is well.
        let mut rest = Workload { db: &db, after: After::Stop, committed };
        rest.transaction(&table, |changes| {
            (0..40)
                .try_for_each(|key| changes.insert(&table, 2_000_000 + key, content(key + 50_000)))
        })?;
        rest.transaction(&table, |changes| {
            let keys: Vec<_> = changes.rows.keys().copied().collect();
            keys.iter().try_for_each(|key| changes.delete(&table, *key))
        })?;
        db.reclaim();
        assert_eq!(db.memory().rows, 0, "n = {n}");
        db.drop_table(&table)?;
    }
    db.reclaim();
    assert_eq!(in_use(db.memory()), before, "n = {n}, {after:?}");
    done
}

/// Runs the workload with its n-th allocation failing, n = 1, 2, ..., while `more` says so.
fn fail_each(after: After, mut more: impl FnMut(u64, Result<()>) -> bool) {
    for n in 1.. {
        let done = std::panic::catch_unwind(|| run_with_failures(n, after));
        let done = done.unwrap_or_else(|_| panic!("when allocation {n} failed"));
        if !more(n, done) {
            return;
        }
    }
}

/// Every allocation of the workload fails, and all after it; the transaction is rolled back.
#[test]
fn a_transaction_that_memory_fails_leaves_nothing() {
    let mut allocations = 0;
    fail_each(After::Stop, |n, done| {
        allocations = n;
        done.is_err()
    });
    let usual = ALLOCATIONS_MIN..ALLOCATIONS_MAX;
    assert!(usual.contains(&allocations), "{allocations}: then the next test leaves some out");
}

/// Every allocation of the workload fails once; the statement is repeated and the work goes on.
#[test]
fn a_statement_that_memory_fails_can_be_repeated() {
    fail_each(After::GoOn, |n, done| {
        done.expect("it goes on to its end");
        n < ALLOCATIONS_MAX
    });
}

/// Databases with a table each that are as small as databases get; with a seed that is given, for
/// how many rows they hold depends on where entries lie.
fn tiny_databases() -> Result<Vec<(&'static str, Database, Table)>> {
    let memory = CallerMemory::from_vec(vec![0xff; 1_000_000]);
    let small = Database::open(Options::new().budget(256 << 10).transactions_max(8).hash_seed(0))?;
    let large = Database::open(Options::new().budget(1 << 20).hash_seed(0))?;
    let callers = Database::open(Options::new().caller_memory(memory).hash_seed(0))?;
    // A page of 16 KiB for each size of block: four indexes want more than 256 KiB.
    let table = small.create_table(small_schema())?;
    let mut databases = vec![("256 KiB", small, table)];
    for (what, db) in [("1 MiB", large), ("1,000,000 bytes of the caller's", callers)] {
        let table = db.create_table(schema())?;
        databases.push((what, db, table));
    }
    Ok(databases)
}

/// Inserts rows, some in each transaction, until there is no memory; gives their number.
fn fill(db: &Database, table: &Table, in_each: u32) -> Result<u32> {
    let mut next = 0;
    loop {
        let tx = db.begin_write()?;
        for key in next..next + in_each {
            let name = name(key);
            let values = [Some(Value::U32(key)), Some(Value::String(&name)), None];
            if let Err(error) = tx.insert_values(table, &values) {
                check_kind(&error);
                // What this transaction did is taken back, what others did is there.
                tx.roll_back();
                drop(tx);
                assert_eq!(db.read(|tx| Ok(tx.scan(table)?.count()))?, next as usize);
                return Ok(next);
            }
        }
        tx.commit()?;
        next += in_each;
    }
}

/// Deletes all rows, some in each transaction. It succeeds however full the database is.
fn empty(db: &Database, table: &Table) -> Result<()> {
    loop {
        let deleted = db.write(|tx| {
            let rows: Vec<_> = tx.scan(table)?.take(20).map(|row| row.id()).collect();
            rows.iter().try_for_each(|row| tx.delete(table, *row))?;
            Ok(rows.len())
        })?;
        if deleted == 0 {
            return Ok(());
        }
    }
}

/// A really full database can be emptied and filled again, as often as one likes.
#[test]
fn tiny_databases_are_filled_and_emptied() -> Result<()> {
    for (what, db, table) in tiny_databases()? {
        let first = fill(&db, &table, 7)?;
        assert!(first > 10, "{what} hold {first} rows");
        let mut least = db.memory();
        for round in 0..20 {
            empty(&db, &table)?;
            db.reclaim();
            let memory = db.memory();
            assert_eq!(memory.rows, 0, "{what}, round {round}");
            if round == 0 {
                least = memory;
            }
            assert!(memory.held <= least.held + (32 << 10), "{what}: {memory:?} after {least:?}");
            let rows = fill(&db, &table, if round % 2 == 0 { 7 } else { 1 })?;
            assert!(rows.abs_diff(first) <= first / 20 + 7, "{what}: {rows} rows, first {first}");
            assert!(db.memory().held <= db.memory().budget);
        }
    }
    Ok(())
}

/// One transaction takes all the memory there is; rolling it back needs none and returns all.
#[test]
fn a_transaction_as_large_as_the_database_rolls_back() -> Result<()> {
    for (what, db, table) in tiny_databases()? {
        let mut sizes = Vec::new();
        for _ in 0..10 {
            assert_eq!(fill(&db, &table, u32::MAX)?, 0);
            db.reclaim();
            sizes.push(in_use(db.memory())[..4].to_vec());
            assert_eq!(db.memory().rows, 0, "{what}");
        }
        // The hash index keeps its buckets and the directory its slots.
        sizes.dedup();
        assert!(sizes.len() <= 2, "{what}: {sizes:?}");
        assert!(fill(&db, &table, 5)? > 10);
    }
    Ok(())
}

/// A full database refuses to grow, but what does not grow it goes on: reading, and statements
/// taken back; and a reader in the way of reclaiming makes deletions fail cleanly at worst.
#[test]
fn a_full_database_still_works() -> Result<()> {
    for (what, db, table) in tiny_databases()? {
        let rows = fill(&db, &table, 1)?;
        let reader = db.begin_read()?;
        let mut deleted = 0;
        let refused = loop {
            let done = db.write(|tx| {
                let row = tx.scan(&table)?.next().map(|row| row.id());
                row.map_or(Ok(false), |row| tx.delete(&table, row).map(|()| true))
            });
            match done {
                Ok(true) => deleted += 1,
                Ok(false) => break None,
                Err(error) => break Some(error),
            }
        };
        refused.iter().for_each(check_kind);
        assert!(deleted > 10, "{what}: the reserve was enough for {deleted} deletions");
        assert_eq!(reader.scan(&table)?.count(), rows as usize);
        drop(reader);
        // What the reader pinned is freed by the writers that come now: the first may be too early.
        empty(&db, &table).err().iter().for_each(check_kind);
        empty(&db, &table)?;
        let again = fill(&db, &table, 1)?;
        assert!(again.abs_diff(rows) <= rows / 10 + 7, "{what}: {again} rows, first {rows}");
    }
    Ok(())
}
