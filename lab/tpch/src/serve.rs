//! The measured process of an engine that is linked in: answers requests until there are no more.
//!
//! Rows become text after the clock has been read.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use datafusion::arrow::array::Array;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use lab_harness::{Clock, Footprint, Outcome};

use crate::answer::Answer;
use crate::contenders::{self, Engine, Reading, Setting};
use crate::data::Data;
use crate::protocol::{Hello, ReadingNs, Reply, Request};

/// Serves a contender over the data of a folder.
///
/// # Errors
///
/// When the lines cannot be read or written; what the engine reports is a reply.
pub(crate) fn serve(name: &str, data: &Data, setting: &Setting) -> Outcome<()> {
    let contender = contenders::find(name)?;
    let mut engine = contender.open(setting)?;
    let mut out = io::stdout().lock();
    say(&mut out, &Hello { version: contender.version().unwrap_or_default() })?;
    for line in io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let reply = answer(engine.as_mut(), data, &request)
            .unwrap_or_else(|error| Reply { error: Some(error.to_string()), ..Reply::default() });
        say(&mut out, &reply)?;
    }
    Ok(())
}

fn say(out: &mut dyn Write, line: &impl serde::Serialize) -> Outcome<()> {
    writeln!(out, "{}", serde_json::to_string(line)?)?;
    out.flush()?;
    Ok(())
}

fn answer(engine: &mut dyn Engine, data: &Data, request: &Request) -> Outcome<Reply> {
    match request {
        Request::Load { .. } => {
            let footprint = Footprint::begin(None)?;
            let clock = Clock::start();
            engine.load(data)?;
            let took = clock.elapsed();
            let held_bytes = Some(footprint.held_bytes()?);
            engine.prepare(data)?;
            Ok(Reply {
                wall_ns: took.wall_ns,
                cpu_ns: took.cpu_ns,
                held_bytes,
                disk_bytes: engine.disk_bytes(),
                ..Reply::default()
            })
        }
        Request::Query { query, rows } => {
            engine.before_query()?;
            let (device, columns) = (device_bytes(), engine.column_bytes());
            let reading = engine.reading();
            let clock = Clock::start();
            let batches = engine.query(query)?;
            let took = clock.elapsed();
            let since = |now: Option<u64>, then: Option<u64>| Some(now? - then?);
            let column_bytes = since(engine.column_bytes(), columns);
            let mut reply = Reply {
                wall_ns: took.wall_ns,
                cpu_ns: took.cpu_ns,
                device_bytes: column_bytes.and(since(device_bytes(), device)),
                column_bytes,
                reading: reading_between(reading, engine.reading()),
                ..Reply::default()
            };
            if *rows {
                reply.rows = Some(text(&batches)?);
                reply.native = engine.native(query)?;
            }
            Ok(reply)
        }
    }
}

/// For how long columns were read from one moment to another.
fn reading_between(then: Option<Reading>, now: Option<Reading>) -> ReadingNs {
    let Some((then, now)) = then.zip(now) else { return ReadingNs::default() };
    let ns = |then: Duration, now: Duration| (now - then).as_nanos() as u64;
    ReadingNs {
        waiting_ns: Some(ns(then.waiting, now.waiting)),
        unpacking_ns: Some(ns(then.unpacking, now.unpacking)),
        device_ns: then.device.zip(now.device).map(|(then, now)| ns(then, now)),
    }
}

/// Bytes that this process has had read from devices.
fn device_bytes() -> Option<u64> {
    let io = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = io.lines().find_map(|line| line.strip_prefix("read_bytes: "))?;
    line.trim().parse().ok()
}

/// The rows of an answer as text.
///
/// # Errors
///
/// When a value cannot be shown.
pub(crate) fn text(batches: &[RecordBatch]) -> Outcome<Answer> {
    // As Python shows them.
    let options = FormatOptions::default().with_timestamp_format(Some("%Y-%m-%d %H:%M:%S"));
    let mut rows = Vec::new();
    for batch in batches {
        let columns = batch.columns().iter();
        let shown: Vec<ArrayFormatter<'_>> = columns
            .map(|column| ArrayFormatter::try_new(column, &options))
            .collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().zip(&shown);
            let values = values
                .map(|(column, shown)| column.is_valid(row).then(|| shown.value(row).to_string()));
            rows.push(values.collect());
        }
    }
    Ok(Answer(rows))
}
