//! `lab tpch points`: statements about one key beside SQLite `:memory:`, in one run.
//!
//! Both are linked in, both have one table of accounts in memory, each statement is a transaction.
//! In every round each does the same statements in an order that turns round with the rounds; what
//! they answer is added up and compared. What always holds: a time is shown only if all answers
//! were right.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use comfy_table::{Table, presets};
use lab_harness::clock::pin_to;
use lab_harness::{Clock, Outcome, last_core, machine};
use remanent_sql::{
    Datum, Outcome as Answered, Prepared, Session, SqlDatabase, SqlType, Statement,
};
use serde_json::json;

use crate::record::spread_of;

/// Accounts before the first round.
const ACCOUNTS: i64 = 1_000_000;

/// Statements of a phase in a round.
const STATEMENTS: i64 = 100_000;

/// What is asked, with the figure in nanoseconds that we set ourselves.
const PHASES: [(&str, u64); 4] =
    [("select, prepared", 2_000), ("select, text", 4_000), ("insert", 3_000), ("update", 3_000)];

/// Runs it.
///
/// # Errors
///
/// When an engine refuses something, or the record cannot be written.
pub(crate) fn run(out: &Path, rounds: u32, quick: bool) -> Outcome<ExitCode> {
    pin_to(last_core()?)?;
    let accounts = if quick { ACCOUNTS / 100 } else { ACCOUNTS };
    let statements = if quick { STATEMENTS / 100 } else { STATEMENTS };
    let mut engines: Vec<(&str, Box<dyn Points>)> = vec![
        ("remanent", Box::new(Remanent::open()?)),
        ("sqlite", Box::new(lab_sqlite::Points::open()?)),
    ];
    for (_, engine) in &mut engines {
        for id in 0..accounts {
            engine.insert(id, id * 3, "a note of some length")?;
        }
    }
    let mut times = vec![vec![Vec::new(); PHASES.len()]; engines.len()];
    for round in 0..i64::from(rounds) {
        for (phase, (name, _)) in PHASES.iter().enumerate() {
            let mut sums = Vec::new();
            for turn in 0..engines.len() {
                let at = (turn + round as usize) % engines.len();
                let engine = engines[at].1.as_mut();
                let clock = Clock::start();
                let sum = ask(engine, phase, (accounts, statements, round))?;
                let ns = clock.elapsed().cpu_ns as f64 / statements as f64;
                times[at][phase].push(ns);
                sums.push(sum);
            }
            if sums.iter().any(|sum| *sum != sums[0]) {
                return Err(format!("{name}: different answers: {sums:?}").into());
            }
        }
    }
    let names: Vec<&str> = engines.iter().map(|(name, _)| *name).collect();
    append(out, rounds, &names, &times)?;
    show(&names, &times)?;
    Ok(ExitCode::SUCCESS)
}

/// An engine with a table of accounts.
trait Points {
    fn insert(&mut self, id: i64, balance: i64, note: &str) -> Outcome<()>;
    fn read(&mut self, id: i64) -> Outcome<Option<i64>>;
    fn read_text(&mut self, text: &str) -> Outcome<Option<i64>>;
    fn update(&mut self, id: i64, balance: i64) -> Outcome<i64>;
}

/// Does the statements of a phase; the sum of what they answer.
fn ask(engine: &mut dyn Points, phase: usize, of: (i64, i64, i64)) -> Outcome<i64> {
    let (accounts, statements, round) = of;
    // Steps through all accounts in an order that caches cannot foresee.
    let id = |at: i64| (at + round * statements).wrapping_mul(7_919) % accounts;
    let mut sum: i64 = 0;
    for at in 0..statements {
        sum = sum.wrapping_add(match phase {
            0 => engine.read(id(at))?.ok_or("an account is missing")?,
            1 => {
                let text = format!("select balance from account where id = {}", id(at));
                engine.read_text(&text)?.ok_or("an account is missing")?
            }
            2 => {
                engine.insert(accounts + round * statements + at, at, "a note of some length")?;
                1
            }
            _ => engine.update(id(at), at + round)?,
        });
    }
    Ok(sum)
}

impl Points for lab_sqlite::Points {
    fn insert(&mut self, id: i64, balance: i64, note: &str) -> Outcome<()> {
        self.insert(id, balance, note)
    }

    fn read(&mut self, id: i64) -> Outcome<Option<i64>> {
        self.read(id)
    }

    fn read_text(&mut self, text: &str) -> Outcome<Option<i64>> {
        self.read_text(text)
    }

    fn update(&mut self, id: i64, balance: i64) -> Outcome<i64> {
        self.update(id, balance)
    }
}

/// A session with its prepared statements.
struct Remanent {
    session: Session,
    select: Prepared,
    insert: Prepared,
    update: Prepared,
}

impl Remanent {
    fn open() -> Outcome<Self> {
        let mut session = SqlDatabase::in_memory()?.session();
        session.execute(
            "create table account (id bigint primary key, balance bigint not null, \
             note text not null)",
        )?;
        let mut prepare = |text: &str, types: &[SqlType]| -> Outcome<Prepared> {
            Ok(session.prepare(&Statement::parse(text)?, types)?)
        };
        let big = SqlType::BigInt;
        let select =
            prepare("select balance from account where id = $1", std::slice::from_ref(&big))?;
        let of_insert = [big.clone(), big.clone(), SqlType::Text];
        let insert = prepare("insert into account values ($1, $2, $3)", &of_insert)?;
        let update = prepare("update account set balance = $2 where id = $1", &[big.clone(), big])?;
        Ok(Self { session, select, insert, update })
    }
}

/// The outcome of a statement that went the short way, which all of these are to go.
fn short(ran: Option<remanent_sql::Result<Answered>>) -> Outcome<Answered> {
    Ok(ran.ok_or("the statement is not one about a key")??)
}

fn number(answered: Answered) -> Option<i64> {
    answered.rows?.next_ready()?.first()?.as_i64()
}

impl Points for Remanent {
    fn insert(&mut self, id: i64, balance: i64, note: &str) -> Outcome<()> {
        let values = [Datum::from(id), Datum::from(balance), Datum::from(note)];
        short(self.session.run_prepared_point(&self.insert, &values))?;
        Ok(())
    }

    fn read(&mut self, id: i64) -> Outcome<Option<i64>> {
        let values = [Datum::from(id)];
        Ok(number(short(self.session.run_prepared_point(&self.select, &values))?))
    }

    fn read_text(&mut self, text: &str) -> Outcome<Option<i64>> {
        Ok(number(short(self.session.run_text(text))?))
    }

    fn update(&mut self, id: i64, balance: i64) -> Outcome<i64> {
        let values = [Datum::from(id), Datum::from(balance)];
        let answered = short(self.session.run_prepared_point(&self.update, &values))?;
        Ok(answered.tag.rows.unwrap_or_default() as i64)
    }
}

fn append(out: &Path, rounds: u32, names: &[&str], times: &[Vec<Vec<f64>>]) -> Outcome<()> {
    std::fs::create_dir_all(out)?;
    let run = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let mut text = String::new();
    for (name, phases) in names.iter().zip(times) {
        for ((phase, figure), samples) in PHASES.iter().zip(phases) {
            let record = json!({
                "workload": "points", "contender": name, "setting": "memory", "phase": phase,
                "rounds": rounds, "verified": true, "figure_ns": figure,
                "cpu_ns_per_op": spread_of(samples), "machine": machine::describe(),
                "commit": machine::commit(), "run": run,
            });
            text.push_str(&format!("{record}\n"));
        }
    }
    let path = out.join("points.jsonl");
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(())
}

fn show(names: &[&str], times: &[Vec<Vec<f64>>]) -> Outcome<()> {
    let mut table = Table::new();
    let header = ["CPU ns, median"].into_iter().chain(names.iter().copied()).chain(["figure"]);
    table.load_style(presets::NOTHING).set_header(header.collect::<Vec<_>>());
    for (phase, (name, figure)) in PHASES.iter().enumerate() {
        let medians = times.iter().map(|phases| spread_of(&phases[phase])["median"].to_string());
        let cells = std::iter::once((*name).to_owned()).chain(medians);
        table.add_row(cells.chain([figure.to_string()]).collect::<Vec<_>>());
    }
    writeln!(io::stdout(), "{table}")?;
    Ok(())
}
