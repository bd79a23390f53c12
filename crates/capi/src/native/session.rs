//! Databases and transactions of the native interface, as their tokens lead to them.
//!
//! A database has its tables by number; a handle of a table, column or index has the database's
//! number and the table's in it, so that one of another database or table is noticed. Drafts and
//! cursors lie in their transaction's slot and end with it.

use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};

use remanent_engine::{ColumnHandle, Cursor, Database, RowDraft, Savepoint, Scan, Set, Table};

use super::kv_cursor::KvWalk;
use super::kv_stores::Stores;
use super::status::*;
use super::value::kind_of;
use crate::handles::{Called, Handles};
use crate::held::Held;
use crate::slots::{First, Inhabitant, Lost, Pool, Slot, Slots};

/// Tables that a database has in this interface, at most.
const TABLES_MAX: usize = 4096;
/// Sets that a database has in this interface, at most.
const SETS_MAX: usize = 1024;
/// Bits of a handle that say which column or index of its table.
pub(super) const PLACE_BITS: u32 = 20;
const TABLE_BITS: u32 = 20;
/// Numbers of databases that a handle has room for, but for 0.
const NUMBERS_MAX: u64 = (1 << (64 - PLACE_BITS - TABLE_BITS)) - 1;
const IDLE_MAX: usize = 16;
const IDLE_LENGTH_MAX: usize = 64 << 10;

/// A database of C.
pub(super) struct Base {
    pub(super) database: Arc<Database>,
    /// Unlike that of every other database there was lately.
    number: u64,
    tables: Box<[OnceLock<Entry>]>,
    /// Tables so far.
    count: Mutex<usize>,
    sets: Box<[OnceLock<Set>]>,
    stores: OnceLock<Stores>,
}

/// A table and what calls look up in it.
pub(super) struct Entry {
    pub(super) table: Table,
    /// The handle's number.
    pub(super) id: u64,
    pub(super) leaves: Box<[Leaf]>,
}

pub(super) struct Leaf {
    pub(super) column: ColumnHandle,
    pub(super) kind: u32,
    pub(super) nullable: bool,
    pub(super) offset: usize,
    pub(super) size: usize,
}

/// A transaction of C.
#[derive(Default)]
pub(super) struct Session {
    pub(super) held: Held,
    base: Cell<Option<&'static Base>>,
    pub(super) drafts: RefCell<Drafts>,
    pub(super) walks: RefCell<Vec<Option<Walk>>>,
    pub(super) kv_walks: RefCell<Vec<Option<KvWalk>>>,
    pub(super) savepoints: RefCell<Vec<Savepoint>>,
}

#[derive(Default)]
pub(super) struct Drafts {
    pub(super) all: Vec<Option<(u64, RowDraft)>>,
    idle: Vec<(u64, RowDraft)>,
}

/// A cursor or a scan.
pub(super) enum Walk {
    Cursor { table: u64, cursor: Box<Cursor<'static>> },
    Scan { table: u64, scan: Scan<'static> },
}

pub(super) type Place = &'static Slot<Session>;

pub(super) static DATABASES: Handles<Base> = Handles::new();
static SLOTS: Slots<Session> = Slots::new();
static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static POOL: Pool<Session> = const { Pool::new() };
    static FIRST: First<Session> = const { Cell::new(None) };
}

impl Inhabitant for Session {
    fn slots() -> &'static Slots<Self> {
        &SLOTS
    }

    fn pool() -> &'static std::thread::LocalKey<Pool<Self>> {
        &POOL
    }

    fn first() -> &'static std::thread::LocalKey<First<Self>> {
        &FIRST
    }

    fn abandon(slot: Place) {
        slot.end();
    }
}

/// The transaction of a token.
#[inline]
pub(super) fn find(token: u64) -> Outcome<Place> {
    match SLOTS.find(token) {
        Ok(slot) => Ok(slot),
        Err(Lost::OtherThread) => Err(REM_WRONG_THREAD),
        Err(Lost::Unknown) if token == 0 => Err(REM_NULL_ARGUMENT),
        Err(Lost::Unknown) => Err(REM_TRANSACTION_ENDED),
    }
}

/// The database of a token, for one call.
pub(super) fn database(token: u64) -> Outcome<Called<Base>> {
    match token {
        0 => Err(REM_NULL_ARGUMENT),
        token => DATABASES.call(token).ok_or(REM_BAD_HANDLE),
    }
}

/// The table's handle of that of a column or an index.
#[inline]
pub(super) fn table_of(place: u64) -> u64 {
    place >> PLACE_BITS << PLACE_BITS
}

/// Which column or index of its table a handle is of.
#[inline]
pub(super) fn place_of(place: u64) -> usize {
    place as usize & ((1 << PLACE_BITS) - 1)
}

impl Base {
    pub(super) fn new(database: Database) -> Self {
        Self {
            database: Arc::new(database),
            number: NUMBERS.fetch_add(1, Relaxed) % NUMBERS_MAX + 1,
            tables: (0..TABLES_MAX).map(|_| OnceLock::new()).collect(),
            count: Mutex::new(0),
            sets: (0..SETS_MAX).map(|_| OnceLock::new()).collect(),
            stores: OnceLock::new(),
        }
    }

    /// Its key/value databases.
    #[inline]
    pub(super) fn stores(&self) -> &Stores {
        self.stores.get_or_init(|| Stores::new(Arc::clone(&self.database), self.number))
    }

    /// The table with this handle.
    #[inline]
    pub(super) fn entry(&self, id: u64) -> Outcome<&Entry> {
        let number = id as usize >> PLACE_BITS & ((1 << TABLE_BITS) - 1);
        match self.tables.get(number).and_then(OnceLock::get) {
            Some(entry) if entry.id == table_of(id) => Ok(entry),
            _ if id == 0 => Err(REM_NULL_ARGUMENT),
            _ => Err(REM_WRONG_TABLE),
        }
    }

    /// The set with this handle.
    pub(super) fn set(&self, id: u64) -> Outcome<&Set> {
        let number = id as usize & ((1 << PLACE_BITS) - 1);
        match self.sets.get(number).and_then(OnceLock::get) {
            Some(set) if id >> PLACE_BITS == self.number => Ok(set),
            _ if id == 0 => Err(REM_NULL_ARGUMENT),
            _ => Err(REM_BAD_HANDLE),
        }
    }

    /// The handle of a set, which is noted if it was not.
    pub(super) fn note_set(&self, set: Set) -> Outcome<u64> {
        let handle = |number: usize| self.number << PLACE_BITS | number as u64;
        for (number, place) in self.sets.iter().enumerate() {
            // Whoever comes first to an empty place has it, and the name in it decides for all.
            let known = place.get_or_init(|| set.clone());
            if std::ptr::eq(known.relation().layout(), set.relation().layout()) {
                return Ok(handle(number));
            }
        }
        Err(REM_LIMIT_REACHED)
    }

    /// The handle of a table, which is noted if it was not.
    pub(super) fn note(&self, table: Table) -> Outcome<&Entry> {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let known = self.tables[..*count].iter().filter_map(OnceLock::get);
        let same = |entry: &&Entry| std::ptr::eq(entry.table.layout(), table.layout());
        if let Some(entry) = known.into_iter().find(same) {
            return Ok(entry);
        }
        let place = self.tables.get(*count).ok_or(REM_LIMIT_REACHED)?;
        let id = (self.number << TABLE_BITS | *count as u64) << PLACE_BITS;
        *count += 1;
        Ok(place.get_or_init(|| Entry::new(table, id)))
    }
}

impl Entry {
    fn new(table: Table, id: u64) -> Self {
        let leaf = |number: usize| {
            let leaf = &table.layout().leaves()[number];
            Some(Leaf {
                column: table.column_at(number).ok()?,
                kind: kind_of(&leaf.column_type),
                nullable: leaf.nullable,
                offset: leaf.offset as usize,
                size: leaf.column_type.fixed_size() as usize,
            })
        };
        let leaves = (0..table.layout().leaves().len()).map_while(leaf).collect();
        Self { id, leaves, table }
    }

    /// The column with this handle.
    #[inline]
    pub(super) fn leaf(&self, column: u64) -> Outcome<&Leaf> {
        if table_of(column) != self.id {
            return Err(REM_WRONG_TABLE);
        }
        self.leaves.get(place_of(column)).ok_or(REM_BAD_HANDLE)
    }
}

impl Session {
    #[inline]
    pub(super) fn base(&self) -> Outcome<&'static Base> {
        self.base.get().ok_or(REM_TRANSACTION_ENDED)
    }

    pub(super) fn set_base(&self, base: Option<&'static Base>) {
        self.base.set(base);
    }

    /// Drops everything that refers to the transaction.
    #[inline]
    pub(super) fn forget(&self) {
        self.walks.borrow_mut().clear();
        self.kv_walks.borrow_mut().clear();
        self.savepoints.borrow_mut().clear();
        self.drafts.borrow_mut().clear();
        self.base.set(None);
    }

    /// Takes back everything and ends the transaction.
    pub(super) fn end(&self) {
        self.forget();
        // SAFETY: cursors are gone, and no call is using the transaction.
        unsafe { self.held.end() };
    }
}

impl Drafts {
    /// A draft of a new row; returns its number, which is never 0.
    #[inline]
    pub(super) fn add(&mut self, entry: &Entry) -> u64 {
        let found = self.idle.iter().rposition(|(id, _)| *id == entry.id);
        let draft = match found.map(|at| self.idle.swap_remove(at)) {
            Some((_, mut draft)) => {
                draft.reset();
                draft
            }
            None => entry.table.draft(),
        };
        self.all.push(Some((entry.id, draft)));
        self.all.len() as u64
    }

    /// The draft with this number, and its table.
    #[inline]
    pub(super) fn get(&mut self, number: u64) -> Outcome<(u64, &mut RowDraft)> {
        let draft = self.all.get_mut((number as usize).wrapping_sub(1));
        let (id, draft) = draft.and_then(Option::as_mut).ok_or(REM_BAD_HANDLE)?;
        Ok((*id, draft))
    }

    /// Gives a draft up.
    pub(super) fn remove(&mut self, number: u64) -> Outcome {
        let draft = self.all.get_mut((number as usize).wrapping_sub(1));
        let draft = draft.and_then(Option::take).ok_or(REM_BAD_HANDLE)?;
        self.keep(draft);
        Ok(())
    }

    #[inline]
    fn clear(&mut self) {
        while let Some(draft) = self.all.pop() {
            if let Some(draft) = draft {
                self.keep(draft);
            }
        }
    }

    fn keep(&mut self, (id, draft): (u64, RowDraft)) {
        if draft.row().bytes().len() > IDLE_LENGTH_MAX {
            return;
        }
        if self.idle.len() == IDLE_MAX {
            self.idle.remove(0);
        }
        self.idle.push((id, draft));
    }
}
