//! What counts as read: each way of asking, against changes that do and do not meet what was asked.
//!
//! Each case opens a transaction, asks something, lets another transaction change something and
//! commit, changes an unrelated row, and commits: that is refused exactly if the answer would now
//! be another one. The names of the cases say what was asked and what was changed.

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Find, IndexHandle, Isolation, Options, Result, Row, RowId, Table,
    TransactionOptions, WriteTransaction,
};

/// A table of rows (id, city, name) with ids 10, 20, .. 90 in cities 1, 2, 3.
struct Towns {
    db: Database,
    table: Table,
    primary: IndexHandle,
    by_city: IndexHandle,
    by_name: IndexHandle,
}

type Ask = fn(&Towns, &WriteTransaction<'_>) -> Result<()>;
type Change = fn(&Towns, &WriteTransaction<'_>) -> Result<()>;

impl Towns {
    fn new() -> Result<Self> {
        let db = Database::open(Options::new().budget(64 << 20))?;
        let schema = TableSchema::new("Town")
            .column("id", ColumnType::U32)
            .column("city", ColumnType::U32)
            .column("name", ColumnType::STRING)
            .primary_key(["id"])
            .index(IndexSchema::new("by_city", ["city", "id"]))
            .index(IndexSchema::new("by_name", ["name"]).hash());
        let table = db.create_table(schema)?;
        let index = |name| table.index(name);
        let (primary, by_city, by_name) = (index("primary")?, index("by_city")?, index("by_name")?);
        let towns = Self { db, table, primary, by_city, by_name };
        towns.db.write(|tx| (1..10).try_for_each(|i| towns.insert(tx, i * 10, i % 3 + 1)))?;
        Ok(towns)
    }

    fn insert(&self, tx: &WriteTransaction<'_>, id: u32, city: u32) -> Result<()> {
        let name = format!("town {city}");
        let values = [Some(id.into()), Some(city.into()), Some(Value::String(&name))];
        tx.insert_values(&self.table, &values).map(|_| ())
    }

    fn id(&self, tx: &WriteTransaction<'_>, id: u32) -> Result<Option<RowId>> {
        Ok(tx.find(&self.table, self.primary, &[id.into()])?.map(|row| row.id()))
    }

    fn set(&self, tx: &WriteTransaction<'_>, id: u32, column: &str, value: u32) -> Result<()> {
        let row = self.id(tx, id)?.expect("it is there");
        tx.update_values(&self.table, row, &[(self.table.column(column)?, value.into())])
    }

    fn delete(&self, tx: &WriteTransaction<'_>, id: u32) -> Result<()> {
        let row = self.id(tx, id)?.expect("it is there");
        tx.delete(&self.table, row)
    }

    /// Whether a transaction that asks is refused if another one makes a change meanwhile.
    fn is_refused(isolation: Isolation, ask: Ask, change: Change) -> Result<Option<String>> {
        let towns = Self::new()?;
        let other = TableSchema::new("Other").column("a", ColumnType::U32);
        let other = towns.db.create_table(other)?;
        let options = TransactionOptions::new().isolation(isolation);
        let tx = towns.db.begin_write_with(&options)?;
        ask(&towns, &tx)?;
        towns.db.write(|tx| change(&towns, tx))?;
        tx.insert_values(&other, &[Some(1.into())])?;
        match tx.commit() {
            Ok(_) => Ok(None),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Conflict);
                assert_eq!(error.table(), Some("Town"), "{error}");
                Ok(error.key().map(str::to_owned))
            }
        }
    }
}

fn ids(_: Row<'_>) -> Result<()> {
    Ok(())
}

/// What is asked; changes that the answer does not depend on; changes that it does.
const CASES: &[(&str, Ask, &[Change], &[Change])] = &[
    (
        "a key that is there",
        |t, tx| t.id(tx, 50).map(|_| ()),
        &[|t, tx| t.set(tx, 60, "city", 7), |t, tx| t.insert(tx, 51, 1), |t, tx| t.delete(tx, 40)],
        &[|t, tx| t.set(tx, 50, "city", 7), |t, tx| t.delete(tx, 50)],
    ),
    (
        "a key that is not there",
        |t, tx| t.id(tx, 55).map(|_| ()),
        &[|t, tx| t.insert(tx, 54, 1), |t, tx| t.set(tx, 50, "id", 56)],
        &[|t, tx| t.insert(tx, 55, 1), |t, tx| t.set(tx, 50, "id", 55)],
    ),
    (
        "the first row of a key that several have",
        |t, tx| {
            let name = Value::String("town 2");
            tx.find(&t.table, t.by_name, &[name]).map(|_| ())
        },
        &[|t, tx| t.insert(tx, 55, 1), |t, tx| t.delete(tx, 30)],
        &[|t, tx| t.insert(tx, 55, 2), |t, tx| t.delete(tx, 10)],
    ),
    (
        "all rows of a prefix",
        |t, tx| tx.each(&t.table, t.by_city, &[2.into()], ids),
        &[|t, tx| t.insert(tx, 55, 1), |t, tx| t.delete(tx, 30), |t, tx| t.set(tx, 30, "city", 3)],
        &[
            |t, tx| t.insert(tx, 55, 2),
            |t, tx| t.delete(tx, 10),
            |t, tx| t.set(tx, 10, "city", 3),
            |t, tx| t.set(tx, 30, "city", 2),
        ],
    ),
    (
        "all rows of a hashed key",
        |t, tx| tx.each(&t.table, t.by_name, &[Value::String("town 9")], ids),
        &[|t, tx| t.insert(tx, 55, 1)],
        &[|t, tx| t.insert(tx, 55, 9)],
    ),
    (
        "a range, forwards from a key over two rows",
        |t, tx| {
            let mut cursor = tx.cursor(&t.table, t.primary)?;
            assert!(cursor.find(Find::AtLeast, &[35.into()])?.is_some());
            assert!(cursor.next().is_some());
            Ok(())
        },
        &[
            |t, tx| t.insert(tx, 34, 1),
            |t, tx| t.insert(tx, 51, 1),
            |t, tx| t.delete(tx, 60),
            |t, tx| t.set(tx, 30, "id", 33),
        ],
        &[
            |t, tx| t.insert(tx, 36, 1),
            |t, tx| t.insert(tx, 49, 1),
            |t, tx| t.delete(tx, 40),
            |t, tx| t.set(tx, 50, "city", 8),
            |t, tx| t.set(tx, 90, "id", 45),
        ],
    ),
    (
        "a range, backwards from the end",
        |t, tx| {
            let mut cursor = tx.cursor(&t.table, t.primary)?;
            assert!(cursor.last().is_some() && cursor.previous().is_some());
            Ok(())
        },
        &[|t, tx| t.insert(tx, 79, 1), |t, tx| t.delete(tx, 70)],
        &[|t, tx| t.insert(tx, 81, 1), |t, tx| t.insert(tx, 95, 1), |t, tx| t.delete(tx, 80)],
    ),
    (
        "both ways from a key",
        |t, tx| {
            let mut cursor = tx.cursor(&t.table, t.primary)?;
            assert!(cursor.find(Find::Equal, &[50.into()])?.is_some());
            assert!(cursor.previous().is_some() && cursor.next().is_some());
            Ok(())
        },
        &[|t, tx| t.insert(tx, 39, 1), |t, tx| t.insert(tx, 51, 1)],
        &[|t, tx| t.insert(tx, 41, 1), |t, tx| t.set(tx, 40, "city", 9)],
    ),
    (
        "a cursor's key that is not there",
        |t, tx| {
            let mut cursor = tx.cursor(&t.table, t.primary)?;
            assert!(cursor.find(Find::Equal, &[55.into()])?.is_none());
            Ok(())
        },
        &[|t, tx| t.insert(tx, 54, 1), |t, tx| t.set(tx, 60, "city", 9)],
        &[|t, tx| t.insert(tx, 55, 1)],
    ),
    (
        "an end with nothing beyond it",
        |t, tx| {
            let mut cursor = tx.cursor(&t.table, t.primary)?;
            assert!(cursor.find(Find::Above, &[90.into()])?.is_none());
            Ok(())
        },
        &[|t, tx| t.insert(tx, 85, 1), |t, tx| t.delete(tx, 10)],
        &[|t, tx| t.insert(tx, 95, 1), |t, tx| t.set(tx, 10, "id", 100)],
    ),
    (
        "the whole table",
        |t, tx| tx.scan(&t.table).map(|rows| assert_eq!(rows.count(), 9)),
        &[|t, tx| {
            t.insert(tx, 55, 1)?;
            t.delete(tx, 55)
        }],
        &[|t, tx| t.insert(tx, 55, 1), |t, tx| t.delete(tx, 10)],
    ),
    (
        "a row by its id",
        |t, tx| {
            let row = t.id(tx, 10)?.expect("it is there");
            tx.row(&t.table, row).map(|row| assert!(row.is_some()))
        },
        &[|t, tx| t.delete(tx, 20)],
        &[|t, tx| t.delete(tx, 10)],
    ),
    (
        "a row that was not there to be changed",
        |t, tx| {
            let nothing = RowId::from_number(1000).expect("a number");
            assert_eq!(tx.delete(&t.table, nothing).unwrap_err().kind(), ErrorKind::RowNotFound);
            Ok(())
        },
        &[|t, tx| t.delete(tx, 20)],
        &[],
    ),
    (
        "a key that was there already",
        |t, tx| {
            assert_eq!(t.insert(tx, 10, 1).unwrap_err().kind(), ErrorKind::DuplicateKey);
            Ok(())
        },
        &[|t, tx| t.delete(tx, 20)],
        &[|t, tx| t.delete(tx, 10), |t, tx| t.set(tx, 10, "id", 11)],
    ),
    (
        "what was asked before a rollback to a savepoint",
        |t, tx| {
            let savepoint = tx.savepoint();
            t.set(tx, 10, "city", 5)?;
            let row = t.id(tx, 20)?;
            tx.roll_back_to(savepoint).map(|()| assert!(row.is_some()))
        },
        &[|t, tx| t.delete(tx, 30)],
        &[|t, tx| t.delete(tx, 20), |t, tx| t.set(tx, 10, "city", 6)],
    ),
    (
        "changes that succeeded and were taken back to a savepoint",
        |t, tx| {
            let first = t.id(tx, 10)?.expect("it is there");
            let savepoint = tx.savepoint();
            t.insert(tx, 55, 1)?;
            tx.delete(&t.table, first)?;
            t.insert(tx, 10, 1)?;
            tx.roll_back_to(savepoint)
        },
        &[|t, tx| t.delete(tx, 30), |t, tx| t.insert(tx, 56, 1)],
        &[|t, tx| t.insert(tx, 55, 2), |t, tx| t.delete(tx, 10)],
    ),
    ("nothing", |_, _| Ok(()), &[|t, tx| t.delete(tx, 20)], &[]),
];

#[test]
fn a_commit_is_refused_exactly_if_what_was_read_has_changed() -> Result<()> {
    for (what, ask, unrelated, related) in CASES {
        for (i, change) in unrelated.iter().enumerate() {
            let refused = Towns::is_refused(Isolation::Serializable, *ask, *change)?;
            assert_eq!(refused, None, "{what}, unrelated change {i}");
        }
        for (i, change) in related.iter().enumerate() {
            let refused = Towns::is_refused(Isolation::Serializable, *ask, *change)?;
            assert!(refused.is_some(), "{what}, related change {i}");
            let kept = Towns::is_refused(Isolation::Snapshot, *ask, *change)?;
            assert_eq!(kept, None, "{what}, related change {i}, under snapshot isolation");
        }
    }
    Ok(())
}

#[test]
fn a_conflict_names_the_table_and_the_key() -> Result<()> {
    let ask: Ask = |t, tx| t.id(tx, 50).map(|_| ());
    let change: Change = |t, tx| t.delete(tx, 50);
    let key = Towns::is_refused(Isolation::Serializable, ask, change)?;
    assert_eq!(key.as_deref(), Some("id 50"));
    Ok(())
}

/// So many commits that the engine no longer knows which rows they changed, small ones and one
/// large one: then it looks at the rows, and finds the same.
#[test]
fn old_reads_are_compared_as_well() -> Result<()> {
    for large in [false, true] {
        for related in [false, true] {
            let towns = Towns::new()?;
            let noise = TableSchema::new("Noise").column("a", ColumnType::U32);
            let noise = towns.db.create_table(noise)?;
            let tx = towns.db.begin_write()?;
            assert!(towns.id(&tx, 50)?.is_some() && towns.id(&tx, 55)?.is_none());
            if related {
                towns.db.write(|tx| towns.insert(tx, 55, 1))?;
            }
            let (commits, rows) = if large { (1, 20_000) } else { (20_000, 1) };
            for _ in 0..commits {
                towns.db.write(|tx| {
                    (0..rows).try_for_each(|i: u32| {
                        tx.insert_values(&noise, &[Some(i.into())]).map(|_| ())
                    })
                })?;
            }
            tx.insert_values(&noise, &[Some(1.into())])?;
            assert_eq!(tx.commit().is_err(), related, "large {large}");
        }
    }
    Ok(())
}

/// Reads of more rows and ranges than fit the first block, and than memory allows to remember.
#[test]
fn many_reads_are_remembered() -> Result<()> {
    for (fail, related) in [(false, false), (false, true), (true, false), (true, true)] {
        let towns = Towns::new()?;
        let others = TableSchema::new("Other").column("a", ColumnType::U32).primary_key(["a"]);
        let others = towns.db.create_table(others)?;
        let by_a = others.index("primary")?;
        towns.db.write(|tx| {
            (0..5000_u32).try_for_each(|i| tx.insert_values(&others, &[Some(i.into())]).map(|_| ()))
        })?;
        let tx = towns.db.begin_write()?;
        tx.insert_values(&others, &[Some(6000.into())])?;
        if fail {
            towns.db.fail_allocations_from(1);
        }
        for i in 0..10_000_u32 {
            let found = tx.find(&others, by_a, &[i.into()])?;
            assert_eq!(found.is_some(), i < 5000 || i == 6000);
            let mut cursor = tx.cursor(&others, by_a)?;
            cursor.find(Find::AtLeast, &[i.into()])?;
        }
        towns.db.fail_allocations_from(0);
        towns.db.write(|tx| match related {
            true => tx.insert_values(&others, &[Some(7000.into())]).map(|_| ()),
            false => towns.delete(tx, 10),
        })?;
        // What could not be remembered counts as everything.
        assert_eq!(tx.commit().is_err(), related || fail, "fail {fail}, related {related}");
    }
    Ok(())
}
