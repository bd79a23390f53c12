//! From the `DB_TASK` of a program to its task.
//!
//! A `DB_TASK` holds a token: the number of a slot, and how many tasks were there before. A call
//! takes the slot for as long as it runs; who finds it taken is another thread, which gets a status
//! instead of waiting. Slots are never freed, so no token leads astray.

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use remanent_navigation::{Fault, Outcome, Status, Task};

use crate::arena::{Arena, NUMBER_BITS};
use crate::ffi::{InPtr, OutPtr, catch_panic};
use crate::try_lock::TryLock;

static TASK_SLOTS: Arena<TaskSlot> = Arena::new();
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// What a program's `DB_TASK` is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DbTask {
    /// Leads to the task; 0 for none.
    pub token: u64,
}

/// A function of the program that is called with faults.
pub type Handler = Option<extern "C" fn(c_int, *const c_char)>;

#[derive(Default)]
struct TaskSlot {
    context: TryLock<Option<Context>>,
}

/// A task and what C needs beside it.
pub(super) struct Context {
    pub(super) task: Task,
    pub(super) handler: Handler,
    token: u64,
    /// The words for the last status, as C reads them.
    message: CString,
}

/// Makes a task; its token, or 0 if there are too many.
pub(super) fn open() -> u64 {
    let Some((number, slot)) = TASK_SLOTS.take() else { return 0 };
    let token = SERIAL.fetch_add(1, Relaxed) << NUMBER_BITS | u64::from(number);
    let context = Context { task: Task::new(), handler: None, token, message: CString::default() };
    loop {
        // Who has it looks at an old token and is gone at once.
        if let Some(mut slot) = slot.context.try_lock() {
            *slot = Some(context);
            return token;
        }
        std::thread::yield_now();
    }
}

/// Ends a task. What it has open is closed; if that fails, it has ended all the same.
pub(super) fn close(task: InPtr<DbTask>) -> c_int {
    let mut token = 0;
    let closed = with(task, |context| {
        token = context.token;
        match context.task.close() {
            Err(fault) if fault.status == Status::NOT_OPEN => Ok(()),
            closed => closed,
        }
    });
    let Some(slot) = TASK_SLOTS.slot(token).filter(|_| token != 0) else { return closed };
    if let Some(mut context) = slot.context.try_lock()
        && context.as_ref().is_some_and(|context| context.token == token)
    {
        *context = None;
        drop(context);
        TASK_SLOTS.give_back((token & ((1 << NUMBER_BITS) - 1)) as u32);
    }
    closed
}

/// Does a call's work with its task and gives its status; calls the program's handler of faults,
/// and that only when the task may be used again.
#[inline]
pub(super) fn with(task: InPtr<DbTask>, work: impl FnOnce(&mut Context) -> Outcome) -> c_int {
    let invalid = Status::INVALID_TASK.code();
    let Some(&DbTask { token }) = task.get() else { return invalid };
    let Some(slot) = TASK_SLOTS.slot(token).filter(|_| token != 0) else { return invalid };
    let Some(mut taken) = slot.context.try_lock() else { return invalid };
    let Some(context) = taken.as_mut().filter(|context| context.token == token) else {
        return invalid;
    };
    let internal = || Err(Fault::from(Status::INTERNAL));
    match catch_panic(None, || Some(work(context))).unwrap_or_else(internal) {
        Ok(()) => 0,
        Err(fault) => {
            let code = fault.status.code();
            let handler = context.note(&fault);
            drop(taken);
            if let Some((handler, message)) = handler {
                handler(code, message.as_ptr());
            }
            code
        }
    }
}

impl Context {
    /// Keeps the text of a fault; the handler to call with it, and a copy of it.
    #[cold]
    fn note(&mut self, fault: &Fault) -> Option<(extern "C" fn(c_int, *const c_char), CString)> {
        if !fault.status.is_fault() {
            return None;
        }
        self.message = CString::new(fault.to_string().replace('\0', " ")).unwrap_or_default();
        self.handler.map(|handler| (handler, self.message.clone()))
    }

    pub(super) fn message(&self) -> *const c_char {
        self.message.as_ptr()
    }
}

/// Makes a task and puts its token where a program's `DB_TASK` is.
pub(super) fn open_at(task: OutPtr<DbTask>) -> c_int {
    if task.is_null() {
        return Status::INVALID_POINTER.code();
    }
    let token = open();
    task.put(DbTask { token });
    if token == 0 { Status::NO_MEMORY.code() } else { 0 }
}
