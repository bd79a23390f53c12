//! The key/value databases of a database of C, as their handles lead to them.
//!
//! A handle has the database's number and a place in it. What is in a place stays until the
//! database is closed, since cursors refer to it: a key/value database that was removed answers
//! with the engine's error, a secondary that was dissociated is told by its mark. Sequences are
//! referred to by nobody and go when they are closed. One environment serves all handles, so that
//! whoever changes a database changes its secondaries too.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use remanent_engine::Database;
use remanent_kv::{Environment, KvDatabase, Secondary, Sequence};

use super::session::PLACE_BITS;
use super::status::*;

/// Key/value databases that a database has in this interface, at most.
const DATABASES_MAX: usize = 4096;
/// Associations that a database has in this interface, at most.
const SECONDARIES_MAX: usize = 1024;
/// Bits of a sequence's handle that say which it is; those above are the database's number.
const SEQUENCE_BITS: u32 = 40;

/// The key/value databases of a database.
pub(super) struct Stores {
    pub(super) environment: Environment,
    number: u64,
    databases: Places<KvDatabase>,
    secondaries: Places<Associated>,
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

/// Places that are filled one after the other, and stay so.
struct Places<T> {
    all: Box<[OnceLock<T>]>,
    count: Mutex<usize>,
}

impl Stores {
    pub(super) fn new(database: Arc<Database>, number: u64) -> Self {
        Self {
            environment: Environment::over(database),
            number,
            databases: Places::new(DATABASES_MAX),
            secondaries: Places::new(SECONDARIES_MAX),
            sequences: Mutex::default(),
        }
    }

    /// The handle of a key/value database, which is noted if it was not.
    pub(super) fn note(&self, database: KvDatabase) -> Outcome<u64> {
        let same =
            |known: &KvDatabase| std::ptr::eq(known.table().layout(), database.table().layout());
        let place = self.databases.find_or_fill(same, || Ok(database.clone()))?;
        Ok(self.handle(place))
    }

    /// That one more key/value database can have a handle: asked before it is made.
    pub(super) fn check_room(&self) -> Outcome {
        let count = *self.databases.lock();
        if count < DATABASES_MAX { Ok(()) } else { Err(REM_LIMIT_REACHED) }
    }

    /// The key/value database of a handle.
    #[inline]
    pub(super) fn database(&self, id: u64) -> Outcome<&KvDatabase> {
        self.databases.get(self.place(id)?).ok_or(REM_BAD_HANDLE)
    }

    /// The handle of an association that `make` makes.
    pub(super) fn associate(&self, make: impl FnOnce() -> Outcome<Secondary>) -> Outcome<u64> {
        let make = || make().map(|secondary| Associated { secondary, ended: false.into() });
        let place = self.secondaries.find_or_fill(|_| false, make)?;
        Ok(self.handle(place))
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
        self.number << PLACE_BITS | place as u64
    }

    #[inline]
    fn place(&self, id: u64) -> Outcome<usize> {
        if id >> PLACE_BITS == self.number {
            return Ok(id as usize & ((1 << PLACE_BITS) - 1));
        }
        Err(if id == 0 { REM_NULL_ARGUMENT } else { REM_BAD_HANDLE })
    }
}

impl<T> Places<T> {
    fn new(count_max: usize) -> Self {
        let all = (0..count_max).map(|_| OnceLock::new()).collect();
        Self { all, count: Mutex::new(0) }
    }

    #[inline]
    fn get(&self, place: usize) -> Option<&T> {
        self.all.get(place).and_then(OnceLock::get)
    }

    fn lock(&self) -> MutexGuard<'_, usize> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The place of what is `same`, or the next one with what `make` makes.
    fn find_or_fill(
        &self,
        same: impl Fn(&T) -> bool,
        make: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<usize> {
        let mut count = self.lock();
        let known = self.all[..*count].iter().filter_map(OnceLock::get);
        if let Some(place) = known.into_iter().position(same) {
            return Ok(place);
        }
        let place = *count;
        let room = self.all.get(place).ok_or(REM_LIMIT_REACHED)?;
        let made = make()?;
        room.get_or_init(|| made);
        *count += 1;
        Ok(place)
    }
}
