//! Events: handlers of the program, called by the transaction that caused them.
//!
//! Handlers belong to a database and are called in the order of their registration, in the thread
//! and within the transaction of the cause. While one runs, the transaction cannot be ended; all
//! else a handler may do, and nothing of the runtime is borrowed meanwhile.

use std::ffi::{c_int, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{PoisonError, RwLock};

use super::object::{Context, Object};
use super::session::{State, find_session};
use super::status::*;
use crate::ffi::OutPtr;

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
pub(super) enum Event {
    New = 1,
    Update = 2,
    Delete = 3,
    DeleteAll = 4,
    Checkpoint = 5,
}

/// A function of the program's.
pub type rem_mco_handler = extern "C" fn(u64, *mut Object, c_int, *mut c_void) -> MCO_RET;

/// The handlers of a database.
#[derive(Default)]
pub(super) struct Handlers {
    count: AtomicUsize,
    all: RwLock<Vec<Handler>>,
}

#[derive(Clone, Copy)]
struct Handler {
    class_id: u32,
    event: c_int,
    leaf: u32,
    function: rem_mco_handler,
    param: Param,
}

/// The context of the program, passed to its handlers; it is never inspected.
#[derive(Clone, Copy)]
struct Param(usize);

const ANY_LEAF: u32 = u32::MAX;

impl Handlers {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count.load(SeqCst) == 0
    }
}

/// Calls the handlers of an event.
#[inline]
pub(super) fn fire(context: Context, object: &Object, event: Event) -> Outcome {
    if context.instance.handlers.is_empty() {
        return Ok(());
    }
    fire_all(context, object, event)
}

#[cold]
fn fire_all(context: Context, object: &Object, event: Event) -> Outcome {
    let handlers = &context.instance.handlers.all;
    let handlers = handlers.read().unwrap_or_else(PoisonError::into_inner).clone();
    let wanted =
        |handler: &&Handler| handler.class_id == object.class_id && handler.event == event as c_int;
    for handler in handlers.iter().filter(wanted) {
        if handler.leaf != ANY_LEAF && !has_changed(context, object, handler.leaf)? {
            continue;
        }
        let mut object = *object;
        let outer = context.slot.in_handler.replace(true);
        let param = handler.param.0 as *mut c_void;
        let returned =
            (handler.function)(context.slot.token(), &raw mut object, event as c_int, param);
        context.slot.in_handler.set(outer);
        if returned != MCO_S_OK {
            return Err(returned);
        }
    }
    Ok(())
}

/// Whether the draft differs from its row in this leaf.
fn has_changed(context: Context, object: &Object, leaf: u32) -> Outcome<bool> {
    let mut drafts = context.slot.drafts.borrow_mut();
    let draft = drafts.get(object.draft, object.class_id)?;
    let (Some(content), Some(id)) = (&draft.content, draft.row) else { return Ok(true) };
    if draft.state != State::Changed {
        return Ok(true);
    }
    let reading = context.slot.held().reading().ok_or(MCO_E_TRANSACT)?;
    let Some(row) = reading.row(&context.class.table, id).map_err(status_of)? else {
        return Ok(true);
    };
    let column = context.leaf(leaf)?.column;
    Ok(row.value(column) != content.row().value(column))
}

/// Registers a handler.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_register(
    transaction: u64,
    class_id: u32,
    event: c_int,
    leaf: u32,
    function: Option<rem_mco_handler>,
    param: OutPtr<c_void>,
) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        let function = function.ok_or(MCO_E_ILLEGAL_PARAM)?;
        if leaf != ANY_LEAF {
            context.leaf(leaf)?;
        }
        if !(Event::New as c_int..=Event::Checkpoint as c_int).contains(&event) {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        let handlers = &context.instance.handlers;
        let param = Param(param.address() as usize);
        let mut all = handlers.all.write().unwrap_or_else(PoisonError::into_inner);
        all.push(Handler { class_id, event, leaf, function, param });
        handlers.count.store(all.len(), SeqCst);
        Ok(())
    })
}

/// Ends what `rem_mco_register` began; `S_NOTFOUND` if it did not.
#[unsafe(no_mangle)]
pub extern "C" fn rem_mco_unregister(
    transaction: u64,
    class_id: u32,
    event: c_int,
    leaf: u32,
    function: Option<rem_mco_handler>,
) -> MCO_RET {
    call(|| {
        let context = Context::of(find_session(transaction)?, class_id)?;
        let function = function.ok_or(MCO_E_ILLEGAL_PARAM)? as usize;
        let handlers = &context.instance.handlers;
        let mut all = handlers.all.write().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().position(|handler| {
            let same = (handler.class_id, handler.event, handler.leaf) == (class_id, event, leaf);
            same && handler.function as usize == function
        });
        all.remove(found.ok_or(MCO_S_NOTFOUND)?);
        handlers.count.store(all.len(), SeqCst);
        Ok(())
    })
}
