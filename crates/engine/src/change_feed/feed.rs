//! A feed that goes through the log, and makes rows of its operations.
//!
//! Of a commit one part is in memory at a time, the row before the next change, and the row after
//! it. The position moves when all of a commit was given, so whoever begins anew there misses
//! nothing, and meets nothing of a whole commit again.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use super::{Change, ChangeKind, FeedTable};
use crate::database::Database;
use crate::definition::{Definition, describe};
use crate::error::{Error, ErrorKind, Result};
use crate::log::feed::{CommitInParts, CommitPlace, FeedPlace};
use crate::log::record::Operation;

/// The changes of rows that were committed, from a position of the log on.
///
/// # Examples
/// See [`Database::change_feed`](crate::Database::change_feed).
#[derive(Debug)]
pub struct ChangeFeed<D> {
    db: D,
    place: FeedPlace,
    tables: HashMap<u32, Arc<FeedTable>>,
    /// The commit whose changes are being given, and how many of them were.
    commit: Option<CommitInParts>,
    number: u64,
    /// The row before the next change, once the log has said it, and what is changed.
    old: Vec<u8>,
    has_old: Option<(u32, u32)>,
    /// The row after the change that is given.
    new: Vec<u8>,
    position: u64,
}

/// A change without what is borrowed.
enum Given {
    Row { table: Arc<FeedTable>, row: u32, has_old: bool, has_new: bool },
    Definition { table: String, words: String },
    Commit,
}

impl<D: Deref<Target = Database>> ChangeFeed<D> {
    /// As [`Database::change_feed`], of a database that is kept open by the feed.
    ///
    /// # Errors
    /// As [`Database::change_feed`].
    ///
    /// # Examples
    /// ```
    /// # use std::sync::Arc;
    /// # use remanent_engine::{ChangeFeed, Database, Options};
    /// # let path = std::env::temp_dir().join(format!("remanent-kept-{}", std::process::id()));
    /// let db = Arc::new(Database::open_at(&path, Options::new().log_old_rows(true))?);
    /// let mut feed = ChangeFeed::open(Arc::clone(&db), db.change_position()?)?;
    /// assert!(feed.next_change()?.is_none());
    /// # drop(feed);
    /// # drop(db);
    /// # std::fs::remove_dir_all(&path).ok();
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn open(db: D, position: u64) -> Result<Self> {
        let log = db.log_or_error()?;
        // Before the place, so that a table which is dropped beside this is known.
        let cores = db.instance.catalog().all();
        let tables =
            cores.iter().map(|core| (core.id, FeedTable::new(core.id, core.schema.clone())));
        let tables = tables.collect();
        let durable = log.make_lasting()?;
        let place = FeedPlace::open(log, position, durable)?;
        let (old, new) = (Vec::new(), Vec::new());
        let (commit, number, has_old) = (None, 0, None);
        Ok(Self { db, place, tables, commit, number, old, has_old, new, position })
    }

    /// The position from which another feed would go on: behind the last commit that was given
    /// with all its changes, and behind what else was passed when there was no other.
    ///
    /// # Examples
    /// See [`Database::change_feed`](crate::Database::change_feed).
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The next change; none if nothing else was committed by now. After an error there is no going
    /// on: another feed begins at [`position`](ChangeFeed::position).
    ///
    /// # Errors
    /// `LogPositionGone`, `StorageFailed`, `DamagedLog`, `LogFailed`; `InvalidOptions` where a row
    /// was changed while the database was open without `log_old_rows`: then the feed can be begun
    /// anew behind that commit, which the error names.
    ///
    /// # Examples
    /// See [`Database::change_feed`](crate::Database::change_feed).
    pub fn next_change(&mut self) -> Result<Option<Change<'_>>> {
        let given = loop {
            if self.commit.is_none() && !self.begin_commit()? {
                return Ok(None);
            }
            if let Some(given) = self.pass()? {
                break given;
            }
        };
        let Some(CommitPlace { timestamp, end, .. }) = self.commit.as_ref().map(|it| it.place)
        else {
            return Ok(None);
        };
        let number = self.number;
        self.number += 1;
        let kind = match given {
            Given::Commit => {
                (self.commit, self.position) = (None, end);
                ChangeKind::Commit
            }
            Given::Definition { table, words } => ChangeKind::Definition { table, words },
            Given::Row { table, row, has_old, has_new } => ChangeKind::Row {
                table,
                row,
                old: has_old.then_some(&self.old),
                new: has_new.then_some(&self.new),
            },
        };
        Ok(Some(Change { position: end, timestamp, number, kind }))
    }

    /// Goes to the next commit, if there is one.
    fn begin_commit(&mut self) -> Result<bool> {
        let log = self.db.log_or_error()?;
        self.commit = self.place.next_in_parts(log, log.lasting())?;
        if self.commit.is_none() {
            self.commit = self.place.next_in_parts(log, log.make_lasting()?)?;
        }
        (self.number, self.has_old) = (0, None);
        if self.commit.is_none() {
            // Where nothing was committed, what is not needed of the log may go.
            self.position = self.place.position();
        }
        Ok(self.commit.is_some())
    }

    /// Passes an operation of the commit, and makes a change of it unless it says what comes next.
    fn pass(&mut self) -> Result<Option<Given>> {
        let Self { db, tables, commit, old, has_old, new, .. } = self;
        let Some(commit) = commit else { return Ok(None) };
        let end = commit.place.end;
        let Some(operation) = commit.next_operation(db.log_or_error()?)? else {
            return Ok(Some(Given::Commit));
        };
        let (table, row) = match operation {
            Operation::Define { bytes } => return define(tables, bytes).map(Some),
            Operation::Old { table, row, bytes } => {
                replace(old, [bytes]);
                *has_old = Some((table, row));
                return Ok(None);
            }
            Operation::Insert { table, row, .. }
            | Operation::Update { table, row, .. }
            | Operation::Patch { table, row, .. }
            | Operation::Delete { table, row } => (table, row),
        };
        let is_inserted = matches!(operation, Operation::Insert { .. });
        let is_known = has_old.take() == Some((table, row));
        // It was dropped since.
        let Some(table) = tables.get(&table).cloned() else { return Ok(None) };
        if !is_inserted && !is_known {
            return Err(without_old(&table, end));
        }
        match operation {
            Operation::Insert { bytes, .. } | Operation::Update { bytes, .. } => {
                replace(new, [bytes]);
            }
            Operation::Patch { first, last, bytes, .. } => {
                let behind = old.len().checked_sub(last).filter(|&behind| behind >= first);
                let behind = behind.ok_or_else(|| damaged("a change does not fit its row"))?;
                replace(new, [&old[..first], bytes, &old[behind..]]);
            }
            _ => {}
        }
        let has_new = !matches!(operation, Operation::Delete { .. });
        let check = |row: &[u8]| match table.layout.is_well_formed(row) {
            true => Ok(()),
            false => Err(damaged(format!("a row of `{}` is not one", table.schema.name))),
        };
        if is_known {
            check(old)?;
        }
        if has_new {
            check(new)?;
        }
        Ok(Some(Given::Row { table, row, has_old: is_known, has_new }))
    }
}

/// Makes the tables what they are behind a definition.
fn define(tables: &mut HashMap<u32, Arc<FeedTable>>, bytes: &[u8]) -> Result<Given> {
    let (number, _, words) = describe(bytes).ok_or_else(|| damaged("a definition"))?;
    let known = match Definition::from_bytes(bytes) {
        Some(Definition::CreateTable { table, schema }) => {
            let made = FeedTable::new(table, schema);
            tables.insert(table, Arc::clone(&made));
            Some(made)
        }
        Some(Definition::DropTable { table }) => tables.remove(&table),
        _ => tables.get(&number).cloned(),
    };
    let table = known.map(|table| table.schema.name.clone()).unwrap_or_default();
    Ok(Given::Definition { table, words })
}

/// Makes a row of its pieces.
fn replace<const N: usize>(row: &mut Vec<u8>, pieces: [&[u8]; N]) {
    row.clear();
    pieces.into_iter().for_each(|piece| row.extend_from_slice(piece));
}

#[cold]
fn damaged(because: impl Into<String>) -> Error {
    Error::new(ErrorKind::DamagedLog).because(because.into())
}

#[cold]
fn without_old(table: &FeedTable, end: u64) -> Error {
    let name = &table.schema.name;
    Error::new(ErrorKind::InvalidOptions).because(format!(
        "a row of `{name}` was changed while old rows were not logged (`log_old_rows`); the next \
         commit begins at position {end} of the log"
    ))
}
