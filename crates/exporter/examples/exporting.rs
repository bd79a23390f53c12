//! A program with a database in a folder, some load, and an exporter beside it:
//!
//! `cargo run --example exporting -- FOLDER [SECONDS] [PORT]`
//!
//! Then, elsewhere: `remanent top FOLDER`. With a port, Prometheus can read it at 127.0.0.1 too.
#![expect(clippy::print_stdout, reason = "a program says where to look")]

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use remanent_engine::schema::{ColumnType, IndexSchema, TableSchema, Value};
use remanent_engine::{Database, Durability, Options, Result, Table, TransactionOptions};
use remanent_exporter::{Exporter, Listen};

const ACCOUNTS: u32 = 10_000;
/// Notes that each worker keeps.
const NOTES: usize = 20_000;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("a folder is missing")?;
    let seconds = arguments.next().map_or(Ok(u64::MAX), |text| text.parse())?;
    let port = arguments.next().map(|text| text.parse()).transpose()?;

    let options = Options::new().budget(256 << 20).durability(Durability::Os);
    let db = Arc::new(Database::open_at(&folder, options)?);
    let exporter = Exporter::start(Arc::clone(&db), Listen::folder(&folder))?;
    println!("see `remanent top {folder}`");
    let over_tcp = match port {
        Some(port) => Some(Exporter::start(Arc::clone(&db), Listen::port(port))?),
        None => None,
    };
    if let Some(address) = over_tcp.as_ref().and_then(Exporter::address) {
        println!("see http://{address}/metrics");
    }
    let until = Instant::now() + Duration::from_secs(seconds.min(1 << 30));
    let (accounts, notes) = match (db.table("Account"), db.table("Note")) {
        (Ok(accounts), Ok(notes)) => (accounts, notes),
        _ => make(&db)?,
    };
    std::thread::scope(|scope| {
        let workers = [1, 2].map(|seed| {
            let (db, accounts, notes) = (&db, &accounts, &notes);
            scope.spawn(move || transfer(db, (accounts, notes), seed, until))
        });
        let report = scope.spawn(|| report(&db, &accounts, until));
        let ended = workers.into_iter().chain([report]).map(|thread| thread.join());
        ended.into_iter().try_for_each(|ended| ended.unwrap_or(Ok(())))
    })?;
    // The exporters first: they hold the database.
    drop((exporter, over_tcp));
    Ok(())
}

/// Moves money between accounts, some of which are wanted by many, and notes the last transfers.
fn transfer(db: &Database, tables: (&Table, &Table), seed: u64, until: Instant) -> Result<()> {
    let (accounts, notes) = tables;
    let (primary, balance) = (accounts.index("primary")?, accounts.column("balance")?);
    let mut random = seed;
    let mut next = |limit: u32| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as u32 % limit
    };
    let mut noted = VecDeque::new();
    while Instant::now() < until {
        let (from, to) = (next(20), next(ACCOUNTS));
        let named = TransactionOptions::new().name("transfer");
        let note = db.write_with(&named, |tx| {
            for (number, amount) in [(from, -1), (to, 1)] {
                let Some(row) = tx.find(accounts, primary, &[number.into()])? else { continue };
                let old = row.get::<i64>(balance).unwrap_or(0);
                tx.update_values(accounts, row.id(), &[(balance, (old + amount).into())])?;
            }
            let text = format!("from {from} to {to}");
            tx.insert_values(notes, &[Some(Value::U32(from)), Some(Value::String(&text))])
        })?;
        noted.push_back(note);
        if noted.len() > NOTES {
            let oldest = noted.pop_front();
            db.write(|tx| oldest.iter().try_for_each(|note| tx.delete(notes, *note)))?;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// Adds up all accounts now and then, and takes its time.
fn report(db: &Database, accounts: &Table, until: Instant) -> Result<()> {
    let balance = accounts.column("balance")?;
    let named = TransactionOptions::new().name("report");
    while Instant::now() < until {
        let tx = db.begin_read_with(&named)?;
        let sum: i64 = tx.scan(accounts)?.filter_map(|row| row.get::<i64>(balance)).sum();
        assert_eq!(sum, 100 * i64::from(ACCOUNTS), "no money is lost");
        std::thread::sleep(
            Duration::from_secs(3).min(until.saturating_duration_since(Instant::now())),
        );
    }
    Ok(())
}

fn make(db: &Database) -> Result<(Table, Table)> {
    let accounts = TableSchema::new("Account")
        .column("number", ColumnType::U32)
        .column("balance", ColumnType::I64)
        .primary_key(["number"]);
    let notes = TableSchema::new("Note")
        .column("account", ColumnType::U32)
        .column("text", ColumnType::STRING)
        .index(IndexSchema::new("account", ["account"]).hash());
    let (accounts, notes) = (db.create_table(accounts)?, db.create_table(notes)?);
    db.write(|tx| {
        (0..ACCOUNTS).try_for_each(|number| {
            let account = [Some(Value::U32(number)), Some(Value::I64(100))];
            tx.insert_values(&accounts, &account).map(|_| ())
        })
    })?;
    Ok((accounts, notes))
}
