//! Places that are filled one after the other, and stay so as long as their database is open.
//!
//! Calls refer to what is in a place without a lock or a count. The first places are one array,
//! which is all that nearly every program needs; more come a chunk at a time. What is the same is
//! found by a key, so noting a thing that is known costs the same however many there are.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};

const FIRST: usize = 4096;
const CHUNK: usize = 4096;
/// Places that there are at most.
pub(crate) const PLACES_MAX: usize = 1 << 20;

type Chunk<T> = Box<[OnceLock<T>]>;

/// The places.
pub(crate) struct Places<T> {
    first: Chunk<T>,
    more: OnceLock<Box<[OnceLock<Chunk<T>>]>>,
    filled: Mutex<Filled>,
}

#[derive(Default)]
struct Filled {
    count: usize,
    by_key: HashMap<usize, usize>,
}

impl<T> Places<T> {
    pub(crate) fn new() -> Self {
        Self { first: empty(FIRST), more: OnceLock::new(), filled: Mutex::default() }
    }

    /// What is in a place.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<&T> {
        match self.first.get(place) {
            Some(place) => place.get(),
            None => self.get_later(place - FIRST),
        }
    }

    #[cold]
    fn get_later(&self, place: usize) -> Option<&T> {
        self.more.get()?.get(place / CHUNK)?.get()?[place % CHUNK].get()
    }

    /// How many are filled.
    pub(crate) fn count(&self) -> usize {
        self.filled.lock().unwrap_or_else(PoisonError::into_inner).count
    }

    /// The place of what has this key, or the next one with what `make` makes of its number; what
    /// has no key is put into a place of its own. `None` if all are filled.
    ///
    /// # Errors
    /// What `make` fails with; then nothing changed.
    pub(crate) fn find_or_fill<E>(
        &self,
        key: Option<usize>,
        make: impl FnOnce(usize) -> Result<T, E>,
    ) -> Result<Option<(usize, &T)>, E> {
        let mut filled = self.filled.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&place) = key.and_then(|key| filled.by_key.get(&key)) {
            return Ok(self.get(place).map(|value| (place, value)));
        }
        let place = filled.count;
        if place == PLACES_MAX {
            return Ok(None);
        }
        let made = make(place)?;
        let value = self.room(place).get_or_init(|| made);
        filled.count += 1;
        if let Some(key) = key {
            filled.by_key.insert(key, place);
        }
        Ok(Some((place, value)))
    }

    fn room(&self, place: usize) -> &OnceLock<T> {
        if let Some(room) = self.first.get(place) {
            return room;
        }
        let later = place - FIRST;
        let chunks = (PLACES_MAX - FIRST) / CHUNK;
        let chunks = self.more.get_or_init(|| (0..chunks).map(|_| OnceLock::new()).collect());
        &chunks[later / CHUNK].get_or_init(|| empty(CHUNK))[later % CHUNK]
    }
}

fn empty<T>(len: usize) -> Chunk<T> {
    (0..len).map(|_| OnceLock::new()).collect()
}

#[cfg(test)]
mod tests;
