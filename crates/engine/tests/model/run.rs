//! Runs operations on a database and on the model side by side.
//!
//! After every operation the two have given the same answer: the same success, or the same kind of
//! refusal for the same reason. After every commit a new snapshot sees what the model says; so does
//! every writer before it ends, and every snapshot as long as it is held.

use remanent_engine::schema::{ColumnValues, Record, Value};
use remanent_engine::{
    Database, ErrorKind, Isolation, ReadTransaction, Result, RowId, Savepoint, TransactionOptions,
    TypedTable, WriteTransaction,
};

use crate::check::check;
use crate::expected::{Expected, Viewer, Visible};
use crate::item::{Content, Edit, Item};
use crate::keys::{ModelIndex, late_index};
use crate::operation::{Operation, SNAPSHOTS, WRITERS};

/// Contents whose keys are looked for whether they are there or not.
const PROBES: usize = 3;

pub(crate) struct Run<'db> {
    db: &'db Database,
    table: TypedTable<Item<'static>>,
    indexes: Vec<ModelIndex>,
    expected: Expected,
    writers: [Option<Writer<'db>>; WRITERS],
    snapshots: Vec<(ReadTransaction<'db>, Visible)>,
    /// Numbers given to writing transactions.
    owners: u64,
    /// The newest commit.
    timestamp: u64,
    /// The contents met last.
    probes: Vec<Content>,
}

struct Writer<'db> {
    tx: WriteTransaction<'db>,
    viewer: Viewer,
    /// The rows changed, in order.
    changes: Vec<u64>,
    /// Savepoints with the number of changes before them, and whether they are still good.
    savepoints: Vec<(Savepoint, usize, bool)>,
}

impl<'db> Run<'db> {
    pub(crate) fn new(db: &'db Database) -> Result<Self> {
        let table = db.create_table_of::<Item<'static>>()?;
        let schemas = Item::schema().indexes;
        Ok(Self {
            db,
            table,
            indexes: schemas.into_iter().map(|schema| ModelIndex { schema }).collect(),
            expected: Expected::default(),
            writers: [const { None }; WRITERS],
            snapshots: Vec::new(),
            owners: 0,
            timestamp: db.begin_read()?.timestamp(),
            probes: Vec::new(),
        })
    }

    pub(crate) fn step(&mut self, operation: Operation) -> Result<()> {
        match operation {
            Operation::Insert { writer, content } => self.insert(writer, content)?,
            Operation::InsertMany { writer, content, count } => {
                for i in 0..count {
                    self.insert(writer, content.numbered(i))?;
                }
            }
            Operation::Edit { writer, pick, edit } => self.edit(writer, pick, &edit)?,
            Operation::Replace { writer, pick, content } => self.replace(writer, pick, content)?,
            Operation::Delete { writer, pick } => self.delete(writer, pick)?,
            Operation::DeleteMany { writer, step } => {
                for pick in (0..self.expected.ids().len()).step_by(step) {
                    self.delete(writer, pick)?;
                }
            }
            Operation::InsertAgain { writer, pick } => self.insert_again(writer, pick)?,
            Operation::Savepoint { writer } => {
                let writer = self.writer(writer)?;
                let savepoint = writer.tx.savepoint();
                writer.savepoints.push((savepoint, writer.changes.len(), true));
            }
            Operation::RollBackTo { writer, pick } => self.roll_back_to(writer, pick)?,
            Operation::RollBack { writer } => self.roll_back(writer)?,
            Operation::Commit { writer } => self.commit(writer)?,
            Operation::Snapshot if self.snapshots.len() < SNAPSHOTS => {
                let tx = self.db.begin_read()?;
                assert_eq!(tx.timestamp(), self.timestamp);
                let visible = self.expected.newest();
                self.snapshots.push((tx, visible));
            }
            Operation::CheckSnapshot { pick } if !self.snapshots.is_empty() => {
                let (tx, visible) = &self.snapshots[pick % self.snapshots.len()];
                check(tx, &self.table, &self.indexes, visible, &self.probes);
            }
            Operation::EndSnapshot { pick } if !self.snapshots.is_empty() => {
                let (tx, visible) = self.snapshots.swap_remove(pick % self.snapshots.len());
                check(&tx, &self.table, &self.indexes, &visible, &self.probes);
            }
            Operation::Snapshot
            | Operation::CheckSnapshot { .. }
            | Operation::EndSnapshot { .. } => {}
            Operation::CreateIndex { which } => self.create_index(which)?,
            Operation::DropIndex { pick } => self.drop_index(pick)?,
            Operation::Reclaim => self.db.reclaim(),
            Operation::Freeze => self.freeze()?,
            Operation::InsertBulk { writer, content } => self.insert_bulk(writer, content)?,
        }
        Ok(())
    }

    /// Ends all transactions, deletes all rows and drops what the test added.
    pub(crate) fn finish(mut self) -> Result<TypedTable<Item<'static>>> {
        (0..WRITERS).try_for_each(|writer| self.commit(writer))?;
        for (tx, visible) in std::mem::take(&mut self.snapshots) {
            check(&tx, &self.table, &self.indexes, &visible, &self.probes);
        }
        while self.indexes.len() > Item::schema().indexes.len() {
            self.drop_index(0)?;
        }
        for pick in 0..self.expected.ids().len() {
            self.delete(0, pick)?;
        }
        self.commit(0)?;
        Ok(self.table)
    }

    fn insert(&mut self, writer: usize, content: Content) -> Result<()> {
        let table = self.table.clone();
        self.insert_by(writer, content, |tx, content| tx.insert(&table, &content.as_item()))
    }

    /// Inserts a row as a segment of columns.
    fn insert_bulk(&mut self, writer: usize, content: Content) -> Result<()> {
        let table = self.table.clone();
        self.insert_by(writer, content, |tx, content| {
            let values = content.values();
            let values: Vec<_> =
                values.into_iter().map(|value| move |_: usize| Some(value)).collect();
            let columns: Vec<_> = values.iter().map(|value| ColumnValues::Any(value)).collect();
            tx.insert_segment(&table, &columns, 1)
        })
    }

    fn insert_by(
        &mut self,
        writer: usize,
        content: Content,
        insert: impl FnOnce(&WriteTransaction<'_>, &Content) -> Result<RowId>,
    ) -> Result<()> {
        self.remember(&content);
        self.writer(writer)?;
        let held = self.held();
        let Some(writer) = &mut self.writers[writer] else { return Ok(()) };
        let viewer = writer.viewer;
        let refusals = self.expected.refusals(&self.indexes, None, None, &content, viewer);
        match insert(&writer.tx, &content) {
            Ok(row) => {
                assert!(refusals.is_empty(), "{content:?} was to be refused: {refusals:?}");
                self.expected.push(row.number(), viewer.own, Some(content), true, &held);
                writer.changes.push(row.number());
            }
            Err(error) => {
                let kind = error.kind();
                assert!(refusals.contains(&kind.code()), "{error}, not {refusals:?}: {content:?}");
            }
        }
        Ok(())
    }

    fn edit(&mut self, writer: usize, pick: usize, edit: &Edit) -> Result<()> {
        let columns = edit.values().into_iter();
        let columns = columns.map(|(path, value)| Ok((self.table.column(path)?, value)));
        let values = columns.collect::<Result<Vec<(_, Value<'_>)>>>()?;
        let table = self.table.clone();
        self.change(
            writer,
            pick,
            |content| content.edited(edit),
            |tx, row, _| tx.update_values(&table, row, &values),
        )
    }

    fn replace(&mut self, writer: usize, pick: usize, content: Content) -> Result<()> {
        self.remember(&content);
        let table = self.table.clone();
        self.change(
            writer,
            pick,
            |_| content.clone(),
            |tx, row, content| tx.update(&table, row, &content.as_item()),
        )
    }

    fn change(
        &mut self,
        writer: usize,
        pick: usize,
        content: impl FnOnce(&Content) -> Content,
        update: impl FnOnce(&WriteTransaction<'_>, RowId, &Content) -> Result<()>,
    ) -> Result<()> {
        let Some((id, row)) = self.pick(pick) else { return Ok(()) };
        self.writer(writer)?;
        let Some(writer) = &mut self.writers[writer] else { return Ok(()) };
        let viewer = writer.viewer;
        let old = match self.expected.changeable(id, viewer) {
            Ok(old) => old,
            Err(_) => {
                let refused = update(&writer.tx, row, &self.probes[0]).expect_err("not changeable");
                assert!(
                    self.expected.is_refusal(id, viewer, refused.kind()),
                    "row {id}: {refused}"
                );
                return Ok(());
            }
        };
        let new = content(old);
        let refusals = self.expected.refusals(&self.indexes, Some(id), Some(old), &new, viewer);
        match update(&writer.tx, row, &new) {
            Ok(()) => {
                assert!(refusals.is_empty(), "{new:?} was to be refused: {refusals:?}");
                self.expected.push(id, viewer.own, Some(new), false, &[]);
                writer.changes.push(id);
            }
            Err(error) => {
                let kind = error.kind();
                assert!(refusals.contains(&kind.code()), "{error}, not {refusals:?}: {new:?}");
            }
        }
        Ok(())
    }

    fn delete(&mut self, writer: usize, pick: usize) -> Result<()> {
        let Some((id, row)) = self.pick(pick) else { return Ok(()) };
        self.writer(writer)?;
        let Some(writer) = &mut self.writers[writer] else { return Ok(()) };
        let changeable = self.expected.changeable(id, writer.viewer).is_ok();
        let deleted = writer.tx.delete(&self.table, row).map_err(|error| error.kind());
        assert_eq!(deleted.is_ok(), changeable, "row {id}");
        if let Err(refused) = deleted {
            assert!(self.expected.is_refusal(id, writer.viewer, refused), "row {id}: {refused:?}");
        } else {
            self.expected.push(id, writer.viewer.own, None, false, &[]);
            writer.changes.push(id);
        }
        Ok(())
    }

    /// Deletes a row and inserts the same content again.
    fn insert_again(&mut self, writer: usize, pick: usize) -> Result<()> {
        let Some((id, _)) = self.pick(pick) else { return Ok(()) };
        let viewer = self.writer(writer)?.viewer;
        let content = self.expected.changeable(id, viewer).ok().cloned();
        self.delete(writer, pick)?;
        content.map_or(Ok(()), |content| self.insert(writer, content))
    }

    fn roll_back_to(&mut self, writer: usize, pick: usize) -> Result<()> {
        let Some(writer) = &mut self.writers[writer] else { return Ok(()) };
        if writer.savepoints.is_empty() {
            return Ok(());
        }
        let (savepoint, len, good) = writer.savepoints[pick % writer.savepoints.len()];
        let done = writer.tx.roll_back_to(savepoint).map_err(|error| error.kind());
        assert_eq!(done, if good { Ok(()) } else { Err(ErrorKind::TransactionEnded) });
        if good {
            for id in writer.changes.drain(len..).rev() {
                self.expected.pop(id);
            }
            let later = writer.savepoints.iter_mut().filter(|(_, other, _)| *other > len);
            later.for_each(|(_, _, good)| *good = false);
        }
        Ok(())
    }

    fn roll_back(&mut self, writer: usize) -> Result<()> {
        let Some(writer) = self.writers[writer].take() else { return Ok(()) };
        for id in writer.changes.iter().rev() {
            self.expected.pop(*id);
        }
        if writer.changes.len() % 2 == 0 {
            writer.tx.roll_back();
            let refused = writer.tx.insert(&self.table, &self.probe().as_item());
            assert_eq!(refused.map_err(|e| e.kind()), Err(ErrorKind::TransactionEnded));
        }
        drop(writer);
        self.check_newest()
    }

    fn commit(&mut self, writer: usize) -> Result<()> {
        let isolation = isolation_of(writer);
        let Some(writer) = self.writers[writer].take() else { return Ok(()) };
        let visible = self.expected.visible(writer.viewer);
        // It reads everything, so any change that others committed is a conflict.
        check(&writer.tx, &self.table, &self.indexes, &visible, &self.probes);
        let outdated = isolation == Isolation::Serializable
            && !writer.changes.is_empty()
            && self.expected.visible(Viewer { own: 0, ..writer.viewer }) != self.expected.newest();
        let ticket = match writer.tx.commit() {
            // Also where a row was changed and changed back: it was read, and was changed.
            Err(error) if error.is_conflict() && self.timestamp > writer.viewer.timestamp => {
                assert_eq!(isolation, Isolation::Serializable);
                for id in writer.changes.iter().rev() {
                    self.expected.pop(*id);
                }
                return self.check_newest();
            }
            ticket => ticket?,
        };
        assert!(!outdated, "a serializable commit whose reads were outdated was let through");
        if writer.changes.is_empty() {
            assert_eq!(ticket.timestamp(), writer.viewer.timestamp);
        } else {
            self.timestamp += 1;
            assert_eq!(ticket.timestamp(), self.timestamp);
            self.expected.commit(writer.viewer.own, self.timestamp);
        }
        self.check_newest()
    }

    fn check_newest(&self) -> Result<()> {
        let tx = self.db.begin_read()?;
        check(&tx, &self.table, &self.indexes, &self.expected.newest(), &self.probes);
        Ok(())
    }

    /// Creates an index under the snapshots that are held. Writers end first: it waits for them.
    fn create_index(&mut self, which: u8) -> Result<()> {
        (0..WRITERS).try_for_each(|writer| self.roll_back(writer))?;
        let index = ModelIndex { schema: late_index(which) };
        let known = self.indexes.iter().any(|other| other.schema.name == index.schema.name);
        let newest = self.expected.newest();
        let keys: Vec<_> = newest.values().map(|content| index.key(content)).collect();
        let twice = keys
            .iter()
            .enumerate()
            .any(|(i, key)| index.is_exclusive(key) && keys[..i].contains(key));
        let expected = match (known, twice) {
            (true, _) => Err(ErrorKind::IndexExists),
            (false, true) => Err(ErrorKind::DuplicateKey),
            (false, false) => Ok(()),
        };
        let created = self.db.create_index(&self.table, index.schema.clone());
        self.timestamp = self.db.begin_read()?.timestamp();
        assert_eq!(created.map(|_| ()).map_err(|error| error.kind()), expected);
        if expected.is_ok() {
            self.indexes.push(index);
        }
        self.check_newest()
    }

    /// Drops an index. Snapshots end too: it waits for them.
    fn drop_index(&mut self, pick: usize) -> Result<()> {
        let fixed = Item::schema().indexes.len();
        if self.indexes.len() == fixed {
            return Ok(());
        }
        (0..WRITERS).try_for_each(|writer| self.roll_back(writer))?;
        self.snapshots.clear();
        let place = fixed + pick % (self.indexes.len() - fixed);
        let index = self.indexes.remove(place);
        let handle = self.table.index(&index.schema.name)?;
        self.db.drop_index(&self.table, handle)?;
        self.timestamp = self.db.begin_read()?.timestamp();
        self.check_newest()
    }

    /// Freezes all segments in which no row is being changed or has versions that a snapshot needs.
    fn freeze(&mut self) -> Result<()> {
        let report = self.db.freeze_all(&self.table)?;
        if self.writers.iter().all(Option::is_none) && self.snapshots.is_empty() {
            assert_eq!(report.skipped, 0, "nobody is in the way");
        }
        self.check_newest()
    }

    fn writer(&mut self, number: usize) -> Result<&mut Writer<'db>> {
        let writer = &mut self.writers[number];
        if writer.is_none() {
            let options = TransactionOptions::new().isolation(isolation_of(number));
            let tx = self.db.begin_write_with(&options)?;
            self.owners += 1;
            let viewer = Viewer { timestamp: tx.timestamp(), own: self.owners };
            assert_eq!(viewer.timestamp, self.timestamp);
            *writer = Some(Writer { tx, viewer, changes: Vec::new(), savepoints: Vec::new() });
        }
        Ok(writer.as_mut().expect("it was just begun"))
    }

    fn pick(&self, pick: usize) -> Option<(u64, RowId)> {
        let ids = self.expected.ids();
        let id = *ids.get(pick.checked_rem(ids.len())?)?;
        Some((id, RowId::from_number(id)?))
    }

    /// The snapshots that anybody has.
    fn held(&self) -> Vec<u64> {
        let writers = self.writers.iter().flatten().map(|writer| writer.viewer.timestamp);
        let readers = self.snapshots.iter().map(|(tx, _)| tx.timestamp());
        writers.chain(readers).collect()
    }

    fn remember(&mut self, content: &Content) {
        self.probes.insert(0, content.clone());
        self.probes.truncate(PROBES);
    }

    fn probe(&self) -> Content {
        self.probes.first().cloned().unwrap_or_else(|| Content::of_item(&NOBODY))
    }
}

/// The last writer has the weaker level.
fn isolation_of(writer: usize) -> Isolation {
    if writer + 1 == WRITERS { Isolation::Snapshot } else { Isolation::Serializable }
}

const NOBODY: Item<'static> =
    Item { group: 0, number: 0, name: "", code: None, tag: "", kind: 0, payload: &[] };
