//! One large transaction through the typed interface: a table of an id and 32 bytes.
//!
//! The primary key is an ordered index, as every other contender has one. The plain setting grows
//! while rows come, and the time for that counts; `ahead` commits the memory for all rows when it
//! opens; `bulk` inserts many rows with each statement (`insert_all`). In a folder it stands on
//! each level, with `checkpoint_after(0)`, as others make no checkpoint by themselves. Dropping the
//! transaction takes its rows back.

use lab_harness::burst::{AT_A_TIME, Burst, BurstSnapshot, BurstStore};
use lab_harness::pairs::{Key, Pair, Seen, VALUE_LEN};
use lab_harness::{Location, Medium, Outcome, Promise, Setting, Tier};
use remanent::schema::BinaryArray;
use remanent::{Database, Options, ReadTransaction, Record, TypedTable, WriteTransaction};

use crate::database;

pub(crate) const SETTINGS: &[Setting] = &[
    setting("", Promise::Memory, Medium::Memory, ROW_BY_ROW),
    setting("ahead", Promise::Memory, Medium::Memory, AHEAD),
    setting("bulk", Promise::Memory, Medium::Memory, BULK),
    setting("", Promise::Buffered, Medium::Disk, LOGGED),
    setting("", Promise::Os, Medium::Disk, LOGGED),
    setting("", Promise::Disk, Medium::Disk, LOGGED),
];

const ROW_BY_ROW: &str = "begin_write, insert for each row, commit; primary key, ordered";
const AHEAD: &str = "as the plain one, memory for all rows committed at open (commit_ahead)";
const BULK: &str = "begin_write, insert_all of 65,536 rows at a time, commit; primary key, ordered";
const LOGGED: &str = "as the plain one, in a folder with a log; checkpoint_after(0)";

/// Rows that `bulk` inserts at a time.
const BULK_ROWS: usize = 64 << 10;

/// Bytes that a row takes beside its data, of header, slot and index, and some to spare.
const BESIDE_DATA: u64 = 60;

const fn setting(
    variant: &'static str,
    promise: Promise,
    medium: Medium,
    note: &'static str,
) -> Setting {
    Setting { variant, promise, medium, tier: Tier::Always, note }
}

#[derive(Record)]
#[record(name = "Burst", primary_key(id))]
struct Row {
    id: u64,
    value: BinaryArray<VALUE_LEN>,
}

struct Store {
    db: Database,
    table: TypedTable<Row>,
    bulk: bool,
}

struct Inserts<'s> {
    table: &'s TypedTable<Row>,
    transaction: WriteTransaction<'s>,
    bulk: bool,
}

struct Open<'s> {
    table: &'s TypedTable<Row>,
    transaction: ReadTransaction<'s>,
}

/// Opens an empty database for a setting.
pub(crate) fn open(
    setting: &Setting,
    location: &Location<'_>,
    _snapshots: u64,
) -> Outcome<Box<dyn BurstStore>> {
    let ahead = match setting.variant {
        "ahead" => location.data_bytes + location.rows * BESIDE_DATA,
        _ => 0,
    };
    let db = database(setting, location, Options::new().commit_ahead(ahead))?;
    let table = db.create_table_of::<Row>()?;
    Ok(Box::new(Store { db, table, bulk: setting.variant == "bulk" }))
}

fn row((key, value): &Pair) -> Row {
    Row { id: u64::from_be_bytes(*key), value: BinaryArray(*value) }
}

impl BurstStore for Store {
    fn at_a_time(&self) -> usize {
        if self.bulk { BULK_ROWS } else { AT_A_TIME }
    }

    fn begin(&self) -> Outcome<Box<dyn Burst + '_>> {
        let transaction = self.db.begin_write()?;
        Ok(Box::new(Inserts { table: &self.table, transaction, bulk: self.bulk }))
    }

    fn snapshot(&self) -> Outcome<Box<dyn BurstSnapshot + '_>> {
        Ok(Box::new(Open { table: &self.table, transaction: self.db.begin_read()? }))
    }

    fn read_in_order(&self, seen: &mut Seen) -> Outcome<()> {
        let transaction = self.db.begin_read()?;
        let mut cursor = transaction.cursor_by::<_, RowPrimary>(&self.table)?;
        let mut found = cursor.first();
        while let Some(row) = found {
            seen.see(&row.id.to_be_bytes(), &row.value.0);
            found = cursor.next();
        }
        Ok(())
    }

    fn accounted_bytes(&self) -> Option<u64> {
        Some(self.db.memory().held)
    }

    fn close(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl Burst for Inserts<'_> {
    fn insert(&mut self, pairs: &[Pair]) -> Outcome<()> {
        let rows = pairs.iter().map(row);
        if self.bulk {
            self.transaction.insert_all(self.table, rows)?;
            return Ok(());
        }
        for row in rows {
            self.transaction.insert(self.table, &row)?;
        }
        Ok(())
    }

    fn commit(self: Box<Self>) -> Outcome<()> {
        self.transaction.commit()?;
        Ok(())
    }

    fn roll_back(self: Box<Self>) -> Outcome<()> {
        Ok(())
    }
}

impl BurstSnapshot for Open<'_> {
    fn sees(&mut self, key: &Key) -> Outcome<bool> {
        let id = u64::from_be_bytes(*key);
        Ok(self.transaction.get(self.table, &RowPrimary { id })?.is_some())
    }

    fn count(&mut self) -> Outcome<u64> {
        Ok(self.transaction.records(self.table)?.count() as u64)
    }
}
