//! Old snapshots beside busy writers: memory stays bounded, what they see stays as it was, and
//! those that may expire let go of all but what they gave.

use std::time::Duration;

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{
    ColumnHandle, Database, ErrorKind, IndexHandle, Options, ReadTransaction, Result, RowId, Table,
    TransactionOptions,
};

const ROWS: u32 = 100;

/// A table of rows (id, value, text), with an index on each of the first two.
struct Hot {
    db: Database,
    table: Table,
    value: ColumnHandle,
    text: ColumnHandle,
    primary: IndexHandle,
    rows: Vec<RowId>,
}

impl Hot {
    fn new() -> Result<Self> {
        let db = Database::open(Options::new().budget(32 << 20))?;
        let schema = TableSchema::new("Hot")
            .column("id", ColumnType::U32)
            .column("value", ColumnType::U64)
            .column("text", ColumnType::STRING)
            .primary_key(["id"])
            .index(IndexSchema::new("by_value", ["value"]));
        let table = db.create_table(schema)?;
        let (value, text) = (table.column("value")?, table.column("text")?);
        let primary = table.index("primary")?;
        let mut hot = Self { db, table, value, text, primary, rows: Vec::new() };
        for id in 0..ROWS {
            hot.rows.push(hot.insert(id)?);
        }
        Ok(hot)
    }

    fn insert(&self, id: u32) -> Result<RowId> {
        let text = text_of(id, 0);
        let values = [Some(id.into()), Some(0_u64.into()), Some(Value::String(&text))];
        self.db.write(|tx| tx.insert_values(&self.table, &values))
    }

    /// Changes a row, in its index only if `moves`.
    fn update(&self, id: u32, number: u64, moves: bool) -> Result<()> {
        let text = text_of(id, number);
        let changes = [(self.text, Value::String(&text)), (self.value, number.into())];
        let changes = if moves { &changes[..] } else { &changes[..1] };
        self.db.write(|tx| tx.update_values(&self.table, self.rows[id as usize], changes))
    }

    /// What a transaction sees of the rows, by a scan and by key.
    fn seen(&self, tx: &ReadTransaction<'_>) -> Result<Vec<String>> {
        let scan = tx.scan(&self.table)?;
        let texts: Vec<_> = scan.filter_map(|row| row.str(self.text)).map(str::to_owned).collect();
        for (id, text) in texts.iter().enumerate().take(ROWS as usize) {
            let row = tx.find(&self.table, self.primary, &[(id as u32).into()])?;
            assert_eq!(row.and_then(|row| row.str(self.text)), Some(text.as_str()));
        }
        Ok(texts)
    }

    fn in_use(&self) -> u64 {
        let memory = self.db.memory();
        memory.rows + memory.indexes + memory.segments + memory.internal
    }
}

fn text_of(id: u32, number: u64) -> String {
    format!("{id}: {number}; ").repeat(1 + (number % 7) as usize)
}

/// Rows are changed in place, and moved in an index, under snapshots of several ages: memory is
/// bounded by a constant, and every snapshot sees what it saw.
#[test]
fn memory_is_bounded_however_old_a_snapshot_is() -> Result<()> {
    for moves in [false, true] {
        let hot = Hot::new()?;
        let mut held = Vec::new();
        let mut after_first = 0;
        for round in 0..20_u64 {
            if round % 5 == 0 {
                let tx = hot.db.begin_read()?;
                let seen = hot.seen(&tx)?;
                held.push((tx, seen));
            }
            for number in 0..5000 {
                hot.update(number as u32 % ROWS, round * 5000 + number, moves)?;
            }
            if round == 16 {
                after_first = hot.in_use();
            }
        }
        // All four snapshots have been there since then.
        assert!(
            hot.in_use() < after_first + (256 << 10),
            "{after_first} bytes became {}",
            hot.in_use()
        );
        for (tx, seen) in &held {
            assert_eq!(hot.seen(tx)?, *seen);
        }
        let pinned: u64 = hot.db.snapshots().iter().map(|held| held.pinned_bytes).sum();
        assert!(pinned > 0 && pinned < 1 << 20, "{pinned}");
        drop(held);
        hot.db.reclaim();
        let rows = hot.db.memory().rows;
        assert!(rows < 32 << 10, "{rows} bytes for 100 rows");
    }
    Ok(())
}

/// A transaction retains all states since its own: each can be read by its timestamp, though rows
/// are changed thousands of times beside snapshots that see few of them. Then all is let go.
#[test]
fn retained_states_are_read_by_their_timestamps() -> Result<()> {
    for moves in [false, true] {
        let hot = Hot::new()?;
        let before = hot.db.newest_timestamp();
        hot.update(0, 0, moves)?;
        let retaining = hot.db.begin_read_with(&TransactionOptions::new().retain(true))?;
        let (mut states, mut held) = (Vec::new(), Vec::new());
        for number in 1..40_000_u64 {
            hot.update(number as u32 % ROWS, number, moves)?;
            if number % 1997 == 0 {
                let tx = hot.db.begin_read()?;
                states.push((tx.timestamp(), hot.seen(&tx)?));
                if states.len() % 4 == 0 {
                    held.push(tx);
                }
            }
        }
        for (timestamp, seen) in &states {
            assert_eq!(hot.seen(&retaining.begin_read_at(*timestamp)?)?, *seen);
        }
        let kind = |timestamp| retaining.begin_read_at(timestamp).err().map(|error| error.kind());
        assert_eq!(kind(before), Some(ErrorKind::SnapshotExpired));
        assert_eq!(kind(hot.db.newest_timestamp() + 1), Some(ErrorKind::InvalidOptions));
        let first = held.remove(0);
        let of_others = first.begin_read_at(first.timestamp());
        assert_eq!(of_others.err().map(|error| error.kind()), Some(ErrorKind::SnapshotExpired));
        drop((retaining, first, held));
        hot.update(0, 0, moves)?;
        hot.db.reclaim();
        let rows = hot.db.memory().rows;
        assert!(rows < 32 << 10, "{rows} bytes for 100 rows");
    }
    Ok(())
}

/// Rows come and go under an old snapshot that never sees them.
#[test]
fn rows_that_nobody_sees_are_reclaimed() -> Result<()> {
    let hot = Hot::new()?;
    let tx = hot.db.begin_read()?;
    let seen = hot.seen(&tx)?;
    let mut after_first = 0;
    for id in 0..50_000 {
        let row = hot.insert(1000 + id)?;
        hot.db.write(|tx| tx.delete(&hot.table, row))?;
        if id == 5000 {
            after_first = hot.in_use();
        }
    }
    assert!(hot.in_use() < after_first + (256 << 10), "{after_first} became {}", hot.in_use());
    assert_eq!(hot.seen(&tx)?, seen);
    Ok(())
}

/// A cursor stands still while the index around it is rebuilt many times.
#[test]
fn a_cursor_of_an_old_snapshot_finds_its_way() -> Result<()> {
    let hot = Hot::new()?;
    let tx = hot.db.begin_read()?;
    let id = hot.table.column("id")?;
    let mut cursor = tx.cursor(&hot.table, hot.primary)?;
    let mut next = cursor.first();
    let mut met = Vec::new();
    while let Some(row) = next {
        met.push(row.get::<u32>(id).expect("it is not null"));
        for i in 0..300_u32 {
            let row = hot.insert(1000 + met.len() as u32 * 1000 + i * 3)?;
            hot.db.write(|tx| tx.delete(&hot.table, row))?;
        }
        next = cursor.next();
    }
    assert_eq!(met, (0..ROWS).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn snapshots_are_listed() -> Result<()> {
    let hot = Hot::new()?;
    let named = hot.db.begin_read_with(&TransactionOptions::new().name("the monthly report"))?;
    let long = "a name of more than thirty-two bytes, with an \u{e4} at its end";
    let second = hot.db.begin_write_with(&TransactionOptions::new().name(long))?;
    std::thread::sleep(Duration::from_millis(5));
    let plain = hot.db.begin_read()?;
    let list = hot.db.snapshots();
    let names: Vec<_> = list.iter().map(|held| held.name.as_str()).collect();
    assert_eq!(names.len(), 3);
    assert!(names.contains(&"the monthly report") && names.contains(&&long[..32]));
    let report = list.iter().find(|held| held.name == "the monthly report").expect("it is listed");
    assert!(report.age >= Duration::from_millis(5) && !report.writes && !report.expired);
    assert!(list.iter().any(|held| held.writes));
    drop((named, second, plain));
    assert!(hot.db.snapshots().is_empty());
    Ok(())
}

/// A snapshot over its budget gives up what it keeps, but not what its program was given.
#[test]
fn an_expired_snapshot_keeps_only_what_it_gave() -> Result<()> {
    let hot = Hot::new()?;
    let options = TransactionOptions::new().name("limited").snapshot_pinned_max(1000);
    let tx = hot.db.begin_read_with(&options)?;
    let given: Vec<_> = (0..10)
        .map(|id: u32| tx.find(&hot.table, hot.primary, &[id.into()]))
        .collect::<Result<Vec<_>>>()?;
    let mut scan = tx.scan(&hot.table)?;
    for number in 1..20_000 {
        hot.update(number as u32 % ROWS, number, true)?;
    }
    assert_eq!(tx.status().unwrap_err().kind(), ErrorKind::SnapshotExpired);
    assert!(scan.next().is_none(), "a scan ends");
    assert!(hot.db.snapshots()[0].expired);
    let before = hot.db.memory().rows;
    for number in 20_000..40_000 {
        hot.update(number as u32 % ROWS, number, true)?;
    }
    assert!(hot.db.memory().rows < before + (64 << 10));
    for (id, row) in given.iter().enumerate() {
        let text = row.and_then(|row| row.str(hot.text));
        assert_eq!(text, Some(text_of(id as u32, 0).as_str()), "a reference stays valid");
    }
    let refused = hot.db.read_with(&options, |tx| {
        let rows: Vec<_> = tx.scan(&hot.table)?.collect();
        for number in 0..5000 {
            hot.update(number as u32 % ROWS, number, false)?;
        }
        Ok(rows.len())
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::SnapshotExpired);
    Ok(())
}

/// An old snapshot that was given nothing releases every version that only it needs.
#[test]
fn an_expired_snapshot_releases_memory() -> Result<()> {
    let hot = Hot::new()?;
    let options = TransactionOptions::new().snapshot_age_max(Duration::from_millis(30));
    let tx = hot.db.begin_read_with(&options)?;
    let long = "x".repeat(100_000);
    let fill = |text: &str| {
        hot.rows.iter().try_for_each(|&row| {
            let change = [(hot.text, Value::String(text))];
            hot.db.write(|tx| tx.update_values(&hot.table, row, &change))
        })
    };
    let middle = {
        fill(&long)?;
        hot.db.begin_read()?
    };
    fill("short")?;
    drop(middle);
    std::thread::sleep(Duration::from_millis(40));
    for number in 0..2000 {
        hot.update(number as u32 % ROWS, number, false)?;
    }
    hot.db.reclaim();
    assert!(hot.db.memory().rows < 1 << 20, "{} bytes", hot.db.memory().rows);
    assert_eq!(tx.status().unwrap_err().kind(), ErrorKind::SnapshotExpired);
    Ok(())
}

/// With more than 128 snapshots at a time nothing was cut any more: one row that is updated again
/// and again took memory without end.
#[test]
fn memory_is_bounded_however_many_snapshots_there_are() -> Result<()> {
    let db = Database::open(Options::new().budget(4 << 20).transactions_max(200))?;
    let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    let a = table.column("a")?;
    let row = db.write(|tx| tx.insert_values(&table, &[Some(Value::I64(0))]))?;
    let held: Vec<_> = (0..150).map(|_| db.begin_read()).collect::<Result<_>>()?;
    for i in 0..100_000 {
        db.write(|tx| tx.update_values(&table, row, &[(a, Value::I64(i))]))?;
    }
    assert!(held.iter().all(|tx| tx.row(&table, row).is_ok_and(|row| row.is_some())));
    Ok(())
}
