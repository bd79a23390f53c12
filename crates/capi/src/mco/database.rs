//! Databases and connections: opened by name in the caller's memory, connected to, closed.
//!
//! A database is there from `mco_db_open` until `mco_db_close`, which refuses while somebody is
//! connected. A connection is a token; a transaction names the connection that it uses, so that
//! one with transactions is not disconnected. The memory is a hard limit and the caller's again
//! after closing.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use remanent_engine::schema::TableSchema;
use remanent_engine::{CallerMemory, Database, Options};

use super::dictionary::{Class, Dictionary, tables_of, text_of};
use super::events::Handlers;
use super::gate::Gate;
use super::image::note_loaded;
use super::session::Session;
use super::status::*;
use crate::ffi::{InPtr, OutPtr};
use crate::handles::{Handles, NotClosed};
use crate::slots::SlotState;

const INSTANCES_MAX: usize = 256;
const SESSIONS_MAX: u32 = 1024;
const NAME_LEN_MAX: usize = 255;
/// What a database that was not opened here says its page size is.
const ATTACHED_PAGE_SIZE: u16 = 16 << 10;

/// An open database.
pub(super) struct Instance {
    /// Unlike that of every other database there ever was.
    pub(super) number: u64,
    pub(super) database: Arc<Database>,
    pub(super) classes: Box<[Class]>,
    pub(super) gate: Gate,
    pub(super) handlers: Handlers,
    /// The dictionary's text.
    pub(super) text: String,
    /// Whether some text may be other than ASCII; texts that are ASCII are read as they lie.
    wide_text: AtomicBool,
    sizes: Sizes,
    sessions: AtomicU32,
}

/// A task's way to a database.
pub(super) struct Connection {
    pub(super) instance: Arc<Instance>,
}

pub(super) static CONNECTIONS: Handles<Connection> = Handles::new();
static INSTANCES: LazyLock<Mutex<HashMap<Vec<u8>, Arc<Instance>>>> =
    LazyLock::new(Default::default);
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The options of a database.
pub(super) struct Opening<'a> {
    name: &'a [u8],
    text: String,
    memory: NonNull<u8>,
    size: usize,
    page_size: u16,
}

fn instances() -> MutexGuard<'static, HashMap<Vec<u8>, Arc<Instance>>> {
    INSTANCES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'a> Opening<'a> {
    pub(super) fn check(
        name: InPtr<c_char>,
        dictionary: InPtr<Dictionary>,
        memory: OutPtr<c_void>,
        size: usize,
        page_size: u16,
    ) -> Outcome<Self> {
        let name = name.text().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let dictionary = dictionary.get().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let memory = NonNull::new(memory.cast::<u8>().address()).ok_or(MCO_E_ILLEGAL_PARAM)?;
        if name.is_empty() || name.len() > NAME_LEN_MAX {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        if !page_size.is_multiple_of(16) || !(64..=32768).contains(&page_size) {
            return Err(MCO_E_PAGESIZE);
        }
        Ok(Self { name, text: text_of(dictionary)?, memory, size, page_size })
    }

    /// The dictionary's text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Opens the database with `start`, makes its classes with `class`, and makes it known.
    pub(super) fn open(
        self,
        is_loaded: bool,
        start: impl FnOnce(Options) -> Outcome<Database>,
        class: impl Fn(&Database, TableSchema) -> Outcome<Class>,
    ) -> Outcome {
        let mut instances = instances();
        if instances.contains_key(self.name) {
            return Err(MCO_E_INSTANCE_DUPLICATE);
        }
        if instances.len() == INSTANCES_MAX {
            return Err(MCO_E_INSTANCES_LIMIT);
        }
        let tables = tables_of(&self.text)?;
        // SAFETY: C hands the memory over until `mco_db_close`, which drops the database.
        let memory = unsafe { CallerMemory::from_raw(self.memory, self.size) };
        let database = start(Options::new().caller_memory(memory))?;
        let classes: Outcome<Box<[Class]>> =
            tables.into_iter().map(|table| class(&database, table)).collect();
        let sizes = Sizes { page: self.page_size, memory: self.size as u64 };
        // What was loaded is not known, nor what defaults say.
        let has_wide_text = is_loaded || !self.text.is_ascii();
        let database = Arc::new(database);
        let instance = Instance::new(database, classes?, self.text, sizes, has_wide_text);
        instances.insert(self.name.to_vec(), Arc::new(instance));
        Ok(())
    }
}

/// What a program gave a database: bytes of a page, and of all memory.
#[derive(Clone, Copy)]
struct Sizes {
    page: u16,
    memory: u64,
}

impl Instance {
    fn new(
        database: Arc<Database>,
        classes: Box<[Class]>,
        text: String,
        sizes: Sizes,
        has_wide_text: bool,
    ) -> Self {
        Self {
            number: NUMBERS.fetch_add(1, SeqCst),
            classes,
            database,
            gate: Gate::default(),
            handlers: Handlers::default(),
            wide_text: AtomicBool::new(has_wide_text),
            text,
            sizes,
            sessions: AtomicU32::new(0),
        }
    }

    /// Whether text has to be decoded. Who sees a row sees this as it was when the row was made.
    #[inline]
    pub(super) fn has_wide_text(&self) -> bool {
        self.wide_text.load(Relaxed)
    }

    #[cold]
    pub(super) fn note_wide_text(&self) {
        self.wide_text.store(true, Relaxed);
    }
}

/// Makes a database known under a name that was opened by other means.
pub(crate) fn attach(name: &[u8], dictionary: &Dictionary, database: Arc<Database>) -> MCO_RET {
    call(|| {
        let mut instances = instances();
        if instances.contains_key(name) {
            return Err(MCO_E_INSTANCE_DUPLICATE);
        }
        let text = text_of(dictionary)?;
        let tables = tables_of(&text)?.into_iter();
        let classes: Outcome<Box<[Class]>> =
            tables.map(|table| Class::attach(&database, table)).collect();
        let classes = classes?;
        classes.iter().try_for_each(|class| note_loaded(&database, class))?;
        let sizes = Sizes { page: ATTACHED_PAGE_SIZE, memory: database.memory().budget };
        let instance = Instance::new(database, classes, text, sizes, true);
        instances.insert(name.to_vec(), Arc::new(instance));
        Ok(())
    })
}

fn start(options: Options) -> Outcome<Database> {
    Database::open(options).map_err(of_opening)
}

fn of_opening(error: remanent_engine::Error) -> MCO_RET {
    match status_of(error) {
        MCO_E_ILLEGAL_PARAM => MCO_E_NOMEM,
        status => status,
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.instance.sessions.fetch_sub(1, SeqCst);
    }
}

/// The database of a connection, for one call.
pub(super) fn connected<T>(
    connection: u64,
    work: impl FnOnce(&Instance) -> Outcome<T>,
) -> Outcome<T> {
    let called = CONNECTIONS.call(connection).ok_or(MCO_E_ILLEGAL_HANDLE)?;
    work(&called.instance)
}

/// Starts the runtime, which every first call does by itself.
#[unsafe(no_mangle)]
pub extern "C" fn mco_runtime_start() -> MCO_RET {
    MCO_S_OK
}

/// Stops the runtime; `E_OPENED_SESSIONS` while a database is open.
#[unsafe(no_mangle)]
pub extern "C" fn mco_runtime_stop() -> MCO_RET {
    if instances().is_empty() { MCO_S_OK } else { MCO_E_OPENED_SESSIONS }
}

/// Makes a database in the caller's memory.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_open(
    name: InPtr<c_char>,
    dictionary: InPtr<Dictionary>,
    memory: OutPtr<c_void>,
    size: usize,
    page_size: u16,
) -> MCO_RET {
    call(|| {
        Opening::check(name, dictionary, memory, size, page_size)?.open(false, start, Class::create)
    })
}

/// Closes a database to which nobody is connected.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_close(name: InPtr<c_char>) -> MCO_RET {
    call(|| {
        let name = name.text().ok_or(MCO_E_ILLEGAL_PARAM)?;
        let mut instances = instances();
        let instance = instances.get(name).ok_or(MCO_E_NOINSTANCE)?;
        if instance.sessions.load(SeqCst) != 0 {
            return Err(MCO_E_OPENED_SESSIONS);
        }
        instances.remove(name);
        Ok(())
    })
}

/// Connects to a database by its name.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_connect(name: InPtr<c_char>, out: OutPtr<u64>) -> MCO_RET {
    call(|| {
        let name = name.text().ok_or(MCO_E_ILLEGAL_PARAM)?;
        out.set(0).ok_or(MCO_E_ILLEGAL_PARAM)?;
        let instances = instances();
        let instance = instances.get(name).ok_or(MCO_E_NOINSTANCE)?;
        if instance.sessions.fetch_add(1, SeqCst) >= SESSIONS_MAX {
            instance.sessions.fetch_sub(1, SeqCst);
            return Err(MCO_E_SESLIMIT);
        }
        let connection = Connection { instance: Arc::clone(instance) };
        let token = CONNECTIONS.add(connection).map_err(|_| MCO_E_SESLIMIT)?;
        out.put(token);
        Ok(())
    })
}

/// Ends a connection that has no transaction.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_disconnect(connection: u64) -> MCO_RET {
    call(|| {
        let closed = CONNECTIONS.close(connection, |_| Session::slots().is_used(connection));
        match closed {
            Ok(_) => Ok(()),
            Err(NotClosed::Unknown) => Err(MCO_E_ILLEGAL_HANDLE),
            Err(NotClosed::InUse) => Err(MCO_E_TRANSACT),
        }
    })
}

/// Gives a database more memory, which is possible where it lies behind what it has.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_extend(connection: u64, memory: OutPtr<c_void>, size: usize) -> MCO_RET {
    call(|| {
        if memory.is_null() || size == 0 {
            return Err(MCO_E_ILLEGAL_PARAM);
        }
        connected(connection, |instance| {
            let larger = instance.sizes.memory.saturating_add(size as u64);
            instance.database.set_budget(larger).map_err(|_| MCO_E_NOT_SUPPORTED)
        })
    })
}

/// The page size that the database was opened with.
#[unsafe(no_mangle)]
pub extern "C" fn mco_page_size(connection: u64, out: OutPtr<u16>) -> MCO_RET {
    call(|| {
        let size = connected(connection, |instance| Ok(instance.sizes.page))?;
        out.set(size).ok_or(MCO_E_ILLEGAL_PARAM)
    })
}

/// The memory of the database, in pages.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_total_pages(connection: u64, out: OutPtr<u32>) -> MCO_RET {
    pages(connection, out, |instance| instance.sizes.memory)
}

/// The memory that is free, in pages.
#[unsafe(no_mangle)]
pub extern "C" fn mco_db_free_pages(connection: u64, out: OutPtr<u32>) -> MCO_RET {
    pages(connection, out, |instance| {
        let memory = instance.database.memory();
        memory.budget.saturating_sub(memory.held)
    })
}

fn pages(connection: u64, out: OutPtr<u32>, bytes: impl Fn(&Instance) -> u64) -> MCO_RET {
    call(|| {
        let size = |instance: &Instance| Ok(bytes(instance) / u64::from(instance.sizes.page));
        let pages = connected(connection, size)?;
        let pages = u32::try_from(pages).unwrap_or(u32::MAX);
        out.set(pages).ok_or(MCO_E_ILLEGAL_PARAM)
    })
}
