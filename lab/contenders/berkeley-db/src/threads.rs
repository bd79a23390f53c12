//! One database, in memory or in files, shared by a writer and readers.
//!
//! A key is the id with its most significant byte first, so that the order of bytes is the order
//! of ids. Readers are snapshots. A writer's transaction that the deadlock detector gives up is
//! aborted as a whole, and whoever called tries again.

use lab_harness::Outcome;
use lab_harness::readers::{
    Deleted, Ended, HEXKEY_LEN, Row, RowReader, RowWriter, See, SharedStore, VALUE_LEN, pack,
    unpack,
};

use crate::database::{Done, Shared, Transaction};

struct Thread<'s>(&'s Shared);

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Thread(self)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Thread(self)))
    }
}

impl RowWriter for Thread<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let mut transaction = self.0.begin(false)?;
        let mut value = [0; VALUE_LEN];
        for row in rows {
            pack(row, &mut value);
            if transaction.insert(key(row.id), &value)? == Done::Aborted {
                return Ok(Ended::Aborted);
            }
        }
        commit(transaction)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let mut transaction = self.0.begin(false)?;
        for change in changes {
            match transaction.change(key(change.id), HEXKEY_LEN, &change.payload)? {
                Done::Yes => {}
                Done::Absent => return Err("a row is not there".into()),
                Done::Aborted => return Ok(Ended::Aborted),
            }
        }
        commit(transaction)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let transaction = self.0.begin(false)?;
        let mut deleted = Deleted { rows: 0, last: from };
        {
            let mut walk = transaction.walk(true)?;
            let mut at = walk.at_least(key(from))?;
            while at == Done::Yes && deleted.rows < count {
                deleted.last = i32::from_be_bytes(walk.key);
                if walk.delete()? == Done::Aborted {
                    return Ok(None);
                }
                deleted.rows += 1;
                if deleted.rows < count {
                    at = walk.next()?;
                }
            }
            if at == Done::Aborted {
                return Ok(None);
            }
        }
        Ok((commit(transaction)? == Ended::Committed).then_some(deleted))
    }
}

impl RowReader for Thread<'_> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let mut transaction = self.0.begin(true)?;
        let mut value = [0; VALUE_LEN];
        for &id in ids {
            match transaction.get(key(id), &mut value)? {
                Done::Yes => see(unpack(id, &value)),
                Done::Absent => see(None),
                Done::Aborted => return Ok(Ended::Aborted),
            }
        }
        commit(transaction)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        let transaction = self.0.begin(true)?;
        {
            let mut walk = transaction.walk(false)?;
            let mut at = walk.at_least(key(0))?;
            while at == Done::Yes {
                see(unpack(i32::from_be_bytes(walk.key), &walk.value));
                at = walk.next()?;
            }
            if at == Done::Aborted {
                return Ok(Ended::Aborted);
            }
        }
        commit(transaction)
    }
}

fn commit(transaction: Transaction<'_>) -> Outcome<Ended> {
    Ok(if transaction.commit()? == Done::Aborted { Ended::Aborted } else { Ended::Committed })
}

fn key(id: i32) -> [u8; 4] {
    id.to_be_bytes()
}
