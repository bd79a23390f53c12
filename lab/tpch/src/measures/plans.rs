//! `lab tpch plans`: what planning costs, of texts that are new and of texts that are known.
//!
//! A statement is parsed, bound, planned and started, and given up before its first row: what is
//! left is planning. Before each new text the path on which names are looked for changes, after
//! which every text is a new one, while tables and their statistics stay as they are; known texts
//! ran just before. What always holds: the answers before and after all of it are the same.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::SystemTime;

use comfy_table::{Table, presets};
use lab_harness::clock::pin_to;
use lab_harness::{Clock, Outcome, last_core, machine};
use serde_json::json;

use crate::benchmark::queries::Query;
use crate::command::Choice;
use crate::contenders::{self, Engine, Setting};
use crate::data::Data;
use crate::record::spread_of;

/// Times that each text is started in a round.
const TIMES: u32 = 20;

/// Runs it.
///
/// # Errors
///
/// When the engine refuses something, or the record cannot be written.
pub(crate) fn run(choice: &Choice) -> Outcome<ExitCode> {
    pin_to(last_core()?)?;
    let mut records = String::new();
    let run = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    for &scale in &choice.scales {
        let setting = Setting::of_one_thread(choice.out.join("planned"))?;
        let mut engine = contenders::find("remanent")?.open(&setting)?;
        let data = Data::at(&choice.out, choice.benchmark, scale, choice.data)?;
        engine.load(&data)?;
        let mut measured = Vec::new();
        let queries = data.queries(scale)?.into_iter();
        for query in queries.filter(|query| choice.queries.contains(&query.number)) {
            let Query { number, text, .. } = query;
            let before = rows(engine.as_mut(), &text)?;
            let times = times_of(engine.as_mut(), &text, choice.rounds)?;
            if rows(engine.as_mut(), &text)? != before {
                return Err(format!("query {number}: another answer after planning").into());
            }
            let record = json!({
                "workload": "plans", "query": number, "scale": scale, "rounds": choice.rounds,
                "new_ns": spread_of(&times[0]), "known_ns": spread_of(&times[1]),
                "machine": machine::describe(), "commit": machine::commit(), "run": run,
            });
            records.push_str(&format!("{record}\n"));
            measured.push((number, times));
        }
        show(&measured)?;
    }
    std::fs::create_dir_all(&choice.out)?;
    let path = choice.out.join("plans.jsonl");
    OpenOptions::new().create(true).append(true).open(path)?.write_all(records.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn rows(engine: &mut dyn Engine, text: &str) -> Outcome<usize> {
    Ok(engine.query(text)?.iter().map(|batch| batch.num_rows()).sum())
}

/// CPU nanoseconds of starting a text that is new, and one that is known.
fn times_of(engine: &mut dyn Engine, text: &str, rounds: u32) -> Outcome<[Vec<f64>; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for number in 0..rounds * TIMES {
        // No plan is known that was made with this path.
        engine.query(&format!("set search_path to public, lab_{number}"))?;
        for times in &mut times {
            let clock = Clock::start();
            engine.start(text)?;
            times.push(clock.elapsed().cpu_ns as f64);
        }
    }
    Ok(times)
}

fn show(measured: &[(usize, [Vec<f64>; 2])]) -> Outcome<()> {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(["CPU us, median", "new", "known"]);
    let mut logs = [0.0, 0.0];
    let mut sums = [0.0, 0.0];
    for (number, times) in measured {
        let medians = [0, 1].map(|at| {
            let median = spread_of(&times[at])["median"].as_f64().unwrap_or_default() / 1e3;
            logs[at] += median.max(1e-9).ln();
            sums[at] += median;
            median
        });
        table.add_row([
            format!("query {number}"),
            format!("{:.0}", medians[0]),
            format!("{:.0}", medians[1]),
        ]);
    }
    let count = measured.len().max(1) as f64;
    let means = logs.map(|log| format!("{:.0}", (log / count).exp()));
    table.add_row(["geometric mean".to_owned(), means[0].clone(), means[1].clone()]);
    table.add_row(["sum".to_owned(), format!("{:.0}", sums[0]), format!("{:.0}", sums[1])]);
    writeln!(io::stdout(), "{table}")?;
    Ok(())
}
