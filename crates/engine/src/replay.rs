//! Applying what was logged: commits are repeated by the same functions that statements use.
//!
//! [`Replay`] is given the operations of one transaction after the other, in the order of their
//! timestamps, and changes a database as they say. Several small ones are repeated in one
//! transaction, which commits as any other; so whoever reads meanwhile sees states that were
//! there, though not all of them. Row ids stay what they were. Where the operations come from is
//! the caller's business: recovery takes them from files, and leaves out what an image has.
//! [`finish`] sees to what is to be done once, when all was repeated.
//!
//! The log has rows that came as columns one by one, under all ids of a segment in their order.
//! Where one transaction has inserted rows so, they are gathered and become columns again
//! (`replay/filling.rs`).

mod filling;

use std::collections::HashMap;
use std::sync::Arc;

use crate::database::Database;
use crate::definition::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::log::DefinitionWatch;
use crate::log::record::{Operation, Operations};
use crate::memory::AllocationClass;
use crate::memory::atomic::{Acquire, Relaxed, Release};
use crate::table::Table;
use crate::table::rows::change::ChangedRow;
use crate::table::rows::row::RowId;
use crate::table::table::TableAt;
use crate::transaction::cleanup::reclaim;
use crate::transaction::{Isolation, TransactionOptions, WriteTransaction};
use filling::Filling;

/// Changes that are applied in one transaction, if they are those of small ones.
pub(crate) const CHANGES_TOGETHER: usize = 4096;

/// Repeats commits.
pub(crate) struct Replay<'d> {
    db: &'d Database,
    tables: HashMap<u32, Table>,
    transaction: Option<WriteTransaction<'d>>,
    changes: usize,
    /// Whether others read meanwhile, and the timestamp of what was repeated last.
    is_watched: bool,
    timestamp: u64,
    watching: Watching,
    freezes: bool,
    /// Rows that were not inserted yet.
    filling: Filling,
}

/// Who watches definitions, and whether there are some in the transaction that is open.
#[derive(Default)]
struct Watching {
    watch: Option<Arc<dyn DefinitionWatch>>,
    defines: bool,
    /// The table that was asked about last.
    asked: Option<u32>,
}

/// How far a transaction has been repeated.
#[derive(Default)]
struct Applied {
    count: u64,
    /// Whether it defines anything.
    defines: bool,
    /// The table that its last operation was about.
    table: Option<u32>,
}

impl<'d> Replay<'d> {
    pub(crate) fn new(db: &'d Database) -> Self {
        Self {
            db,
            tables: HashMap::new(),
            transaction: None,
            changes: 0,
            is_watched: false,
            timestamp: 0,
            watching: Watching::default(),
            freezes: false,
            filling: Filling::default(),
        }
    }

    /// In a database that others read: they see whole commits, at the timestamps that these have.
    /// Who watches definitions learns of others.
    pub(crate) fn watched(mut self) -> Self {
        self.is_watched = true;
        self.watching.watch = self.watch();
        self
    }

    /// Who watches definitions now.
    fn watch(&self) -> Option<Arc<dyn DefinitionWatch>> {
        let group = self.db.instance.log().filter(|_| self.is_watched)?.group()?;
        group.lock().watch.as_ref()?.upgrade()
    }

    /// Repeats a transaction that was committed at a timestamp, and says how many rows it changed.
    ///
    /// # Errors
    /// As [`Replay::commit`]; `TableBusy` if rows that it takes the place of, or indexes that it
    /// drops, are still read. What is not committed by then is taken back.
    pub(crate) fn commit_at(&mut self, operations: &[u8], timestamp: u64) -> Result<u64> {
        self.make_way(operations).inspect_err(|_| self.roll_back())?;
        self.timestamp = timestamp;
        self.commit(operations).inspect_err(|_| self.roll_back())
    }

    /// Sees to it that a transaction finds no versions where it inserts rows, and that one that
    /// changes tables begins one of its own.
    fn make_way(&mut self, operations: &[u8]) -> Result<()> {
        let (mut all, mut drained) = (Operations::behind(operations, None), false);
        loop {
            let (table, row) = match all.next() {
                Ok(Some(Operation::Insert { table, row, .. })) => (table, row),
                Ok(Some(Operation::Define { .. })) => return self.end_transaction(),
                Ok(Some(_)) => continue,
                // What is wrong with the rest is found when it is applied.
                Ok(None) | Err(_) => return Ok(()),
            };
            let Ok(table) = self.table(table) else { continue };
            let at = TableAt { memory: self.db.instance.memory(), core: &table.core };
            if !at.is_taken(row) {
                continue;
            }
            if !drained {
                self.end_transaction()?;
                reclaim::drain_all(&self.db.instance);
                drained = true;
            }
            if at.is_taken(row) {
                return Err(Error::new(ErrorKind::TableBusy).because(format!(
                    "row {row} of `{}`, which was deleted and given away again, is still read",
                    table.name()
                )));
            }
        }
    }

    /// Whether rows become columns that seem to have been columns.
    pub(crate) fn freezing(mut self, freezes: bool) -> Self {
        self.freezes = freezes;
        self
    }

    /// Repeats a transaction, and says how many rows it changed.
    ///
    /// # Errors
    /// `DamagedLog` if it cannot be repeated, memory.
    pub(crate) fn commit(&mut self, operations: &[u8]) -> Result<u64> {
        let mut applied = Applied::default();
        self.apply_whole(operations, &mut applied, true)?;
        self.end_applied(applied)
    }

    /// As [`Replay::commit`], of all parts of a transaction, one part after the other: what is in
    /// memory of them is a part, and an operation that goes on in the next.
    ///
    /// # Errors
    /// As [`Replay::commit`]; what a part could not be read for.
    pub(crate) fn commit_in_parts(
        &mut self,
        parts: impl Iterator<Item = Result<Vec<u8>>>,
        last: &[u8],
    ) -> Result<u64> {
        let (mut bytes, mut applied) = (Vec::new(), Applied::default());
        for part in parts {
            bytes.extend_from_slice(&part?);
            let whole = self.apply_whole(&bytes, &mut applied, false)?;
            bytes.drain(..whole);
        }
        bytes.extend_from_slice(last);
        self.apply_whole(&bytes, &mut applied, true)?;
        self.end_applied(applied)
    }

    /// Repeats a change of tables or indexes that was a transaction of its own.
    ///
    /// # Errors
    /// As [`Replay::commit`].
    pub(crate) fn commit_definition(&mut self, definition: &[u8]) -> Result<()> {
        self.end_transaction()?;
        self.define(definition)?;
        self.end_transaction()
    }

    /// Commits what was repeated so far.
    pub(crate) fn end_transaction(&mut self) -> Result<()> {
        self.changes = 0;
        if let Some(tx) = self.transaction.take() {
            if self.is_watched {
                self.db.instance.memory().header().commit.0.next.store(self.timestamp, Relaxed);
            }
            self.watching.begin();
            let committed = tx.commit();
            let watch = self.watch();
            self.watching.end(watch);
            committed?;
        }
        Ok(())
    }

    /// Takes back what has not committed.
    pub(crate) fn roll_back(&mut self) {
        self.transaction = None;
        self.watching.forget();
        self.filling.end();
    }

    /// Whether so much was changed that the transaction should end here.
    pub(crate) fn is_long(&self) -> bool {
        self.changes >= CHANGES_TOGETHER
    }

    /// The table with this number.
    pub(crate) fn table(&mut self, id: u32) -> Result<Table> {
        if let Some(table) = self.tables.get(&id) {
            return Ok(table.clone());
        }
        let core = self.db.instance.catalog().by_id(id);
        let core = core.ok_or_else(|| damaged(format!("there is no table {id}")))?;
        let table = Table { core };
        self.tables.insert(id, table.clone());
        Ok(table)
    }

    /// Sees to it that a row id has no version: what deleted it was repeated, but its versions may
    /// still be there.
    pub(crate) fn make_vacant(&mut self, table: &Table, row: u32) -> Result<()> {
        let at = TableAt { memory: self.db.instance.memory(), core: &table.core };
        if at.is_taken(row) {
            self.end_transaction()?;
            reclaim::drain_all(&self.db.instance);
        }
        if at.is_taken(row) {
            return Err(damaged(format!("row {row} of `{}` is there twice", table.name())));
        }
        Ok(())
    }

    /// Makes one change of a row, as a statement would, in the transaction that is open.
    pub(crate) fn change(&mut self, table: &Table, operation: &Operation<'_>) -> Result<()> {
        self.changes += 1;
        change_row(self.transaction()?, table, operation)
    }

    /// Makes a definition, in the transaction that is open.
    pub(crate) fn define(&mut self, bytes: &[u8]) -> Result<()> {
        self.tables.clear();
        let definition = Definition::from_bytes(bytes).ok_or_else(|| damaged("a definition"))?;
        self.watching.defines = true;
        self.transaction()?.repeat(definition).map_err(not_repeated)
    }

    /// Applies the operations that are whole in some bytes, and says how many bytes they are. What
    /// is behind the last of them may go on elsewhere, unless these are the last bytes.
    fn apply_whole(&mut self, bytes: &[u8], applied: &mut Applied, last: bool) -> Result<usize> {
        let mut operations = Operations::behind(bytes, applied.table);
        let mut whole = 0;
        loop {
            let operation = match operations.next() {
                Ok(None) => break,
                Ok(Some(operation)) => operation,
                Err(what) if last => return Err(damaged(what)),
                Err(_) => break,
            };
            match operation {
                Operation::Define { bytes } => {
                    self.insert_gathered()?;
                    if !applied.defines {
                        self.end_transaction()?;
                    }
                    applied.defines = true;
                    self.define(bytes)?;
                }
                Operation::Old { .. } => {}
                _ => {
                    self.apply(&operation)?;
                    applied.count += 1;
                }
            }
            let (rest, table) = operations.rest();
            (whole, applied.table) = (bytes.len() - rest, table);
        }
        Ok(whole)
    }

    fn apply(&mut self, operation: &Operation<'_>) -> Result<()> {
        let Some(number) = table_of(operation) else { return Ok(()) };
        let table = self.table(number)?;
        self.watching.note(number, &table);
        if let Operation::Insert { row, bytes, .. } = *operation {
            if self.gather(&table, row, bytes)? {
                return Ok(());
            }
            self.make_vacant(&table, row)?;
        }
        self.insert_gathered()?;
        self.change(&table, operation).map_err(not_repeated)
    }

    fn end_applied(&mut self, applied: Applied) -> Result<u64> {
        self.insert_gathered()?;
        if applied.defines || self.is_long() {
            self.end_transaction()?;
        }
        Ok(applied.count)
    }

    /// The transaction in which commits are repeated.
    fn transaction(&mut self) -> Result<&WriteTransaction<'d>> {
        if self.transaction.is_none() {
            let options = TransactionOptions::new().isolation(Isolation::Snapshot);
            self.transaction = Some(self.db.begin_replay(options)?);
        }
        let Some(tx) = &self.transaction else { unreachable!("it was begun above") };
        Ok(tx)
    }
}

impl Watching {
    /// A row of this table is changed.
    fn note(&mut self, number: u32, table: &Table) {
        let Some(watch) = &self.watch else { return };
        if self.asked != Some(number) {
            self.asked = Some(number);
            self.defines |= watch.concerns(table.name());
        }
    }

    /// The transaction is about to be committed. Not earlier: whoever reads waits until it is.
    fn begin(&self) {
        if let Some(watch) = self.watch.as_ref().filter(|_| self.defines) {
            watch.change();
        }
    }

    /// It has ended. Who watches since it was begun may have read the state before.
    fn end(&mut self, now: Option<Arc<dyn DefinitionWatch>>) {
        let is_known = match (&self.watch, &now) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (_, now) => now.is_none(),
        };
        if let Some(watch) = self.watch.as_ref().filter(|_| self.defines) {
            watch.changed();
        }
        if let Some(watch) = now.filter(|_| !is_known) {
            watch.changed();
            self.watch = Some(watch);
        }
        self.forget();
    }

    /// It was taken back, or another one follows.
    fn forget(&mut self) {
        (self.asked, self.defines) = (None, false);
    }
}

/// What is to be seen to when all was repeated: the row ids that are free, the places in sets that
/// come next, and the clock, which is never behind a commit that was repeated, nor behind the
/// transactions that repeated it.
pub(crate) fn finish(db: &Database, timestamp: u64) -> Result<u64> {
    let memory = db.instance.memory();
    reclaim::drain_all(&db.instance);
    memory.header().account.open_reserve(false);
    db.instance.forget_counts();
    db.instance.thread_free_rows();
    db.set_names().iter().try_for_each(|name| crate::image::check_links(db, &db.set(name)?))?;
    let clock = &memory.header().clock.0;
    let timestamp = timestamp.max(clock.load(Acquire));
    clock.store(timestamp, Release);
    Ok(timestamp)
}

/// The number of the table that a change of a row is about.
pub(crate) fn table_of(operation: &Operation<'_>) -> Option<u32> {
    match *operation {
        Operation::Insert { table, .. }
        | Operation::Update { table, .. }
        | Operation::Patch { table, .. }
        | Operation::Delete { table, .. } => Some(table),
        Operation::Old { .. } | Operation::Define { .. } => None,
    }
}

/// Makes one change, as a statement would.
fn change_row(tx: &WriteTransaction<'_>, table: &Table, operation: &Operation<'_>) -> Result<()> {
    // What recovery repeats may take the reserve: it had room before.
    let changed = |row| ChangedRow { id: Some(RowId(row)), class: AllocationClass::Emergency };
    let check = |bytes: &[u8]| check_row(table, bytes);
    match *operation {
        Operation::Insert { row, bytes, .. } => {
            check(bytes)?;
            tx.change_any(table, ChangedRow::NEW, |at, alloc, snapshot| {
                at.directory().claim(alloc, row)?;
                at.insert_as(alloc, snapshot, row, bytes.len(), |out| {
                    out.copy_from_slice(bytes);
                    Ok(())
                })
            })
        }
        Operation::Update { row, bytes, .. } => {
            check(bytes)?;
            tx.change_any(table, changed(row), |at, alloc, snapshot| {
                let fill = |_: &[u8], out: &mut [u8]| {
                    out.copy_from_slice(bytes);
                    Ok(())
                };
                at.update(alloc, snapshot, row, |_| Ok(bytes.len()), fill)
            })
        }
        Operation::Patch { row, first, last, bytes, .. } => {
            tx.change_any(table, changed(row), |at, alloc, snapshot| {
                let length = |old: &[u8]| match first + last <= old.len() {
                    true => Ok(first + bytes.len() + last),
                    false => Err(damaged("a change does not fit its row")),
                };
                let fill = |old: &[u8], out: &mut [u8]| {
                    out[..first].copy_from_slice(&old[..first]);
                    out[first..first + bytes.len()].copy_from_slice(bytes);
                    out[first + bytes.len()..].copy_from_slice(&old[old.len() - last..]);
                    check(out)
                };
                at.update(alloc, snapshot, row, length, fill)
            })
        }
        Operation::Delete { row, .. } => {
            return tx.delete_any(table, RowId(row));
        }
        Operation::Old { .. } | Operation::Define { .. } => return Ok(()),
    }
    .map(|_| ())
}

/// Checks that these bytes are a row of the table.
///
/// # Errors
/// `DamagedLog`.
fn check_row(table: &Table, bytes: &[u8]) -> Result<()> {
    match table.core.layout.is_well_formed(bytes) {
        true => Ok(()),
        false => Err(damaged(format!("a row of `{}` is not one", table.name()))),
    }
}

/// The error of what could not be repeated: that of the log, unless something else is in the way.
#[cold]
fn not_repeated(error: Error) -> Error {
    let is_in_the_way = matches!(error.kind(), ErrorKind::TableBusy | ErrorKind::Conflict);
    match error.is_out_of_memory() || is_in_the_way {
        true => error,
        false => damaged(error.to_string()),
    }
}

#[cold]
pub(crate) fn damaged(because: impl Into<String>) -> Error {
    Error::new(ErrorKind::DamagedLog).because(because.into())
}
