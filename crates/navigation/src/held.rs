//! A transaction that keeps its database open, so that a task can hold both.
//!
//! The engine's transactions borrow their database. A task holds one from call to call beside the
//! database it came from; that cannot be borrowed, so here the lifetime is taken off and the
//! database kept alive by counting instead. This is the crate's only unsafe code.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

use remanent_engine::{ReadTransaction, Result, TransactionOptions, WriteTransaction};

use crate::opened::Opened;

/// A transaction that writes, or one that reads.
pub(crate) enum Held {
    Write(Kept<WriteTransaction<'static>>),
    Read(Kept<ReadTransaction<'static>>),
}

/// A transaction and what it borrows from.
pub(crate) struct Kept<T> {
    transaction: ManuallyDrop<T>,
    /// Dropped behind the transaction.
    _shared: Arc<Opened>,
}

impl Held {
    pub(crate) fn begin_write(shared: &Arc<Opened>, options: &TransactionOptions) -> Result<Self> {
        let begun = shared.db.begin_write_with(options)?;
        // SAFETY: what it borrows lies in the `Opened`, which does not move and which `Kept` holds
        // until the transaction is gone; `Kept` gives no reference that outlives itself.
        let transaction = unsafe {
            std::mem::transmute::<WriteTransaction<'_>, WriteTransaction<'static>>(begun)
        };
        Ok(Self::Write(Kept::new(transaction, shared)))
    }

    pub(crate) fn begin_read(shared: &Arc<Opened>) -> Result<Self> {
        let begun = shared.db.begin_read()?;
        // SAFETY: as in `begin_write`.
        let transaction =
            unsafe { std::mem::transmute::<ReadTransaction<'_>, ReadTransaction<'static>>(begun) };
        Ok(Self::Read(Kept::new(transaction, shared)))
    }
}

impl<T> Kept<T> {
    fn new(transaction: T, shared: &Arc<Opened>) -> Self {
        Self { transaction: ManuallyDrop::new(transaction), _shared: Arc::clone(shared) }
    }
}

impl Kept<WriteTransaction<'static>> {
    pub(crate) fn refresh(&mut self) -> Result<()> {
        self.transaction.refresh()
    }

    pub(crate) fn commit(self) -> Result<()> {
        self.transaction.commit_in_place().map(|_| ())
    }
}

impl<'db> Deref for Kept<WriteTransaction<'db>> {
    type Target = WriteTransaction<'db>;

    #[inline]
    fn deref(&self) -> &WriteTransaction<'db> {
        &self.transaction
    }
}

impl<'db> Deref for Kept<ReadTransaction<'db>> {
    type Target = ReadTransaction<'db>;

    #[inline]
    fn deref(&self) -> &ReadTransaction<'db> {
        &self.transaction
    }
}

impl<T> Drop for Kept<T> {
    fn drop(&mut self) {
        // SAFETY: dropped once, here, before the database may go.
        unsafe { ManuallyDrop::drop(&mut self.transaction) };
    }
}
