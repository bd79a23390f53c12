//! Taking changes back, to a savepoint or all.
//!
//! Needs no memory: room in the retire queue was promised for each change when it was made. What a
//! serializable transaction was told by changes stays told.

use super::WriteTransaction;
use crate::table::table::TableAt;
use crate::transaction::changes::{self, RowChange};
use crate::transaction::write_set::Written;

impl WriteTransaction<'_> {
    /// That a change succeeded is an answer too: a row was there, or a unique key was not. It stays
    /// known when the change is taken back.
    pub(super) fn remember_changes_from(&self, len: u64) {
        let Some(reads) = &self.read.reads else { return };
        let mut number = 0;
        changes::each(self.read.db, &self.writes, |table, change| {
            number += 1;
            if number > len
                && let Some(core) = self.read.db.catalog().by_id(table)
            {
                let at = TableAt { memory: self.read.memory(), core: &core };
                match change {
                    RowChange::Version(change) => at.remember_change(reads, change),
                    RowChange::Laid { bytes, .. } => at.remember_laid(reads, bytes),
                }
            }
        });
    }

    /// What is known of where rows lie holds no longer.
    pub(super) fn forget_places(&self) {
        self.last_member.set(None);
        self.read.extent.set(None);
    }

    /// Takes all changes behind the oldest `len` back, newest first.
    pub(super) fn undo_to(&self, len: u64) {
        self.forget_places();
        let memory = self.read.memory();
        while self.writes.len() > len
            && let Some((table, written, promises)) = self.writes.pop_joined(len)
        {
            // A table is not dropped while somebody writes, so it is there.
            let Some(core) = self.read.db.catalog().by_id(table) else { continue };
            let at = TableAt { memory, core: &core };
            match written {
                Written::One(change) => at.undo(self.heap, change),
                Written::Run { first, count } => {
                    at.undo_run(self.heap, (first, count), promises);
                    self.undone.set(self.undone.get() + u64::from(count));
                }
                Written::Segment { first, count } => {
                    at.undo_segment(self.heap, (first, count));
                    self.undone.set(self.undone.get() + u64::from(count));
                }
            }
        }
    }
}
