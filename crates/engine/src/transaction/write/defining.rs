//! Tables and indexes that a transaction makes and drops, and its rows with them.
//!
//! Who defines is the only one that writes: it holds the turn of definitions, and has closed the
//! gate. What it makes lies in the region at once, and nobody else finds it; what it drops is there
//! as before. Its commit logs all of it with the rows, as one, and shows it under the commit latch
//! (`commit/commit.rs`). Readers go on throughout: who began earlier reads a dropped table as it
//! was, and what nobody can read any more is freed when the last of them has ended. An index that
//! is dropped is the exception: its readers are waited for before anything is logged.

use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_schema::{IndexSchema, SetSchema, TableSchema};

use super::transaction::WriteTransaction;
use crate::catalog::{CatalogChange, Dropped};
use crate::definition::Definition;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::memory::Allocator;
use crate::memory::atomic::{SeqCst, pause_or_sleep};
use crate::slot::{is_held, slot};
use crate::snapshot::Snapshot;
use crate::table::set::{SetCore, SetTables};
use crate::table::structure::{create_root, destroy_index, link_root, unlink_root};
use crate::table::table::{IndexCore, TableAt, TableCore};
use crate::table::{IndexHandle, Table};
use crate::transaction::begin::gate::{self, ClosedGate};
use crate::transaction::commit::{commit, finalize};
use crate::turn::HeldTurn;

/// How long a change of tables waits for active transactions.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(5);

/// The definitions of a transaction so far.
pub(crate) struct Defining {
    made: Vec<Made>,
    /// Whether it has closed the gate, and left it so.
    keeps_out: bool,
    _turn: HeldTurn,
}

/// One definition.
enum Made {
    Table(Arc<TableCore>, Option<Arc<SetCore>>),
    NoTable(Arc<TableCore>, Option<Arc<SetCore>>),
    /// The index that has this ordinal.
    Index(Arc<TableCore>, usize),
    NoIndex(Arc<TableCore>, usize),
}

impl<'db> WriteTransaction<'db> {
    /// Makes this transaction the only one that writes, so that it may change tables and indexes:
    /// waits for others that write, and keeps new ones out until it ends. Readers go on. The calls
    /// that change tables do this themselves; a program may do it before, so that what it has read
    /// is still so then.
    ///
    /// A thread that begins a second transaction that writes meanwhile waits for itself.
    ///
    /// # Errors
    /// `TableBusy` if others do not end within 5 seconds; `Conflict` if others committed since this
    /// transaction's snapshot and it has read or changed anything, or if another is about to change
    /// tables and waits for it; `TransactionEnded`.
    ///
    /// # Examples
    /// ```
    /// use remanent_engine::{Database, Options, schema::*};
    /// let db = Database::open(Options::new())?;
    /// let old = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// db.write(|tx| tx.insert_values(&old, &[Some(7.into())]))?;
    ///
    /// let tx = db.begin_write()?;
    /// tx.begin_defining()?;
    /// tx.drop_table(&old)?;
    /// let new = tx.create_table(TableSchema::new("T").column("a", ColumnType::I64))?;
    /// let a = old.column("a")?;
    /// let values: Vec<i32> = tx.scan(&old)?.filter_map(|row| row.get(a)).collect();
    /// for value in values {
    ///     tx.insert_values(&new, &[Some(i64::from(value).into())])?;
    /// }
    /// tx.commit()?;
    /// assert_eq!(db.begin_read()?.scan(&db.table("T")?)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_defining(&self) -> Result<()> {
        if !self.keep_others_out()? || !self.is_behind() || self.renew_snapshot() {
            return Ok(());
        }
        self.let_others_in();
        Err(Error::new(ErrorKind::Conflict)
            .because("others have committed since the transaction began that changes tables"))
    }

    /// As [`WriteTransaction::begin_defining`], and goes on with the newest state as
    /// [`WriteTransaction::refresh`] does: nobody commits between the two.
    ///
    /// # Errors
    /// As both; then it is as it was before.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let mut tx = db.begin_write()?;
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// db.write(|other| other.insert_values(&table, &[Some(2.into())]))?;
    /// tx.begin_defining_at_newest()?;
    /// assert_eq!(tx.scan(&table)?.count(), 2);
    /// tx.create_index(&table, IndexSchema::new("by_a", ["a"]).unique())?;
    /// tx.commit()?;
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn begin_defining_at_newest(&mut self) -> Result<()> {
        if !self.keep_others_out()? || !self.is_behind() {
            return Ok(());
        }
        self.refresh().inspect_err(|_| self.let_others_in())
    }

    /// Lets others write again, unless it has defined something: it goes on as one that has not
    /// begun to define.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let tx = db.begin_write()?;
    /// tx.begin_defining()?;
    /// tx.stop_defining();
    /// std::thread::scope(|scope| {
    ///     let other = || db.write(|other| other.insert_values(&table, &[Some(1.into())]));
    ///     scope.spawn(move || other().unwrap());
    /// });
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn stop_defining(&self) {
        let has_defined = self.defining.borrow().as_ref().is_some_and(|it| !it.made.is_empty());
        if !has_defined {
            self.let_others_in();
        }
    }

    /// The table with this name as the transaction sees it: what it has made itself is there, what
    /// it has dropped is not, and of the others those that were there when it began.
    ///
    /// # Errors
    /// `UnknownTable`.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_write()?;
    /// tx.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert!(tx.table("T").is_ok() && db.table("T").is_err());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn table(&self, name: &str) -> Result<Table> {
        let unknown = || Error::new(ErrorKind::UnknownTable).because(format!("`{name}`"));
        match self.own_table(name) {
            Some(Some(core)) => Ok(Table { core }),
            Some(None) => Err(unknown()),
            None => (**self).table(name),
        }
    }

    /// All tables as the transaction sees them: its own, and of the others those that it has not
    /// dropped.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_write()?;
    /// let table = tx.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// assert_eq!(tx.tables().len(), 1);
    /// tx.drop_table(&table)?;
    /// assert!(tx.tables().is_empty());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn tables(&self) -> Vec<Table> {
        let mut names = self.db.catalog().names();
        if let Some(defining) = self.defining.borrow().as_ref() {
            let own = defining.made.iter().filter_map(|made| match made {
                Made::Table(core, _) => Some(core.schema.name.clone()),
                _ => None,
            });
            names.extend(own);
        }
        names.sort();
        names.dedup();
        names.iter().filter_map(|name| self.table(name).ok()).collect()
    }

    /// The indexes of a table as the transaction that changes them sees them.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let tx = db.begin_write()?;
    /// let by_a = tx.create_index(&table, IndexSchema::new("by_a", ["a"]))?;
    /// assert_eq!(tx.indexes(&table), [by_a]);
    /// assert_eq!(table.indexes().count(), 0);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn indexes(&self, table: &Table) -> Vec<IndexHandle> {
        let own = table.core.indexes().filter(|index| index.is_found(true));
        own.map(|index| table.handle_of(index)).collect()
    }

    /// Creates a table, with this transaction's commit. Until then nobody else can use it, and this
    /// transaction can like any other. A table that it drops may have had the name.
    ///
    /// # Errors
    /// `InvalidSchema`, `TableExists`, `RelationOfSet`, `LimitReached`, memory, and as
    /// [`WriteTransaction::begin_defining`]; then nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let tx = db.begin_write()?;
    /// let table = tx.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// tx.insert_values(&table, &[Some(1.into())])?;
    /// assert!(db.table_names().is_empty());
    /// tx.commit()?;
    /// assert_eq!(db.begin_read()?.scan(&table)?.count(), 1);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_table(&self, schema: TableSchema) -> Result<Table> {
        let schema = schema.build()?;
        if schema.set.is_some() {
            return Err(Error::new(ErrorKind::RelationOfSet).because("create the set instead"));
        }
        self.begin_defining()?;
        self.define_table(schema, |_| Ok(None)).map(|(core, _)| Table { core })
    }

    /// Drops a table with its rows, with this transaction's commit; its name is free for this
    /// transaction at once. Readers that began before go on reading it, and its memory is free when
    /// they have ended. Until the commit this transaction can use it too.
    ///
    /// # Errors
    /// `UnknownTable`, `TableInSet`, `RelationOfSet`, and as [`WriteTransaction::begin_defining`];
    /// then nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let reader = db.begin_read()?;
    /// let tx = db.begin_write()?;
    /// tx.drop_table(&table)?;
    /// tx.commit()?;
    /// assert_eq!(reader.scan(&table)?.count(), 0);
    /// let error = db.begin_read()?.scan(&table).map(|_| ()).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::UnknownTable);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn drop_table(&self, table: &Table) -> Result<()> {
        self.check_definable(&table.core)?;
        self.begin_defining()?;
        self.check_definable(&table.core)?;
        if let Some(set) = self.db.catalog().sets_of(table.core.id).first() {
            return Err(Error::new(ErrorKind::TableInSet).because(format!(
                "`{}` in `{}`",
                table.name(),
                set.schema.name
            )));
        }
        self.note(Made::NoTable(Arc::clone(&table.core), None));
        Ok(())
    }

    /// Creates an index on a table, with this transaction's commit, with all rows that are there.
    /// This transaction can use it at once and its changes keep it up: no two rows that it inserts
    /// have one key, if the index is unique.
    ///
    /// # Errors
    /// As [`Database::create_index`](crate::Database::create_index) and
    /// [`WriteTransaction::begin_defining`]; then nothing is changed.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, ErrorKind, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// # let table = db.create_table(TableSchema::new("T").column("a", ColumnType::I32))?;
    /// let tx = db.begin_write()?;
    /// let by_a = tx.create_index(&table, IndexSchema::new("by_a", ["a"]).unique())?;
    /// let row = tx.insert_values(&table, &[Some(7.into())])?;
    /// assert_eq!(tx.find(&table, by_a, &[7.into()])?.map(|row| row.id()), Some(row));
    /// let error = tx.insert_values(&table, &[Some(7.into())]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::DuplicateKey);
    /// assert!(table.index("by_a").is_err());
    /// tx.commit()?;
    /// assert_eq!(table.index("by_a")?, by_a);
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn create_index(&self, table: &Table, index: IndexSchema) -> Result<IndexHandle> {
        self.check_definable(&table.core)?;
        self.begin_defining()?;
        self.check_definable(&table.core)?;
        let core = &table.core;
        if core.own_index(&index.name).is_some() {
            return Err(Error::new(ErrorKind::IndexExists).because(format!(
                "`{}` of `{}`",
                index.name,
                table.name()
            )));
        }
        let mut schema = core.schema.clone();
        schema.indexes = vec![index.clone()];
        schema.build()?;
        let _maintenance =
            self.db.maintenance.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let at = TableAt { memory: self.memory(), core };
        let index = at.add_index(self.alloc, self.snapshot.get(), index)?;
        self.note(Made::Index(Arc::clone(core), index.ordinal));
        Ok(table.handle_of(index))
    }

    /// Drops an index, with this transaction's commit. Its name is free for this transaction at
    /// once, and rows that it changes may have the same keys. The commit waits for all readers that
    /// began before.
    ///
    /// # Errors
    /// `UnknownIndex`, `UnknownTable`, `RelationOfSet`, and as
    /// [`WriteTransaction::begin_defining`]; then nothing is changed. The commit fails with
    /// `TableBusy` if readers do not end within 5 seconds.
    ///
    /// # Examples
    /// ```
    /// # use remanent_engine::{Database, Options, schema::*};
    /// # let db = Database::open(Options::new())?;
    /// let schema = TableSchema::new("T").column("a", ColumnType::I32).primary_key(["a"]);
    /// let table = db.create_table(schema)?;
    /// let tx = db.begin_write()?;
    /// tx.drop_index(&table, table.index("primary")?)?;
    /// tx.insert_values(&table, &[Some(7.into())])?;
    /// tx.insert_values(&table, &[Some(7.into())])?;
    /// tx.commit()?;
    /// assert!(table.index("primary").is_err());
    /// # Ok::<(), remanent_engine::Error>(())
    /// ```
    pub fn drop_index(&self, table: &Table, index: IndexHandle) -> Result<()> {
        self.check_definable(&table.core)?;
        self.begin_defining()?;
        self.check_definable(&table.core)?;
        let index = table.resolve(index, true)?;
        index.set_doomed(true);
        self.note(Made::NoIndex(Arc::clone(&table.core), index.ordinal));
        Ok(())
    }

    /// Makes a definition that was logged once more.
    ///
    /// # Errors
    /// As the calls above.
    pub(crate) fn repeat(&self, definition: Definition) -> Result<()> {
        let table = |id| {
            let gone = || Error::new(ErrorKind::UnknownTable).because(format!("number {id}"));
            self.db.catalog().by_id(id).ok_or_else(gone).map(|core| Table { core })
        };
        match definition {
            Definition::CreateTable { table, schema } => {
                self.db.catalog().skip_to(table);
                if self.db.catalog().next_id()? != table {
                    return Err(
                        Error::new(ErrorKind::TableExists).because(format!("number {table}"))
                    );
                }
                match schema.set.clone() {
                    Some(set) => self.create_set(set).map(|_| ()),
                    None => self.create_table(schema).map(|_| ()),
                }
            }
            Definition::DropTable { table: id } => match self.db.catalog().set_of_relation(id) {
                Some(set) => self.drop_set(&set),
                None => self.drop_table(&table(id)?),
            },
            Definition::CreateIndex { table: id, mut schema } => {
                let index = schema.indexes.pop();
                let index = index.ok_or_else(|| Error::new(ErrorKind::InvalidSchema))?;
                self.create_index(&table(id)?, index).map(|_| ())
            }
            Definition::DropIndex { table: id, name } => {
                let table = table(id)?;
                let unknown = || Error::new(ErrorKind::UnknownIndex).because(format!("`{name}`"));
                let index = table.core.own_index(&name).ok_or_else(unknown)?;
                self.drop_index(&table, table.handle_of(index))
            }
        }
    }

    /// Creates a set and the table that holds it.
    pub(crate) fn create_set(&self, schema: SetSchema) -> Result<Arc<SetCore>> {
        let relation = schema.relation().build()?;
        self.begin_defining()?;
        // Whatever is wrong is found before there is anything to take back.
        let tables = SetTables::find(&schema, |name| self.table(name).map(|table| table.core))?;
        let made = self.define_table(relation, |relation| {
            Ok(Some(Arc::new(SetCore::new(schema, tables, relation))))
        });
        made.map(|(_, set)| set.unwrap_or_else(|| unreachable!("it was made just now")))
    }

    /// Drops a set: its members are none then, and all rows stay.
    pub(crate) fn drop_set(&self, set: &Arc<SetCore>) -> Result<()> {
        let relation = &set.relation.core;
        relation.check_seen(self.snapshot.get())?;
        self.db.check_owner(relation)?;
        self.begin_defining()?;
        relation.check_seen(self.snapshot.get())?;
        self.note(Made::NoTable(Arc::clone(relation), Some(Arc::clone(set))));
        Ok(())
    }

    /// Takes part in definitions without keeping others from writing: for one table that is new.
    pub(crate) fn begin_creating(&self, turn: HeldTurn) {
        self.define_with(turn, false);
    }

    /// Takes part in definitions with a turn that was taken before.
    pub(crate) fn begin_defining_with(&self, turn: HeldTurn) -> Result<()> {
        self.close_gate()?.leave_closed();
        self.define_with(turn, true);
        // It has read nothing yet.
        self.renew_snapshot();
        Ok(())
    }

    /// Keeps others from writing. False if it did so before: nobody has committed since.
    fn keep_others_out(&self) -> Result<bool> {
        self.check_active()?;
        if self.defining.borrow().is_some() {
            return Ok(false);
        }
        if !self.is_replay {
            self.db.check_writable()?;
        }
        let turn = self.take_turn()?;
        self.close_gate()?.leave_closed();
        self.define_with(turn, true);
        Ok(true)
    }

    /// Whether its snapshot may not be the newest.
    fn is_behind(&self) -> bool {
        self.snapshot.get().timestamp != self.memory().header().clock.0.load(SeqCst)
    }

    /// The definitions that the commit makes, if there are any.
    pub(super) fn definitions_left(&self) -> Option<Definitions> {
        self.defining.borrow().as_ref().map(|defining| Definitions::of(defining))
    }

    fn define_with(&self, turn: HeldTurn, keeps_out: bool) {
        let defining = Defining { made: Vec::new(), keeps_out, _turn: turn };
        *self.defining.borrow_mut() = Some(Box::new(defining));
    }

    /// Ends all that keeps others out; whoever has the turn next finds the gate open.
    pub(super) fn let_others_in(&self) {
        if let Some(defining) = self.defining.take() {
            drop(defining.keeps_out.then(|| ClosedGate::left(self.db.memory())));
        }
    }

    /// Takes the turn. Who has it may wait for all that write: a transaction that has done nothing
    /// yet counts as one that has not begun then, any other fails.
    fn take_turn(&self) -> Result<HeldTurn> {
        let (started, mut turn, mut aside) = (Instant::now(), 0, false);
        let held = loop {
            if let Some(held) = self.db.definition_turn().try_take() {
                break held;
            }
            if aside || gate::is_closed(self.memory()) {
                if !aside && !self.is_untouched() {
                    return Err(Error::new(ErrorKind::Conflict)
                        .because("another transaction changes tables"));
                }
                self.held.step_aside();
                aside = true;
            } else if started.elapsed() >= WAIT_MAX {
                return Err(busy("another change of tables"));
            }
            pause_or_sleep(turn);
            turn += 1;
        };
        if aside {
            let timestamp = self.held.step_in();
            self.forget_places();
            self.snapshot.set(Snapshot { timestamp, ..self.snapshot.get() });
        }
        Ok(held)
    }

    /// Keeps new writers out and waits for the active ones.
    fn close_gate(&self) -> Result<ClosedGate<'_>> {
        let own = self.held.number();
        let gate = match self.exclusive.take() {
            true => ClosedGate::left(self.db.memory()).keep(own, WAIT_MAX),
            false => gate::close(self.db.memory(), own, WAIT_MAX),
        };
        let gate = gate.ok_or_else(|| busy("transactions that write"))?;
        // Whoever is left with a part of it looks tables up, which are about to change.
        finalize::drain_all(self.db);
        Ok(gate)
    }

    fn note(&self, made: Made) {
        let mut defining = self.defining.borrow_mut();
        let Some(defining) = &mut *defining else { unreachable!("it was begun before") };
        defining.made.push(made);
    }

    /// The number of definitions.
    pub(super) fn definitions(&self) -> usize {
        self.defining.borrow().as_ref().map_or(0, |defining| defining.made.len())
    }

    /// What this transaction has made of a name last, if anything.
    fn own_table(&self, name: &str) -> Option<Option<Arc<TableCore>>> {
        let defining = self.defining.borrow();
        defining.as_ref()?.made.iter().rev().find_map(|made| match made {
            Made::Table(core, _) if core.schema.name == name => Some(Some(Arc::clone(core))),
            Made::NoTable(core, _) if core.schema.name == name => Some(None),
            _ => None,
        })
    }

    /// Whether the table is there for this transaction, and a program may change it.
    fn check_definable(&self, core: &TableCore) -> Result<()> {
        self.check_active()?;
        core.check_seen(self.snapshot.get())?;
        self.db.check_owner(core)?;
        let is_dropped = self.defining.borrow().as_ref().is_some_and(|defining| {
            let mut made = defining.made.iter();
            made.any(|made| matches!(made, Made::NoTable(gone, _) if gone.id == core.id))
        });
        if is_dropped {
            return Err(Error::new(ErrorKind::UnknownTable)
                .because(format!("`{}` was dropped", core.schema.name)));
        }
        if core.schema.set.is_some() {
            return Err(
                Error::new(ErrorKind::RelationOfSet).because(format!("`{}`", core.schema.name))
            );
        }
        Ok(())
    }

    fn define_table(
        &self,
        schema: TableSchema,
        set: impl FnOnce(Arc<TableCore>) -> Result<Option<Arc<SetCore>>>,
    ) -> Result<(Arc<TableCore>, Option<Arc<SetCore>>)> {
        let taken = match self.own_table(&schema.name) {
            Some(own) => own.is_some(),
            None => self.db.catalog().contains(&schema.name),
        };
        if taken {
            return Err(Error::new(ErrorKind::TableExists).because(format!("`{}`", schema.name)));
        }
        let (db, alloc) = (self.db, self.alloc);
        let id = db.catalog().next_id()?;
        let root = create_root(alloc, id, &schema)?;
        let (own, indexes) = (self.snapshot.get(), schema.indexes.clone());
        let core = Arc::new(TableCore::new(id, root, Arc::clone(db.identity()), schema, own.own));
        let at = TableAt { memory: db.memory(), core: &core };
        let made = indexes
            .into_iter()
            .try_for_each(|index| at.add_index(alloc, own, index).map(|_| ()))
            .and_then(|()| set(Arc::clone(&core)));
        let set = made.inspect_err(|_| at.destroy(alloc))?;
        db.catalog().add_hidden(Arc::clone(&core));
        self.note(Made::Table(Arc::clone(&core), set.clone()));
        Ok((core, set))
    }

    /// Takes all definitions behind the oldest `len` back, newest first. Changes of rows that came
    /// later were taken back before.
    pub(super) fn undo_definitions_to(&self, len: usize) {
        let mut defining = self.defining.borrow_mut();
        let Some(defining) = &mut *defining else { return };
        // Whoever began by now may be about to use it.
        let later = self.memory().header().clock.0.load(SeqCst) + 1;
        let catalog = self.db.catalog();
        while defining.made.len() > len
            && let Some(made) = defining.made.pop()
        {
            match made {
                Made::Table(core, _) => {
                    core.take_back();
                    catalog.drop_later(later, Dropped::Table(core));
                }
                Made::NoTable(..) => {}
                Made::Index(core, ordinal) => {
                    let Some(index) = core.index(ordinal) else { continue };
                    end_index(self.db, &core, index, later);
                }
                Made::NoIndex(core, ordinal) => {
                    let Some(index) = core.index(ordinal) else { continue };
                    index.set_doomed(false);
                }
            }
        }
    }
}

/// The definitions that a commit makes; some may undo others.
#[derive(Default)]
pub(crate) struct Definitions {
    tables: CatalogChange,
    /// Made and dropped again.
    passing: Vec<Arc<TableCore>>,
    indexes: Vec<(Arc<TableCore>, usize)>,
    no_indexes: Vec<(Arc<TableCore>, usize)>,
    passing_indexes: Vec<(Arc<TableCore>, usize)>,
}

impl Definitions {
    /// The definitions that remain, without those that undo each other.
    pub(crate) fn of(defining: &Defining) -> Self {
        let mut left = Self::default();
        let is_gone = |core: &TableCore| {
            let mut made = defining.made.iter();
            made.any(|made| matches!(made, Made::NoTable(gone, _) if gone.id == core.id))
        };
        for made in &defining.made {
            match made {
                Made::Table(core, _) if is_gone(core) => left.passing.push(Arc::clone(core)),
                Made::Table(core, set) => {
                    left.tables.new.push(Arc::clone(core));
                    left.tables.sets_new.extend(set.clone());
                }
                Made::NoTable(core, _) if core.is_coming() => {}
                Made::NoTable(core, set) => {
                    left.tables.gone.push(Arc::clone(core));
                    left.tables.sets_gone.extend(set.clone());
                }
                Made::Index(core, _) | Made::NoIndex(core, _) if is_gone(core) => {}
                Made::Index(core, ordinal) => left.indexes.push((Arc::clone(core), *ordinal)),
                Made::NoIndex(core, ordinal) => {
                    let own = left
                        .indexes
                        .iter()
                        .position(|(of, index)| of.id == core.id && index == ordinal);
                    match own {
                        Some(own) => left.passing_indexes.push(left.indexes.remove(own)),
                        None => left.no_indexes.push((Arc::clone(core), *ordinal)),
                    }
                }
            }
        }
        left
    }

    /// Whether rows of this table are not logged: it is gone when they come to be.
    pub(crate) fn drops(&self, table: u32) -> bool {
        self.tables.gone.iter().chain(&self.passing).any(|core| core.id == table)
    }

    /// Waits until nobody can use the indexes that are dropped: until all have ended who began
    /// before now. The clock moves first, so that a slot taken anew in between looks different.
    ///
    /// # Errors
    /// `TableBusy`; then the indexes are there as before.
    pub(crate) fn wait_for_readers(&self, db: &Instance, own: usize) -> Result<()> {
        let known = || cores_of(&self.no_indexes).filter(|(core, _)| !core.is_coming());
        if known().next().is_none() {
            return Ok(());
        }
        known().for_each(|(_, index)| index.set_leaving());
        let waited = wait_for_readers(db, own);
        waited.inspect_err(|_| known().for_each(|(_, index)| index.set_doomed(true)))
    }

    /// Calls `visit` with what is logged before the rows, or behind them: indexes have all rows of
    /// the commit when they are made, and those that are dropped keep no row from having a key.
    pub(crate) fn each_logged(&self, before: bool, mut visit: impl FnMut(&[u8])) {
        let mut visit = |definition: Definition| visit(&definition.to_bytes());
        if before {
            for core in &self.tables.gone {
                visit(Definition::DropTable { table: core.id });
            }
            for core in &self.tables.new {
                visit(Definition::CreateTable { table: core.id, schema: core.schema.clone() });
            }
            for (core, index) in cores_of(&self.no_indexes) {
                let name = index.schema.name.clone();
                visit(Definition::DropIndex { table: core.id, name });
            }
            return;
        }
        for (core, index) in cores_of(&self.indexes) {
            let indexes = vec![index.schema.clone()];
            let schema = TableSchema { indexes, ..core.schema.clone() };
            visit(Definition::CreateIndex { table: core.id, schema });
        }
    }

    /// Makes all of it, as of this timestamp, which the clock does not show yet. The log has it.
    pub(crate) fn show(&self, db: &Instance, timestamp: u64) {
        let catalog = db.catalog();
        let at = |core| TableAt { memory: db.memory(), core };
        for (core, index) in cores_of(&self.no_indexes).chain(cores_of(&self.passing_indexes)) {
            end_index(db, core, index, timestamp);
        }
        cores_of(&self.indexes).for_each(|(_, index)| index.begin_life());
        for core in &self.tables.new {
            core.begin_life(timestamp);
            link_root(at(core));
        }
        for core in &self.tables.gone {
            core.end_life(timestamp);
            unlink_root(at(core));
        }
        self.passing.iter().for_each(|core| core.take_back());
        catalog.change(&self.tables, timestamp);
        for core in &self.passing {
            catalog.drop_later(timestamp, Dropped::Table(Arc::clone(core)));
        }
    }
}

/// The indexes that have these ordinals.
fn cores_of(indexes: &[(Arc<TableCore>, usize)]) -> impl Iterator<Item = (&TableCore, &IndexCore)> {
    indexes.iter().filter_map(|(core, ordinal)| Some((&**core, core.index(*ordinal)?)))
}

/// Frees what was dropped and nobody can use any more. `own` is the slot whose transaction does
/// not, `alloc` that of a slot that is held.
pub(crate) fn free_dropped(db: &Instance, alloc: Allocator<'_>, own: usize) {
    if !db.catalog().has_dropped() {
        return;
    }
    let horizon = crate::transaction::begin::clock::horizon(db.memory(), own);
    for dropped in db.catalog().take_dropped(horizon.blocks) {
        match dropped {
            Dropped::Table(core) => TableAt { memory: db.memory(), core: &core }.destroy(alloc),
            Dropped::Index(kind, head) => destroy_index(alloc, kind, head),
        }
    }
}

fn end_index(db: &Instance, core: &TableCore, index: &IndexCore, timestamp: u64) {
    index.end_life();
    let at = TableAt { memory: db.memory(), core };
    let word = &at.root().indexes[index.ordinal];
    let head = word.load(SeqCst);
    word.store(0, SeqCst);
    db.catalog().drop_later(timestamp, Dropped::Index(index.schema.kind, head));
}

fn wait_for_readers(db: &Instance, own: usize) -> Result<()> {
    let (start, memory) = (Instant::now(), db.memory());
    commit::advance_clock(memory);
    let slots = memory.header().slots_used.load(SeqCst) as usize;
    for number in (0..slots).filter(|&number| number != own) {
        let state = &slot(memory, number).state;
        let first = state.load(SeqCst);
        let mut turn = 0;
        while is_held(first) && state.load(SeqCst) == first {
            if start.elapsed() >= WAIT_MAX {
                return Err(busy("transactions that read"));
            }
            // It may be that of a checkpoint, which goes on when a transaction begins.
            db.end_checkpoint();
            pause_or_sleep(turn);
            turn += 1;
        }
    }
    Ok(())
}

/// The error of who has waited for so long.
pub(crate) fn busy(who: &str) -> Error {
    let seconds = WAIT_MAX.as_secs();
    Error::new(ErrorKind::TableBusy).because(format!("{who} did not end within {seconds} seconds"))
}
