//! One environment shared by a writer and readers.
//!
//! Each reader has a read transaction of its own, reset and renewed, as the documentation advises
//! for threads that read often. An update finds the row with a cursor and replaces it in place;
//! a delete walks the table with one.

use lab_harness::Outcome;
use lab_harness::readers::{
    Deleted, Ended, HEXKEY_LEN, Row, RowReader, RowWriter, See, SharedStore, VALUE_LEN, pack,
    unpack,
};

use crate::environment::{Environment, Move, Reading};

/// The shared environment.
pub(crate) struct Shared(pub(crate) Environment);

struct Writer<'s>(&'s Environment);

struct Reader<'s>(Reading<'s>);

impl SharedStore for Shared {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Writer(&self.0)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Reader(self.0.reading()?)))
    }
}

impl RowWriter for Writer<'_> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let mut writing = self.0.writing()?;
        for row in rows {
            writing.insert(row.id as u64, VALUE_LEN, |value| pack(row, value))?;
        }
        writing.commit()?;
        Ok(Ended::Committed)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let mut writing = self.0.writing()?;
        for change in changes {
            let key = change.id as u64;
            let hexkey = writing
                .walk(Move::Equal(key), |_, value| value.first_chunk::<HEXKEY_LEN>().copied())?;
            let hexkey = hexkey.flatten().ok_or("a row is not there")?;
            writing.replace(key, VALUE_LEN, |value| {
                let (head, payload) = value.split_at_mut(HEXKEY_LEN);
                head.copy_from_slice(&hexkey);
                payload.copy_from_slice(&change.payload);
            })?;
        }
        writing.commit()?;
        Ok(Ended::Committed)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let mut writing = self.0.writing()?;
        let mut deleted = Deleted { rows: 0, last: from };
        let mut to = Move::AtLeast(from as u64);
        while deleted.rows < count
            && let Some(key) = writing.walk(to, |key, _| key)?
        {
            writing.delete()?;
            deleted = Deleted { rows: deleted.rows + 1, last: key as i32 };
            to = Move::Next;
        }
        writing.commit()?;
        Ok(Some(deleted))
    }
}

impl RowReader for Reader<'_> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        self.0.run(|reading| {
            for &id in ids {
                if reading.get(id as u64, |value| see(unpack(id, value)))?.is_none() {
                    see(None);
                }
            }
            Ok(())
        })?;
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        self.0.run(|reading| {
            let mut to = Move::First;
            while reading.walk(to, |key, value| see(unpack(key as i32, value)))?.is_some() {
                to = Move::Next;
            }
            Ok(())
        })?;
        Ok(Ended::Committed)
    }
}
