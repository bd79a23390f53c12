//! `lab tpch checkpoints`: what a checkpoint writes when little has changed since the one before.
//!
//! The tables are loaded into a folder and a first checkpoint is made. In each round, a statement
//! for each table changes one row in a hundred, others than in rounds before; then a checkpoint is
//! made while another thread commits small changes, each of which is timed by its own CPU time.
//! Then there is no other thread, and such commits make one of the same size themselves: in slices,
//! and, for comparison, all of it in one of them. What always holds: a database that is opened
//! afterwards has the same rows.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use comfy_table::{Table, presets};
use lab_harness::clock::thread_cpu_ns;
use lab_harness::{Clock, Outcome, machine};
use remanent_engine::{Database, Durability, Options};
use remanent_sql::{Session, SqlDatabase};
use serde_json::json;

use crate::command::Choice;
use crate::contenders::remanent::load_frozen;
use crate::data::Data;

/// The budget: as much as the machine is likely to have.
const BUDGET: u64 = 16 << 30;

/// Bytes of log after which commits make a checkpoint themselves.
const AFTER: u64 = 1 << 20;
/// Bytes of a slice.
const SLICE: u64 = 1 << 20;

/// A checkpoint that commits make, and how long the slowest of them takes.
struct MadeByCommits {
    commits: u64,
    slowest_ns: u64,
    wall_ns: u64,
}

/// A checkpoint, and the commits beside it.
struct Made {
    bytes: u64,
    cpu_ns: u64,
    wall_ns: u64,
    /// CPU time of each commit, in ascending order.
    commits_ns: Vec<u64>,
}

/// Runs it.
///
/// # Errors
///
/// When the engine refuses something, rows differ, or the record cannot be written.
pub(crate) fn run(choice: &Choice) -> Outcome<ExitCode> {
    std::fs::create_dir_all(&choice.out)?;
    let mut records = String::new();
    let run = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    for &scale in &choice.scales {
        let folder = choice.out.join("checkpoints");
        let _ = std::fs::remove_dir_all(&folder);
        let data = Data::at(&choice.out, choice.benchmark, scale, choice.data)?;
        let engine = Arc::new(open(&folder, 0, 0)?);
        let mut session = load_frozen(Arc::clone(&engine), &data)?;
        session.execute("create table ticket (id bigint primary key, number bigint)")?;
        session.execute("insert into ticket values (1, 0)")?;
        let held = engine.memory().held;
        let first = checkpoint(&engine, &session)?;
        let mut made = Vec::new();
        for round in 0..choice.rounds {
            change(&mut session, &data, round)?;
            made.push(checkpoint(&engine, &session)?);
        }
        let before = sums(&mut session, &data)?;
        drop((session, engine));
        let sliced = made_by_commits(&folder, &data, choice.rounds, SLICE)?;
        let whole = made_by_commits(&folder, &data, choice.rounds + 1, u64::MAX)?;
        let mut session = SqlDatabase::new(Arc::new(open(&folder, 0, 0)?))?.session();
        if sums(&mut session, &data)? != before {
            return Err("other rows after opening again".into());
        }
        drop(session);
        std::fs::remove_dir_all(&folder)?;
        let written: Vec<u64> = made.iter().map(|it| it.bytes).collect();
        let slowest = made.iter().chain([&first]).filter_map(|it| it.commits_ns.last()).max();
        let record = json!({
            "workload": "checkpoints", "scale": scale, "rounds": choice.rounds, "held_bytes": held,
            "first_bytes": first.bytes, "first_cpu_ns": first.cpu_ns, "changed_share_each": 0.01,
            "bytes": written, "slowest_commit_cpu_ns": slowest,
            "in_slices": sliced.to_json(), "by_one_commit": whole.to_json(), "verified": true,
            "machine": machine::describe(), "commit": machine::commit(), "run": run,
        });
        records.push_str(&format!("{record}\n"));
        show(held, &first, &made)?;
        for (name, it) in [("in slices", &sliced), ("by one commit", &whole)] {
            let (slowest, wall) = (it.slowest_ns as f64 / 1e6, it.wall_ns as f64 / 1e9);
            let commits = it.commits;
            writeln!(
                io::stdout(),
                "{name}: the slowest of {commits} commits takes {slowest:.2} ms of CPU; {wall:.2} s"
            )?;
        }
    }
    let path = choice.out.join("checkpoints.jsonl");
    OpenOptions::new().create(true).append(true).open(path)?.write_all(records.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn open(folder: &Path, after: u64, slice: u64) -> Outcome<Database> {
    let options = Options::new().budget(BUDGET).durability(Durability::Os);
    let options = options.checkpoint_after(after).checkpoint_slice(slice);
    Ok(remanent_compression::open_at(folder, options)?)
}

/// Opens the database, changes one row in a hundred and commits small changes until they have made
/// a checkpoint.
fn made_by_commits(folder: &Path, data: &Data, round: u32, slice: u64) -> Outcome<MadeByCommits> {
    let engine = Arc::new(open(folder, AFTER, slice)?);
    let mut session = SqlDatabase::new(Arc::clone(&engine))?.session();
    engine.checkpoint()?;
    let before = engine.statistics().checkpoints;
    change(&mut session, data, round)?;
    if engine.statistics().checkpoints != before {
        return Err("the statements that change rows have made the checkpoint".into());
    }
    let (clock, mut commits, mut slowest_ns) = (Clock::start(), 0, 0);
    while engine.statistics().checkpoints == before {
        let begun = thread_cpu_ns();
        session.execute("update ticket set number = number + 1 where id = 1")?;
        (commits, slowest_ns) = (commits + 1, slowest_ns.max(thread_cpu_ns() - begun));
    }
    Ok(MadeByCommits { commits, slowest_ns, wall_ns: clock.elapsed().wall_ns })
}

impl MadeByCommits {
    fn to_json(&self) -> serde_json::Value {
        let Self { commits, slowest_ns, wall_ns } = self;
        json!({ "commits": commits, "slowest_commit_cpu_ns": slowest_ns, "wall_ns": wall_ns })
    }
}

/// Changes one row in a hundred of each table: a text, to what it was.
fn change(session: &mut Session, data: &Data, round: u32) -> Outcome<()> {
    for table in data.benchmark.tables() {
        let (name, key) = (table.name, table.columns[0].name);
        let text = table.columns.iter().rfind(|column| column.name.ends_with("comment"));
        let Some(text) = text.map(|column| column.name) else { continue };
        let rest = round % 100;
        session
            .execute(&format!("update {name} set {text} = {text} where {key} % 100 = {rest}"))?;
    }
    Ok(())
}

/// Makes a checkpoint beside a thread that commits.
fn checkpoint(engine: &Database, session: &Session) -> Outcome<Made> {
    let database = session.database();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let commits = scope.spawn(|| {
            let mut session = database.session();
            let mut times = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let begun = thread_cpu_ns();
                session.execute("update ticket set number = number + 1 where id = 1")?;
                times.push(thread_cpu_ns() - begun);
            }
            times.sort_unstable();
            Ok::<_, remanent_sql::Error>(times)
        });
        let clock = Clock::start();
        let bytes = engine.checkpoint();
        let elapsed = clock.elapsed();
        ends.store(true, Ordering::Relaxed);
        let commits_ns = commits.join().map_err(|_| "the thread that commits has failed")??;
        let beside: u64 = commits_ns.iter().sum();
        let cpu_ns = elapsed.cpu_ns.saturating_sub(beside);
        Ok(Made { bytes: bytes?, cpu_ns, wall_ns: elapsed.wall_ns, commits_ns })
    })
}

/// The number of rows and the sum of the keys of each table.
fn sums(session: &mut Session, data: &Data) -> Outcome<Vec<String>> {
    let mut sums = Vec::new();
    for table in data.benchmark.tables() {
        let (name, key) = (table.name, table.columns[0].name);
        let texts: Vec<String> =
            table.columns.iter().map(|it| format!("max({})", it.name)).collect();
        let texts = texts.join(", ");
        let text = format!("select count(*), sum({key}), {texts} from {name}");
        let rows = session.query(&text, &[])?.rows;
        sums.extend(rows.iter().flatten().map(ToString::to_string));
    }
    Ok(sums)
}

fn show(held: u64, first: &Made, made: &[Made]) -> Outcome<()> {
    let mut table = Table::new();
    let header =
        ["checkpoint", "MB written", "of MB held", "CPU ms", "wall ms", "slowest commit, us"];
    table.load_style(presets::NOTHING).set_header(header);
    for (number, it) in std::iter::once(first).chain(made).enumerate() {
        table.add_row([
            if number == 0 { "the first".to_owned() } else { format!("{number} % changed") },
            format!("{:.1}", it.bytes as f64 / 1e6),
            format!("{:.2} %", it.bytes as f64 * 100.0 / held as f64),
            format!("{:.0}", it.cpu_ns as f64 / 1e6),
            format!("{:.0}", it.wall_ns as f64 / 1e6),
            format!("{:.0}", it.commits_ns.last().copied().unwrap_or_default() as f64 / 1e3),
        ]);
    }
    writeln!(io::stdout(), "{table}")?;
    Ok(())
}
