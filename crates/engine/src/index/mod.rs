//! Indexes: from key bytes to row ids.
//!
//! Both kinds store row ids and no keys; whoever looks a key up verifies it in the row. An entry
//! stays until no snapshot can see a version with its key, so one key may lead to several rows of
//! which at most one is visible (unique index) to a reader. [`node`], [`ranked`],
//! [`bundle`], [`key_block`] and [`ordered`] are the adaptive radix tree, [`cursor`] moves over it,
//! [`batch`] overlaps the cache misses of many look-ups, [`build`] makes a tree from sorted keys,
//! [`merge`] adds many to one, [`sweep`] takes many out, [`pack`] makes it smaller, [`hash`] is the
//! index for equality alone, [`postings`] the rows of a hash that many have; [`size`] adds up what
//! an index takes, [`nodes`] goes through a tree a little at a time.

pub(crate) mod batch;
pub(crate) mod build;
pub(crate) mod bundle;
pub(crate) mod cursor;
pub(crate) mod hash;
pub(crate) mod key_block;
pub(crate) mod merge;
pub(crate) mod node;
mod nodes;
pub(crate) mod ordered;
pub(crate) mod pack;
mod postings;
pub(crate) mod ranked;
pub(crate) mod size;
pub(crate) mod sweep;

use remanent_schema::KeyBuffer;

/// Row ids are below this: a hash index says with greater ones that an entry is for many rows.
pub(crate) const ROWS_MAX: u32 = u32::MAX - 0xff;

/// A source of the keys that an index does not store.
pub(crate) trait LeafKeys {
    /// Writes the key that the versions of `row` share into `key`; `false` if the row is gone.
    fn load_key(&self, row: u32, key: &mut KeyBuffer) -> bool;
}

/// The key bytes of an entry followed by its row id, which makes every entry different.
#[derive(Clone, Copy)]
pub(crate) struct EntryKey<'k> {
    key: &'k [u8],
    row: [u8; 4],
}

impl<'k> EntryKey<'k> {
    pub(crate) fn new(key: &'k [u8], row: u32) -> Self {
        Self { key, row: row.to_be_bytes() }
    }

    /// Bytes of key and row id.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.key.len() + self.row.len()
    }

    /// Bytes of the key alone.
    #[inline]
    pub(crate) fn key_len(&self) -> usize {
        self.key.len()
    }

    /// Byte `i`; 0 past the end, which only a reader of a changing node asks for.
    #[inline]
    pub(crate) fn byte(&self, i: usize) -> u8 {
        match self.key.get(i) {
            Some(&byte) => byte,
            None => self.row.get(i - self.key.len()).copied().unwrap_or(0),
        }
    }
}
