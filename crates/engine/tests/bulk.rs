//! Many rows with one statement: the same rows and indexes as one by one, whatever the order and
//! the keys, whatever is in the table already, and whoever else is there.
//!
//! Each database is compared with one in which the same rows were inserted one by one: by scan, by
//! each key, in the order of each ordered index. What fails leaves nothing behind.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use remanent_engine::schema::{ColumnType, ColumnValues, IndexSchema, KeyPart, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, IndexHandle, Options, ReadTransaction, Result, Row, Table,
};

/// A row: a number, a longer number, a text.
type Content = (u32, u64, String);

fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("number", ColumnType::U32)
        .column("long", ColumnType::U64)
        .column("text", ColumnType::STRING)
        .primary_key(["number"])
        .unique_index("by_long", ["long"])
        .ordered_index("by_text", [KeyPart::asc("text")])
        .ordered_index("by_both", [KeyPart::desc("text"), KeyPart::asc("long")])
        .hash_index("hashed", ["text"])
        .index(IndexSchema::new("unique_hash", ["number"]).hash().unique())
}

fn open() -> Result<(Database, Table)> {
    let db = Database::open(Options::new().budget(128 << 20))?;
    let table = db.create_table(schema())?;
    Ok((db, table))
}

fn values(content: &Content) -> [Option<Value<'_>>; 3] {
    [Some(content.0.into()), Some(content.1.into()), Some(content.2.as_str().into())]
}

fn content(table: &Table, row: Row<'_>) -> Result<Content> {
    let get = |name| table.column(name);
    Ok((
        row.get::<u32>(get("number")?).expect("it is not null"),
        row.get::<u64>(get("long")?).expect("it is not null"),
        row.str(get("text")?).expect("it is not null").to_owned(),
    ))
}

/// All rows: by scan, sorted; then in the order of each ordered index.
fn everything(tx: &ReadTransaction<'_>, table: &Table) -> Result<Vec<Vec<Content>>> {
    let scan: Result<Vec<Content>> = tx.scan(table)?.map(|row| content(table, row)).collect();
    let mut scan = scan?;
    scan.sort();
    let in_order = |index: IndexHandle| -> Result<Vec<Content>> {
        let mut cursor = tx.cursor(table, index)?;
        let (mut next, mut met) = (cursor.first(), Vec::new());
        while let Some(row) = next {
            met.push(content(table, row)?);
            next = cursor.next();
        }
        Ok(met)
    };
    let mut all = vec![scan];
    for name in ["primary", "by_long", "by_text", "by_both"] {
        let mut met = in_order(table.index(name)?)?;
        // Rows of one text are in no order among each other.
        if name == "by_text" {
            assert!(met.is_sorted_by_key(|row| row.2.clone()));
            met.sort();
        }
        all.push(met);
    }
    Ok(all)
}

/// Each row is found by each of its keys.
fn check_keys(tx: &ReadTransaction<'_>, table: &Table) -> Result<()> {
    for row in tx.scan(table)? {
        let (number, long, text) = content(table, row)?;
        for name in ["primary", "unique_hash"] {
            let found = tx.find(table, table.index(name)?, &[number.into()])?;
            assert_eq!(found.map(|found| found.id()), Some(row.id()));
        }
        let found = tx.find(table, table.index("by_long")?, &[long.into()])?;
        assert_eq!(found.map(|found| found.id()), Some(row.id()));
        for name in ["by_text", "hashed"] {
            let found = tx.find(table, table.index(name)?, &[text.as_str().into()])?;
            assert!(found.is_some());
        }
    }
    Ok(())
}

/// The rows that go in one by one, the others being refused.
fn one_by_one(db: &Database, table: &Table, rows: &[Content]) -> Result<()> {
    rows.iter().try_for_each(|row| match db.write(|tx| tx.insert_values(table, &values(row))) {
        Err(error) if error.kind() == ErrorKind::DuplicateKey => Ok(()),
        done => done.map(|_| ()),
    })
}

/// Texts that share much, are short, or have bytes of all kinds.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab]{0,3}",
        "a common beginning of all [a-c]{1,4}",
        "[a-z]{9,12}",
        Just("\u{1f9f2}\u{0}".to_owned()),
    ]
}

/// Numbers next to each other, far apart, and in between.
fn rows(count: usize) -> impl Strategy<Value = Vec<Content>> {
    let number = prop_oneof![0..2000_u32, (0..40_u32).prop_map(|n| n << 24 | n), any::<u32>()];
    let long = prop_oneof![0..3000_u64, any::<u64>(), (0..3_u64).prop_map(|n| n << 60)];
    vec((number, long, texts()), 0..count)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60,
        failure_persistence: None,
        ..Default::default()
    })]

    /// Whatever goes in one by one goes in at once, into an empty table or among other rows.
    #[test]
    fn rows_at_once_are_the_rows_one_by_one(
        before in rows(300),
        mut batch in rows(900),
        sorted in any::<bool>(),
    ) {
        if sorted {
            batch.sort();
        }
        let (db, table) = open().expect("it opens");
        one_by_one(&db, &table, &before).expect("there is memory");
        let first = db.read(|tx| everything(tx, &table)).expect("there are slots");
        one_by_one(&db, &table, &batch).expect("there is memory");
        let wanted = db.read(|tx| everything(tx, &table)).expect("there are slots");
        let taken: BTreeSet<&Content> = wanted[0].iter().collect();
        let known: BTreeSet<&Content> = first[0].iter().collect();
        let fresh: Vec<&Content> = {
            let mut seen = BTreeSet::new();
            batch.iter().filter(|row| taken.contains(row) && !known.contains(row))
                .filter(|row| seen.insert(*row)).collect()
        };
        let (db, table) = open().expect("it opens");
        one_by_one(&db, &table, &before).expect("there is memory");
        let fresh_rows = || fresh.iter().map(|row| values(row));
        let count = db.write(|tx| tx.insert_all_values(&table, fresh_rows()));
        prop_assert_eq!(count.expect("none is refused"), fresh.len() as u64);
        let tx = db.begin_read().expect("there are slots");
        prop_assert_eq!(&everything(&tx, &table).expect("it is there"), &wanted);
        check_keys(&tx, &table).expect("it is there");
        drop(tx);
        // A batch with a key that is there is refused as a whole.
        let refused = db.write(|tx| tx.insert_all_values(&table, batch.iter().map(values)));
        let whole = fresh.len() == batch.len() && batch.is_empty();
        prop_assert_eq!(refused.is_ok(), whole);
        prop_assert_eq!(db.read(|tx| everything(tx, &table)).expect("it is there"), wanted);
    }
}

/// Rows of many batches, in order and not: each batch meets what those before it have left.
#[test]
fn many_batches_follow_each_other() -> Result<()> {
    const COUNT: u32 = 70_000;
    for multiplier in [1, 0x9e37_79b1_u32] {
        let (db, table) = open()?;
        let row = |i: u32| {
            let number = i.wrapping_mul(multiplier);
            [Some(number.into()), Some((u64::from(i) << 20).into()), Some("t".into())]
        };
        let tx = db.begin_write()?;
        let savepoint = tx.savepoint();
        for _ in 0..2 {
            tx.roll_back_to(savepoint)?;
            assert_eq!(tx.scan(&table)?.count(), 0);
            let count = tx.insert_all_values(&table, (0..COUNT).map(row))?;
            assert_eq!(count, u64::from(COUNT));
        }
        tx.commit()?;
        let tx = db.begin_read()?;
        let all = everything(&tx, &table)?;
        assert!(all.iter().all(|rows| rows.len() == COUNT as usize));
        assert!(all[1].is_sorted_by_key(|row| row.0) && all[2].is_sorted_by_key(|row| row.1));
    }
    Ok(())
}

/// Memory fails at every place where it can: the statement fails cleanly and leaves nothing, or
/// succeeds whole.
#[test]
fn memory_fails_at_every_place() -> Result<()> {
    let (db, table) = open()?;
    let rows: Vec<Content> =
        (0..600).map(|i| (i * 77 % 4001, u64::from(i) << 33, format!("text {}", i % 7))).collect();
    let fill = || db.write(|tx| tx.insert_all_values(&table, rows.iter().map(values)));
    let mut failures = 0;
    for n in 1.. {
        db.fail_allocations_from(n);
        let filled = fill();
        db.fail_allocations_from(0);
        let all = db.read(|tx| everything(tx, &table))?;
        match filled {
            Ok(count) => {
                assert_eq!((count, all[0].len()), (600, 600));
                break;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::BudgetReached);
                assert!(all.iter().all(Vec::is_empty), "after failure {n}");
                failures += 1;
            }
        }
    }
    assert!(failures > 100, "memory failed {failures} times");
    db.read(|tx| check_keys(tx, &table))
}

/// Threads insert batches that lie between each other's keys, some of which are taken back, beside
/// one that inserts row by row: at the end all that was committed is there.
#[test]
fn batches_go_in_side_by_side() -> Result<()> {
    let (db, table) = open()?;
    let done = AtomicBool::new(false);
    let row = |number: u32| (number, u64::from(number) * 3, format!("{}", number % 5));
    let singles = std::thread::scope(|scope| -> Result<u32> {
        let (db, table, done) = (&db, &table, &done);
        let threads: Vec<_> = (0..2_u32)
            .map(|thread| {
                scope.spawn(move || -> Result<()> {
                    for round in 0..20 {
                        let numbers = (0..500).map(|i| (round * 500 + i) * 4 + thread);
                        let rows: Vec<Content> = numbers.map(row).collect();
                        let tx = db.begin_write()?;
                        tx.insert_all_values(table, rows.iter().map(values))?;
                        if round % 3 == 0 {
                            drop(tx);
                            let again = || {
                                db.write(|tx| tx.insert_all_values(table, rows.iter().map(values)))
                            };
                            again()?;
                        } else {
                            tx.commit()?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        let single = scope.spawn(move || -> Result<u32> {
            let mut count = 0;
            while !done.load(Ordering::Relaxed) {
                db.write(|tx| tx.insert_values(table, &values(&row(count * 4 + 2))))?;
                count += 1;
            }
            Ok(count)
        });
        threads.into_iter().try_for_each(|thread| thread.join().expect("it runs to its end"))?;
        done.store(true, Ordering::Relaxed);
        single.join().expect("it runs to its end")
    })?;
    let tx = db.begin_read()?;
    let all = everything(&tx, &table)?;
    assert!(all.iter().all(|rows| rows.len() == (20_000 + singles) as usize));
    check_keys(&tx, &table)
}

/// Two transactions with batches that share a key: the second waits or is told, and either way no
/// key is there twice.
#[test]
fn a_key_of_two_batches_is_there_once() -> Result<()> {
    let (db, table) = open()?;
    let row = |number: u32| (number, u64::from(number), "t".to_owned());
    let rows = |from: u32| (from..from + 300).map(row).collect::<Vec<_>>();
    let (first, second) = (db.begin_write()?, db.begin_write()?);
    first.insert_all_values(&table, rows(0).iter().map(values))?;
    let refused = second.insert_all_values(&table, rows(299).iter().map(values)).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Conflict);
    assert_eq!(second.scan(&table)?.count(), 0);
    drop(second);
    let second = db.begin_write()?;
    second.insert_all_values(&table, rows(300).iter().map(values))?;
    first.commit()?;
    second.commit()?;
    assert_eq!(db.read(|tx| everything(tx, &table))?[1].len(), 600);
    Ok(())
}

/// One key of many is there already, in the only index: the statement is refused, however often it
/// is tried.
#[test]
fn a_single_key_that_is_there_refuses_all() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let schema = TableSchema::new("T").column("key", ColumnType::U32);
    for (name, table) in [
        ("ordered", db.create_table(schema.clone().primary_key(["key"]))?),
        ("hash", {
            let hash = IndexSchema::new("hash", ["key"]).hash().unique();
            db.create_table(TableSchema { name: "U".into(), ..schema }.index(hash))?
        }),
    ] {
        let rows = |keys: std::ops::Range<u32>| keys.map(|key| [Some(Value::U32(key))]);
        db.write(|tx| tx.insert_all_values(&table, rows(0..10)))?;
        for _ in 0..3 {
            let refused = db.write(|tx| tx.insert_all_values(&table, rows(9..300)));
            assert_eq!(
                refused.map_err(|error| error.kind()),
                Err(ErrorKind::DuplicateKey),
                "{name}"
            );
            assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 10);
        }
        db.write(|tx| tx.insert_all_values(&table, rows(10..300)))?;
        assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 300);
    }
    Ok(())
}

/// All rows as text, in no order of their ids.
fn shown(tx: &ReadTransaction<'_>, table: &Table) -> Result<Vec<String>> {
    let columns: Result<Vec<_>> =
        (0..table.schema().columns.len()).map(|leaf| table.column_at(leaf)).collect();
    let columns = columns?;
    let show = |row: Row<'_>| {
        columns.iter().map(|it| row.value(*it).to_string()).collect::<Vec<_>>().join("|")
    };
    let mut rows: Vec<String> = tx.scan(table)?.map(show).collect();
    rows.sort();
    Ok(rows)
}

/// Rows out of columns are the rows that single values make, whatever the columns are of, and a
/// value that is refused leaves nothing behind.
#[test]
fn rows_out_of_columns() -> Result<()> {
    let db = Database::open(Options::new().budget(64 << 20))?;
    let schema = TableSchema::new("T")
        .column("id", ColumnType::I64)
        .column("day", ColumnType::Date)
        .column("price", ColumnType::Decimal { precision: 6, scale: 2 })
        .column("name", ColumnType::String { max: Some(12) })
        .nullable_column("note", ColumnType::STRING)
        .nullable_column("large", ColumnType::Decimal { precision: 30, scale: 0 })
        .primary_key(["id"])
        .ordered_index("by_name", ["name"]);
    let table = db.create_table(schema.clone())?;
    let one_by_one = db.create_table(TableSchema { name: "Other".into(), ..schema })?;
    let count = 5000;
    let ids: Vec<i64> = (0..count as i64).map(|i| i * 7919 % 5000 - 100).collect();
    let days: Vec<i32> = (0..count).map(|i| i as i32 - 400).collect();
    let mut prices: Vec<i128> = (0..count).map(|i| i as i128 * 399 - 999_999).collect();
    let mut names: Vec<String> = (0..count).map(|i| format!("name {}", i % 97)).collect();
    let note_of = |i: usize| format!("note {i}");
    let notes: Vec<_> = (0..count).map(|i| (i % 3 > 0).then(|| note_of(i))).collect();
    let insert = |prices: &[i128], names: &[String]| {
        let name = |i: usize| names[i].as_str();
        let note = |i: usize| notes[i].as_deref().map(Value::String);
        let large = |i: usize| Some(Value::Decimal(i as i128 * 10_i128.pow(20)));
        let columns = [
            ColumnValues::I64(&ids),
            ColumnValues::I32(&days),
            ColumnValues::Decimal(prices),
            ColumnValues::Text(&name),
            ColumnValues::Any(&note),
            ColumnValues::Any(&large),
        ];
        db.write(|tx| tx.insert_columns(&table, &columns, count))
    };
    let limit = std::mem::replace(&mut prices[4000], 1_000_000);
    assert_eq!(insert(&prices, &names).unwrap_err().kind(), ErrorKind::ValueOutOfRange);
    prices[4000] = limit;
    let short = std::mem::replace(&mut names[4000], "a name too long".to_owned());
    assert_eq!(insert(&prices, &names).unwrap_err().kind(), ErrorKind::ValueTooLong);
    names[4000] = short;
    assert_eq!(db.read(|tx| Ok(tx.scan(&table)?.count()))?, 0);
    assert_eq!(insert(&prices, &names)?, count as u64);
    assert_eq!(insert(&prices, &names).unwrap_err().kind(), ErrorKind::DuplicateKey);
    db.write(|tx| {
        (0..count).try_for_each(|i| {
            let row = [
                Some(Value::I64(ids[i])),
                Some(Value::Date(days[i])),
                Some(Value::Decimal(prices[i])),
                Some(Value::String(&names[i])),
                notes[i].as_deref().map(Value::String),
                Some(Value::Decimal(i as i128 * 10_i128.pow(20))),
            ];
            tx.insert_values(&one_by_one, &row).map(|_| ())
        })
    })?;
    let tx = db.begin_read()?;
    assert!(shown(&tx, &table)? == shown(&tx, &one_by_one)?);
    for (table, id) in [(&table, ids[4321]), (&one_by_one, ids[4321])] {
        let found = tx.find(table, table.index("primary")?, &[Value::I64(id)])?;
        assert_eq!(found.and_then(|row| row.get::<i64>(table.column_at(0).ok()?)), Some(id));
    }
    Ok(())
}
