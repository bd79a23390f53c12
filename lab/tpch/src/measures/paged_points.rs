//! `lab tpch paged-points`: rows of a paged table by their keys, in memory, in the cache and in a
//! file.
//!
//! Two tables of the same rows, frozen and written to segment files, one of which may leave memory.
//! *Warm*: all values of rows by random keys are added up, in turns; all sums are compared. *Cold*:
//! the cache is emptied before each key, and reads of segment files are counted. What always holds:
//! a figure is shown only if all values were right.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use lab_harness::clock::pin_to;
use lab_harness::{Clock, Outcome, last_core, machine};
use remanent_engine::schema::{ColumnType, TableSchema, TableStorage, Value};
use remanent_engine::{Database, Durability, Options, Table};
use serde_json::json;

use crate::record::spread_of;

/// Rows of each table, keys of a round, and keys that are asked for without a cache.
const ROWS: i64 = 1_000_000;
const KEYS: i64 = 200_000;
const COLD_KEYS: i64 = 2_000;
/// Columns that are numbers, beside the key and a text.
const NUMBERS: usize = 6;

/// Runs it.
///
/// # Errors
///
/// When the engine refuses something, values are not right, or the record cannot be written.
pub(crate) fn run(out: &Path, rounds: u32, quick: bool) -> Outcome<ExitCode> {
    pin_to(last_core()?)?;
    std::fs::create_dir_all(out)?;
    let folder = out.join("paged-points");
    let _ = std::fs::remove_dir_all(&folder);
    let options = Options::new().budget(2 << 30).durability(Durability::Os).checkpoint_after(0);
    let db = remanent_compression::open_at(&folder, options)?;
    let (rows, keys) = if quick { (ROWS / 10, KEYS / 10) } else { (ROWS, KEYS) };
    let tables = [("InMemory", TableStorage::Memory), ("Paged", TableStorage::Paged)];
    let tables = tables.map(|(name, storage)| fill(&db, name, storage, rows));
    let [in_memory, paged] = tables;
    let tables = [in_memory?, paged?];
    db.checkpoint()?;
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..=i64::from(rounds) {
        for turn in 0..2 {
            let at = (turn + round as usize) % 2;
            let clock = Clock::start();
            read(&db, &tables[at], (0..keys).map(|key| id(key + round * keys, rows)))?;
            // The first round brings columns to the cache.
            if round > 0 {
                times[at].push(clock.elapsed().cpu_ns as f64 / keys as f64);
            }
        }
    }
    let mut counts = [0_u64; 5];
    let (mut most, mut all) = (0, 0);
    for key in 0..COLD_KEYS {
        db.set_buffer_cache(1);
        let before = db.statistics().column_reads.count;
        read(&db, &tables[1], [id(key, rows)].into_iter())?;
        let count = db.statistics().column_reads.count - before;
        (most, all) = (most.max(count), all + count);
        counts[(count as usize).min(4)] += 1;
    }
    drop((tables, db));
    std::fs::remove_dir_all(&folder)?;
    let record = json!({
        "workload": "paged points", "rows": rows, "columns": NUMBERS + 2, "keys": keys,
        "rounds": rounds, "in_memory_ns": spread_of(&times[0]),
        "paged_warm_ns": spread_of(&times[1]),
        "cold_keys": COLD_KEYS, "cold_reads_mean": all as f64 / COLD_KEYS as f64,
        "cold_reads_most": most, "cold_keys_by_reads_0_1_2_3_more": counts, "verified": true,
        "machine": machine::describe(), "commit": machine::commit(),
        "run": humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
    });
    writeln!(io::stdout(), "{record:#}")?;
    let path = out.join("paged-points.jsonl");
    writeln!(OpenOptions::new().create(true).append(true).open(path)?, "{record}")?;
    Ok(ExitCode::SUCCESS)
}

/// Steps through all keys in an order that caches cannot foresee.
fn id(at: i64, rows: i64) -> i64 {
    at.wrapping_mul(792_241) % rows
}

/// The number in a column of the row with this key.
fn number(id: i64, column: usize) -> i64 {
    id.wrapping_mul(2_654_435_761 + column as i64) >> 20
}

fn text(id: i64) -> String {
    format!("what is said of the row {}", id % 5_003)
}

fn fill(db: &Database, name: &str, storage: TableStorage, rows: i64) -> Outcome<Table> {
    let schema = TableSchema::new(name).storage(storage).column("id", ColumnType::I64);
    let schema = (0..NUMBERS)
        .fold(schema, |schema, column| schema.column(format!("number{column}"), ColumnType::I64));
    let schema = schema.column("text", ColumnType::STRING).primary_key(["id"]);
    let table = db.create_table(schema)?;
    for first in (0..rows).step_by(10_000) {
        db.write(|tx| {
            (first..rows.min(first + 10_000)).try_for_each(|id| {
                let text = text(id);
                let mut values = vec![Some(Value::I64(id))];
                values.extend((0..NUMBERS).map(|column| Some(Value::I64(number(id, column)))));
                values.push(Some(Value::String(&text)));
                tx.insert_values(&table, &values).map(|_| ())
            })
        })?;
    }
    db.freeze_all(&table)?;
    Ok(table)
}

/// Reads all values of the rows with these keys, each in a transaction of its own.
fn read(db: &Database, table: &Table, ids: impl Iterator<Item = i64>) -> Outcome<()> {
    let primary = table.index("primary")?;
    for id in ids {
        let tx = db.begin_read()?;
        let row = tx.find(table, primary, &[Value::I64(id)])?.ok_or("a row is missing")?;
        let mut values = row.values();
        let mut is_right = values.next() == Some(Value::I64(id));
        for column in 0..NUMBERS {
            is_right &= values.next() == Some(Value::I64(number(id, column)));
        }
        let said = values.next();
        is_right &= matches!(said, Some(Value::String(said)) if said.ends_with(char::is_numeric));
        if !is_right {
            return Err(format!("the row {id} is not right").into());
        }
    }
    Ok(())
}
