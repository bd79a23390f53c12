//! The key/value databases of a database of C, as their handles lead to them.
//!
//! A handle has the database's number and a place in it. What is in a place stays until the
//! database is closed, since cursors refer to it: a key/value database that was removed answers
//! with the engine's error, a secondary that was dissociated is known by its mark. Sequences are
//! referred to by nobody and go when they are closed. One environment serves all handles, so that
//! whoever changes a database changes its secondaries too.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use remanent_engine::Database;
use remanent_kv::{Environment, KvDatabase, Secondary, Sequence};

use crate::append_list::{AppendList, LIST_MAX};
use crate::native::session::ORDINAL_BITS;
use crate::native::status::*;

/// Bits of a sequence's handle that say which it is; those above are the database's number.
const SEQUENCE_BITS: u32 = 40;

/// The key/value databases of a database.
pub(in crate::native) struct Stores {
    pub(super) environment: Environment,
    number: u64,
    databases: AppendList<KvDatabase>,
    secondaries: AppendList<Associated>,
    sequences: Mutex<Sequences>,
}

/// The sequences that are open, by handles that never come twice.
#[derive(Default)]
struct Sequences {
    open: HashMap<u64, Arc<Counted>>,
    count: u64,
}

/// A secondary database with its primary one.
struct Associated {
    secondary: Secondary,
    ended: AtomicBool,
}

/// A sequence, and where its record is.
pub(super) struct Counted {
    pub(super) sequence: Sequence,
    pub(super) database: KvDatabase,
    pub(super) key: Box<[u8]>,
}

impl Stores {
    pub(in crate::native) fn new(database: Arc<Database>, number: u64) -> Self {
        Self {
            environment: Environment::over(database),
            number,
            databases: AppendList::new(),
            secondaries: AppendList::new(),
            sequences: Mutex::default(),
        }
    }

    /// The handle of a key/value database, which is noted if it was not.
    pub(super) fn note(&self, database: KvDatabase) -> Outcome<u64> {
        let key = std::ptr::from_ref(database.table().layout()) as usize;
        let found = self.databases.find_or_fill(Some(key), |_| Ok::<_, rem_status>(database))?;
        Ok(self.handle(found.ok_or(REM_LIMIT_REACHED)?.0))
    }

    /// That one more key/value database can have a handle: asked before it is made.
    pub(super) fn check_room(&self) -> Outcome {
        if self.databases.count() < LIST_MAX { Ok(()) } else { Err(REM_LIMIT_REACHED) }
    }

    /// The key/value database of a handle.
    #[inline]
    pub(super) fn database(&self, id: u64) -> Outcome<&KvDatabase> {
        self.databases.get(self.place(id)?).ok_or(REM_BAD_HANDLE)
    }

    /// The handle of an association that `make` makes.
    pub(super) fn associate(&self, make: impl FnOnce() -> Outcome<Secondary>) -> Outcome<u64> {
        let make = |_| make().map(|secondary| Associated { secondary, ended: false.into() });
        let found = self.secondaries.find_or_fill(None, make)?;
        Ok(self.handle(found.ok_or(REM_LIMIT_REACHED)?.0))
    }

    /// The secondary of a handle.
    pub(super) fn secondary(&self, id: u64) -> Outcome<&Secondary> {
        let known = self.secondaries.get(self.place(id)?).ok_or(REM_BAD_HANDLE)?;
        if known.ended.load(Acquire) { Err(REM_BAD_HANDLE) } else { Ok(&known.secondary) }
    }

    /// Ends an association.
    pub(super) fn dissociate(&self, id: u64) -> Outcome {
        let known = self.secondaries.get(self.place(id)?).ok_or(REM_BAD_HANDLE)?;
        if known.ended.swap(true, Release) {
            return Err(REM_BAD_HANDLE);
        }
        known.secondary.clone().dissociate();
        Ok(())
    }

    /// The handle of a sequence.
    pub(super) fn keep_sequence(&self, counted: Counted) -> Outcome<u64> {
        let mut sequences = self.sequences();
        sequences.count += 1;
        if sequences.count >> SEQUENCE_BITS != 0 {
            return Err(REM_LIMIT_REACHED);
        }
        let id = self.number << SEQUENCE_BITS | sequences.count;
        sequences.open.insert(id, Arc::new(counted));
        Ok(id)
    }

    /// The sequence of a handle.
    pub(super) fn sequence(&self, id: u64) -> Outcome<Arc<Counted>> {
        let found = self.sequences().open.get(&id).map(Arc::clone);
        found.ok_or(if id == 0 { REM_NULL_ARGUMENT } else { REM_BAD_HANDLE })
    }

    /// Forgets a sequence; calls of other threads that are under way end as they would have.
    pub(super) fn close_sequence(&self, id: u64) -> Outcome {
        let closed = self.sequences().open.remove(&id);
        closed.map(drop).ok_or(if id == 0 { REM_NULL_ARGUMENT } else { REM_BAD_HANDLE })
    }

    fn sequences(&self) -> MutexGuard<'_, Sequences> {
        self.sequences.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn handle(&self, place: usize) -> u64 {
        self.number << ORDINAL_BITS | place as u64
    }

    #[inline]
    fn place(&self, id: u64) -> Outcome<usize> {
        if id >> ORDINAL_BITS == self.number {
            return Ok(id as usize & ((1 << ORDINAL_BITS) - 1));
        }
        Err(if id == 0 { REM_NULL_ARGUMENT } else { REM_BAD_HANDLE })
    }
}
