//! Databases and transactions of the native interface, as their tokens lead to them.
//!
//! A database has its tables by number; a handle of a table, column or index has the database's
//! number and the table's in it, so that one of another database or table is noticed. Drafts and
//! cursors lie in their transaction's slot and end with it.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use remanent_engine::{ColumnHandle, Cursor, Database, RawTransaction, RowDraft, Scan, Set, Table};

use super::kv::cursor::OpenKvCursor;
use super::kv::stores::Stores;
use super::savepoints::Savepoints;
use super::status::*;
use super::value::kind_of;
use crate::append_list::{AppendList, LIST_MAX};
use crate::handles::{Called, Handles};
use crate::numbered::Numbered;
use crate::slots::{First, Pool, Slot, SlotState, Slots, TokenError};

/// Bits of a handle that say which column or index of its table.
pub(super) const ORDINAL_BITS: u32 = 20;
const TABLE_BITS: u32 = 20;
const _: () = assert!(LIST_MAX <= 1 << TABLE_BITS && LIST_MAX <= 1 << ORDINAL_BITS);
/// Numbers of databases that a handle has room for, but for 0.
const NUMBERS_MAX: u64 = (1 << (64 - ORDINAL_BITS - TABLE_BITS)) - 1;
const IDLE_MAX: usize = 16;
const IDLE_LENGTH_MAX: usize = 64 << 10;

/// A database of C.
pub(super) struct Base {
    pub(super) database: Arc<Database>,
    /// Unlike that of every other database there was lately.
    number: u64,
    /// Dropped ones too: they have handles that are refused.
    tables: AppendList<Entry>,
    sets: AppendList<Set>,
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
    pub(super) held: RawTransaction,
    base: Cell<Option<&'static Base>>,
    pub(super) drafts: RefCell<Drafts>,
    pub(super) cursors: RefCell<Numbered<OpenCursor, 32, 64>>,
    pub(super) kv_cursors: RefCell<Numbered<OpenKvCursor, 32, 64>>,
    pub(super) savepoints: RefCell<Savepoints>,
}

#[derive(Default)]
pub(super) struct Drafts {
    /// With numbers of 32 bits, for they stand in a `rem_row` too.
    all: Numbered<(u64, RowDraft), 22, 32>,
    idle: Vec<(u64, RowDraft)>,
}

/// A cursor or a scan.
pub(super) enum OpenCursor {
    Cursor { table: u64, cursor: Box<Cursor<'static>> },
    Scan { table: u64, scan: Scan<'static> },
}

pub(super) type SessionSlot = &'static Slot<Session>;

pub(super) static DATABASES: Handles<Base> = Handles::new();
static SLOTS: Slots<Session> = Slots::new();
static NUMBERS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static POOL: Pool<Session> = const { Pool::new() };
    static FIRST: First<Session> = const { Cell::new(None) };
}

impl SlotState for Session {
    fn slots() -> &'static Slots<Self> {
        &SLOTS
    }

    fn pool() -> &'static std::thread::LocalKey<Pool<Self>> {
        &POOL
    }

    fn first() -> &'static std::thread::LocalKey<First<Self>> {
        &FIRST
    }

    fn abandon(slot: SessionSlot) {
        slot.end();
    }
}

/// The transaction of a token.
#[inline]
pub(super) fn find_session(token: u64) -> Outcome<SessionSlot> {
    #[cfg(test)]
    crate::ffi::panic_if_planted();
    match SLOTS.find(token) {
        Ok(slot) => Ok(slot),
        Err(TokenError::OtherThread) => Err(REM_WRONG_THREAD),
        Err(TokenError::Unknown) if token == 0 => Err(REM_NULL_ARGUMENT),
        Err(TokenError::Unknown) => Err(REM_TRANSACTION_ENDED),
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
    place >> ORDINAL_BITS << ORDINAL_BITS
}

/// Which column or index of its table a handle is of.
#[inline]
pub(super) fn ordinal_of(place: u64) -> usize {
    place as usize & ((1 << ORDINAL_BITS) - 1)
}

impl Base {
    pub(super) fn new(database: Arc<Database>) -> Self {
        Self {
            database,
            number: NUMBERS.fetch_add(1, Relaxed) % NUMBERS_MAX + 1,
            tables: AppendList::new(),
            sets: AppendList::new(),
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
        let number = id as usize >> ORDINAL_BITS & ((1 << TABLE_BITS) - 1);
        match self.tables.get(number) {
            Some(entry) if entry.id == table_of(id) => Ok(entry),
            _ if id == 0 => Err(REM_NULL_ARGUMENT),
            _ => Err(REM_WRONG_TABLE),
        }
    }

    /// The set with this handle.
    pub(super) fn set(&self, id: u64) -> Outcome<&Set> {
        let number = id as usize & ((1 << ORDINAL_BITS) - 1);
        match self.sets.get(number) {
            Some(set) if id >> ORDINAL_BITS == self.number => Ok(set),
            _ if id == 0 => Err(REM_NULL_ARGUMENT),
            _ => Err(REM_BAD_HANDLE),
        }
    }

    /// The handle of a set, which is noted if it was not.
    pub(super) fn note_set(&self, set: Set) -> Outcome<u64> {
        let key = std::ptr::from_ref(set.relation().layout()) as usize;
        let (number, _) = self
            .sets
            .find_or_fill(Some(key), |_| Ok::<_, rem_status>(set))?
            .ok_or(REM_LIMIT_REACHED)?;
        Ok(self.number << ORDINAL_BITS | number as u64)
    }

    /// The handle of a table, which is noted if it was not.
    pub(super) fn note(&self, table: Table) -> Outcome<&Entry> {
        let key = std::ptr::from_ref(table.layout()) as usize;
        let id = |number: usize| (self.number << TABLE_BITS | number as u64) << ORDINAL_BITS;
        let make = |number| Ok::<_, rem_status>(Entry::new(table, id(number)));
        let (_, entry) = self.tables.find_or_fill(Some(key), make)?.ok_or(REM_LIMIT_REACHED)?;
        Ok(entry)
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
        self.leaves.get(ordinal_of(column)).ok_or(REM_BAD_HANDLE)
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
        self.cursors.borrow_mut().clear(drop);
        self.kv_cursors.borrow_mut().clear(drop);
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
    pub(super) fn add(&mut self, entry: &Entry) -> Outcome<u64> {
        let found = self.idle.iter().rposition(|(id, _)| *id == entry.id);
        let draft = match found.map(|at| self.idle.swap_remove(at)) {
            Some((_, mut draft)) => {
                draft.reset();
                draft
            }
            None => entry.table.draft(),
        };
        self.all.add((entry.id, draft)).ok_or(REM_LIMIT_REACHED)
    }

    /// The draft with this number, and its table.
    #[inline]
    pub(super) fn get(&mut self, number: u64) -> Outcome<(u64, &mut RowDraft)> {
        let (id, draft) = self.all.get(number).ok_or(REM_BAD_HANDLE)?;
        Ok((*id, draft))
    }

    /// Gives a draft up.
    pub(super) fn remove(&mut self, number: u64) -> Outcome {
        let (id, draft) = self.all.remove(number).ok_or(REM_BAD_HANDLE)?;
        keep(&mut self.idle, id, draft);
        Ok(())
    }

    #[inline]
    fn clear(&mut self) {
        let idle = &mut self.idle;
        self.all.clear(|(id, draft)| keep(idle, id, draft));
    }
}

/// Keeps a draft for use again.
fn keep(idle: &mut Vec<(u64, RowDraft)>, id: u64, draft: RowDraft) {
    if draft.row().bytes().len() > IDLE_LENGTH_MAX {
        return;
    }
    if idle.len() == IDLE_MAX {
        idle.remove(0);
    }
    idle.push((id, draft));
}
