//! One database in memory shared by a writer and readers.
//!
//! The table's values have a fixed width, which spares redb their lengths. An update reads the
//! value it finds and inserts the changed one; a delete takes the first row off the table, which
//! is the documented way to go over a table and remove what is met. Commits are never durable.

use lab_harness::readers::{
    Deleted, Ended, HEXKEY_LEN, Row, RowReader, RowWriter, See, SharedStore, VALUE_LEN, pack,
    unpack,
};
use lab_harness::{Location, Outcome};
use redb::backends::InMemoryBackend;
use redb::{
    Builder, Database, Durability, ReadableDatabase, ReadableTable, TableDefinition,
    WriteTransaction,
};

const ROWS: TableDefinition<'static, i32, [u8; VALUE_LEN]> = TableDefinition::new("rec_200");

/// The shared database.
pub(crate) struct Shared {
    database: Database,
}

struct Thread<'s>(&'s Database);

impl Shared {
    pub(crate) fn open(location: &Location<'_>) -> Outcome<Self> {
        let mut builder = Builder::new();
        builder.set_cache_size((location.data_bytes as usize * 3).max(1 << 30));
        let database = builder.create_with_backend(InMemoryBackend::new())?;
        let transaction = database.begin_write()?;
        transaction.open_table(ROWS)?;
        transaction.commit()?;
        Ok(Self { database })
    }
}

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Thread(&self.database)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Thread(&self.database)))
    }
}

impl Thread<'_> {
    fn begin_write(&self) -> Outcome<WriteTransaction> {
        let mut transaction = self.0.begin_write()?;
        transaction.set_durability(Durability::None)?;
        Ok(transaction)
    }
}

impl RowWriter for Thread<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let transaction = self.begin_write()?;
        {
            let mut table = transaction.open_table(ROWS)?;
            let mut value = [0; VALUE_LEN];
            for row in rows {
                pack(row, &mut value);
                table.insert(row.id, value)?;
            }
        }
        transaction.commit()?;
        Ok(Ended::Committed)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let transaction = self.begin_write()?;
        {
            let mut table = transaction.open_table(ROWS)?;
            for change in changes {
                let mut value = table.get_mut(change.id)?.ok_or("a row is not there")?;
                let mut changed = value.value();
                changed[HEXKEY_LEN..].copy_from_slice(&change.payload);
                value.insert(changed)?;
            }
        }
        transaction.commit()?;
        Ok(Ended::Committed)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let transaction = self.begin_write()?;
        let mut deleted = Deleted { rows: 0, last: from };
        {
            let mut table = transaction.open_table(ROWS)?;
            while deleted.rows < count
                && let Some((id, _)) = table.pop_first()?
            {
                deleted = Deleted { rows: deleted.rows + 1, last: id.value() };
            }
        }
        transaction.commit()?;
        Ok(Some(deleted))
    }
}

impl RowReader for Thread<'_> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let transaction = self.0.begin_read()?;
        let table = transaction.open_table(ROWS)?;
        for &id in ids {
            match table.get(id)? {
                Some(value) => see(unpack(id, &value.value())),
                None => see(None),
            }
        }
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        let transaction = self.0.begin_read()?;
        let table = transaction.open_table(ROWS)?;
        for entry in table.iter()? {
            let (id, value) = entry?;
            see(unpack(id.value(), &value.value()));
        }
        Ok(Ended::Committed)
    }
}
