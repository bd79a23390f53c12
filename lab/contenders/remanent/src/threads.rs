//! One database shared by a writer and readers, through the typed interface and its defaults.
//!
//! A thread needs nothing of its own but a reference to the database. A read looks each id up in
//! the ordered index; an update replaces one column of the row it finds; a delete walks the index
//! with a cursor. A conflict is an abort, which one writer never meets.

use lab_harness::Outcome;
use lab_harness::readers::{
    Deleted, Ended, MemoryHeld, Row, RowReader, RowView, RowWriter, See, SharedStore, Snapshot,
};
use remanent::schema::{BinaryArray, Value};
use remanent::{
    ColumnHandle, Database, Find, IndexHandle, ReadTransaction, Record, Result, TypedTable,
    WriteTransaction,
};

const PAYLOAD_LEN: usize = lab_harness::readers::PAYLOAD_LEN;

#[derive(Record)]
#[record(name = "rec_200", unique_index(ids(id)))]
struct Rec200 {
    id: i32,
    hexkey: [i16; 3],
    payload: BinaryArray<PAYLOAD_LEN>,
}

/// The database, its table and what of it is named at run time.
pub(crate) struct Shared {
    db: Database,
    table: TypedTable<Rec200>,
    ids: IndexHandle,
    id: ColumnHandle,
    payload: ColumnHandle,
}

struct Writer<'s>(&'s Shared);

struct Reader<'s>(&'s Shared);

struct Open<'s> {
    shared: &'s Shared,
    transaction: ReadTransaction<'s>,
}

impl Shared {
    pub(crate) fn over(db: Database) -> Outcome<Self> {
        let table = db.create_table_of::<Rec200>()?;
        let ids = table.index_of::<Rec200Ids>()?;
        let (id, payload) = (table.column("id")?, table.column("payload")?);
        Ok(Self { db, table, ids, id, payload })
    }

    fn look(&self, transaction: &ReadTransaction<'_>, id: i32, see: &mut See<'_>) -> Result<()> {
        match transaction.get(&self.table, &Rec200Ids { id })? {
            Some(row) => see(Some(row.view())),
            None => see(None),
        }
        Ok(())
    }
}

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Writer(self)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Reader(self)))
    }

    fn snapshot(&self) -> Outcome<Box<dyn Snapshot + '_>> {
        Ok(Box::new(Open { shared: self, transaction: self.db.begin_read()? }))
    }

    fn memory(&self) -> Option<MemoryHeld> {
        let memory = self.db.memory();
        Some(MemoryHeld { held_bytes: memory.held, rows_bytes: memory.rows })
    }
}

impl RowWriter for Writer<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let transaction = self.0.db.begin_write()?;
        for row in rows {
            let record =
                Rec200 { id: row.id, hexkey: row.hexkey, payload: BinaryArray(row.payload) };
            if aborted(transaction.insert(&self.0.table, &record))? {
                return Ok(Ended::Aborted);
            }
        }
        commit(transaction)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let Shared { db, table, payload, .. } = self.0;
        let transaction = db.begin_write()?;
        for change in changes {
            let Some(row) = transaction.get_row(table, &Rec200Ids { id: change.id })? else {
                return Err(format!("row {} is not there", change.id).into());
            };
            let change = [(*payload, Value::Bytes(&change.payload))];
            if aborted(transaction.update_values(table, row.id(), &change))? {
                return Ok(Ended::Aborted);
            }
        }
        commit(transaction)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let Shared { db, table, ids, id, .. } = self.0;
        let transaction = db.begin_write()?;
        let mut cursor = transaction.cursor(table, *ids)?;
        let mut next = cursor.find(Find::AtLeast, &[from.into()])?;
        let mut deleted = Deleted { rows: 0, last: from };
        while deleted.rows < count
            && let Some(row) = next
        {
            deleted.last = row.get(*id).ok_or("a row without an id")?;
            if aborted(transaction.delete(table, row.id()))? {
                return Ok(None);
            }
            deleted.rows += 1;
            next = if deleted.rows < count { cursor.next() } else { None };
        }
        drop(cursor);
        Ok((commit(transaction)? == Ended::Committed).then_some(deleted))
    }
}

impl RowReader for Reader<'_> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let transaction = self.0.db.begin_read()?;
        for &id in ids {
            self.0.look(&transaction, id, see)?;
        }
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        let transaction = self.0.db.begin_read()?;
        for row in transaction.records(&self.0.table)? {
            see(Some(row.view()));
        }
        Ok(Ended::Committed)
    }
}

impl Snapshot for Open<'_> {
    fn look(&mut self, id: i32, see: &mut See<'_>) -> Outcome<()> {
        Ok(self.shared.look(&self.transaction, id, see)?)
    }
}

impl Rec200 {
    fn view(&self) -> RowView<'_> {
        RowView { id: self.id, hexkey: self.hexkey, payload: &self.payload.0 }
    }
}

fn commit(transaction: WriteTransaction<'_>) -> Outcome<Ended> {
    Ok(if aborted(transaction.commit())? { Ended::Aborted } else { Ended::Committed })
}

/// Whether a statement failed because another transaction was first.
fn aborted<T>(result: Result<T>) -> Outcome<bool> {
    match result {
        Ok(_) => Ok(false),
        Err(error) if error.is_conflict() => Ok(true),
        Err(error) => Err(error.into()),
    }
}
