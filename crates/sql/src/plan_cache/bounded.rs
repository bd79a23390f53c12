//! What is kept to save time: so many things and bytes at most.
//!
//! Those that were asked for least recently go first. Who keeps them decides what they are worth.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

use crate::limits::held::Held;

/// Things by their keys.
pub(super) struct Bounded<K, V> {
    kept: HashMap<K, Entry<V>>,
    count_max: usize,
    bytes_max: usize,
    /// How often something was asked for.
    clock: u64,
    held: Held,
}

struct Entry<V> {
    value: V,
    bytes: usize,
    /// When it was asked for last.
    used: u64,
}

impl<K: Eq + Hash + Clone, V> Bounded<K, V> {
    /// Nothing yet, of at most so many things and bytes, which are held by this.
    pub(super) fn new(count_max: usize, bytes_max: usize, held: Held) -> Self {
        Self { kept: HashMap::new(), count_max, bytes_max, clock: 0, held }
    }

    pub(super) fn get<Q: Eq + Hash + ?Sized>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let entry = self.kept.get_mut(key)?;
        entry.used = self.clock;
        Some(&entry.value)
    }

    /// Keeps something in the place of what had this key, if there is room.
    pub(super) fn put(&mut self, key: K, value: V, bytes: usize) {
        self.remove(&key);
        if bytes > self.bytes_max {
            return;
        }
        while self.kept.len() >= self.count_max || self.held.bytes() + bytes > self.bytes_max {
            self.remove_oldest();
        }
        match self.held.grow(bytes) {
            Ok(()) => {
                let used = self.clock;
                self.kept.insert(key, Entry { value, bytes, used });
            }
            // Others need it more.
            Err(_) => self.clear(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.kept = HashMap::new();
        self.give_back(self.held.bytes());
    }

    fn remove(&mut self, key: &K) {
        if let Some(entry) = self.kept.remove(key) {
            self.give_back(entry.bytes);
        }
    }

    fn remove_oldest(&mut self) {
        let oldest = self.kept.iter().min_by_key(|(_, entry)| entry.used);
        match oldest.map(|(key, _)| key.clone()) {
            Some(key) => self.remove(&key),
            None => self.clear(),
        }
    }

    fn give_back(&mut self, bytes: usize) {
        let left = self.held.bytes().saturating_sub(bytes);
        // Less is never refused.
        let _ = self.held.resize(left);
    }

    /// How many things there are, and the bytes that they are reckoned to take.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.kept.len(), self.held.bytes())
    }

    #[cfg(test)]
    pub(super) fn values(&self) -> impl Iterator<Item = &V> {
        self.kept.values().map(|entry| &entry.value)
    }
}
