//! Transactions that read in parts, with other calls in between.
//!
//! A transaction borrows its database. Parked, it borrows nothing: its snapshot is a number, its
//! slot stays held, and somebody goes on with it later, in whichever thread.

use super::reading::ReadTransaction;
use crate::instance::Instance;
use crate::snapshot::Snapshot;
use crate::transaction::begin::clock::HeldSlot;

/// A transaction that goes on in another call: its snapshot is held meanwhile. To be resumed, or
/// its slot is held for ever.
#[derive(Debug)]
#[must_use]
pub(crate) struct ParkedTransaction {
    slot: usize,
    snapshot: Snapshot,
}

impl ParkedTransaction {
    /// Lets go of the database without ending. What was handed out is not used any more; nothing
    /// is remembered, and the snapshot does not expire.
    pub(crate) fn of(transaction: ReadTransaction<'_>) -> Self {
        debug_assert!(transaction.reads.is_none() && transaction.expires.is_none());
        Self { snapshot: transaction.snapshot.get(), slot: transaction.held.keep() }
    }

    /// Goes on with it; the database is the same.
    pub(crate) fn resume(self, db: &Instance) -> ReadTransaction<'_> {
        let held = HeldSlot::of_kept(db.memory(), self.slot);
        ReadTransaction::with_slot(db, held, self.snapshot, None)
    }
}
