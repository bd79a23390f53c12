//! A run: every contender in a process of its own, asked in turn.
//!
//! All processes of a scale are loaded first. Then, in every round and for every query, each
//! contender is asked once, in an order that turns round with the rounds; before the first round
//! it is asked without the clock, and that answer is compared with DuckDB's. What always holds: a
//! time stands in a record only if its answer was right.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use lab_harness::{Outcome, cores, last_core, machine};

use crate::answer::{Answer, difference};
use crate::benchmark::queries::Query;
use crate::command::Choice;
use crate::contenders::{self, Contender, Setting};
use crate::data::Data;
use crate::process::Process;
use crate::record::{self, Cell, Header, Loaded, Results, Skipped};
use crate::table;

/// Whose answers are the expected ones.
const REFERENCE: &str = "duckdb";

/// Runs everything that was chosen.
///
/// # Errors
///
/// When data or records cannot be written. A contender that fails is left out and named.
pub(crate) fn run(choice: &Choice) -> Outcome<ExitCode> {
    fs::create_dir_all(&choice.out)?;
    let header = Header {
        workload: choice.benchmark.name,
        title: choice.benchmark.title,
        machine: machine::describe(),
        commit: machine::commit(),
        run: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        rounds: choice.rounds,
        threads: choice.threads,
        budget: choice.budget,
        device: choice.device,
        data: choice.data.name(choice.benchmark),
    };
    let mut right = true;
    for &scale in &choice.scales {
        let results = run_scale(choice, scale)?;
        record::append(&choice.out, &header, scale, &results)?;
        let mut out = io::stdout().lock();
        table::print(&mut out, scale, &header, &results)?;
        right &= results.cells.iter().all(|cell| cell.wrong.is_none());
    }
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn run_scale(choice: &Choice, scale: f64) -> Outcome<Results> {
    let data = Data::at(&choice.out, choice.benchmark, scale, choice.data)?;
    let queries = data.queries(scale)?;
    let expected = expected(choice, scale, &data, &queries)?;
    let asked = queries.iter().zip(&expected);
    let asked: Vec<_> = asked.filter(|(query, _)| choice.queries.contains(&query.number)).collect();
    let mut results = Results::default();
    let scratch = data.directory.join("scratch");
    let mut processes = Vec::new();
    for contender in &choice.contenders {
        say(&format!("{} at scale factor {scale}: loading", contender.name));
        match start_and_load(contender, choice, &data, &scratch) {
            Ok((process, loaded)) => {
                results.loaded.push(loaded);
                processes.push(process);
            }
            Err(error) => {
                let reason = error.to_string();
                results.skipped.push(Skipped { contender: contender.name, reason });
            }
        }
    }
    for (query, expected) in &asked {
        for process in &mut processes {
            results.cells.push(first(process, &scratch, query, expected));
        }
    }
    for round in 0..choice.rounds {
        say(&format!("round {} of {}", round + 1, choice.rounds));
        for (Query { number, text, .. }, _) in &asked {
            for place in 0..processes.len() {
                let place = if round % 2 == 0 { place } else { processes.len() - 1 - place };
                let process = &mut processes[place];
                let name = process.contender.name;
                let cell = results.cells.iter_mut();
                let cell = cell.into_iter().find(|c| c.contender == name && c.query == *number);
                let Some(cell) = cell.filter(|cell| cell.wrong.is_none()) else { continue };
                match process.query(text, false) {
                    Ok(reply) => cell.add(&reply),
                    Err(error) => cell.wrong = Some(error.to_string()),
                }
            }
        }
    }
    drop(processes);
    fs::remove_dir_all(&scratch)?;
    Ok(results)
}

fn start_and_load(
    contender: &'static Contender,
    choice: &Choice,
    data: &Data,
    scratch: &Path,
) -> Outcome<(Process, Loaded)> {
    let Choice { threads, budget, device, .. } = *choice;
    let setting = Setting { threads, budget, folder: scratch.join(contender.name), device };
    let cores = cores()?;
    // The last ones: a machine does its own work on the first.
    let cores = &cores[cores.len().saturating_sub(choice.threads)..];
    let mut process = Process::start(contender, &choice.out, data, &setting, cores)?;
    let reply = process.load(data.benchmark)?;
    let loaded = Loaded {
        contender: contender.name,
        medium: medium_of(contender, scratch),
        note: contender.note,
        version: process.version.clone(),
        text_bytes: data.text_bytes()?,
        wall_ns: reply.wall_ns,
        cpu_ns: reply.cpu_ns,
        held_bytes: reply.held_bytes,
        disk_bytes: reply.disk_bytes,
    };
    Ok((process, loaded))
}

/// Where a contender has its rows: on a RAM disk, if that is where files are.
fn medium_of(contender: &Contender, scratch: &Path) -> &'static str {
    match contender.medium {
        "disk" if machine::is_tmpfs(scratch) == Some(true) => "ramdisk",
        medium => medium,
    }
}

/// The first answer of a contender, which is compared and not timed.
fn first(process: &mut Process, scratch: &Path, query: &Query, expected: &Answer) -> Cell {
    let Query { number, text, order } = query;
    let mut cell = Cell {
        contender: process.contender.name,
        medium: medium_of(process.contender, scratch),
        note: process.contender.note,
        version: process.version.clone(),
        query: *number,
        rows: expected.0.len(),
        native: None,
        wrong: None,
        wall_ns: Vec::new(),
        cpu_ns: Vec::new(),
        device_bytes: None,
        column_bytes: None,
        reading: Default::default(),
    };
    cell.wrong = match process.query(text, true) {
        Ok(reply) => {
            cell.native = reply.native;
            difference(&reply.rows.unwrap_or_default(), expected, order)
        }
        Err(error) => Some(error.to_string()),
    };
    if let Some(wrong) = &cell.wrong {
        say(&format!("{} query {number}: {wrong}", process.contender.name));
    }
    cell
}

/// DuckDB's answers to all queries, found once for each text and kept beside the data.
fn expected(choice: &Choice, scale: f64, data: &Data, queries: &[Query]) -> Outcome<Vec<Answer>> {
    let path = data.directory.join("answers.json");
    let known = fs::read_to_string(&path).ok();
    let known = known.and_then(|text| serde_json::from_str(&text).ok());
    let mut known: BTreeMap<String, Answer> = known.unwrap_or_default();
    let unknown: Vec<&Query> =
        queries.iter().filter(|query| !known.contains_key(&query.text)).collect();
    if !unknown.is_empty() {
        say(&format!("scale factor {scale}: answers of {REFERENCE}"));
        let folder = data.directory.join("reference");
        let setting = Setting { threads: 1, budget: None, folder, device: None };
        let reference = contenders::find(REFERENCE)?;
        let cores = [last_core()?];
        let mut process = Process::start(reference, &choice.out, data, &setting, &cores)?;
        process.load(data.benchmark)?;
        for Query { number, text, .. } in unknown {
            let reply = process.query(text, true)?;
            let error = reply.error;
            let missing = || format!("{REFERENCE} does not answer query {number}: {error:?}");
            known.insert(text.clone(), reply.rows.ok_or_else(missing)?);
        }
        drop(process);
        fs::remove_dir_all(&setting.folder)?;
        fs::write(path, serde_json::to_string(&known)?)?;
    }
    Ok(queries.iter().filter_map(|query| known.get(&query.text).cloned()).collect())
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
