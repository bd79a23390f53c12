//! Objects: making, changing, deleting them, and finding the bytes that a handle stands for.
//!
//! A handle names a row by where its version lies, or a draft by number. Bytes come from the draft
//! where the transaction has one for the object, so that all handles of it see one content. A
//! draft is written when its object is checkpointed or the transaction commits; an object that is
//! deleted is gone at once.

use std::ffi::c_void;
use std::sync::atomic::Ordering::Relaxed;

use remanent_engine::{RowDraft, RowId};

use super::database::Instance;
use super::dictionary::{Class, Leaf};
use super::events::{self, Event};
use super::session::{Draft, Drafts, SessionSlot, State, find_session};
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::row_at::RowAt;

/// `rem_mco_object` of the header.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Object {
    pub(super) transaction: u64,
    pub(super) row: *const c_void,
    pub(super) length: u32,
    pub(super) class_id: u32,
    pub(super) row_id: u32,
    pub(super) draft: u32,
}

impl Default for Object {
    fn default() -> Self {
        Self { transaction: 0, row: std::ptr::null(), length: 0, class_id: 0, row_id: 0, draft: 0 }
    }
}

/// The entry that a handle's token leads to.
#[derive(Clone, Copy)]
pub(super) struct Context {
    pub(super) slot: SessionSlot,
    pub(super) instance: &'static Instance,
    pub(super) class: &'static Class,
}

impl Object {
    /// Makes the handle of a row where C wants it, field by field: it is read again at once.
    #[inline(always)]
    pub(super) fn put_row(
        slot: SessionSlot,
        class_id: u32,
        row: RowAt,
        out: OutPtr<Object>,
    ) -> Outcome {
        let Some(object) = out.get() else { return Err(MCO_E_ILLEGAL_PARAM) };
        object.draft = 0;
        if slot.writes.get() {
            let drafts = slot.drafts.borrow();
            object.draft = drafts.number_of(class_id, row.id);
            if object.draft != 0 && drafts.is_deleted(class_id, row.id) {
                object.transaction = 0;
                return Err(MCO_E_DELETED);
            }
        }
        let (bytes, length) = row.parts();
        object.transaction = slot.token();
        object.row = bytes.cast();
        object.length = length;
        object.class_id = class_id;
        object.row_id = row.id;
        Ok(())
    }

    fn of_draft(slot: SessionSlot, class_id: u32, draft: u32) -> Self {
        Self { transaction: slot.token(), class_id, draft, ..Self::default() }
    }

    /// The owner of the handle.
    #[inline]
    pub(super) fn context(&self) -> Outcome<Context> {
        if self.transaction == 0 {
            return Err(MCO_E_ILLEGAL_HANDLE);
        }
        Context::of(find_session(self.transaction)?, self.class_id)
            .map_err(|_| MCO_E_ILLEGAL_HANDLE)
    }

    fn row_at(&self) -> RowAt {
        RowAt::from_parts(self.row.cast(), self.length, self.row_id)
    }

    /// The number of the object's draft, 0 if it has none.
    #[inline]
    pub(super) fn draft_number(&self, drafts: &Drafts) -> u32 {
        if self.draft != 0 { self.draft } else { drafts.number_of(self.class_id, self.row_id) }
    }

    /// Calls `read` with the object's bytes.
    #[inline]
    pub(super) fn with_bytes<T>(
        &self,
        context: Context,
        read: impl FnOnce(&[u8]) -> Outcome<T>,
    ) -> Outcome<T> {
        let mut row = self.row_at();
        if (context.slot.writes.get() || self.draft != 0)
            && let Some(draft) = self.draft_at(context)?
        {
            row = draft;
        }
        if row.parts().0.is_null() {
            return Err(MCO_E_ILLEGAL_HANDLE);
        }
        // SAFETY: the token is that of the transaction in which the row was read; or the bytes are
        // a draft's, which nobody changes while it is read.
        read(unsafe { row.bytes() })
    }

    /// Where the content of the object's draft is now, if it has one.
    #[inline(never)]
    fn draft_at(&self, context: Context) -> Outcome<Option<RowAt>> {
        let mut drafts = context.slot.drafts.borrow_mut();
        match self.draft_number(&drafts) {
            0 => Ok(None),
            number => match drafts.get(number, self.class_id)? {
                Draft { state: State::Deleted, .. } => Err(MCO_E_DELETED),
                Draft { content: Some(content), .. } => Ok(Some(RowAt::of(&content.row()))),
                Draft { .. } => Err(MCO_E_ILLEGAL_HANDLE),
            },
        }
    }
}

impl Context {
    #[inline]
    pub(super) fn of(slot: SessionSlot, class_id: u32) -> Outcome<Self> {
        let instance = slot.instance()?;
        let class = instance.classes.get(class_id as usize).ok_or(MCO_E_ILLEGAL_PARAM)?;
        Ok(Self { slot, instance, class })
    }

    #[inline]
    pub(super) fn leaf(&self, leaf: u32) -> Outcome<&'static Leaf> {
        self.class.leaves.get(leaf as usize).ok_or(MCO_E_ILLEGAL_PARAM)
    }
}

/// Calls `read` with an object's bytes.
#[inline]
pub(super) fn read<T>(
    object: InPtr<Object>,
    read: impl FnOnce(Context, &[u8]) -> Outcome<T>,
) -> Outcome<T> {
    let object = object.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
    let context = object.context()?;
    object.with_bytes(context, |bytes| read(context, bytes))
}

/// Calls `change` with an object's draft, which is made if there is none; what fails latches.
#[inline]
pub(super) fn edit(
    object: OutPtr<Object>,
    change: impl FnOnce(Context, &mut RowDraft) -> Outcome,
) -> Outcome {
    let object = object.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
    let context = object.context()?;
    let slot = context.slot;
    slot.check_writes()?;
    slot.latch(edit_draft(object, context, change))
}

#[inline]
fn edit_draft(
    object: &mut Object,
    context: Context,
    change: impl FnOnce(Context, &mut RowDraft) -> Outcome,
) -> Outcome {
    let mut drafts = context.slot.drafts.borrow_mut();
    let mut number = object.draft_number(&drafts);
    if number == 0 {
        number = draft_of_row(object, context, &mut drafts)?;
    }
    object.draft = number;
    let draft = drafts.get(number, object.class_id)?;
    match draft {
        Draft { state: State::Deleted, .. } => Err(MCO_E_DELETED),
        Draft { content: Some(content), state, .. } => {
            change(context, content)?;
            if *state == State::Written {
                *state = State::Changed;
            }
            Ok(())
        }
        Draft { .. } => Err(MCO_E_ILLEGAL_HANDLE),
    }
}

#[inline(never)]
fn draft_of_row(object: &Object, context: Context, drafts: &mut Drafts) -> Outcome<u32> {
    if object.row.is_null() {
        return Err(MCO_E_ILLEGAL_HANDLE);
    }
    let id = object.row_at().row_id().ok_or(MCO_E_ILLEGAL_HANDLE)?;
    let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
    let row = reading.row(&context.class.table, id).map_err(status_of)?.ok_or(MCO_E_DELETED)?;
    drafts.prepare(context.instance);
    let mut content = drafts.blank(context.instance, object.class_id);
    content.load(&row).map_err(status_of)?;
    let class_id = object.class_id;
    let content = Some(content);
    Ok(drafts.add(Draft { class_id, row: Some(id), state: State::Changed, content }))
}

/// Makes an object.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_new(transaction: u64, class_id: u32, out: OutPtr<Object>) -> MCO_RET {
    status(create(transaction, class_id, out))
}

#[inline]
fn create(transaction: u64, class_id: u32, out: OutPtr<Object>) -> Outcome {
    out.set(Object::default()).ok_or(MCO_E_ILLEGAL_PARAM)?;
    let context = Context::of(find_session(transaction)?, class_id)?;
    let (slot, class) = (context.slot, context.class);
    slot.check_writes()?;
    let mut drafts = slot.drafts.borrow_mut();
    drafts.prepare(context.instance);
    let mut content = drafts.blank(context.instance, class_id);
    if let Some(leaf) = class.autoid {
        let id = class.autoid_next.fetch_add(1, Relaxed);
        let column = class.leaves[leaf as usize].column;
        slot.latch(content.set(column, id.into()).map_err(status_of))?;
    }
    let draft = Draft { class_id, row: None, state: State::New, content: Some(content) };
    let number = drafts.add(draft);
    out.put(Object::of_draft(slot, class_id, number));
    Ok(())
}

/// Deletes an object; its other handles give `E_DELETED` from then on.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_delete(object: OutPtr<Object>) -> MCO_RET {
    call(|| {
        let object = object.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let context = object.context()?;
        context.slot.check_writes()?;
        context.slot.latch(delete(object, context))
    })
}

fn delete(object: &mut Object, context: Context) -> Outcome {
    object.with_bytes(context, |_| Ok(()))?;
    events::fire(context, object, Event::Delete)?;
    let mut drafts = context.slot.drafts.borrow_mut();
    drafts.prepare(context.instance);
    let class_id = object.class_id;
    let number = object.draft_number(&drafts);
    let row = match number {
        0 => object.row_at().row_id(),
        number => drafts.get(number, class_id)?.row,
    };
    if let Some(id) = row {
        let writing = context.slot.held().writing().ok_or(MCO_E_TRANSACT)?;
        writing.delete(&context.class.table, id).map_err(status_of)?;
    }
    if number == 0 {
        object.draft = drafts.add(Draft { class_id, row, state: State::Deleted, content: None });
    } else {
        drafts.get(number, class_id)?.state = State::Deleted;
    }
    Ok(())
}

/// Deletes all objects of a class.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_delete_all(transaction: u64, class_id: u32) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        context.slot.check_writes()?;
        context.slot.latch(delete_all(context, class_id))
    })
}

fn delete_all(context: Context, class_id: u32) -> Outcome {
    let slot = context.slot;
    events::fire(context, &Object::of_draft(slot, class_id, 0), Event::DeleteAll)?;
    let writing = slot.held().writing().ok_or(MCO_E_TRANSACT)?;
    let rows = writing.scan(&context.class.table).map_err(status_of)?;
    let rows: Vec<RowId> = rows.map(|row| row.id()).collect();
    let mut drafts = slot.drafts.borrow_mut();
    drafts.prepare(context.instance);
    for row in rows {
        writing.delete(&context.class.table, row).map_err(status_of)?;
        if drafts.number_of(class_id, row.number() as u32) == 0 {
            let row = Some(row);
            drafts.add(Draft { class_id, row, state: State::Deleted, content: None });
        }
    }
    for draft in drafts.all.iter_mut().filter(|draft| draft.class_id == class_id) {
        draft.state = State::Deleted;
    }
    Ok(())
}

/// Makes the changes of this object visible to indexes within the transaction.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_checkpoint(object: OutPtr<Object>) -> MCO_RET {
    call(|| {
        let object = object.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let context = object.context()?;
        context.slot.check_writes()?;
        object.with_bytes(context, |_| Ok(()))?;
        let number = object.draft_number(&context.slot.drafts.borrow());
        if number != 0 {
            write(context.slot, number)?;
            context.slot.drafts.borrow_mut().note_row(number);
        }
        context.slot.latch(events::fire(context, object, Event::Checkpoint))
    })
}

/// Makes rows of all drafts.
#[inline]
pub(super) fn write_all(slot: SessionSlot) -> Outcome {
    let mut number = 1;
    // A handler may make further objects.
    while number <= slot.drafts.borrow().all.len() as u32 {
        write(slot, number)?;
        number += 1;
    }
    Ok(())
}

/// Makes a row of a draft, or puts it in its row's place.
#[inline]
fn write(slot: SessionSlot, number: u32) -> Outcome {
    let instance = slot.instance()?;
    if !instance.handlers.is_empty() {
        fire_events(slot, number)?;
    }
    let mut drafts = slot.drafts.borrow_mut();
    let Some(draft) = drafts.all.get_mut(number as usize - 1) else { return Ok(()) };
    let writing = slot.held().writing().ok_or(MCO_E_TRANSACT)?;
    match (draft.state, &draft.content, draft.row) {
        (State::New, Some(content), _) => {
            let row = writing.insert_draft(content).map_err(status_of)?;
            (draft.row, draft.state) = (Some(row), State::Written);
        }
        (State::Changed, Some(content), Some(row)) => {
            writing.update_draft(row, content).map_err(status_of)?;
            draft.state = State::Written;
        }
        _ => {}
    }
    Ok(())
}

/// Calls the handlers of what is about to be written.
#[cold]
fn fire_events(slot: SessionSlot, number: u32) -> Outcome {
    let (class_id, state) = match slot.drafts.borrow().all.get(number as usize - 1) {
        Some(draft) => (draft.class_id, draft.state),
        None => return Ok(()),
    };
    let context = Context::of(slot, class_id)?;
    let object = Object::of_draft(slot, class_id, number);
    match state {
        State::New => slot.latch(events::fire(context, &object, Event::New)),
        State::Changed => slot.latch(events::fire(context, &object, Event::Update)),
        State::Written | State::Deleted => Ok(()),
    }
}
