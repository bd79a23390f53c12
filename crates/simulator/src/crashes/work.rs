//! Work on a database, drawn from a seed: commits at all durability levels, small and large,
//! changes of tables and indexes, tables replaced by copies, sets, checkpoints, and closing and
//! opening again.
//!
//! Before a commit is asked for, the disk gets a note that its state may be found from here on;
//! behind it, a note of what was promised. States are digests of the content, taken from the
//! running database after each step.

use std::sync::Arc;

use remanent_engine::schema::{
    ColumnType, IndexSchema, SetOrder, SetSchema, TableSchema, TableStorage, Value,
};
use remanent_engine::{
    Batch, Database, Durability, Error, ErrorKind, Options, Result, RowId, Table,
    TransactionOptions, WriteTransaction,
};

use super::disk::{Disk, Note};
use super::judge::digest;
use crate::random::Random;

/// Steps of a trace.
const STEPS: usize = 90;
const TABLES: [&str; 3] = ["First", "Second", "Third"];
const SET: &str = "Belongs";

/// How the database of a seed is opened.
pub(super) fn options(seed: u64) -> Options {
    let mut random = Random::new(seed ^ 0x0b71_0145);
    let mut options = Options::new()
        .budget(8 << 20)
        .budget_max(8 << 20)
        .transactions_max(4)
        .hash_seed(0)
        .log_file_size(4096 << random.below(4))
        .log_buffer_size(4096 << random.below(2))
        .durability(random.pick(&Durability::LOCAL).unwrap_or(Durability::Disk))
        .checkpoint_after(if random.percent(50) { 4096 << random.below(4) } else { 0 });
    if !seed.is_multiple_of(3) {
        // Transactions make checkpoints in slices, some of few rows.
        options = options.checkpoint_slice(64 << (seed % 5 * 2));
    }
    if seed % PAGING.0 == PAGING.1 {
        options = options.buffer_cache(1);
    }
    if seed % 8 == 5 {
        options = options.log_old_rows(true);
    }
    if random.percent(30) {
        options = options.sync_after(Batch { commits: 1 + random.below(5), ..Batch::NEVER });
    }
    options
}

/// The durability of a seed's commits that do not ask for one.
pub(super) fn default_level(seed: u64) -> Durability {
    let mut random = Random::new(seed ^ 0x0b71_0145);
    let _ = (random.below(4), random.below(2));
    random.pick(&Durability::LOCAL).unwrap_or(Durability::Disk)
}

/// A database at work.
pub(super) struct Work<'d> {
    disk: &'d Disk,
    seed: u64,
    random: Random,
    db: Option<Database>,
    /// Digests of what has been committed, oldest first; the first is that of nothing.
    pub(super) states: Vec<u64>,
    next: u64,
    may_freeze: bool,
    /// Draws when tables are replaced, in some traces.
    replaces: Option<Random>,
    /// Draws when checkpoints are made and tables are dropped of which rows were frozen.
    frozen: Option<Random>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Commit,
    Burst,
    RollBack,
    CreateTable,
    DropTable,
    CreateIndex,
    DropIndex,
    Replace,
    Connect,
    Checkpoint,
    Freeze,
    Flush,
    Reopen,
}

/// One trace of so many freezes rows.
const FREEZING: u64 = 4;
/// One trace of so many has a paged table, none of whose columns stays in memory: the remainder
/// says which. It is one that freezes.
const PAGING: (u64, u64) = (16, 12);
/// Bytes of a value in it that nothing makes short, so that pages of the system lie in a column.
const BLOB_LEN: usize = 1500;
/// One trace of so many replaces tables, instead of every so many percent of its steps.
const REPLACING: u64 = 3;
const REPLACEMENTS_PERCENT: u64 = 15;
/// Of the steps behind that which freezes rows, checkpoints, and steps that drop a table.
const CHECKPOINTS_PERCENT: u64 = 12;
const DROPS_PERCENT: u64 = 8;

const STEP_WEIGHTS: &[(u64, Step)] = &[
    (60, Step::Commit),
    (3, Step::Burst),
    (4, Step::RollBack),
    (4, Step::CreateTable),
    (1, Step::DropTable),
    (3, Step::CreateIndex),
    (2, Step::DropIndex),
    (8, Step::Connect),
    (3, Step::Checkpoint),
    (3, Step::Freeze),
    (6, Step::Flush),
    (4, Step::Reopen),
];

impl<'d> Work<'d> {
    /// Opens a database on the disk.
    ///
    /// # Errors
    /// The error of the database.
    pub(super) fn begin(disk: &'d Disk, seed: u64) -> Result<Self> {
        let db = Database::open_in(Arc::new(disk.clone()), options(seed))?;
        let states = vec![digest(&db)?];
        let random = Random::new(seed);
        let may_freeze = seed.is_multiple_of(FREEZING);
        let replaces = seed.is_multiple_of(REPLACING).then(|| Random::new(seed ^ 0x4e91_ace5));
        let (db, next, frozen) = (Some(db), 0, None);
        Ok(Self { disk, seed, random, db, states, next, may_freeze, replaces, frozen })
    }

    /// Does all steps, those behind a call that failed too. At its end the database is closed.
    ///
    /// # Errors
    /// The error of the database, if there should be none.
    pub(super) fn run(&mut self) -> Result<()> {
        self.create_table().or_else(|error| match self.disk.has_failed() {
            true => Ok(()),
            false => Err(error),
        })?;
        for _ in 0..STEPS {
            let mut step = self.random.weighted(STEP_WEIGHTS).unwrap_or(Step::Commit);
            if self.replaces.as_mut().is_some_and(|it| it.percent(REPLACEMENTS_PERCENT)) {
                step = Step::Replace;
            }
            if let Some(drawn) = &mut self.frozen {
                match drawn.below(100) {
                    drawn if drawn < CHECKPOINTS_PERCENT => step = Step::Checkpoint,
                    drawn if drawn < CHECKPOINTS_PERCENT + DROPS_PERCENT => step = Step::DropTable,
                    _ => {}
                }
            }
            match self.step(step) {
                Err(_) if self.disk.has_failed() && self.db.is_some() => {}
                done => done?,
            }
        }
        self.close();
        Ok(())
    }

    /// Does a few commits that are synced.
    ///
    /// # Errors
    /// The error of the database.
    pub(super) fn commit_some(&mut self, count: usize) -> Result<()> {
        self.next = 1 << 32;
        for _ in 0..count {
            self.create_table()?;
            self.commit(Some(Durability::Disk), 2)?;
        }
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.db = None;
        // Closing says nothing of what went wrong.
        if !self.disk.has_failed() {
            self.disk.note(Note::Synced(self.states.len() - 1));
        }
    }

    /// The database, which is open.
    pub(super) fn db(&self) -> &Database {
        self.db.as_ref().unwrap_or_else(|| unreachable!("it is open between two steps"))
    }

    fn step(&mut self, step: Step) -> Result<()> {
        let result = match step {
            Step::Commit => {
                let level =
                    self.random.pick(&Durability::LOCAL).filter(|_| self.random.percent(70));
                let changes = 1 + self.random.below(5);
                self.commit(level, changes)
            }
            Step::Burst => self.commit(None, 150),
            Step::RollBack => self.roll_back(),
            Step::CreateTable => self.create_table(),
            Step::DropTable => self.define(|work, db, table| {
                if !work.random.percent(50) {
                    return Ok(());
                }
                db.drop_table(&table)
            }),
            Step::CreateIndex => self.define(|work, db, table| {
                let name = ["by_n", "by_text"][work.random.below(2) as usize];
                let column = if name == "by_n" { "n" } else { "text" };
                db.create_index(&table, IndexSchema::new(name, [column])).map(|_| ())
            }),
            Step::DropIndex => self.define(|work, db, table| {
                let name = ["by_n", "by_text"][work.random.below(2) as usize];
                db.drop_index(&table, table.index(name)?)
            }),
            Step::Replace => self.replace(),
            Step::Connect => self.connect(),
            Step::Checkpoint => self.db().checkpoint().map(|_| {
                self.disk.note(Note::Synced(self.states.len() - 1));
            }),
            Step::Freeze => self.freeze(),
            Step::Flush => {
                let level = self.random.pick(&Durability::LOCAL).unwrap_or(Durability::Disk);
                self.db().flush(level).map(|()| self.promise(level))
            }
            Step::Reopen => self.reopen(),
        };
        result.or_else(allow)
    }

    /// Makes columns of the rows of some tables and sets, in some traces, once: ids of rows go on
    /// behind those that are frozen, and every state has to go through all of them.
    fn freeze(&mut self) -> Result<()> {
        if !std::mem::take(&mut self.may_freeze) {
            return Ok(());
        }
        self.frozen = Some(Random::new(self.seed ^ 0xf402_e9a1));
        for name in self.db().table_names() {
            let is_drawn = self.random.percent(50);
            let is_paged = self.db().table(&name).is_ok_and(|table| is_paged(&table));
            if is_drawn || is_paged {
                let db = self.db();
                let table = match db.table(&name) {
                    Ok(table) => table,
                    Err(_) => db.set(&name)?.relation().clone(),
                };
                db.freeze_all(&table)?;
            }
        }
        Ok(())
    }

    /// Notes what was promised of the newest state.
    fn promise(&self, level: Durability) {
        let state = self.states.len() - 1;
        match level {
            Durability::Memory | Durability::Buffered => {}
            // What no single machine promises is never asked for.
            Durability::Replicated | Durability::ReplicatedDisk => {}
            Durability::Os => self.disk.note(Note::Written(state)),
            Durability::Disk => self.disk.note(Note::Synced(state)),
        }
    }

    /// Something that makes a new state, or is refused and makes none.
    fn attempt(
        &mut self,
        level: Durability,
        work: impl FnOnce(&mut Self, &Database) -> Result<()>,
    ) -> Result<()> {
        self.disk.note(Note::Begun(self.states.len()));
        let Some(db) = self.db.take() else { unreachable!("it is open between two steps") };
        let done = work(self, &db);
        let digest = digest(&db);
        self.db = Some(db);
        if done.is_err() && self.disk.has_failed() {
            // It may be in memory, and it may be on the disk.
            self.states.push(digest?);
            return done;
        }
        let digest = done.and(digest)?;
        let is_new = self.states.last() != Some(&digest);
        self.states.push(digest);
        // Who changed nothing was promised nothing.
        if is_new {
            self.promise(level);
        }
        Ok(())
    }

    fn commit(&mut self, level: Option<Durability>, changes: u64) -> Result<()> {
        let options = level
            .map_or(TransactionOptions::new(), |level| TransactionOptions::new().durability(level));
        self.attempt(level.unwrap_or(default_level(self.seed)), |work, db| {
            let tx = db.begin_write_with(&options)?;
            for _ in 0..changes {
                work.change(db, &tx)?;
            }
            tx.commit().map(|_| ())
        })
    }

    fn roll_back(&mut self) -> Result<()> {
        let Some(db) = self.db.take() else { unreachable!("it is open between two steps") };
        let tx = db.begin_write()?;
        let changed = self.change(&db, &tx);
        drop(tx);
        self.db = Some(db);
        changed
    }

    /// Inserts, updates or deletes a row of some table.
    fn change(&mut self, db: &Database, tx: &WriteTransaction<'_>) -> Result<()> {
        let Some(table) = self.some_table(db) else { return Ok(()) };
        let rows = rows_of(tx, &table)?;
        let row = self.random.pick(&rows);
        let text = "text ".repeat(1 + self.random.below(20) as usize);
        let n = self.random.below(30);
        let changed = match (row, self.random.below(10)) {
            (Some(row), 0..=1) => tx.delete(&table, row),
            (Some(row), 2..=4) => {
                let (n_column, text_column) = (table.column("n")?, table.column("text")?);
                if self.random.percent(50) {
                    tx.update_values(&table, row, &[(n_column, n.into())])
                } else {
                    tx.update_values(&table, row, &[(text_column, text.as_str().into())])
                }
            }
            _ => {
                self.next += 1;
                let (id, blob) = (self.next, blob_of(self.next));
                let mut values = vec![Some(id.into()), Some(n.into()), Some(text.as_str().into())];
                if is_paged(&table) {
                    values.push(Some(Value::Bytes(&blob)));
                }
                tx.insert_values(&table, &values).map(|_| ())
            }
        };
        changed.or_else(allow)
    }

    fn some_table(&mut self, db: &Database) -> Option<Table> {
        let name = self.random.pick(&TABLES)?;
        db.table(name).or_else(|_| db.table(TABLES[0])).ok()
    }

    fn create_table(&mut self) -> Result<()> {
        let name = self.random.pick(&TABLES).unwrap_or(TABLES[0]);
        let name = if self.db().table(TABLES[0]).is_err() { TABLES[0] } else { name };
        if self.db().table(name).is_ok() {
            return Ok(());
        }
        let index = IndexSchema::new("primary", ["id"]).unique();
        let index = if name == TABLES[1] { index.hash() } else { index };
        let schema = TableSchema::new(name)
            .column("id", ColumnType::U64)
            .column("n", ColumnType::U64)
            .column("text", ColumnType::STRING)
            .index(index);
        let schema = match name == TABLES[0] && self.seed % PAGING.0 == PAGING.1 {
            true => schema.column("blob", ColumnType::BLOB).storage(TableStorage::Paged),
            false => schema,
        };
        self.attempt(default_level(self.seed), |_, db| db.create_table(schema).map(|_| ()))
    }

    fn define(
        &mut self,
        define: impl FnOnce(&mut Self, &Database, Table) -> Result<()>,
    ) -> Result<()> {
        self.attempt(default_level(self.seed), |work, db| match work.some_table(db) {
            Some(table) => define(work, db, table),
            None => Ok(()),
        })
    }

    /// Replaces a table by a copy of the same name in which every row is another, in one
    /// transaction; now and then with what is else about that: a row of the old one changed before,
    /// a copy that is taken back first, an image in the middle of it, a new index, no commit.
    fn replace(&mut self) -> Result<()> {
        let level = self.random.pick(&Durability::LOCAL).unwrap_or(Durability::Disk);
        let options = TransactionOptions::new().durability(level);
        self.attempt(level, |work, db| {
            let Some(old) = work.some_table(db) else { return Ok(()) };
            let tx = db.begin_write_with(&options)?;
            tx.begin_defining()?;
            if work.random.percent(50) {
                work.change(db, &tx)?;
            }
            if work.random.percent(30) {
                let before = tx.savepoint();
                copy(&tx, &old, "lost")?;
                tx.roll_back_to(before)?;
            }
            let new = copy(&tx, &old, &format!("copy {} of ", work.next))?;
            if work.random.percent(30) {
                db.checkpoint()?;
            }
            if work.random.percent(50) {
                // No two rows have one `n` before it is made.
                let (mut seen, n) = (Vec::new(), new.column("n")?);
                let rows: Vec<_> =
                    tx.scan(&new)?.map(|row| (row.id(), row.get::<u64>(n))).collect();
                for (row, n) in rows {
                    match seen.contains(&n) {
                        true => tx.delete(&new, row)?,
                        false => seen.push(n),
                    }
                }
                tx.create_index(&new, IndexSchema::new("by_n", ["n"]).unique())?;
                tx.drop_index(&new, tx.create_index(&new, IndexSchema::new("passing", ["n"]))?)?;
            }
            if work.random.percent(20) {
                return Ok(());
            }
            tx.commit().map(|_| ())
        })
    }

    fn connect(&mut self) -> Result<()> {
        let (Ok(first), Ok(second)) = (self.db().table(TABLES[0]), self.db().table(TABLES[1]))
        else {
            return Ok(());
        };
        let Ok(set) = self.db().set(SET) else {
            let schema = SetSchema::new(SET, TABLES[0], SetOrder::Last).member(TABLES[1]);
            return self
                .attempt(default_level(self.seed), |_, db| db.create_set(schema).map(|_| ()));
        };
        self.attempt(default_level(self.seed), |work, db| {
            let tx = db.begin_write()?;
            let owner = work.random.pick(&rows_of(&tx, &first)?);
            let member = work.random.pick(&rows_of(&tx, &second)?);
            if let (Some(owner), Some(member)) = (owner, member) {
                match tx.owner_of(&set, &second, member)? {
                    Some(_) => tx.disconnect(&set, &second, member)?,
                    None => tx.connect(&set, owner, &second, member)?,
                }
            }
            tx.commit().map(|_| ())
        })
    }

    fn reopen(&mut self) -> Result<()> {
        if self.disk.has_failed() {
            return Ok(());
        }
        self.close();
        self.db = Some(Database::open_in(Arc::new(self.disk.clone()), options(self.seed))?);
        Ok(())
    }
}

/// Drops a table and makes one of its name, with its rows, whose texts begin with `text`.
fn copy(tx: &WriteTransaction<'_>, old: &Table, text: &str) -> Result<Table> {
    let columns = ["id", "n", "text"].map(|name| old.column(name));
    let [id, n, old_text] = columns;
    let (id, n, old_text) = (id?, n?, old_text?);
    let rows = tx.scan(old)?.map(|row| {
        let text = format!("{text}{}", row.str(old_text).unwrap_or_default());
        (row.get::<u64>(id), row.get::<u64>(n), text[..text.len().min(120)].to_owned())
    });
    let rows: Vec<_> = rows.collect();
    tx.drop_table(old)?;
    let new = tx.create_table(old.schema().clone())?;
    for (id, n, text) in rows {
        let blob = blob_of(id.unwrap_or_default());
        let mut values = vec![id.map(Value::U64), n.map(Value::U64), Some(text.as_str().into())];
        if is_paged(old) {
            values.push(Some(Value::Bytes(&blob)));
        }
        tx.insert_values(&new, &values)?;
    }
    Ok(new)
}

fn is_paged(table: &Table) -> bool {
    table.schema().storage == TableStorage::Paged
}

/// Bytes that belong to a row with this id.
fn blob_of(id: u64) -> Vec<u8> {
    let mut random = Random::new(id ^ 0xb10b);
    (0..BLOB_LEN).map(|_| random.below(256) as u8).collect()
}

fn rows_of(tx: &WriteTransaction<'_>, table: &Table) -> Result<Vec<RowId>> {
    Ok(tx.scan(table)?.map(|row| row.id()).collect())
}

/// What is refused because of what the tables are like is no fault.
fn allow(error: Error) -> Result<()> {
    match error.kind() {
        ErrorKind::IsMember
        | ErrorKind::HasMembers
        | ErrorKind::TableInSet
        | ErrorKind::IndexExists
        | ErrorKind::LimitReached
        | ErrorKind::DuplicateKey
        | ErrorKind::UnknownIndex => Ok(()),
        _ => Err(error),
    }
}
