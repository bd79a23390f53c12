//! The anomalies of Martin Kleppmann's Hermitage (github.com/ept/hermitage), at both levels.
//!
//! Each scenario begins with the rows (1, 10) and (2, 20) and is written as Hermitage writes it, T1
//! to T3 line by line. What differs is that nothing waits here: where another database makes T2
//! wait for T1, T2 gets `Conflict` at once. Predicates are read in every way there is: by scan, by
//! a cursor forwards and backwards, and by a key that several rows may have, ordered and hashed.
//! `docs/isolation.md` has the table of the results.

use remanent_engine::schema::{ColumnType, TableSchema, Value};
use remanent_engine::{
    Database, ErrorKind, Find, Isolation, Options, ReadTransaction, Result, Row, RowId, Table,
    TransactionOptions, WriteTransaction,
};

const LEVELS: [Isolation; 2] = [Isolation::Serializable, Isolation::Snapshot];

/// How a predicate on the value is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Scan,
    Forwards,
    Backwards,
    Key,
    Hash,
}

const PATHS: [By; 5] = [By::Scan, By::Forwards, By::Backwards, By::Key, By::Hash];
/// Those that read more than one value.
const RANGES: [By; 3] = [By::Scan, By::Forwards, By::Backwards];

/// The table `test (id, value)` and its two rows.
struct Test {
    db: Database,
    table: Table,
}

impl Test {
    fn begin_with(rows: &[(u32, i64)]) -> Result<Self> {
        let db = Database::open(Options::new().budget(16 << 20))?;
        let schema = TableSchema::new("test")
            .column("id", ColumnType::U32)
            .column("value", ColumnType::I64)
            .primary_key(["id"])
            .ordered_index("by_value", ["value"])
            .hash_index("by_value_hash", ["value"]);
        let test = Self { table: db.create_table(schema)?, db };
        test.db.write(|tx| rows.iter().try_for_each(|&(id, value)| test.insert(tx, id, value)))?;
        Ok(test)
    }

    fn new() -> Result<Self> {
        Self::begin_with(&[(1, 10), (2, 20)])
    }

    fn begin(&self, isolation: Isolation) -> Result<WriteTransaction<'_>> {
        self.db.begin_write_with(&TransactionOptions::new().isolation(isolation))
    }

    /// `select value from test where id = ..`
    fn value(&self, tx: &ReadTransaction<'_>, id: u32) -> Result<Option<i64>> {
        let row = tx.find(&self.table, self.table.index("primary")?, &[Value::U32(id)])?;
        Ok(row.map(|row| self.pair(&row).1))
    }

    /// `select * from test`
    fn all(&self, tx: &ReadTransaction<'_>) -> Result<Vec<(u32, i64)>> {
        self.between(tx, By::Scan, i64::MIN, i64::MAX)
    }

    /// `select * from test where value between .. and ..`
    fn between(
        &self,
        tx: &ReadTransaction<'_>,
        by: By,
        low: i64,
        high: i64,
    ) -> Result<Vec<(u32, i64)>> {
        let mut found = Vec::new();
        match by {
            By::Scan => {
                let rows = tx.scan(&self.table)?.map(|row| self.pair(&row));
                found.extend(rows.filter(|(_, value)| (low..=high).contains(value)));
            }
            By::Forwards | By::Backwards => {
                let mut cursor = tx.cursor(&self.table, self.table.index("by_value")?)?;
                let mut next = match by {
                    By::Forwards => cursor.find(Find::AtLeast, &[Value::I64(low)])?,
                    _ => cursor.find(Find::AtMost, &[Value::I64(high)])?,
                };
                while let Some(pair) = next.map(|row| self.pair(&row))
                    && (low..=high).contains(&pair.1)
                {
                    found.push(pair);
                    next = if by == By::Forwards { cursor.next() } else { cursor.previous() };
                }
            }
            By::Key | By::Hash => {
                assert_eq!(low, high, "a key is one value");
                let name = if by == By::Key { "by_value" } else { "by_value_hash" };
                tx.each(&self.table, self.table.index(name)?, &[Value::I64(low)], |row| {
                    found.push(self.pair(&row));
                    Ok(())
                })?;
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// `insert into test values (..)`
    fn insert(&self, tx: &WriteTransaction<'_>, id: u32, value: i64) -> Result<()> {
        let row = [Some(Value::U32(id)), Some(Value::I64(value))];
        tx.insert_values(&self.table, &row).map(|_| ())
    }

    /// `update test set value = .. where id = ..`
    fn update(&self, tx: &WriteTransaction<'_>, id: u32, value: i64) -> Result<()> {
        let row = self.row(tx, id)?;
        tx.update_values(&self.table, row, &[(self.table.column("value")?, Value::I64(value))])
    }

    /// `delete from test where id = ..`
    fn delete(&self, tx: &WriteTransaction<'_>, id: u32) -> Result<()> {
        let row = self.row(tx, id)?;
        tx.delete(&self.table, row)
    }

    fn row(&self, tx: &ReadTransaction<'_>, id: u32) -> Result<RowId> {
        let row = tx.find(&self.table, self.table.index("primary")?, &[Value::U32(id)])?;
        Ok(row.expect("the scenario's rows are there").id())
    }

    /// What is committed.
    fn committed(&self) -> Result<Vec<(u32, i64)>> {
        self.all(&self.db.begin_read()?)
    }

    fn pair(&self, row: &Row<'_>) -> (u32, i64) {
        let (id, value) = (self.table.column("id"), self.table.column("value"));
        let id = id.ok().and_then(|column| row.get::<u32>(column)).expect("it is not null");
        let value = value.ok().and_then(|column| row.get::<i64>(column)).expect("it is not null");
        (id, value)
    }
}

fn assert_conflict<T: std::fmt::Debug>(result: Result<T>, what: &str) {
    let kind = result.map_err(|error| error.kind());
    assert!(matches!(kind, Err(ErrorKind::Conflict)), "{what}: {kind:?}");
}

/// Serializable refuses the commit with a conflict, Snapshot lets it pass: the anomaly is there.
fn assert_prevented_by_serializable(
    isolation: Isolation,
    tx: WriteTransaction<'_>,
    what: &str,
) -> Result<()> {
    match isolation {
        Isolation::Serializable => assert_conflict(tx.commit(), what),
        Isolation::Snapshot => drop(tx.commit()?),
    }
    Ok(())
}

/// G0, write cycles: T1 and T2 change both rows; the result must be of one of them.
#[test]
fn g0_write_cycles() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 11)?;
        assert_conflict(test.update(&t2, 1, 12), "T2 changes what T1 has changed");
        test.update(&t1, 2, 21)?;
        t1.commit()?;
        assert_eq!(test.committed()?, [(1, 11), (2, 21)]);
        assert_conflict(test.update(&t2, 2, 22), "T2 goes on with the second row");
        drop(t2);
        assert_eq!(test.committed()?, [(1, 11), (2, 21)]);
    }
    Ok(())
}

/// G1a, aborted reads: T2 must not see what T1 takes back.
#[test]
fn g1a_aborted_reads() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 101)?;
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        t1.roll_back();
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        t2.commit()?;
    }
    Ok(())
}

/// G1b, intermediate reads: T2 must not see what T1 overwrites itself.
#[test]
fn g1b_intermediate_reads() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 101)?;
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        test.update(&t1, 1, 11)?;
        t1.commit()?;
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        t2.commit()?;
        assert_eq!(test.committed()?, [(1, 11), (2, 20)]);
    }
    Ok(())
}

/// G1c, circular information flow: T1 and T2 must not both see what the other writes.
#[test]
fn g1c_circular_information_flow() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 11)?;
        test.update(&t2, 2, 22)?;
        assert_eq!(test.value(&t1, 2)?, Some(20));
        assert_eq!(test.value(&t2, 1)?, Some(10));
        t1.commit()?;
        // Neither saw the other's write. That neither did is a write skew on top.
        assert_prevented_by_serializable(isolation, t2, "both read what the other wrote")?;
    }
    Ok(())
}

/// OTV, observed transaction vanishes: once T3 sees T1, T2 does not overwrite it half.
#[test]
fn otv_observed_transaction_vanishes() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 11)?;
        test.update(&t1, 2, 19)?;
        assert_conflict(test.update(&t2, 1, 12), "T2 changes what T1 has changed");
        drop(t2);
        t1.commit()?;
        let (t2, t3) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t2, 1, 12)?;
        assert_eq!(test.value(&t3, 1)?, Some(11));
        test.update(&t2, 2, 18)?;
        assert_eq!(test.value(&t3, 2)?, Some(19));
        t2.commit()?;
        assert_eq!(test.all(&t3)?, [(1, 11), (2, 19)]);
        t3.commit()?;
        assert_eq!(test.committed()?, [(1, 12), (2, 18)]);
    }
    Ok(())
}

/// PMP, predicate-many-preceders, for a read: a predicate of T1 gives the same rows again after T2
/// has added one.
#[test]
fn pmp_predicate_many_preceders_of_reads() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| PATHS.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.between(&t1, by, 30, 30)?, []);
        test.insert(&t2, 3, 30)?;
        t2.commit()?;
        assert_eq!(test.between(&t1, by, 30, 30)?, [], "{by:?}");
        t1.commit()?;
    }
    Ok(())
}

/// PMP for a write: T2 deletes rows of value 20 while T1 adds 10 to every row. It may not miss
/// that row 1 becomes one.
#[test]
fn pmp_predicate_many_preceders_of_writes() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| PATHS.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        test.update(&t1, 1, 20)?;
        test.update(&t1, 2, 30)?;
        let doomed = test.between(&t2, by, 20, 20)?;
        assert_eq!(doomed, [(2, 20)], "{by:?}");
        assert_conflict(test.delete(&t2, 2), "T2 deletes what T1 has changed");
        t1.commit()?;
        assert_conflict(test.delete(&t2, 2), "T2 deletes what T1 has changed and committed");
        drop(t2);
        assert_eq!(test.committed()?, [(1, 20), (2, 30)]);
    }
    Ok(())
}

/// P4, lost update: T1 and T2 read a row and write it.
#[test]
fn p4_lost_update() -> Result<()> {
    for isolation in LEVELS {
        for t1_ends_first in [false, true] {
            let test = Test::new()?;
            let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
            assert_eq!(test.value(&t1, 1)?, Some(10));
            assert_eq!(test.value(&t2, 1)?, Some(10));
            test.update(&t1, 1, 11)?;
            if t1_ends_first {
                t1.commit()?;
                assert_conflict(test.update(&t2, 1, 12), "T2 writes after T1's commit");
            } else {
                assert_conflict(test.update(&t2, 1, 12), "T2 writes before T1's commit");
                t1.commit()?;
            }
            drop(t2);
            assert_eq!(test.committed()?, [(1, 11), (2, 20)]);
        }
    }
    Ok(())
}

/// G-single, read skew: T1 reads the rows from before and after T2.
#[test]
fn g_single_read_skew() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.value(&t1, 1)?, Some(10));
        assert_eq!(test.value(&t2, 1)?, Some(10));
        assert_eq!(test.value(&t2, 2)?, Some(20));
        test.update(&t2, 1, 12)?;
        test.update(&t2, 2, 18)?;
        t2.commit()?;
        assert_eq!(test.value(&t1, 2)?, Some(20));
        t1.commit()?;
    }
    Ok(())
}

/// G-single with predicates: T1 reads one before and one after T2 moves a row from one to the
/// other.
#[test]
fn g_single_with_predicates() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| RANGES.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.between(&t1, by, 10, 20)?, [(1, 10), (2, 20)], "{by:?}");
        test.update(&t2, 1, 33)?;
        t2.commit()?;
        assert_eq!(test.between(&t1, by, 30, 40)?, [], "{by:?}");
        t1.commit()?;
    }
    Ok(())
}

/// G-single with a write: T1 reads, T2 changes both rows, T1 deletes by what T2 has changed.
#[test]
fn g_single_with_a_write() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| PATHS.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.value(&t1, 1)?, Some(10));
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        test.update(&t2, 1, 12)?;
        test.update(&t2, 2, 18)?;
        t2.commit()?;
        assert_eq!(test.between(&t1, by, 20, 20)?, [(2, 20)], "{by:?}");
        assert_conflict(test.delete(&t1, 2), "T1 deletes what T2 has changed");
        drop(t1);
        assert_eq!(test.committed()?, [(1, 12), (2, 18)]);
    }
    Ok(())
}

/// The same interleaved: T1 deletes before T2 has changed the second row, and then rolls back. T2,
/// which met a conflict, may try the statement again.
#[test]
fn g_single_with_a_write_rolled_back() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| PATHS.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.value(&t1, 1)?, Some(10));
        assert_eq!(test.all(&t2)?, [(1, 10), (2, 20)]);
        test.update(&t2, 1, 12)?;
        assert_eq!(test.between(&t1, by, 20, 20)?, [(2, 20)], "{by:?}");
        test.delete(&t1, 2)?;
        assert_conflict(test.update(&t2, 2, 18), "T2 changes what T1 has deleted");
        t1.roll_back();
        test.update(&t2, 2, 18)?;
        t2.commit()?;
        assert_eq!(test.committed()?, [(1, 12), (2, 18)]);
    }
    Ok(())
}

/// G2-item, write skew: T1 and T2 read both rows, and each changes one.
#[test]
fn g2_item_write_skew() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        for tx in [&t1, &t2] {
            assert_eq!((test.value(tx, 1)?, test.value(tx, 2)?), (Some(10), Some(20)));
        }
        test.update(&t1, 1, 11)?;
        test.update(&t2, 2, 21)?;
        t1.commit()?;
        assert_prevented_by_serializable(isolation, t2, "write skew")?;
        let skewed = isolation == Isolation::Snapshot;
        assert_eq!(test.committed()?, [(1, 11), (2, if skewed { 21 } else { 20 })]);
    }
    Ok(())
}

/// G2, anti-dependency cycles: T1 and T2 find no row of a value and each inserts one.
#[test]
fn g2_anti_dependency_cycles() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| PATHS.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        for tx in [&t1, &t2] {
            assert_eq!(test.between(tx, by, 30, 30)?, [], "{by:?}");
        }
        test.insert(&t1, 3, 30)?;
        test.insert(&t2, 4, 30)?;
        t1.commit()?;
        assert_prevented_by_serializable(isolation, t2, &format!("phantoms, {by:?}"))?;
        let count = if isolation == Isolation::Snapshot { 4 } else { 3 };
        assert_eq!(test.committed()?.len(), count, "{by:?}");
    }
    Ok(())
}

/// G2 where rows do not come into being but move into the range that was read, or out of it.
#[test]
fn g2_rows_move_between_ranges() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| RANGES.map(|by| (*level, by))) {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        // T1 moves row 1 up if nobody is there, T2 moves row 2 down if nobody is there.
        assert_eq!(test.between(&t1, by, 15, 40)?, [(2, 20)], "{by:?}");
        assert_eq!(test.between(&t2, by, 0, 15)?, [(1, 10)], "{by:?}");
        test.update(&t1, 1, 30)?;
        test.update(&t2, 2, 5)?;
        t1.commit()?;
        assert_prevented_by_serializable(isolation, t2, &format!("moved rows, {by:?}"))?;
    }
    Ok(())
}

/// G2 by unique keys that are not there: T1 and T2 each look for the key that the other inserts.
#[test]
fn g2_keys_not_found() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (t1, t2) = (test.begin(isolation)?, test.begin(isolation)?);
        assert_eq!(test.value(&t1, 4)?, None);
        assert_eq!(test.value(&t2, 3)?, None);
        test.insert(&t1, 3, 30)?;
        test.insert(&t2, 4, 40)?;
        t1.commit()?;
        assert_prevented_by_serializable(isolation, t2, "keys not found")?;
    }
    Ok(())
}

/// G2 with two edges: T1 reads all, T2 changes row 2, T3 sees that and not what T1 does then.
#[test]
fn g2_two_edges() -> Result<()> {
    for (isolation, by) in LEVELS.iter().flat_map(|level| RANGES.map(|by| (*level, by))) {
        let test = Test::new()?;
        let t1 = test.begin(isolation)?;
        assert_eq!(test.between(&t1, by, 0, 100)?, [(1, 10), (2, 20)], "{by:?}");
        let t2 = test.begin(isolation)?;
        test.update(&t2, 2, 25)?;
        t2.commit()?;
        let t3 = test.begin(isolation)?;
        assert_eq!(test.between(&t3, by, 0, 100)?, [(1, 10), (2, 25)], "{by:?}");
        t3.commit()?;
        test.update(&t1, 1, 0)?;
        assert_prevented_by_serializable(isolation, t1, "T3 saw T2 and not T1")?;
    }
    Ok(())
}

/// The anomaly of a read-only transaction (Fekete, O'Neil, O'Neil: SIGMOD Record, 2004). Row 1 is a
/// checking account, row 2 a savings account, both empty. T2 withdraws 10 from checking and pays 1
/// as a penalty if both together do not cover it; T1 deposits 20 meanwhile. T3 only looks. It sees
/// the deposit and no withdrawal, after which there can be no penalty; yet there is one.
#[test]
fn read_only_transaction_anomaly() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::begin_with(&[(1, 0), (2, 0)])?;
        let t2 = test.begin(isolation)?;
        assert_eq!((test.value(&t2, 1)?, test.value(&t2, 2)?), (Some(0), Some(0)));
        let t1 = test.begin(isolation)?;
        assert_eq!(test.value(&t1, 2)?, Some(0));
        test.update(&t1, 2, 20)?;
        t1.commit()?;
        let t3 = test.db.begin_read()?;
        assert_eq!(test.all(&t3)?, [(1, 0), (2, 20)]);
        test.update(&t2, 1, -11)?;
        assert_prevented_by_serializable(isolation, t2, "T3 saw the deposit before it")?;
        let checking = if isolation == Isolation::Snapshot { -11 } else { 0 };
        assert_eq!(test.committed()?, [(1, checking), (2, 20)]);
        assert_eq!(test.all(&t3)?, [(1, 0), (2, 20)]);
    }
    Ok(())
}

/// A transaction that only reads sees one state whatever the others do, and its end never fails.
#[test]
fn reading_transactions_see_one_state() -> Result<()> {
    for isolation in LEVELS {
        let test = Test::new()?;
        let (reader, idle) = (test.db.begin_read()?, test.begin(isolation)?);
        for by in RANGES {
            assert_eq!(test.between(&reader, by, 0, 100)?, [(1, 10), (2, 20)]);
            assert_eq!(test.between(&idle, by, 0, 100)?, [(1, 10), (2, 20)]);
        }
        test.db.write(|tx| {
            test.update(tx, 1, 11)?;
            test.delete(tx, 2)?;
            test.insert(tx, 3, 30)
        })?;
        for by in RANGES {
            assert_eq!(test.between(&reader, by, 0, 100)?, [(1, 10), (2, 20)]);
            assert_eq!(test.between(&idle, by, 0, 100)?, [(1, 10), (2, 20)]);
        }
        // One that could have written and did not stands where its snapshot stands.
        assert_eq!(idle.timestamp(), reader.timestamp());
        idle.commit()?;
    }
    Ok(())
}
