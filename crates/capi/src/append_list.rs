//! An append-only list: entries are never removed as long as their database is open.
//!
//! Calls refer to an entry without a lock or a count. The first entries are one array,
//! which is all that nearly every program needs; more come a chunk at a time. What is the same is
//! found by a key, so noting a thing that is known costs the same however many there are.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

const FIRST: usize = 4096;
const CHUNK: usize = 4096;
/// Entries that there are at most.
pub(crate) const LIST_MAX: usize = 1 << 20;

type Chunk<T> = Box<[OnceLock<T>]>;

/// The list.
pub(crate) struct AppendList<T> {
    first: Chunk<T>,
    more: OnceLock<Box<[OnceLock<Chunk<T>>]>>,
    filled: Mutex<Filled>,
}

#[derive(Default)]
struct Filled {
    count: usize,
    by_key: HashMap<usize, usize>,
}

impl<T> AppendList<T> {
    pub(crate) fn new() -> Self {
        Self { first: empty(FIRST), more: OnceLock::new(), filled: Mutex::default() }
    }

    /// The entry with this index.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        match self.first.get(index) {
            Some(entry) => entry.get(),
            None => self.get_later(index - FIRST),
        }
    }

    #[cold]
    fn get_later(&self, index: usize) -> Option<&T> {
        self.more.get()?.get(index / CHUNK)?.get()?[index % CHUNK].get()
    }

    /// How many are filled.
    pub(crate) fn count(&self) -> usize {
        self.filled.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// The index of what has this key, or the next one with what `make` makes of its number; what
    /// has no key is made an entry of its own. `None` if all are filled.
    ///
    /// # Errors
    /// The error of `make`; then nothing changed.
    pub(crate) fn find_or_fill<E>(
        &self,
        key: Option<usize>,
        make: impl FnOnce(usize) -> Result<T, E>,
    ) -> Result<Option<(usize, &T)>, E> {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&index) = key.and_then(|key| filled.by_key.get(&key)) {
            return Ok(self.get(index).map(|value| (index, value)));
        }
        let index = filled.count;
        if index == LIST_MAX {
            return Ok(None);
        }
        let made = make(index)?;
        let value = self.room(index).get_or_init(|| made);
        filled.count += 1;
        if let Some(key) = key {
            filled.by_key.insert(key, index);
        }
        Ok(Some((index, value)))
    }

    fn room(&self, index: usize) -> &OnceLock<T> {
        if let Some(room) = self.first.get(index) {
            return room;
        }
        let later = index - FIRST;
        let chunks = (LIST_MAX - FIRST) / CHUNK;
        let chunks = self.more.get_or_init(|| (0..chunks).map(|_| OnceLock::new()).collect());
        &chunks[later / CHUNK].get_or_init(|| empty(CHUNK))[later % CHUNK]
    }
}

fn empty<T>(len: usize) -> Chunk<T> {
    (0..len).map(|_| OnceLock::new()).collect()
}

#[cfg(test)]
mod tests;
