//! This database: rows as they are inserted, frozen into columns, or half of each.
//!
//! Tables have the primary keys of the specification, whose indexes are filled while loading.
//! Files are copied in through a session, a piece of text at a time, each table in one transaction:
//! with FREEZE, and what is left of the last segments is frozen in the end, as a part of loading.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use datafusion::arrow::record_batch::RecordBatch;
use lab_harness::Outcome;
use remanent_compression::Lz4;
use remanent_engine::{Database, Durability, Folder, Options};
use remanent_sql::{Session, SqlDatabase, Statement};
use serde_json::Value;
use tokio::runtime::Runtime;

use super::device::{Device, SlowFolder};
use super::{Engine, Reading, Setting};
use crate::benchmark::Benchmark;
use crate::benchmark::schema::{Table, Type};
use crate::data::Data;

/// Bytes of a piece of text.
const PIECE_BYTES: usize = 8 << 20;

/// The budget: as much as the machine is likely to have.
const BUDGET: u64 = 16 << 30;

struct Remanent {
    runtime: Runtime,
    session: Session,
    state: State,
}

/// What has become of the rows when queries are asked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Inserted,
    /// As COPY leaves them, if it is not told.
    Copied,
    Frozen,
    /// Frozen, and then half of them changed and changed back, by the transaction that asks.
    Changed,
    /// Frozen, in tables of which columns may leave memory.
    Paged,
    /// The same without keys, whose indexes would not.
    Unkeyed,
}

impl State {
    fn is_frozen(self) -> bool {
        matches!(self, Self::Frozen | Self::Changed) || self.is_paged()
    }

    fn is_paged(self) -> bool {
        matches!(self, Self::Paged | Self::Unkeyed)
    }
}

/// Paged tables in a folder.
struct Paged {
    remanent: Remanent,
    setting: Setting,
    is_cold: bool,
    /// What it is read from, if its speed is given.
    device: Option<Arc<Device>>,
}

pub(super) fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Rows as they are inserted.
pub(super) fn hot(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(State::Inserted, setting)
}

/// Rows as COPY leaves them.
pub(super) fn copied(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(State::Copied, setting)
}

/// Frozen columns.
pub(super) fn frozen(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(State::Frozen, setting)
}

/// Frozen columns, of whose rows half were changed.
pub(super) fn changed(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open(State::Changed, setting)
}

/// Frozen columns of paged tables.
pub(super) fn paged(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open_paged(setting, State::Paged, false)
}

/// The same without keys.
pub(super) fn unkeyed(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open_paged(setting, State::Unkeyed, false)
}

/// Frozen columns of paged tables, none of which is in memory when a query begins.
pub(super) fn cold(setting: &Setting) -> Outcome<Box<dyn Engine>> {
    open_paged(setting, State::Paged, true)
}

/// Frozen columns in a database that is open, by a session that is given back.
pub(crate) fn load_frozen(engine: Arc<Database>, data: &Data) -> Outcome<Session> {
    let mut remanent = over(engine, State::Frozen, 1)?;
    remanent.load(data)?;
    Ok(remanent.session)
}

fn open(state: State, setting: &Setting) -> Outcome<Box<dyn Engine>> {
    let budget = setting.budget.unwrap_or(BUDGET);
    let engine = Arc::new(Database::open(Options::new().budget(budget))?);
    Ok(Box::new(over(engine, state, setting.threads)?))
}

fn open_paged(setting: &Setting, state: State, is_cold: bool) -> Outcome<Box<dyn Engine>> {
    let remanent = over(open_folder(setting, BUDGET, None)?, state, setting.threads)?;
    let device = setting.device.map(|speed| Arc::new(Device::new(speed)));
    Ok(Box::new(Paged { remanent, setting: setting.clone(), is_cold, device }))
}

/// Opens the folder, behind a device if there is one.
fn open_folder(
    setting: &Setting,
    budget: u64,
    device: Option<&Arc<Device>>,
) -> Outcome<Arc<Database>> {
    let options = Options::new().budget(budget).durability(Durability::Os).checkpoint_after(0);
    let path = setting.folder.join("database");
    let Some(device) = device else {
        return Ok(Arc::new(remanent_compression::open_at(path, options)?));
    };
    let folder = Folder::create(path)?.compressed_by(Arc::new(Lz4));
    let storage = SlowFolder { folder, device: Arc::clone(device) };
    Ok(Arc::new(Database::open_in(Arc::new(storage), options)?))
}

fn over(engine: Arc<Database>, state: State, threads: usize) -> Outcome<Remanent> {
    let database = SqlDatabase::new(engine)?;
    database.query_threads(threads);
    let session = database.session();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
    Ok(Remanent { runtime, session, state })
}

impl Engine for Remanent {
    fn load(&mut self, data: &Data) -> Outcome<()> {
        let freezes = match self.state {
            State::Inserted => ", freeze false",
            State::Copied => "",
            _ => ", freeze",
        };
        for table in data.benchmark.tables() {
            self.session.execute(&create(table, self.state))?;
            self.copy(table, File::open(data.file(table.name))?, freezes)?;
        }
        if self.state.is_frozen() {
            self.session.execute("vacuum full")?;
        }
        let columns = self.session.database().engine().memory().columns;
        let is_expected = match self.state {
            State::Inserted => columns == 0,
            // Of small tables no segment becomes full.
            State::Copied => true,
            _ => columns > 0,
        };
        if !is_expected {
            return Err(format!("{columns} bytes of columns{freezes}").into());
        }
        if self.state == State::Changed {
            self.change_half(data.benchmark)?;
        }
        Ok(())
    }

    fn query(&mut self, text: &str) -> Outcome<Vec<RecordBatch>> {
        let (runtime, session) = (&self.runtime, &mut self.session);
        let mut batches = Vec::new();
        for statement in session.parse_all(text)? {
            runtime.block_on(async {
                let outcome = session.run(&statement, &[]).await?;
                if let Some(mut rows) = outcome.rows {
                    while let Some(batch) = rows.next_batch().await? {
                        batches.push(batch);
                    }
                }
                Ok::<(), remanent_sql::Error>(())
            })?;
        }
        Ok(batches)
    }

    fn start(&mut self, text: &str) -> Outcome<()> {
        let (runtime, session) = (&self.runtime, &mut self.session);
        for statement in session.parse_all(text)? {
            drop(runtime.block_on(session.run(&statement, &[]))?);
        }
        Ok(())
    }

    fn explain(&mut self, text: &str) -> Outcome<String> {
        let answer = self.session.query(&format!("explain {text}"), &[])?;
        let lines = answer.rows.iter().filter_map(|row| row.first()?.to_text());
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    fn native(&mut self, text: &str) -> Outcome<Option<f64>> {
        let answer = self.session.query(&format!("explain (format json) {text}"), &[])?;
        let plan = answer.rows.first().and_then(|row| row.first()?.to_text());
        let plan: Value = serde_json::from_str(&plan.ok_or("no plan")?)?;
        let (native, all) = operators(&plan[0]["Plan"]);
        Ok(Some(native as f64 / all as f64))
    }
}

impl Engine for Paged {
    fn load(&mut self, data: &Data) -> Outcome<()> {
        self.remanent.load(data)?;
        self.remanent.session.database().engine().checkpoint()?;
        // Opened again with the budget of the run.
        let nothing = SqlDatabase::new(Arc::new(Database::open(Options::new())?))?;
        self.remanent.session = nothing.session();
        let budget = self.setting.budget.unwrap_or(BUDGET);
        let engine = open_folder(&self.setting, budget, self.device.as_ref())?;
        self.remanent = over(engine, self.remanent.state, self.setting.threads)?;
        Ok(())
    }

    fn before_query(&mut self) -> Outcome<()> {
        if !self.is_cold {
            return Ok(());
        }
        let engine = self.remanent.session.database().engine();
        // What was asked for has a second chance.
        for _ in 0..3 {
            engine.set_buffer_cache(1);
        }
        engine.set_buffer_cache(0);
        if let Some(device) = &self.device {
            // It stands for the one that is there.
            device.forget();
            return Ok(());
        }
        for entry in std::fs::read_dir(self.setting.folder.join("database"))? {
            let file = File::open(entry?.path())?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
        Ok(())
    }

    fn column_bytes(&self) -> Option<u64> {
        Some(self.remanent.session.database().engine().memory().read_back)
    }

    fn disk_bytes(&self) -> Option<u64> {
        let entries = std::fs::read_dir(self.setting.folder.join("database")).ok()?;
        entries.map(|entry| Some(entry.ok()?.metadata().ok()?.len())).sum()
    }

    fn reading(&self) -> Option<Reading> {
        let reads = self.remanent.session.database().engine().statistics().column_reads;
        let device = self.device.as_ref().map(|device| device.busy());
        Some(Reading { waiting: reads.waiting, unpacking: reads.unpacking, device })
    }

    fn query(&mut self, text: &str) -> Outcome<Vec<RecordBatch>> {
        self.remanent.query(text)
    }

    fn explain(&mut self, text: &str) -> Outcome<String> {
        self.remanent.explain(text)
    }

    fn native(&mut self, text: &str) -> Outcome<Option<f64>> {
        self.remanent.native(text)
    }
}

/// How many operators of a plan are the engine's own, and how many there are.
fn operators(plan: &Value) -> (usize, usize) {
    let own = usize::from(plan["Native"] == true);
    let below = plan["Plans"].as_array().into_iter().flatten().map(operators);
    below.fold((own, 1), |(native, all), (more, others)| (native + more, all + others))
}

impl Remanent {
    /// Begins a transaction that changes a number in about half of the rows of each table that has
    /// one, spread over all of it, and changes it back.
    fn change_half(&mut self, benchmark: &Benchmark) -> Outcome<()> {
        self.session.execute("begin isolation level repeatable read")?;
        for table in benchmark.tables() {
            let mut columns = table.columns.iter();
            let decimal = columns.find(|column| matches!(column.of, Type::Decimal(..)));
            let Some(column) = decimal.map(|column| column.name) else { continue };
            let (name, key) = (table.name, table.columns[0].name);
            for sign in ['+', '-'] {
                self.session.execute(&format!(
                    "update {name} set {column} = {column} {sign} 1 where {key} % 1009 < 505"
                ))?;
            }
        }
        Ok(())
    }

    /// Copies a file into a table.
    fn copy(&mut self, table: &Table, mut file: File, freeze: &str) -> Outcome<()> {
        let text = format!("copy {} from stdin (delimiter '|', null ''{freeze})", table.name);
        let statement = Statement::parse_all(&text)?.remove(0);
        let mut into = self.session.copy_in(&statement.copy()?)?;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let length = file.read(&mut piece)?;
            let mut rest = &piece[..length];
            while into.read(&mut rest)? {
                self.runtime.block_on(self.session.copy_in_read(&mut into))?;
            }
            if length == 0 {
                break;
            }
        }
        into.read_end()?;
        self.runtime.block_on(self.session.copy_in_read(&mut into))?;
        self.session.copy_done(into)?;
        Ok(())
    }
}

/// The statement that makes a table.
fn create(table: &Table, state: State) -> String {
    let columns = table.columns_sql(|of| match of {
        // Blanks at the end would be kept: the files have none.
        Type::Char(length) => Type::Varchar(length).sql(),
        of => of.sql(),
    });
    let (name, columns) = (table.name, columns.join(", "));
    let key = match state {
        State::Unkeyed => String::new(),
        _ => format!(", primary key ({})", table.key),
    };
    let storage = if state.is_paged() { " with (storage = paged)" } else { "" };
    format!("create table {name} ({columns}{key}){storage}")
}
