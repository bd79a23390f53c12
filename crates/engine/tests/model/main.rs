//! The model test: random operations on a database and on a `BTreeMap` must give the same answers.
//!
//! A table with five indexes of all kinds is changed by up to three transactions at a time, which
//! set savepoints, roll back and commit, under up to four snapshots that are held long; indexes
//! come and go, rows are frozen, and memory is reclaimed, at any moment. `expected` holds the rules
//! of isolation, `check` looks through every access path, `run` compares. At the end all rows are
//! deleted, and nothing may be left of them in memory.
//!
//! `REMANENT_CASES` sets how many sequences are run. A failing one is shrunk and shown.

mod check;
mod expected;
mod item;
mod keys;
mod operation;
mod run;

use proptest::prelude::*;
use remanent_engine::{Database, Options, Result};

use crate::item::Item;
use crate::operation::{Operation, operation};
use crate::run::Run;

const CASES: u32 = 250;
const OPERATIONS_MAX: usize = 200;

fn config() -> ProptestConfig {
    let cases = std::env::var("REMANENT_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig {
        cases: cases.unwrap_or(CASES),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn database() -> Result<Database> {
    Database::open(Options::new().budget(64 << 20))
}

/// Bytes that the ordered indexes of an empty table take.
fn empty_ordered_indexes() -> Result<u64> {
    let db = database()?;
    let table = db.create_table_of::<Item<'_>>()?;
    drop_hash_indexes(&db, &table)?;
    Ok(db.memory().indexes)
}

/// Hash indexes keep their buckets for rows to come, so they are no part of the comparison.
fn drop_hash_indexes(db: &Database, table: &remanent_engine::Table) -> Result<()> {
    for name in ["by_tag", "by_kind"] {
        db.drop_index(table, table.index(name)?)?;
    }
    Ok(())
}

fn run(operations: Vec<Operation>) -> Result<()> {
    let db = database()?;
    let mut run = Run::new(&db)?;
    for operation in operations {
        run.step(operation)?;
    }
    let table = run.finish()?;
    db.reclaim();
    assert_eq!(db.memory().rows, 0, "versions are left");
    drop_hash_indexes(&db, &table)?;
    assert_eq!(db.memory().indexes, empty_ordered_indexes()?, "index nodes are left");
    db.drop_table(&table)?;
    let memory = db.memory();
    let left = [memory.rows, memory.indexes, memory.segments, memory.columns];
    assert_eq!(left, [0; 4]);
    Ok(())
}

proptest! {
    #![proptest_config(config())]
    #[test]
    fn a_database_answers_as_its_model(
        operations in prop::collection::vec(operation(), 1..OPERATIONS_MAX),
    ) {
        if let Err(error) = run(operations) {
            panic!("a call failed that must not: {error:?}");
        }
    }
}
