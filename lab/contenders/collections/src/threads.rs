//! Both maps behind a lock for readers and a writer: the limits of the reader-writer workload.
//!
//! A transaction is what is done while the lock is held: readers share it, the writer has it
//! alone, so that nobody sees half of a transaction and everybody waits. Nothing can be undone.
//! Rows lie in the maps. The hash map has no order: ids are counted up to delete them.

use std::collections::BTreeMap;
use std::sync::RwLock;

use lab_harness::Outcome;
use lab_harness::readers::{
    Deleted, Ended, PAYLOAD_LEN, Row, RowReader, RowView, RowWriter, See, SharedStore,
};
use rustc_hash::FxHashMap;

/// What stands beside the key.
pub(crate) struct Fields {
    hexkey: [i16; 3],
    payload: [u8; PAYLOAD_LEN],
}

/// A map from ids to fields.
pub(crate) trait Map: Default + Send + Sync {
    fn insert(&mut self, id: i32, fields: Fields);
    fn get(&self, id: i32) -> Option<&Fields>;
    fn get_mut(&mut self, id: i32) -> Option<&mut Fields>;
    /// Removes the row with the smallest id that is not below `from`.
    fn remove_first(&mut self, from: i32) -> Option<i32>;
    fn each(&self, see: impl FnMut(i32, &Fields));
}

/// A map that threads share.
#[derive(Default)]
pub(crate) struct Locked<M> {
    map: RwLock<M>,
}

struct Thread<'s, M>(&'s RwLock<M>);

impl<M: Map> SharedStore for Locked<M> {
    fn writer(&self) -> Outcome<Box<dyn RowWriter + '_>> {
        Ok(Box::new(Thread(&self.map)))
    }

    fn reader(&self) -> Outcome<Box<dyn RowReader + '_>> {
        Ok(Box::new(Thread(&self.map)))
    }
}

impl<M: Map> RowWriter for Thread<'_, M> {
    fn insert(&mut self, rows: &[Row]) -> Outcome<Ended> {
        let mut map = self.0.write().map_err(|_| "poisoned")?;
        for row in rows {
            map.insert(row.id, Fields { hexkey: row.hexkey, payload: row.payload });
        }
        Ok(Ended::Committed)
    }

    fn update(&mut self, changes: &[Row]) -> Outcome<Ended> {
        let mut map = self.0.write().map_err(|_| "poisoned")?;
        for change in changes {
            map.get_mut(change.id).ok_or("a row is not there")?.payload = change.payload;
        }
        Ok(Ended::Committed)
    }

    fn delete(&mut self, from: i32, count: usize) -> Outcome<Option<Deleted>> {
        let mut map = self.0.write().map_err(|_| "poisoned")?;
        let mut deleted = Deleted { rows: 0, last: from };
        while deleted.rows < count
            && let Some(id) = map.remove_first(deleted.last)
        {
            deleted = Deleted { rows: deleted.rows + 1, last: id };
        }
        Ok(Some(deleted))
    }
}

impl<M: Map> RowReader for Thread<'_, M> {
    fn read(&mut self, ids: &[i32], see: &mut See<'_>) -> Outcome<Ended> {
        let map = self.0.read().map_err(|_| "poisoned")?;
        for &id in ids {
            see(map.get(id).map(|fields| fields.view(id)));
        }
        Ok(Ended::Committed)
    }

    fn scan(&mut self, see: &mut See<'_>) -> Outcome<Ended> {
        let map = self.0.read().map_err(|_| "poisoned")?;
        map.each(|id, fields| see(Some(fields.view(id))));
        Ok(Ended::Committed)
    }
}

impl Fields {
    fn view(&self, id: i32) -> RowView<'_> {
        RowView { id, hexkey: self.hexkey, payload: &self.payload }
    }
}

impl Map for BTreeMap<i32, Fields> {
    fn insert(&mut self, id: i32, fields: Fields) {
        self.insert(id, fields);
    }

    fn get(&self, id: i32) -> Option<&Fields> {
        self.get(&id)
    }

    fn get_mut(&mut self, id: i32) -> Option<&mut Fields> {
        self.get_mut(&id)
    }

    fn remove_first(&mut self, from: i32) -> Option<i32> {
        let first = self.first_entry().filter(|entry| *entry.key() >= from)?;
        Some(first.remove_entry().0)
    }

    fn each(&self, mut see: impl FnMut(i32, &Fields)) {
        self.iter().for_each(|(&id, fields)| see(id, fields));
    }
}

impl Map for FxHashMap<i32, Fields> {
    fn insert(&mut self, id: i32, fields: Fields) {
        self.insert(id, fields);
    }

    fn get(&self, id: i32) -> Option<&Fields> {
        self.get(&id)
    }

    fn get_mut(&mut self, id: i32) -> Option<&mut Fields> {
        self.get_mut(&id)
    }

    fn remove_first(&mut self, from: i32) -> Option<i32> {
        if self.is_empty() {
            return None;
        }
        (from..=i32::MAX).find(|id| self.remove(id).is_some())
    }

    fn each(&self, mut see: impl FnMut(i32, &Fields)) {
        self.iter().for_each(|(&id, fields)| see(id, fields));
    }
}
