//! Taking changes back, to a savepoint or all.
//!
//! Needs no memory: room in the retire queue was promised for each change when it was made. What a
//! serializable transaction was told by changes stays told.

use super::{Savepoint, WriteTransaction};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::counts::Counted;
use crate::table::ended::rows_of;
use crate::table::table::TableAt;
use crate::transaction::changes::{self, RowChange};
use crate::transaction::write_set::Written;

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
        let count = rollbacks.len();
        self.rollbacks.set(rollbacks);
        Savepoint {
            stamp: self.read.snapshot.get().own,
            len: self.writes.mark(),
            definitions: self.definitions(),
            rollbacks: count,
        }
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
        let mut rollbacks = self.rollbacks.take();
        let own = savepoint.stamp == self.read.snapshot.get().own
            && savepoint.len <= self.writes.len()
            && savepoint.definitions <= self.definitions();
        // A transaction of another database may have the same stamp.
        let since = rollbacks.get(savepoint.rollbacks..).filter(|_| own);
        let ended = |&(len, definitions): &(u64, usize)| {
            len < savepoint.len || definitions < savepoint.definitions
        };
        let is_over = since.is_none_or(|since| since.iter().any(ended));
        if !is_over {
            rollbacks.push((savepoint.len, savepoint.definitions));
        }
        self.rollbacks.set(rollbacks);
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
        changes::each_behind(self.read.db, &self.writes, len, |table, change| {
            if let Some(core) = self.read.db.catalog().by_id(table) {
                let at = TableAt { memory: self.read.memory(), core: &core };
                match change {
                    RowChange::Version(change) => at.remember_change(reads, change),
                    RowChange::Laid { bytes, .. } => at.remember_laid(reads, bytes),
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

    /// What is known of where rows lie holds no longer.
    pub(in crate::transaction) fn forget_places(&self) {
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
            // A table is not dropped while others write, so it is there.
            let Some(core) = self.read.db.catalog().by_id(table) else { continue };
            let at = TableAt { memory, core: &core };
            match written {
                Written::One(change) => at.undo(self.heap, change),
                Written::Ended { first, bits } => {
                    let own = self.read.snapshot.get().own;
                    rows_of(first, bits).for_each(|row| at.undo_end(row, own));
                    self.heap.cache.retired.redeem_many(promises);
                }
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
