//! From the `DB_TASK` of a program to its task.
//!
//! A `DB_TASK` holds a token: the number of a place, and how many tasks were there before. A call
//! takes the place for as long as it runs; who finds it taken is another thread, which is told so
//! instead of waiting. Places are never freed, so no token leads astray.

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use remanent_navigation::{Fault, Outcome, Status, Task};

use crate::arena::{Arena, NUMBER_BITS};
use crate::border::{In, Out, caught};
use crate::claim::Claim;

static PLACES: Arena<Place> = Arena::new();
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// What a program's `DB_TASK` is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DbTask {
    /// Leads to the task; 0 for none.
    pub token: u64,
}

/// A function of the program that is told of faults.
pub type Handler = Option<extern "C" fn(c_int, *const c_char)>;

#[derive(Default)]
struct Place {
    context: Claim<Option<Context>>,
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
    let Some((number, place)) = PLACES.take() else { return 0 };
    let token = SERIAL.fetch_add(1, Relaxed) << NUMBER_BITS | u64::from(number);
    let context = Context { task: Task::new(), handler: None, token, message: CString::default() };
    loop {
        // Who has it looks at an old token and is gone at once.
        if let Some(mut place) = place.context.try_take() {
            *place = Some(context);
            return token;
        }
        std::thread::yield_now();
    }
}

/// Ends a task. What it has open is closed; if that fails, it has ended all the same.
pub(super) fn close(task: In<DbTask>) -> c_int {
    let mut token = 0;
    let closed = with(task, |context| {
        token = context.token;
        match context.task.close() {
            Err(fault) if fault.status == Status::NOT_OPEN => Ok(()),
            closed => closed,
        }
    });
    let Some(place) = PLACES.place(token).filter(|_| token != 0) else { return closed };
    if let Some(mut context) = place.context.try_take()
        && context.as_ref().is_some_and(|context| context.token == token)
    {
        *context = None;
        drop(context);
        PLACES.give_back((token & ((1 << NUMBER_BITS) - 1)) as u32);
    }
    closed
}

/// Does a call's work with its task and gives its status; tells the program's handler of faults,
/// and that only when the task may be used again.
#[inline]
pub(super) fn with(task: In<DbTask>, work: impl FnOnce(&mut Context) -> Outcome) -> c_int {
    let invalid = Status::INVALID_TASK.code();
    let Some(&DbTask { token }) = task.get() else { return invalid };
    let Some(place) = PLACES.place(token).filter(|_| token != 0) else { return invalid };
    let Some(mut taken) = place.context.try_take() else { return invalid };
    let Some(context) = taken.as_mut().filter(|context| context.token == token) else {
        return invalid;
    };
    let internal = || Err(Fault::from(Status::INTERNAL));
    match caught(None, || Some(work(context))).unwrap_or_else(internal) {
        Ok(()) => 0,
        Err(fault) => {
            let code = fault.status.code();
            let told = context.note(&fault);
            drop(taken);
            if let Some((handler, message)) = told {
                handler(code, message.as_ptr());
            }
            code
        }
    }
}

impl Context {
    /// Keeps the words for a fault; who is to be told of it, with a copy of them.
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
pub(super) fn open_at(task: Out<DbTask>) -> c_int {
    if task.is_null() {
        return Status::INVALID_POINTER.code();
    }
    let token = open();
    task.put(DbTask { token });
    if token == 0 { Status::NO_MEMORY.code() } else { 0 }
}
