//! Taking changes back, to a savepoint or all.
//!
//! Needs no memory: room in the retire queue was reserved for each change when it was made. What a
//! serializable transaction has learnt by changes stays read.

use super::{Savepoint, WriteTransaction};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::counts::Counted;
use crate::table::cleanup::ended::rows_of;
use crate::table::columns::frozen_ends::Layer;
use crate::table::table::TableAt;
use crate::transaction::commit::changes::{self, RowChange};
use crate::transaction::write::write_set::Written;

/// How many changes and definitions the rollbacks to savepoints left, which ends later ones.
#[derive(Default)]
pub(super) struct Rollbacks {
    /// The number of rollbacks.
    count: usize,
    /// The number of each, and what it left, but for those after which less was left later: so
    /// there are no more than changes.
    left: Vec<(usize, u64, usize)>,
}

impl Rollbacks {
    fn push(&mut self, len: u64, definitions: usize) {
        while let Some(&(_, last, defined)) = self.left.last()
            && last >= len
            && defined >= definitions
        {
            self.left.pop();
        }
        self.left.push((self.count, len, definitions));
        self.count += 1;
    }

    /// Whether one since a savepoint has left less than was there when it was taken.
    fn have_ended(&self, savepoint: &Savepoint) -> bool {
        let since = self.left.iter().rev().take_while(|it| it.0 >= savepoint.rollbacks);
        let mut since = since.map(|&(_, len, definitions)| (len, definitions));
        since.any(|(len, definitions)| len < savepoint.len || definitions < savepoint.definitions)
    }
}

impl WriteTransaction<'_> {
    /// A point to roll back to.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let tx = db.begin_write()?;
    /// for number in [1, 2, 3] {
    ///     let before = tx.savepoint();
    ///     tx.insert_values(&table, &[Some(Value::I32(number))])?;
    ///     if number == 2 {
    ///         tx.roll_back_to(before)?;
    ///     }
    /// }
    /// let numbers: Vec<_> = tx.scan(&table)?.filter_map(|row| row.get::<i32>(a)).collect();
    /// assert_eq!(numbers.iter().sum::<i32>(), 4);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn savepoint(&self) -> Savepoint {
        let rollbacks = self.rollbacks.take();
        let count = rollbacks.as_ref().map_or(0, |rollbacks| rollbacks.count);
        self.rollbacks.set(rollbacks);
        Savepoint {
            stamp: self.read.snapshot.get().own,
            len: self.writes.mark(),
            definitions: self.definitions(),
            rollbacks: count,
        }
    }

    /// Whether rolling back to one of two savepoints of a transaction is as to the other.
    #[doc(hidden)]
    pub fn is_same_point(&self, one: Savepoint, other: Savepoint) -> bool {
        (one.stamp, one.len, one.definitions) == (other.stamp, other.len, other.definitions)
    }

    /// Takes back all changes since `savepoint`, of rows and of tables and indexes; it stays valid,
    /// later savepoints end.
    ///
    /// # Errors
    /// `TransactionEnded` if the savepoint is of another transaction or was itself taken back.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let tx = db.begin_write()?;
    /// let earlier = tx.savepoint();
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// let later = tx.savepoint();
    /// tx.roll_back_to(earlier)?;
    /// assert_eq!(tx.scan(&table)?.count(), 0);
    /// assert_eq!(tx.roll_back_to(later).unwrap_err().kind(), ErrorKind::TransactionEnded);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn roll_back_to(&self, savepoint: Savepoint) -> Result<()> {
        self.check_active()?;
        let mut rollbacks = self.rollbacks.take().unwrap_or_default();
        let own = savepoint.stamp == self.read.snapshot.get().own
            && savepoint.len <= self.writes.len()
            && savepoint.definitions <= self.definitions();
        // A transaction of another database may have the same stamp.
        let is_over =
            !own || savepoint.rollbacks > rollbacks.count || rollbacks.have_ended(&savepoint);
        if !is_over {
            rollbacks.push(savepoint.len, savepoint.definitions);
        }
        self.rollbacks.set(Some(rollbacks));
        if is_over {
            return Err(Error::new(ErrorKind::TransactionEnded)
                .because("the savepoint is of another transaction or was itself taken back"));
        }
        self.remember_changes_from(savepoint.len);
        self.undo_to(savepoint.len);
        if self.definitions() > savepoint.definitions {
            self.undo_definitions_to(savepoint.definitions);
            self.has_defined.set(true);
        }
        self.rest();
        Ok(())
    }

    /// Takes back all changes and ends the transaction: further calls fail with
    /// `TransactionEnded`, references that were read stay valid.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// # let a = table.column("a")?;
    /// let tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// tx.roll_back();
    /// let error = tx.insert_values(&table, &[Some(2.into())]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::TransactionEnded);
    /// assert_eq!(db.begin_read()?.scan(&table)?.count(), 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn roll_back(&self) {
        if !self.ended.get() {
            self.count(Counted::Rollbacks);
        }
        self.undo_all();
        self.ended.set(true);
        self.let_others_in();
    }

    /// That a change succeeded is an answer too: a row was there, or a unique key was not. It stays
    /// known when the change is taken back.
    pub(super) fn remember_changes_from(&self, len: u64) {
        let Some(reads) = &self.read.reads else { return };
        self.read.held.slot().enter_writing(self.read.memory());
        changes::each_behind(self.read.db, &self.writes, len, |table, change| {
            if let Some(core) = self.read.db.catalog().by_id(table) {
                let at = TableAt { memory: self.read.memory(), core: &core };
                match change {
                    RowChange::Version(change) => at.remember_change(reads, change),
                    RowChange::BulkInserted { bytes, .. } => at.remember_bulk_row(reads, bytes),
                    RowChange::Ended { row } => reads.add_row(table, row),
                }
            }
        });
    }

    /// Takes all back that was changed, and all that was defined.
    pub(super) fn undo_all(&self) {
        self.undo_to(0);
        if self.defining.borrow().is_some() {
            self.undo_definitions_to(0);
            self.has_defined.set(true);
        }
    }

    /// From here to the next call it refers to nothing but versions that it sees, and need not be
    /// waited for: what a call comes by it enters anew (`Slot::enter_writing`).
    #[inline]
    pub(super) fn rest(&self) {
        if self.defining.borrow().is_none() {
            self.read.held.slot().leave_writing();
        }
    }

    /// Forgets the extent and the positions of rows.
    pub(in crate::transaction) fn forget_places(&self) {
        self.last_member.set(None);
        self.read.extent.set(None);
    }

    /// Takes all changes behind the oldest `len` back, newest first.
    pub(super) fn undo_to(&self, len: u64) {
        self.forget_places();
        let memory = self.read.memory();
        self.read.held.slot().enter_writing(memory);
        while self.writes.len() > len
            && let Some((table, written, reservations)) = self.writes.pop_joined(len)
        {
            // A table is not dropped while others write, so it is there.
            let Some(core) = self.read.db.catalog().by_id(table) else { continue };
            let at = TableAt { memory, core: &core };
            match written {
                Written::One(change) => at.undo(self.alloc, change),
                Written::Ended { first, bits } => {
                    let own = self.read.snapshot.get().own;
                    rows_of(first, bits).for_each(|row| at.undo_end(row, own));
                    self.alloc.cache.retired.release_many(reservations);
                }
                Written::InColumns { layer, .. } => {
                    let own = self.read.snapshot.get().own;
                    Layer::at(memory, layer).take_back(memory, own);
                    self.alloc.cache.retired.release_many(reservations);
                }
                Written::Later { first, bits } => {
                    at.undo_ends(first, bits, self.read.snapshot.get().own);
                }
                Written::Run { first, count } => {
                    at.undo_run(self.alloc, first, count, reservations);
                    self.undone.set(self.undone.get() + u64::from(count));
                }
                Written::Segment { first, count } => {
                    at.undo_segment(self.alloc, first, count);
                    self.undone.set(self.undone.get() + u64::from(count));
                }
            }
        }
        self.writes.mark();
    }
}
