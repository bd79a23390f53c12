//! Some groups of a partition, in memory or written to a file.
//!
//! A block in memory has room for a number of groups from the first on. What is written has neither
//! names nor versions: only who has written it reads it.

use std::ops::Range;
use std::sync::Arc;

use super::bytes;
use super::states::States;
use crate::sources::account::{Account, Refused};

/// Where groups are written that memory is refused to: a file of the caller's, of any number of
/// threads. Nothing is read that was not written before.
pub trait SpillStore: Send + Sync {
    /// Adds bytes at the end, and says where they begin.
    ///
    /// # Errors
    /// They are refused; whoever made the file knows why.
    fn append(&self, bytes: &[u8]) -> Result<u64, Refused>;

    /// Reads as many bytes as there is room for, from this place on.
    ///
    /// # Errors
    /// They are refused; whoever made the file knows why.
    fn read(&self, from: u64, into: &mut [u8]) -> Result<(), Refused>;
}

/// Some groups.
pub(crate) struct Block {
    /// The numbers of all keys, one key behind the other.
    pub(crate) keys: Vec<u64>,
    pub(crate) states: States,
}

impl Block {
    /// Of no groups, with room for so many, of which the same is said as of others.
    ///
    /// # Errors
    /// Memory is refused.
    pub(crate) fn with_room(
        states: &States,
        width: usize,
        groups: usize,
        account: &mut Account<'_>,
    ) -> Result<Self, Refused> {
        account.attempt(|account| {
            let mut block = Self { keys: Vec::new(), states: states.none_yet() };
            account.reserve(&mut block.keys, groups * width)?;
            block.states.make_room(groups, account)?;
            block.states.make_wide_room(states, groups, account)?;
            Ok(block)
        })
    }

    /// Puts the numbers of some keys into a column for each place of a key.
    pub(crate) fn load(&self, groups: Range<usize>, width: usize, columns: &mut [Vec<u64>]) {
        let keys = &self.keys[groups.start * width..groups.end * width];
        for (place, column) in columns.iter_mut().enumerate() {
            column.clear();
            column.extend(keys.iter().skip(place).step_by(width));
        }
    }

    /// The bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.capacity() * size_of::<u64>() + self.states.bytes()
    }

    /// Puts some of the groups behind bytes.
    pub(crate) fn write(&self, groups: Range<usize>, width: usize, into: &mut Vec<u8>) {
        bytes::put(&self.keys[groups.start * width..groups.end * width], into);
        self.states.write(groups, into);
    }
}

/// Groups that were written.
pub(crate) struct Written {
    pub(crate) store: Arc<dyn SpillStore>,
    /// Where they begin.
    pub(crate) at: u64,
    pub(crate) bytes: usize,
    pub(crate) groups: usize,
}

impl Written {
    /// How many groups there are.
    pub(crate) fn len(&self) -> usize {
        self.groups
    }

    /// Calls `each` with the groups, of which the same is said as of others.
    ///
    /// # Errors
    /// Memory is refused, or the file cannot be read.
    pub(crate) fn read(
        &self,
        states: &States,
        width: usize,
        account: &mut Account<'_>,
        each: impl FnOnce(&Block, &mut Account<'_>) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        // The bytes, and what is made of them.
        account.take(self.bytes * 2)?;
        let mut bytes = vec![0; self.bytes];
        self.store.read(self.at, &mut bytes)?;
        let mut rest = bytes.as_slice();
        let keys = bytes::take(self.groups * width, &mut rest);
        let mut states = states.none_yet();
        states.read(self.groups, &mut rest);
        each(&Block { keys, states }, account)?;
        account.give_back(self.bytes * 2);
        Ok(())
    }
}
