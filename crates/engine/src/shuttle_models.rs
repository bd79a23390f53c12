//! Models of the lock-free protocols, run by `cargo xtask ci shuttle` over many schedules.
//!
//! Each model is the real engine in a small database, a few threads, and assertions about what they
//! may see, on the machine of `memory/modelled.rs`: scheduling points between any two operations,
//! store buffers, and failure at the first touch of a freed block. Half of the schedules are drawn
//! at random, in bursts, half by probabilistic concurrency testing (Burckhardt and others, ASPLOS
//! 2010). `REMANENT_SHUTTLE_ITERATIONS` says how many of each. A failure names its seed;
//! `REMANENT_SHUTTLE_SEED` starts with it.

mod bulk_segments;
mod bursts;
mod clock;
mod compact;
mod definition;
mod directory;
mod freeze;
mod hash;
mod latch;
mod observation;
mod old_snapshots;
mod owned;
mod pack;
mod paging;
mod refreeze;
mod runs;
mod serializable;
mod tree;
mod unstamped;
mod versions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bursts::Bursts;
use shuttle::scheduler::{PctScheduler, Scheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::index::node::{Child, Node};
use crate::index::ordered::OrderedIndex;
use crate::memory::modelled;
use crate::memory::region::Region;
use crate::options::Settings;
use crate::schema::{ColumnType, IndexSchema, TableSchema, Value};
use crate::{
    ColumnHandle, Database, IndexHandle, Options, ReadTransaction, Result, Row, RowId, Table,
};

/// Schedules for each model and scheduler, unless the environment says otherwise.
const ITERATIONS: usize = 1500;
/// Bugs that need so many ordered events are found with known probability.
const PCT_DEPTH: usize = 3;
const STACK_SIZE: usize = 512 << 10;
const STEPS_MAX: usize = 200_000;

/// Tells which execution failed.
struct Progress {
    scheduler: &'static str,
    seed: u64,
    executions: Arc<AtomicUsize>,
}

/// A table of rows that prove their own content.
struct Rows {
    db: Database,
    table: Table,
    key: ColumnHandle,
    value: ColumnHandle,
    proof: ColumnHandle,
    index: IndexHandle,
}

/// Runs a model over many schedules.
fn check(model: impl Fn() + Copy + Send + Sync + 'static) {
    let iterations = std::env::var("REMANENT_SHUTTLE_ITERATIONS");
    let iterations = iterations.map_or(ITERATIONS, |n| n.parse().expect("a number of schedules"));
    let seed = match std::env::var("REMANENT_SHUTTLE_SEED") {
        Ok(seed) => seed.parse().expect("a seed"),
        Err(_) => std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos() as u64),
    };
    run("bursts", seed, Bursts::new(seed, iterations), model);
    run("pct", seed, PctScheduler::new_from_seed(seed, PCT_DEPTH, iterations), model);
}

fn run(
    name: &'static str,
    seed: u64,
    scheduler: impl Scheduler + 'static,
    model: impl Fn() + Send + Sync + 'static,
) {
    let mut config = Config::new();
    config.stack_size = STACK_SIZE;
    config.max_steps = MaxSteps::FailAfter(STEPS_MAX);
    config.failure_persistence = FailurePersistence::None;
    let executions = Arc::new(AtomicUsize::new(0));
    let progress = Progress { scheduler: name, seed, executions: Arc::clone(&executions) };
    Runner::new(scheduler, config).run(move || {
        executions.fetch_add(1, Ordering::Relaxed);
        model();
    });
    drop(progress);
}

impl Drop for Progress {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let count = self.executions.load(Ordering::Relaxed);
            let own = Bursts::seed_of(self.seed, count - 1);
            let (scheduler, seed) = (self.scheduler, self.seed);
            eprintln!("failed: execution {count} of {scheduler}, seed {seed}, with bursts {own}");
        }
    }
}

/// Runs all threads side by side until they have ended.
fn race<'env>(threads: Vec<Box<dyn FnOnce() + Send + 'env>>) {
    modelled::drain_stores();
    shuttle::thread::scope(|scope| {
        for thread in threads {
            scope.spawn(thread);
        }
    });
    modelled::drain_stores();
}

impl Rows {
    /// A table whose key column has an ordered index, with these keys committed at value 0.
    fn ordered(keys: &[u32]) -> Self {
        Self::open(IndexSchema::new("by_key", ["key"]), keys)
    }

    /// As [`Rows::ordered`], with a unique index.
    fn unique(keys: &[u32]) -> Self {
        Self::open(IndexSchema::new("by_key", ["key"]).unique(), keys)
    }

    /// As [`Rows::ordered`], with a hash index.
    fn hashed(keys: &[u32]) -> Self {
        Self::open(IndexSchema::new("by_key", ["key"]).hash(), keys)
    }

    /// As [`Rows::ordered`], with a unique hash index.
    fn unique_hashed(keys: &[u32]) -> Self {
        Self::open(IndexSchema::new("by_key", ["key"]).hash().unique(), keys)
    }

    fn open(index: IndexSchema, keys: &[u32]) -> Self {
        let schema = schema().index(index);
        let opened: Result<Self> = modelled::quietly(|| {
            let options = Options::new().budget(2 << 20).transactions_max(8);
            let db = Database::open(options)?;
            let table = db.create_table(schema)?;
            let (key, value) = (table.column("key")?, table.column("value")?);
            let proof = table.column("proof")?;
            let index = table.indexes().next().expect("it has one").1;
            let rows = Self { db, table, key, value, proof, index };
            keys.iter().try_for_each(|&key| rows.insert(key, 0).map(|_| ()))?;
            Ok(rows)
        });
        opened.expect("the budget is large enough")
    }

    /// Inserts and commits a row.
    fn insert(&self, key: u32, value: u64) -> Result<RowId> {
        self.db.write(|tx| tx.insert_values(&self.table, &content(key, value)))
    }

    /// The row with a key.
    fn find<'t>(&'t self, tx: &'t ReadTransaction<'_>, key: u32) -> Option<Row<'t>> {
        tx.find(&self.table, self.index, &[key.into()]).expect("the table is there")
    }

    /// The key and value of a row, checked against its proof and read twice.
    fn read(&self, row: Row<'_>) -> (u32, u64) {
        let mut read = None;
        for _ in 0..2 {
            let key = row.get::<u32>(self.key).expect("it is not null");
            let value = row.get::<u64>(self.value).expect("it is not null");
            let proof = row.get::<u64>(self.proof).expect("it is not null");
            assert_eq!(proof, prove(key, value), "a row is as it was written");
            assert_eq!(*read.get_or_insert((key, value)), (key, value));
            modelled::scheduling_point();
        }
        read.unwrap_or_default()
    }

    /// All rows by key, read when nobody else is there: by scan, by key and, of an ordered index,
    /// by cursor, which must agree.
    fn all(&self) -> Vec<(u32, u64)> {
        modelled::quietly(|| {
            let tx = self.db.begin_read().expect("there are slots");
            let scan = tx.scan(&self.table).expect("the table is there");
            let mut rows: Vec<_> = scan.map(|row| self.read(row)).collect();
            rows.sort_unstable();
            for row in &rows {
                let found = self.find(&tx, row.0).map(|row| self.read(row).0);
                assert_eq!(found, Some(row.0), "a committed row is found by its key");
            }
            if let Ok(mut cursor) = tx.cursor(&self.table, self.index) {
                let mut next = cursor.first();
                let mut met: Vec<_> = Vec::new();
                while let Some(row) = next {
                    met.push(self.read(row));
                    next = cursor.next();
                }
                met.sort_unstable();
                assert_eq!(met, rows, "a cursor meets the rows that a scan meets");
            }
            rows
        })
    }

    /// Entries of the ordered index.
    fn leaves(&self) -> usize {
        fn below(region: &Region, node: Node<'_>) -> usize {
            let (mut count, mut from) = (0, 0);
            while let Some((byte, child)) = node.child_from(region, from) {
                count += match child {
                    Child::Node(at) => below(region, Node::at(region, at)),
                    Child::Leaf(_) => 1,
                    Child::Bundle(bundle) => bundle.count(),
                    Child::None => 0,
                };
                from = usize::from(byte) + 1;
            }
            count
        }
        modelled::quietly(|| {
            let region = self.db.instance.memory().region();
            let index = self.table.core.indexes().next().expect("it has one");
            below(region, OrderedIndex::at(region, index.root).root())
        })
    }

    /// The changes that give a row another key and value.
    fn all_changes(&self, key: u32, value: u64) -> [(ColumnHandle, Value<'static>); 3] {
        let [value, proof] = self.changes(key, value);
        [(self.key, key.into()), value, proof]
    }

    /// The changes that give a row another value.
    fn changes(&self, key: u32, value: u64) -> [(ColumnHandle, Value<'static>); 2] {
        [(self.value, value.into()), (self.proof, prove(key, value).into())]
    }
}

/// Settings of a small database.
fn settings() -> Settings {
    let options = Options::new().budget(2 << 20).transactions_max(8);
    options.resolve().expect("they are within the limits")
}

fn schema() -> TableSchema {
    TableSchema::new("T")
        .column("key", ColumnType::U32)
        .column("value", ColumnType::U64)
        .column("proof", ColumnType::U64)
}

/// A row's columns.
fn content(key: u32, value: u64) -> [Option<Value<'static>>; 3] {
    [Some(key.into()), Some(value.into()), Some(prove(key, value).into())]
}

fn prove(key: u32, value: u64) -> u64 {
    (u64::from(key) << 32 ^ value ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93)
}
