//! What a transaction of the mco-style runtime is made of, in its slot.
//!
//! The engine's transaction, the drafts of objects that were made or changed, the cursors. Drafts
//! become rows at commit or checkpoint and not before, so that indexes show what the style says
//! they show. Everything here belongs to one thread; calls borrow parts of it for as long as they
//! run and hold nothing while a handler of the program runs.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use remanent_engine::{RawTransaction, RowDraft, RowId};

use super::cursor::Position;
use super::database::Instance;
use super::gate::Pass;
use super::status::{MCO_E_ACCESS, MCO_E_ILLEGAL_HANDLE, MCO_E_TRANSACT, MCO_E_WRONG_THREAD};
use super::status::{MCO_RET, MCO_S_OK, Outcome};
use crate::slots::{First, Pool, Slot, SlotState, Slots, TokenError};

/// A transaction's own things.
#[derive(Default)]
pub(super) struct Session {
    /// The transaction as it was started.
    started: RawTransaction,
    /// The one that writes, once a transaction that reads was upgraded. The first one stays, for
    /// what was read by it.
    upgraded: RawTransaction,
    instance: Cell<Option<&'static Instance>>,
    pub(super) writes: Cell<bool>,
    pub(super) pass: Cell<Pass>,
    /// The number of the database that it writes beside others, for who wants it alone.
    pub(super) writes_in: AtomicU64,
    /// The first failure, which the commit is not to pass over.
    failed: Cell<MCO_RET>,
    /// Whether a handler of the program is running.
    pub(super) in_handler: Cell<bool>,
    pub(super) drafts: RefCell<Drafts>,
    pub(super) cursors: RefCell<Vec<Position>>,
    pub(super) cursor_number: Cell<u32>,
    pub(super) text: RefCell<Vec<u8>>,
}

pub(super) type SessionSlot = &'static Slot<Session>;

/// Objects that were made or changed.
#[derive(Default)]
pub(super) struct Drafts {
    pub(super) all: Vec<Draft>,
    /// The drafts of rows, by class and row id.
    by_row: HashMap<(u32, u32), u32>,
    /// Drafts to use again, by class, of the database with this number.
    idle: Vec<Vec<RowDraft>>,
    idle_of: u64,
}

pub(super) struct Draft {
    pub(super) class_id: u32,
    pub(super) row: Option<RowId>,
    pub(super) state: State,
    /// None for an object that was deleted without being changed.
    pub(super) content: Option<RowDraft>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Not a row yet.
    New,
    /// Its row is as it was.
    Changed,
    /// Its row is as the draft.
    Written,
    Deleted,
}

static SLOTS: Slots<Session> = Slots::new();

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
    match SLOTS.find(token) {
        Ok(slot) => Ok(slot),
        Err(TokenError::OtherThread) => Err(MCO_E_WRONG_THREAD),
        Err(TokenError::Unknown) => Err(MCO_E_TRANSACT),
    }
}

impl Session {
    /// The transaction, as it was started.
    pub(super) fn started(&self) -> &RawTransaction {
        &self.started
    }

    /// The transaction that a reading one is upgraded to.
    pub(super) fn upgraded(&self) -> &RawTransaction {
        &self.upgraded
    }

    /// The engine's transaction that counts.
    #[inline]
    pub(super) fn held(&self) -> &RawTransaction {
        if self.writes.get() && self.started.writing().is_none() {
            &self.upgraded
        } else {
            &self.started
        }
    }

    #[inline]
    pub(super) fn instance(&self) -> Outcome<&'static Instance> {
        self.instance.get().ok_or(MCO_E_TRANSACT)
    }

    pub(super) fn set_instance(&self, instance: &'static Instance) {
        self.instance.set(Some(instance));
    }

    /// Remembers a failure, unless there was one.
    #[cold]
    pub(super) fn fail(&self, status: MCO_RET) {
        if self.failed.get() == MCO_S_OK {
            self.failed.set(status);
        }
    }

    #[inline]
    pub(super) fn has_failed(&self) -> bool {
        self.failed.get() != MCO_S_OK
    }

    /// Whether objects may be made and changed.
    #[inline]
    pub(super) fn check_writes(&self) -> Outcome {
        if self.has_failed() {
            return Err(MCO_E_TRANSACT);
        }
        if !self.writes.get() {
            self.fail(MCO_E_ACCESS);
            return Err(MCO_E_ACCESS);
        }
        Ok(())
    }

    /// Notes the outcome of a call whose failure latches.
    #[inline]
    pub(super) fn latch<T>(&self, outcome: Outcome<T>) -> Outcome<T> {
        if let Err(status) = outcome {
            self.fail(status);
        }
        outcome
    }

    /// Drops what refers to the transaction and ends it, taking back what it wrote.
    pub(super) fn end(&self) {
        self.forget();
        // SAFETY: cursors are gone, and no call is using the transaction.
        unsafe {
            self.upgraded.end();
            self.started.end();
        }
        self.leave();
    }

    /// Drops everything that refers to the transaction.
    #[inline]
    pub(super) fn forget(&self) {
        let mut cursors = self.cursors.borrow_mut();
        if !cursors.is_empty() {
            cursors.clear();
        }
        self.drafts.borrow_mut().clear();
    }

    /// Leaves the gate and the database.
    #[inline]
    pub(super) fn leave(&self) {
        if let Some(instance) = self.instance.get() {
            instance.gate.leave(self.pass.get(), &self.writes_in);
        }
        self.pass.set(Pass::None);
        self.failed.set(MCO_S_OK);
        self.writes.set(false);
        self.in_handler.set(false);
        self.instance.set(None);
    }
}

impl Drafts {
    /// Makes the idle drafts those of this database.
    #[inline]
    pub(super) fn prepare(&mut self, instance: &Instance) {
        if self.idle_of != instance.number {
            self.idle.clear();
            self.idle.resize_with(instance.classes.len(), Vec::new);
            self.idle_of = instance.number;
        }
    }

    /// A draft to fill, of a class of the database that was prepared for.
    #[inline]
    pub(super) fn blank(&mut self, instance: &Instance, class_id: u32) -> RowDraft {
        match self.idle.get_mut(class_id as usize).and_then(Vec::pop) {
            Some(mut draft) => {
                draft.reset();
                draft
            }
            None => instance.classes[class_id as usize].table.draft(),
        }
    }

    /// Adds a draft; returns its number, which is never 0.
    #[inline]
    pub(super) fn add(&mut self, draft: Draft) -> u32 {
        if let Some(row) = draft.row {
            let number = self.all.len() as u32 + 1;
            self.by_row.insert((draft.class_id, row.number() as u32), number);
        }
        self.all.push(draft);
        self.all.len() as u32
    }

    /// Notes which row a new object has become, for handles that will be found by it.
    pub(super) fn note_row(&mut self, number: u32) {
        if let Some(Draft { class_id, row: Some(row), .. }) = self.all.get(number as usize - 1) {
            self.by_row.insert((*class_id, row.number() as u32), number);
        }
    }

    /// The number of the draft of a row, 0 if it has none.
    #[inline]
    pub(super) fn number_of(&self, class_id: u32, row: u32) -> u32 {
        if self.by_row.is_empty() { 0 } else { self.known_number_of(class_id, row) }
    }

    #[inline(never)]
    fn known_number_of(&self, class_id: u32, row: u32) -> u32 {
        self.by_row.get(&(class_id, row)).copied().unwrap_or(0)
    }

    /// The draft with this number, if it is of the class.
    #[inline]
    pub(super) fn get(&mut self, number: u32, class_id: u32) -> Outcome<&mut Draft> {
        let draft = self.all.get_mut((number as usize).wrapping_sub(1));
        draft.filter(|draft| draft.class_id == class_id).ok_or(MCO_E_ILLEGAL_HANDLE)
    }

    /// Whether the row is one that was deleted.
    pub(super) fn is_deleted(&self, class_id: u32, row: u32) -> bool {
        let number = self.number_of(class_id, row) as usize;
        number != 0 && self.all.get(number - 1).is_some_and(|draft| draft.state == State::Deleted)
    }

    /// Forgets all drafts; a few are kept for use again.
    #[inline]
    fn clear(&mut self) {
        const KEPT_MAX: usize = 16;
        const KEPT_LENGTH_MAX: usize = 64 << 10;
        if self.all.is_empty() {
            return;
        }
        for draft in self.all.drain(..) {
            let idle = self.idle.get_mut(draft.class_id as usize);
            if let (Some(idle), Some(content)) = (idle, draft.content)
                && idle.len() < KEPT_MAX
                && content.row().bytes().len() <= KEPT_LENGTH_MAX
            {
                idle.push(content);
            }
        }
        if !self.by_row.is_empty() {
            self.by_row.clear();
        }
    }
}
