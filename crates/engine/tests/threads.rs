//! Threads that write and read the same rows, against what must hold in every snapshot.
//!
//! Each test keeps four to eight threads busy for about a second: money moves and none is lost;
//! keys are fought over and never held twice; indexes grow and lose nothing that was committed;
//! rows move through an index and are met once each; long readers see one state while rows change
//! and memory is reclaimed under them; indexes come and go. At the end of each, every index is
//! compared with the rows. `REMANENT_SECONDS` makes them run longer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Find, Options, ReadTransaction, Result, Row, RowId, Table,
    WriteTransaction,
};

/// How long a test's threads run.
struct Time {
    until: Instant,
    over: AtomicBool,
}

impl Time {
    fn start() -> Self {
        let seconds = std::env::var("REMANENT_SECONDS").ok().and_then(|text| text.parse().ok());
        let length = seconds.map_or(Duration::from_millis(1200), Duration::from_secs);
        Self { until: Instant::now() + length, over: AtomicBool::new(false) }
    }

    /// Whether there is time left, and no other thread has failed.
    fn is_left(&self) -> bool {
        Instant::now() < self.until && !self.over.load(Ordering::Relaxed)
    }

    /// Runs `work` until the time is over, and ends it for all if `work` fails or panics.
    fn run(&self, mut work: impl FnMut() -> Result<()>) {
        struct EndIfPanicking<'t>(&'t Time);
        impl Drop for EndIfPanicking<'_> {
            fn drop(&mut self) {
                if std::thread::panicking() {
                    self.0.over.store(true, Ordering::Relaxed);
                }
            }
        }
        let _end = EndIfPanicking(self);
        while self.is_left() {
            work().expect("nothing fails but by conflict, which is tried again");
        }
    }
}

/// Random numbers that differ from thread to thread (xorshift64*: Vigna, 2016).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

fn database() -> Database {
    Database::open(Options::new().budget(512 << 20)).expect("the machine has 512 MiB")
}

/// A table of two numbers; `key` in a unique ordered and a unique hash index, `value` in an ordered
/// and a hash index.
fn table_of_pairs(db: &Database) -> Result<Table> {
    let schema = TableSchema::new("Pair")
        .column("key", ColumnType::U64)
        .column("value", ColumnType::I64)
        .primary_key(["key"])
        .unique_hash_index("hash_key", ["key"])
        .ordered_index("by_value", ["value"])
        .hash_index("hash_value", ["value"]);
    db.create_table(schema)
}

fn pair(key: u64, value: i64) -> [Option<Value<'static>>; 2] {
    [Some(Value::U64(key)), Some(Value::I64(value))]
}

fn integer(row: &Row<'_>, leaf: usize) -> i64 {
    let value = row.values().nth(leaf).and_then(|value| value.as_integer());
    value.expect("a number") as i64
}

fn ids(rows: impl Iterator<Item = RowId>) -> Vec<RowId> {
    let mut ids: Vec<_> = rows.collect();
    ids.sort_unstable();
    ids
}

/// Compares every index with the rows that a scan finds.
fn verify(tx: &ReadTransaction<'_>, table: &Table) -> Result<()> {
    let rows: Vec<_> = tx.scan(table)?.collect();
    let expected = ids(rows.iter().map(|row| row.id()));
    for (name, index) in table.indexes() {
        let schema = table.schema().index_by_name(name).expect("a fixed index").1;
        let leaf = if schema.parts[0].column == "key" { 0 } else { 1 };
        if let Ok(mut cursor) = tx.cursor(table, index) {
            let first = cursor.first();
            let found: Vec<_> = std::iter::successors(first, |_| cursor.next()).collect();
            assert_eq!(ids(found.iter().map(|row| row.id())), expected, "{name} forwards");
            assert!(found.is_sorted_by_key(|row| integer(row, leaf)), "{name} is in order");
            let last = cursor.last();
            let found = std::iter::successors(last, |_| cursor.previous());
            assert_eq!(ids(found.map(|row| row.id())), expected, "{name} backwards");
        }
        let mut by_key: BTreeMap<i64, Vec<RowId>> = BTreeMap::new();
        rows.iter().for_each(|row| by_key.entry(integer(row, leaf)).or_default().push(row.id()));
        for (key, expected) in by_key {
            let value = if leaf == 0 { Value::U64(key as u64) } else { Value::I64(key) };
            let mut found = Vec::new();
            tx.each(table, index, &[value], |row| {
                found.push(row.id());
                Ok(())
            })?;
            assert_eq!(ids(found.into_iter()), expected, "{name}, {key}");
            assert!(expected.len() == 1 || !schema.unique, "{name}: {key} twice");
        }
    }
    Ok(())
}

/// Deletes all rows; afterwards none may be left in memory.
fn clear(db: &Database, table: &Table) -> Result<()> {
    db.write(|tx| {
        let rows: Vec<_> = tx.scan(table)?.map(|row| row.id()).collect();
        rows.iter().try_for_each(|row| tx.delete(table, *row))
    })?;
    db.reclaim();
    assert_eq!(db.memory().rows, 0, "versions are left");
    Ok(())
}

const ACCOUNTS: u64 = 40;

fn table_of_accounts(db: &Database) -> Result<Table> {
    let table = table_of_pairs(db)?;
    db.write(|tx| {
        (0..ACCOUNTS).try_for_each(|key| tx.insert_values(&table, &pair(key, 100)).map(|_| ()))
    })?;
    Ok(table)
}

/// Moves money from one account to another.
fn transfer(tx: &WriteTransaction<'_>, table: &Table, random: &mut Random) -> Result<()> {
    let amount = random.below(10) as i64;
    let index = table.index(if amount % 2 == 0 { "primary" } else { "hash_key" })?;
    let value = table.column("value")?;
    for amount in [-amount, amount] {
        let row = tx.find(table, index, &[Value::U64(random.below(ACCOUNTS))])?;
        let row = row.expect("accounts stay");
        let balance = Value::I64(integer(&row, 1) + amount);
        tx.update_values(table, row.id(), &[(value, balance)])?;
    }
    Ok(())
}

/// Adds all balances up, in one of three ways.
fn sum_of_balances(tx: &ReadTransaction<'_>, table: &Table, way: u64) -> Result<i64> {
    let hash = table.index("hash_key")?;
    match way {
        0 => Ok(tx.scan(table)?.map(|row| integer(&row, 1)).sum()),
        1 => {
            let mut cursor = tx.cursor(table, table.index("by_value")?)?;
            let last = cursor.last();
            let rows = std::iter::successors(last, |_| cursor.previous());
            Ok(rows.map(|row| integer(&row, 1)).sum())
        }
        _ => {
            let balance = |key| {
                let row = tx.find(table, hash, &[Value::U64(key)])?;
                Ok(integer(&row.expect("accounts stay"), 1))
            };
            (0..ACCOUNTS).map(balance).sum()
        }
    }
}

/// Money moves between accounts; whoever looks finds the same sum, whichever way. Some transactions
/// are long, so that their commit is seen before all their versions are stamped.
#[test]
fn no_money_is_lost() -> Result<()> {
    let (db, time) = (database(), Time::start());
    let table = table_of_accounts(&db)?;
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                let transfers = if seed == 0 { 300 } else { 1 };
                time.run(|| {
                    db.write(|tx| (0..transfers).try_for_each(|_| transfer(tx, table, &mut random)))
                });
            });
        }
        for way in 0..3 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                time.run(|| {
                    let sum = sum_of_balances(&db.begin_read()?, table, way)?;
                    assert_eq!(sum, 100 * ACCOUNTS as i64, "way {way}");
                    Ok(())
                });
            });
        }
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// There are fewer transaction slots than threads: whoever finds none is told so, and nobody loses
/// one that is held.
#[test]
fn slots_are_fought_over() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20).transactions_max(3))?;
    let time = Time::start();
    let table = table_of_accounts(&db)?;
    std::thread::scope(|scope| {
        for seed in 0..6 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let done = match seed % 3 {
                        0 => db.read(|tx| {
                            let sum = sum_of_balances(tx, table, random.below(3))?;
                            assert_eq!(sum, 100 * ACCOUNTS as i64);
                            Ok(())
                        }),
                        1 => db.write(|tx| transfer(tx, table, &mut random)),
                        _ => {
                            db.reclaim();
                            db.begin_read().map(|_| ())
                        }
                    };
                    match done {
                        Err(error) if error.kind() == ErrorKind::TooManyTransactions => Ok(()),
                        done => done,
                    }
                });
            });
        }
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// Few keys, inserted, deleted and moved to by all: no snapshot may hold one twice, and a success
/// must be one.
#[test]
fn no_key_is_held_twice() -> Result<()> {
    const KEYS: u64 = 6;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let (primary, key) = (table.index("primary")?, table.column("key")?);
    std::thread::scope(|scope| {
        for seed in 0..5 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let (from, to) = (random.below(KEYS), random.below(KEYS));
                    let what = random.below(4);
                    let done = db.write(|tx| {
                        let row = tx.find(table, primary, &[Value::U64(from)])?;
                        match (what, row.map(|row| row.id())) {
                            (0 | 1, Some(row)) => {
                                tx.update_values(table, row, &[(key, Value::U64(to))])
                            }
                            (2, Some(row)) => tx.delete(table, row),
                            _ => tx.insert_values(table, &pair(to, seed as i64)).map(|_| ()),
                        }
                    });
                    match done {
                        Err(error) if error.kind() == ErrorKind::DuplicateKey => Ok(()),
                        done => done,
                    }
                });
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                time.run(|| {
                    let tx = db.begin_read()?;
                    let keys: Vec<_> = tx.scan(&table)?.map(|row| integer(&row, 0)).collect();
                    let distinct: BTreeSet<_> = keys.iter().collect();
                    assert_eq!(keys.len(), distinct.len(), "{keys:?}");
                    verify(&tx, &table)
                });
            });
        }
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// Both kinds of index grow under readers, by dense and by scattered keys: what was committed
/// before a snapshot is found in it, what was never inserted is not.
#[test]
fn growing_indexes_lose_nothing() -> Result<()> {
    const WRITERS: u64 = 4;
    const KEYS_MAX: u64 = 100_000;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let (primary, hash) = (table.index("primary")?, table.index("hash_key")?);
    let committed = [const { AtomicU64::new(0) }; WRITERS as usize];
    let key_of = |writer: u64, i: u64| match writer {
        0 => i,
        1 => 1 << 40 | i << 8,
        _ => (i * WRITERS + writer).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 << 63,
    };
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, table, time, committed) = (&db, &table, &time, &committed);
            scope.spawn(move || {
                let mut next = 0;
                time.run(|| {
                    if next < KEYS_MAX {
                        db.write(|tx| {
                            (next..next + 20).try_for_each(|i| {
                                let row = pair(key_of(writer, i), (i % 1000) as i64);
                                tx.insert_values(table, &row).map(|_| ())
                            })
                        })?;
                        next += 20;
                        committed[writer as usize].store(next, Ordering::Release);
                    }
                    Ok(())
                });
            });
        }
        for seed in 0..3 {
            let (db, table, time, committed) = (&db, &table, &time, &committed);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let writer = random.below(WRITERS);
                    let count = committed[writer as usize].load(Ordering::Acquire);
                    let tx = db.begin_read()?;
                    for _ in 0..50 {
                        let key = key_of(writer, random.below(count.max(1)));
                        let never = key_of(writer, KEYS_MAX + random.below(1000));
                        for index in [primary, hash] {
                            let found = tx.find(table, index, &[Value::U64(key)])?;
                            assert!(found.is_some() || count == 0, "{key:#x}");
                            assert!(tx.find(table, index, &[Value::U64(never)])?.is_none());
                        }
                    }
                    Ok(())
                });
            });
        }
    });
    let tx = db.begin_read()?;
    let rows = committed.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
    assert_eq!(tx.scan(&table)?.count() as u64, rows);
    let mut cursor = tx.cursor(&table, primary)?;
    let first = cursor.first();
    let keys = std::iter::successors(first, |_| cursor.next()).map(|row| integer(&row, 0) as u64);
    let keys: Vec<_> = keys.collect();
    assert!(keys.is_sorted() && keys.len() as u64 == rows);
    Ok(())
}

/// Rows move back and forth through an index while cursors pass: each is met once in a snapshot, by
/// every way to walk, wherever it stands at that moment.
#[test]
fn moving_rows_are_met_once() -> Result<()> {
    const ROWS: u64 = 60;
    const PLACES: i64 = 1 << 20;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let (primary, value) = (table.index("primary")?, table.column("value")?);
    let by_value = table.index("by_value")?;
    db.write(|tx| {
        (0..ROWS).try_for_each(|key| tx.insert_values(&table, &pair(key, 0)).map(|_| ()))
    })?;
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let key = Value::U64(random.below(ROWS));
                    // Now close together, now far apart: nodes come, go and merge.
                    let spread = [4, 300, PLACES as u64][random.below(3) as usize];
                    let place = random.below(spread) as i64 - spread as i64 / 2;
                    let roll_back = random.below(4) == 0;
                    let moved = |tx: &WriteTransaction<'_>| {
                        let row = tx.find(table, primary, &[key])?.expect("rows stay").id();
                        tx.update_values(table, row, &[(value, Value::I64(place))])
                    };
                    if roll_back {
                        let tx = db.begin_write()?;
                        return moved(&tx).or_else(|e| e.is_conflict().then_some(()).ok_or(e));
                    }
                    db.write(moved)
                });
            });
        }
        for seed in 0..3 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 100);
                time.run(|| {
                    let tx = db.begin_read()?;
                    let mut cursor = tx.cursor(table, by_value)?;
                    let middle = [Value::I64(random.below(300) as i64 - 150)];
                    let rows: Vec<_> = match seed {
                        0 => {
                            let first = cursor.first();
                            std::iter::successors(first, |_| cursor.next()).collect()
                        }
                        1 => {
                            let last = cursor.last();
                            std::iter::successors(last, |_| cursor.previous()).collect()
                        }
                        _ => {
                            let from = cursor.find(Find::AtLeast, &middle)?;
                            let mut rows: Vec<_> =
                                std::iter::successors(from, |_| cursor.next()).collect();
                            let below = cursor.find(Find::Below, &middle)?;
                            rows.extend(std::iter::successors(below, |_| cursor.previous()));
                            rows
                        }
                    };
                    let keys: BTreeSet<_> = rows.iter().map(|row| integer(row, 0)).collect();
                    assert_eq!((rows.len(), keys.len()), (ROWS as usize, ROWS as usize));
                    Ok(())
                });
            });
        }
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// One hash chain holds some rows for good and others that come and go: whoever asks for the key
/// gets each of the lasting ones once.
#[test]
fn a_long_hash_chain_loses_nothing() -> Result<()> {
    const LASTING: u64 = 40;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let hash_value = table.index("hash_value")?;
    db.write(|tx| {
        (0..LASTING).try_for_each(|key| tx.insert_values(&table, &pair(key * 1000, 7)).map(|_| ()))
    })?;
    std::thread::scope(|scope| {
        for writer in 0..3 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(writer + 1);
                let mut mine = Vec::new();
                time.run(|| {
                    if mine.len() > 30 || (!mine.is_empty() && random.below(2) == 0) {
                        let row = mine.swap_remove(random.below(mine.len() as u64) as usize);
                        return db.write(|tx| tx.delete(table, row));
                    }
                    let key = 1 + writer + random.below(1 << 40) * 1000;
                    let row = db.write(|tx| match tx.insert_values(table, &pair(key, 7)) {
                        Err(error) if error.kind() == ErrorKind::DuplicateKey => Ok(None),
                        row => row.map(Some),
                    })?;
                    mine.extend(row);
                    Ok(())
                });
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                time.run(|| {
                    let tx = db.begin_read()?;
                    let mut keys = Vec::new();
                    tx.each(&table, hash_value, &[Value::I64(7)], |row| {
                        keys.push(integer(&row, 0));
                        Ok(())
                    })?;
                    let distinct: BTreeSet<_> = keys.iter().copied().collect();
                    assert_eq!(distinct.len(), keys.len(), "a row is met once");
                    let lasting = keys.iter().filter(|key| **key % 1000 == 0).count();
                    assert_eq!(lasting as u64, LASTING);
                    Ok(())
                });
            });
        }
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// Readers hold their snapshots long, over updates, moves, deletions and new rows under the same
/// ids, while memory is reclaimed all the time: what they saw first they see until they end.
#[test]
fn long_readers_see_one_state() -> Result<()> {
    const KEYS: u64 = 50;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let (primary, value) = (table.index("primary")?, table.column("value")?);
    let all = |tx: &ReadTransaction<'_>| -> Result<Vec<(RowId, i64, i64)>> {
        Ok(tx.scan(&table)?.map(|row| (row.id(), integer(&row, 0), integer(&row, 1))).collect())
    };
    std::thread::scope(|scope| {
        for seed in 0..3 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let (key, number) = (random.below(KEYS), random.below(500) as i64);
                    db.write(|tx| {
                        let row = tx.find(table, primary, &[Value::U64(key)])?;
                        match row.map(|row| row.id()) {
                            None => tx.insert_values(table, &pair(key, number)).map(|_| ()),
                            Some(row) if number % 4 == 0 => tx.delete(table, row),
                            Some(row) => {
                                tx.update_values(table, row, &[(value, Value::I64(number))])
                            }
                        }
                    })
                });
            });
        }
        for _ in 0..3 {
            scope.spawn(|| {
                time.run(|| {
                    let tx = db.begin_read()?;
                    let before = all(&tx)?;
                    for _ in 0..5 {
                        std::thread::sleep(Duration::from_millis(2));
                        verify(&tx, &table)?;
                        assert_eq!(all(&tx)?, before);
                        for (row, key, number) in &before {
                            let seen = tx.row(&table, *row)?.expect("it was seen before");
                            assert_eq!((integer(&seen, 0), integer(&seen, 1)), (*key, *number));
                        }
                    }
                    Ok(())
                });
            });
        }
        scope.spawn(|| {
            time.run(|| {
                db.reclaim();
                std::thread::sleep(Duration::from_micros(300));
                Ok(())
            });
        });
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// Indexes and tables come and go while others write, read and reclaim. An index is whole from the
/// moment it can be named, and its handle fails cleanly afterwards.
#[test]
fn indexes_come_and_go() -> Result<()> {
    const KEYS: u64 = 200;
    let (db, time) = (database(), Time::start());
    let table = table_of_pairs(&db)?;
    let value = table.column("value")?;
    let primary = table.index("primary")?;
    db.write(|tx| {
        (0..KEYS).try_for_each(|key| tx.insert_values(&table, &pair(key, 0)).map(|_| ()))
    })?;
    std::thread::scope(|scope| {
        for seed in 0..2 {
            let (db, table, time) = (&db, &table, &time);
            scope.spawn(move || {
                let mut random = Random::new(seed + 1);
                time.run(|| {
                    let key = [Value::U64(random.below(KEYS))];
                    let number = Value::I64(random.below(100) as i64);
                    db.write(|tx| {
                        let row = tx.find(table, primary, &key)?.expect("rows stay").id();
                        tx.update_values(table, row, &[(value, number)])
                    })
                });
            });
        }
        scope.spawn(|| {
            time.run(|| {
                let Ok(late) = table.index("late") else { return Ok(()) };
                let tx = db.begin_read()?;
                let mut cursor = match tx.cursor(&table, late) {
                    Ok(cursor) => cursor,
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::UnknownIndex);
                        return Ok(());
                    }
                };
                let first = cursor.first();
                let rows: Vec<_> = std::iter::successors(first, |_| cursor.next()).collect();
                assert_eq!(rows.len() as u64, KEYS);
                assert!(rows.is_sorted_by_key(|row| integer(row, 1)));
                Ok(())
            });
        });
        scope.spawn(|| {
            time.run(|| {
                db.reclaim();
                let side = TableSchema::new("Side").column("a", ColumnType::U8).primary_key(["a"]);
                let side = db.create_table(side)?;
                db.write(|tx| tx.insert_values(&side, &[Some(Value::U8(1))]))?;
                let late = db.create_index(&table, IndexSchema::new("late", ["value"]))?;
                std::thread::sleep(Duration::from_millis(10));
                db.drop_index(&table, late)?;
                db.drop_table(&side)
            });
        });
    });
    verify(&db.begin_read()?, &table)?;
    clear(&db, &table)
}

/// Many transactions at a time, as a server has them: their slots are made when they are needed,
/// from several threads at once, and an old snapshot in one of the last holds back what it sees.
#[test]
fn thousands_of_transactions_at_a_time() {
    const READERS: usize = 1500;
    let db = Database::open(Options::new().budget(64 << 20)).expect("it opens");
    let held = db.memory().held;
    let table = db
        .create_table(TableSchema::new("One").column("value", ColumnType::U64))
        .expect("there is memory");
    let value = table.column("value").expect("it is there");
    let row = db.write(|tx| tx.insert_values(&table, &[Some(7u64.into())])).expect("there is room");
    let begin = || (0..READERS / 2).map(|_| db.begin_read().expect("there are slots"));
    std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| begin().collect::<Vec<_>>()));
        let readers = threads.map(|thread| thread.join().expect("no thread panics"));
        for new in 0..100u64 {
            db.write(|tx| tx.update_values(&table, row, &[(value, new.into())])).expect("no other");
        }
        db.reclaim();
        for reader in readers.iter().flatten() {
            let seen = reader.row(&table, row).expect("it is there").and_then(|row| row.get(value));
            assert_eq!(seen, Some(7u64));
        }
    });
    let slots = (READERS * 256) as u64;
    assert!(db.memory().held < held + slots * 2 + (256 << 10), "slots take 256 bytes");
    assert!(held < 64 << 10, "{held} bytes for an empty database");
}
