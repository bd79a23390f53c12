//! Tasks, databases, transactions and locks.
//!
//! Text comes as C has it and is read as UTF-8; dictionaries come as generated headers lay them
//! out. A null pointer where something is needed is `S_INVPTR`.

use std::ffi::{c_char, c_int};
use std::sync::{Mutex, PoisonError};

use remanent_navigation::{Declared, DeclaredRecord, Outcome, Status, register};

use super::tasks::{self, DbTask, Handler, with};
use crate::ffi::{InPtr, OutPtr, catch_panic};

/// The addresses of the `DB_TASK`s that were made here.
static CELLS: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// The version of the structs below.
const ABI: u32 = 1;
/// More lines, records or fields than any schema has.
const COUNT_MAX: usize = 1 << 20;

/// A record's struct, as the program's compiler laid it out.
#[repr(C)]
#[derive(Debug)]
pub struct RecordDeclaration {
    name: InPtr<c_char>,
    size: usize,
    offsets: InPtr<u32>,
    count: u32,
}

/// A schema, as a generated header declares it.
#[repr(C)]
#[derive(Debug)]
pub struct DictionaryDeclaration {
    abi: u32,
    name: InPtr<c_char>,
    text: InPtr<InPtr<c_char>>,
    records: InPtr<RecordDeclaration>,
    record_count: u32,
}

/// Makes a schema known; called by generated headers before `main`.
#[unsafe(no_mangle)]
pub extern "C" fn rem_d_register(dictionary: InPtr<DictionaryDeclaration>) -> c_int {
    catch_panic(Status::INTERNAL.code(), || match declared(dictionary) {
        Some(declared) => {
            register(declared);
            0
        }
        None => Status::INVALID_POINTER.code(),
    })
}

fn declared(dictionary: InPtr<DictionaryDeclaration>) -> Option<Declared> {
    let dictionary = dictionary.get()?;
    if dictionary.abi != ABI {
        // Opening the database says so: before `main` nobody would see it.
        let text = "the header was generated for another version of the library".to_owned();
        return Some(Declared { name: word(dictionary.name)?, text, records: Vec::new() });
    }
    let mut text = String::new();
    for number in 0..COUNT_MAX {
        // A null pointer ends the lines.
        let line = dictionary.text.at(number)?;
        let Some(line) = line.text() else { break };
        text.push_str(&String::from_utf8_lossy(line));
    }
    let count = dictionary.record_count as usize;
    let mut records = Vec::with_capacity(count.min(COUNT_MAX));
    for record in dictionary.records.slice(count)? {
        let offsets = record.offsets.slice(record.count as usize)?.to_vec();
        records.push(DeclaredRecord { name: word(record.name)?, size: record.size, offsets });
    }
    Some(Declared { name: word(dictionary.name)?, text, records })
}

/// Makes a task of a `DB_TASK` that is the program's.
#[unsafe(no_mangle)]
pub extern "C" fn rem_d_opentask(task: OutPtr<DbTask>) -> c_int {
    catch_panic(Status::INTERNAL.code(), || tasks::open_at(task))
}

/// Makes a `DB_TASK` and a task of it. Its eight bytes stay for ever, so that a pointer to a task
/// that was closed is known for one.
#[unsafe(no_mangle)]
pub extern "C" fn rem_d_opentask_pointer(task: OutPtr<OutPtr<DbTask>>) -> c_int {
    catch_panic(Status::INTERNAL.code(), || {
        if task.is_null() {
            return Status::INVALID_POINTER.code();
        }
        let cell = Box::leak(Box::new(DbTask { token: 0 }));
        // Kept where leak checkers see it, since the program may forget it.
        let address = std::ptr::from_mut(cell).expose_provenance();
        CELLS.lock().unwrap_or_else(PoisonError::into_inner).push(address);
        let cell = OutPtr::to(cell);
        task.put(cell);
        tasks::open_at(cell)
    })
}

/// Ends a task; closes what it has open.
#[unsafe(no_mangle)]
pub extern "C" fn d_closetask(task: InPtr<DbTask>) -> c_int {
    catch_panic(Status::INTERNAL.code(), || tasks::close(task))
}

/// Names the task.
#[unsafe(no_mangle)]
pub extern "C" fn d_dbuserid(id: InPtr<c_char>, task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.user_id(&required(id)?))
}

/// Opens databases.
#[unsafe(no_mangle)]
pub extern "C" fn d_open(names: InPtr<c_char>, mode: InPtr<c_char>, task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.open(&required(names)?, &required(mode)?))
}

/// Closes the databases.
#[unsafe(no_mangle)]
pub extern "C" fn d_close(task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.close())
}

/// Takes all records out of a database.
#[unsafe(no_mangle)]
pub extern "C" fn d_initialize(task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.initialize(dbn))
}

/// Says how long locks are waited for.
#[unsafe(no_mangle)]
pub extern "C" fn d_timeout(seconds: c_int, task: InPtr<DbTask>) -> c_int {
    with(task, |context| {
        context.task.timeout(seconds);
        Ok(())
    })
}

/// Says whether transactions wait for the disk.
#[unsafe(no_mangle)]
pub extern "C" fn d_syncfiles(on: c_int, task: InPtr<DbTask>) -> c_int {
    with(task, |context| {
        context.task.sync_files(on != 0);
        Ok(())
    })
}

/// Sets the function that is called with faults.
#[unsafe(no_mangle)]
pub extern "C" fn d_set_dberr(handler: Handler, task: InPtr<DbTask>) -> c_int {
    with(task, |context| {
        context.handler = handler;
        Ok(())
    })
}

/// The words for the task's last fault; valid until its next one.
#[unsafe(no_mangle)]
pub extern "C" fn d_errmsg(task: InPtr<DbTask>) -> *const c_char {
    let mut message = c"the task is not open, or in use by another thread".as_ptr();
    with(task, |context| {
        message = context.message();
        Ok(())
    });
    message
}

/// Begins a transaction.
#[unsafe(no_mangle)]
pub extern "C" fn d_trbegin(id: InPtr<c_char>, task: InPtr<DbTask>) -> c_int {
    // Only whether there is an id matters, and who checks each byte pays for it in each loop.
    with(task, |context| match id.at(0) {
        None | Some(0) => context.task.transaction_begin(""),
        Some(_) => context.task.transaction_begin("id"),
    })
}

/// Commits.
#[unsafe(no_mangle)]
pub extern "C" fn d_trend(task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.transaction_end())
}

/// Rolls back.
#[unsafe(no_mangle)]
pub extern "C" fn d_trabort(task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.transaction_abort())
}

/// Begins to read one state without locks.
#[unsafe(no_mangle)]
pub extern "C" fn d_trrobegin(task: InPtr<DbTask>, dbn: c_int, id: OutPtr<u64>) -> c_int {
    with(task, |context| {
        let number = context.task.read_only_begin(dbn)?;
        // Who does not want to know it gives no place.
        id.put(number);
        Ok(())
    })
}

/// Ends reading one state.
#[unsafe(no_mangle)]
pub extern "C" fn d_trroend(task: InPtr<DbTask>) -> c_int {
    with(task, |context| context.task.read_only_end())
}

/// Locks a record type.
#[unsafe(no_mangle)]
pub extern "C" fn d_reclock(
    record: c_int,
    mode: InPtr<c_char>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let text = match mode.letter() {
            Some(b'r') => "r",
            Some(b'w') => "w",
            _ => {
                let mode = mode.text().ok_or(Status::INVALID_POINTER)?;
                std::str::from_utf8(mode).map_err(|_| Status::BAD_TYPE)?
            }
        };
        context.task.record_lock(record, text, dbn)
    })
}

/// Frees a lock.
#[unsafe(no_mangle)]
pub extern "C" fn d_recfree(record: c_int, task: InPtr<DbTask>, dbn: c_int) -> c_int {
    with(task, |context| context.task.record_free(record, dbn))
}

/// How a record type is locked by this task.
#[unsafe(no_mangle)]
pub extern "C" fn d_reclstat(
    record: c_int,
    mode: OutPtr<c_char>,
    task: InPtr<DbTask>,
    dbn: c_int,
) -> c_int {
    with(task, |context| {
        let status = context.task.lock_status(record, dbn)?;
        match mode.put(status as c_char) {
            true => Ok(()),
            false => Err(Status::INVALID_POINTER.into()),
        }
    })
}

fn required(text: InPtr<c_char>) -> Outcome<String> {
    word(text).ok_or_else(|| Status::INVALID_POINTER.into())
}

fn word(text: InPtr<c_char>) -> Option<String> {
    text.text().map(|text| String::from_utf8_lossy(text).into_owned())
}
