//! A run: the plan of a workload, measured round by round, recorded group by group.
//!
//! Within a group the contenders are interleaved, A B C then C B A, so that whatever happens to
//! the machine happens to all of them. Records are appended when their group is complete; an
//! interrupted run keeps the groups before. The run ends with the report of all records found.

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use indicatif::{ProgressBar, ProgressStyle};
use lab_harness::{Missing, Outcome, clock, machine};

use crate::case;
use crate::choice::Choice;
use crate::command::Run;
use crate::protocol::{CaseRequest, Line};
use crate::record::{self, Record};
use crate::remaining::Remaining;
use crate::report;
use crate::samples::Samples;
use crate::scratch::Scratch;
use crate::table;
use crate::workloads::{Case, Group, View, Workload};
use crate::{bursts, by_size, grid, text_table, time_series};

/// What every record of a run says.
struct Stamp {
    machine: String,
    commit: String,
    run: String,
}

/// What a person sees of a group while it is measured.
struct Shown<'a> {
    progress: &'a ProgressBar,
    remaining: &'a mut Remaining,
    /// The place of the group in the plan.
    group: usize,
}

/// Runs workloads one after the other; fails when a contender answered wrongly in one of them.
pub(crate) fn run_all(runs: &[Run]) -> Outcome<ExitCode> {
    let mut code = ExitCode::SUCCESS;
    for Run { workload, choice } in runs {
        if !run(*workload, choice)? {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

/// Runs a workload; whether all that was answered was right.
fn run(workload: &'static dyn Workload, choice: &Choice) -> Outcome<bool> {
    let scratch = Scratch::new(&choice.out)?;
    let stamp = Stamp { machine: machine::describe(), commit: machine::commit(), run: run_name() };
    introduce(workload, choice, &stamp)?;
    let groups = workload.plan(choice);
    let progress = progress_over(&groups);
    let mut remaining = Remaining::new(&groups);
    let mut records = missing(workload, choice, &stamp);
    record::append(&choice.out, workload.name(), &records)?;
    for (number, group) in groups.iter().enumerate() {
        let shown = Shown { progress: &progress, remaining: &mut remaining, group: number };
        let measured = measure(workload, group, &scratch, &stamp, shown)?;
        record::append(&choice.out, workload.name(), &measured)?;
        progress.suspend(|| print_group(workload.view(), &group.title, &measured))?;
        records.extend(measured);
    }
    progress.finish_and_clear();
    let mut out = io::stdout().lock();
    table::print_figures(&mut out, &workload.figures(&records))?;
    table::print_skipped(&mut out, &records)?;
    let page = report::write(&choice.out)?;
    let lines = choice.out.join(Record::file_name(workload.name()));
    writeln!(out, "records: {}\nreport:  {}", lines.display(), page.display())?;
    Ok(records.iter().all(|record| record.verified != Some(false)))
}

fn introduce(workload: &dyn Workload, choice: &Choice, stamp: &Stamp) -> Outcome<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{}: {}", workload.name(), workload.summary())?;
    writeln!(out, "machine: {}", stamp.machine)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    if let Some(load) = machine::load().filter(|&load| load > cores as f64 * 0.5) {
        writeln!(
            out,
            "others use this machine (load {load:.1} on {cores} cores): trust ratios of CPU time"
        )?;
    }
    let cores = match workload.view() {
        View::Phases | View::Returns | View::Bursts | View::BySize => "pinned",
        View::OverReaders | View::TimeSeries => "not pinned",
        View::Levels => "pinned but where threads commit",
    };
    writeln!(out, "rounds: {}, interleaved; one process per case, {cores}", choice.rounds)?;
    Ok(())
}

fn print_group(view: View, title: &str, records: &[Record]) -> Outcome<()> {
    let out = &mut io::stdout();
    match view {
        View::Phases => table::print_group(out, title, records),
        View::OverReaders => grid::print_group(out, title, records),
        View::TimeSeries => time_series::print_group(out, title, records),
        View::Levels => text_table::print_group_of_levels(out, title, records),
        View::Returns => text_table::print_group_of_returns(out, title, records),
        View::Bursts => bursts::print_group(out, title, records),
        View::BySize => by_size::print_group(out, title, records),
    }
}

/// A record for every contender that is not installed.
fn missing(workload: &dyn Workload, choice: &Choice, stamp: &Stamp) -> Vec<Record> {
    let absent = choice.contenders.iter().filter_map(|contender| {
        let Missing { reason, install } = contender.missing?;
        Some(Record {
            workload: workload.name().to_owned(),
            contender: contender.name.to_owned(),
            version: (contender.version)(),
            skipped: Some(format!("{reason}; install: {install}")),
            machine: stamp.machine.clone(),
            commit: stamp.commit.clone(),
            run: stamp.run.clone(),
            ..Record::default()
        })
    });
    absent.collect()
}

fn measure(
    workload: &dyn Workload,
    group: &Group,
    scratch: &Scratch,
    stamp: &Stamp,
    shown: Shown<'_>,
) -> Outcome<Vec<Record>> {
    let mut samples = vec![Samples::default(); group.cases.len()];
    for round in 0..group.rounds {
        let mut order: Vec<usize> = (0..group.cases.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for place in order {
            let case = &group.cases[place];
            let label = case.setting.label(case.contender.name);
            let (promise, medium) = (case.setting.promise, case.setting.medium);
            shown.progress.set_message(format!(
                "{}: {}, round {} of {}: {label} {promise}/{medium}",
                shown.remaining.words(),
                group.title,
                round + 1,
                group.rounds,
            ));
            let begin = Instant::now();
            if !samples[place].failed() {
                match measure_cell(workload, case, scratch) {
                    Ok(lines) => samples[place].add(lines),
                    Err(failure) => samples[place].fail(failure.to_string()),
                }
            }
            shown.remaining.took(shown.group, place, begin.elapsed());
            shown.progress.inc(1);
        }
    }
    let cases = group.cases.iter().zip(&samples);
    Ok(cases.flat_map(|(case, samples)| samples.records(&about(workload, case, stamp))).collect())
}

fn measure_cell(workload: &dyn Workload, case: &Case, scratch: &Scratch) -> Outcome<Vec<Line>> {
    let directory = scratch.directory(case.setting.medium)?;
    case::measure_in_child(&CaseRequest {
        workload: workload.name().to_owned(),
        contender: case.contender.name.to_owned(),
        variant: case.setting.variant.to_owned(),
        promise: case.setting.promise,
        medium: case.setting.medium,
        rows: case.rows,
        readers: case.readers,
        per_transaction: case.per_transaction,
        parameters: case.parameters.clone(),
        seconds_max: case.seconds_max,
        directory: directory.as_ref().map(|directory| directory.path().to_path_buf()),
        core: if case.pinned { Some(clock::last_core()?) } else { None },
    })
}

/// The fields of a record that are known before anything is measured.
fn about(workload: &dyn Workload, case: &Case, stamp: &Stamp) -> Record {
    Record {
        workload: workload.name().to_owned(),
        contender: case.setting.label(case.contender.name),
        version: (case.contender.version)(),
        setting: Some(case.setting.promise),
        medium: Some(case.setting.medium),
        rows: Some(case.rows),
        readers: Some(case.readers),
        per_transaction: Some(case.per_transaction),
        note: case.setting.note.to_owned(),
        machine: stamp.machine.clone(),
        commit: stamp.commit.clone(),
        run: stamp.run.clone(),
        extra: case.parameters.clone(),
        ..Record::default()
    }
}

fn progress_over(groups: &[Group]) -> ProgressBar {
    let rounds = |group: &Group| group.cases.len() as u64 * u64::from(group.rounds);
    let cases = groups.iter().map(rounds).sum();
    let style = ProgressStyle::with_template("{bar:28} {pos}/{len} {elapsed} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let progress = ProgressBar::new(cases).with_style(style);
    progress.enable_steady_tick(Duration::from_millis(500));
    progress
}

/// When the run began, and its process, so that two runs of one second differ.
fn run_name() -> String {
    let moment = humantime::format_rfc3339_seconds(SystemTime::now());
    format!("{moment} {}", std::process::id())
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
