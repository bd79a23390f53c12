//! The machine that the code runs on under the model checker (`--cfg shuttle`).
//!
//! Three things make schedules that a program meets once in a million runs ordinary. *Scheduling
//! points*: before each operation on an atomic word another thread may go on. *Store buffers*, as
//! x86-64 has them: a store reaches the others later, in order, and its own thread at once; only an
//! exchange, a sequentially consistent store or a full fence empties the buffer. How slow each
//! thread's buffer is, if it has one, is drawn for each execution. *Freed blocks*: they are
//! overwritten, and whoever touches one that was not allocated again fails the execution.
//!
//! (Shuttle's own atomics carry identities outside the word and cannot lie in raw memory. What a
//! processor weaker than x86-64 may reorder beyond this is argued in comments.) Choices are drawn
//! from the scheduler, so that a seed repeats an execution. One database at a time.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::time::Duration;

use shuttle::rand::{RngCore, thread_rng};

use super::class::GRANULE;

/// Stores that a thread can have under way.
const BUFFER_MAX: usize = 24;
/// What freed blocks are overwritten with.
const POISON: u8 = 0xdb;
/// Of a random word, a store leaves its buffer when the bits under the mask are 0. The first entry
/// is no buffer at all.
const SLOWNESS: [Option<u64>; 4] = [None, Some(1), Some(7), Some(63)];
/// Bits of a random word that decide about a thread's buffer.
const BITS_PER_TASK: usize = 8;

thread_local! {
    static MACHINE: RefCell<Machine> = const { RefCell::new(Machine::new()) };
}

struct Machine {
    /// Whether one thread runs alone, without scheduling points and buffers.
    quiet: bool,
    /// Random bits that decide which thread has which of [`SLOWNESS`].
    slowness: u64,
    tasks: Vec<Task>,
    /// The watched memory: where it begins, and a bit for each granule that is freed.
    base: usize,
    freed: Vec<u64>,
}

#[derive(Default)]
struct Task {
    slowness: Option<u64>,
    /// Stores that the others do not see yet, oldest first.
    buffer: VecDeque<Store>,
    /// How deep in the allocator it is, which may touch free blocks.
    allocating: u32,
}

#[derive(Clone, Copy)]
struct Store {
    address: usize,
    word: u64,
    write: fn(usize, u64),
}

/// While it lives, its thread may touch free blocks.
pub(crate) struct Allocating(Option<usize>);

/// Watches a database's memory from now on.
pub(crate) fn watch(base: *const u8, len: u64) {
    drain_stores();
    let slowness = shuttle::current::try_get_current_task().map_or(0, |_| thread_rng().next_u64());
    with(|machine| {
        machine.slowness = slowness;
        machine.tasks.clear();
        machine.base = base as usize;
        machine.freed.clear();
        machine.freed.resize((len as usize / GRANULE).div_ceil(64), 0);
    });
}

/// Lets all stores under way arrive: all threads have ended, or all but this one wait.
pub(crate) fn drain_stores() {
    with(|machine| {
        machine.tasks.iter_mut().for_each(Task::drain);
    });
}

/// Runs `work` without interleaving: nobody else is there, or whoever is waits.
pub(crate) fn quietly<T>(work: impl FnOnce() -> T) -> T {
    drain_stores();
    with(|machine| machine.quiet = true);
    let result = work();
    with(|machine| machine.quiet = false);
    result
}

/// Another thread may go on here.
pub(crate) fn scheduling_point() {
    if this_task().is_none() {
        if std::thread::panicking() {
            drain_stores();
        }
        return;
    }
    shuttle::thread::sleep(Duration::ZERO);
    if with(|machine| machine.tasks.iter().any(|task| !task.buffer.is_empty())) {
        let mut random = thread_rng().next_u64();
        with(|machine| {
            for task in &mut machine.tasks {
                if random & task.slowness.unwrap_or(0) == 0 {
                    task.drain_one();
                }
                random = random.rotate_right(BITS_PER_TASK as u32);
            }
        });
    }
}

/// Waits for others inside a spin loop.
pub(crate) fn spin() {
    if shuttle::current::try_get_current_task().is_some() {
        scheduling_point();
        shuttle::thread::yield_now();
    }
}

/// A full barrier between the stores before it and the loads after it.
pub(crate) fn full_fence() {
    scheduling_point();
    empty_own_buffer();
}

/// A full barrier in every thread at once.
pub(crate) fn process_barrier() {
    scheduling_point();
    drain_stores();
}

/// Empties this thread's buffer, so that what follows may write without it.
pub(crate) fn empty_own_buffer() {
    if let Some(number) = this_task() {
        with(|machine| machine.task(number).drain());
    }
}

/// Notes that a block is no longer free.
pub(crate) fn allocated(block: &mut [u8]) {
    with(|machine| machine.mark(block.as_ptr() as usize, block.len(), false));
}

/// Notes that a block is freed; the result lives until it is.
pub(crate) fn free(block: &mut [u8]) -> Allocating {
    empty_own_buffer();
    let address = block.as_ptr() as usize;
    if !std::thread::panicking() {
        assert!(!with(|machine| machine.is_freed(address)), "a block is freed twice");
    }
    block.fill(POISON);
    with(|machine| machine.mark(address, block.len(), true));
    allocating()
}

/// Marks that this thread is in the allocator.
pub(crate) fn allocating() -> Allocating {
    let number = this_task();
    if let Some(number) = number {
        with(|machine| machine.task(number).allocating += 1);
    }
    Allocating(number)
}

/// Fails the execution if memory at `address` is in a freed block.
pub(crate) fn check(address: *const u8) {
    let Some(number) = this_task() else { return };
    let freed =
        with(|machine| machine.task(number).allocating == 0 && machine.is_freed(address as usize));
    assert!(!freed, "a freed block is used");
}

/// As [`check`], for the first and the last of `len` bytes. No bytes at all are in no block: they
/// may lie where a block ends and a freed one begins.
pub(crate) fn check_bytes(first: *const u8, len: usize) {
    if len != 0 {
        check(first);
        check(first.wrapping_add(len - 1));
    }
}

impl Drop for Allocating {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            with(|machine| machine.task(number).allocating -= 1);
        }
    }
}

impl Machine {
    const fn new() -> Self {
        Self { quiet: false, slowness: 0, tasks: Vec::new(), base: 0, freed: Vec::new() }
    }

    fn task(&mut self, number: usize) -> &mut Task {
        while self.tasks.len() <= number {
            let slowness = self.slowness >> (self.tasks.len() * 2 % 64) & 3;
            let slowness = SLOWNESS[slowness as usize];
            self.tasks.push(Task { slowness, ..Task::default() });
        }
        &mut self.tasks[number]
    }

    fn place(&self, address: usize) -> Option<usize> {
        let granule = address.checked_sub(self.base)? / GRANULE;
        (granule / 64 < self.freed.len()).then_some(granule)
    }

    fn is_freed(&self, address: usize) -> bool {
        let place = self.place(address);
        place.is_some_and(|granule| self.freed[granule / 64] >> (granule % 64) & 1 != 0)
    }

    fn mark(&mut self, address: usize, len: usize, freed: bool) {
        let Some(first) = self.place(address) else { return };
        for granule in first..first + len.div_ceil(GRANULE) {
            let word = &mut self.freed[granule / 64];
            *word = *word & !(1 << (granule % 64)) | u64::from(freed) << (granule % 64);
        }
    }
}

impl Task {
    fn drain(&mut self) {
        while !self.buffer.is_empty() {
            self.drain_one();
        }
    }

    fn drain_one(&mut self) {
        if let Some(store) = self.buffer.pop_front() {
            (store.write)(store.address, store.word);
        }
    }
}

/// The thread that runs, unless it runs alone or unwinds.
fn this_task() -> Option<usize> {
    if with(|machine| machine.quiet) || std::thread::panicking() {
        return None;
    }
    shuttle::current::try_get_current_task().map(usize::from)
}

fn with<T>(work: impl FnOnce(&mut Machine) -> T) -> T {
    MACHINE.with(|machine| work(&mut machine.borrow_mut()))
}

/// What stands at `address` for this thread, if it has stored there and nobody sees it yet.
fn own_store(address: usize) -> Option<u64> {
    let number = this_task()?;
    with(|machine| {
        let buffer = &machine.task(number).buffer;
        buffer.iter().rev().find(|store| store.address == address).map(|store| store.word)
    })
}

/// Puts a store into this thread's buffer; `false` if there is none and it must be done at once.
fn put_into_buffer(store: Store) -> bool {
    let Some(number) = this_task() else { return false };
    with(|machine| {
        let task = machine.task(number);
        if task.slowness.is_none() {
            return false;
        }
        if task.buffer.len() == BUFFER_MAX {
            task.drain_one();
        }
        task.buffer.push_back(store);
        true
    })
}

macro_rules! modelled_atomic {
    ($name:ident, $word:ty) => {
        /// The standard atomic of the same name, on the modelled machine.
        #[repr(transparent)]
        #[derive(Default, Debug)]
        pub(crate) struct $name(std::sync::atomic::$name);

        #[cfg_attr(not(test), expect(dead_code, reason = "one list serves all widths"))]
        impl $name {
            pub(crate) const fn new(word: $word) -> Self {
                Self(std::sync::atomic::$name::new(word))
            }

            pub(crate) fn load(&self, order: Ordering) -> $word {
                self.step();
                match own_store(self.address()) {
                    Some(word) => word as $word,
                    None => self.0.load(order),
                }
            }

            pub(crate) fn store(&self, word: $word, order: Ordering) {
                self.step();
                if order == Ordering::SeqCst {
                    empty_own_buffer();
                    return self.0.store(word, order);
                }
                let write = |address: usize, word: u64| {
                    // SAFETY: the address is that of a word of the same type in a region that is
                    // still there: `drain_stores` is called before it goes.
                    let atomic = unsafe { &*(address as *const std::sync::atomic::$name) };
                    atomic.store(word as $word, Ordering::Release);
                };
                let store = Store { address: self.address(), word: u64::from(word), write };
                if !put_into_buffer(store) {
                    self.0.store(word, order);
                }
            }

            pub(crate) fn compare_exchange(
                &self,
                old: $word,
                new: $word,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$word, $word> {
                self.step();
                empty_own_buffer();
                self.0.compare_exchange(old, new, success, failure)
            }

            pub(crate) fn fetch_add(&self, n: $word, order: Ordering) -> $word {
                self.step();
                empty_own_buffer();
                self.0.fetch_add(n, order)
            }

            pub(crate) fn fetch_sub(&self, n: $word, order: Ordering) -> $word {
                self.step();
                empty_own_buffer();
                self.0.fetch_sub(n, order)
            }

            pub(crate) fn fetch_max(&self, n: $word, order: Ordering) -> $word {
                self.step();
                empty_own_buffer();
                self.0.fetch_max(n, order)
            }

            fn step(&self) {
                scheduling_point();
                check(std::ptr::from_ref(self).cast());
            }

            fn address(&self) -> usize {
                std::ptr::from_ref(self) as usize
            }
        }
    };
}

modelled_atomic!(AtomicU8, u8);
modelled_atomic!(AtomicU16, u16);
modelled_atomic!(AtomicU32, u32);
modelled_atomic!(AtomicU64, u64);

impl AtomicU64 {
    pub(crate) fn fetch_or(&self, bits: u64, order: Ordering) -> u64 {
        self.step();
        empty_own_buffer();
        self.0.fetch_or(bits, order)
    }

    pub(crate) fn fetch_and(&self, bits: u64, order: Ordering) -> u64 {
        self.step();
        empty_own_buffer();
        self.0.fetch_and(bits, order)
    }

    pub(crate) fn swap(&self, word: u64, order: Ordering) -> u64 {
        self.step();
        empty_own_buffer();
        self.0.swap(word, order)
    }
}
