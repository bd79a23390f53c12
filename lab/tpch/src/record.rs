//! What was measured, and its lines of JSON in the laboratory's format.
//!
//! A record whose answers were wrong says so and carries no time.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use lab_harness::Outcome;
use serde_json::{Value, json};

use crate::protocol::{ReadingNs, Reply};

/// What all records of a run have.
pub(crate) struct Header {
    /// Which benchmark.
    pub(crate) workload: &'static str,
    pub(crate) title: &'static str,
    pub(crate) machine: String,
    pub(crate) commit: String,
    pub(crate) run: String,
    pub(crate) rounds: u32,
    /// Threads that a query may have.
    pub(crate) threads: usize,
    /// The most memory of each contender that can be told, if there is such a limit.
    pub(crate) budget: Option<u64>,
    /// Bytes that the device of paged tables gives in a second, if that is said.
    pub(crate) device: Option<u64>,
    /// Which data.
    pub(crate) data: &'static str,
}

/// One contender's query.
pub(crate) struct Cell {
    pub(crate) contender: &'static str,
    pub(crate) medium: &'static str,
    pub(crate) note: &'static str,
    pub(crate) version: String,
    pub(crate) query: usize,
    /// Rows of the answer.
    pub(crate) rows: usize,
    /// Which part of the plan's operators are the contender's own, where others are a library's.
    pub(crate) native: Option<f64>,
    /// Why there is no time.
    pub(crate) wrong: Option<String>,
    pub(crate) wall_ns: Vec<f64>,
    pub(crate) cpu_ns: Vec<f64>,
    /// Of the last round: bytes from the device, and of columns that came back to memory.
    pub(crate) device_bytes: Option<u64>,
    pub(crate) column_bytes: Option<u64>,
    pub(crate) reading: ReadingNs,
}

/// One contender's loading.
pub(crate) struct Loaded {
    pub(crate) contender: &'static str,
    pub(crate) medium: &'static str,
    pub(crate) note: &'static str,
    pub(crate) version: String,
    pub(crate) text_bytes: u64,
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) held_bytes: Option<u64>,
    pub(crate) disk_bytes: Option<u64>,
}

/// A contender that could not be measured.
pub(crate) struct Skipped {
    pub(crate) contender: &'static str,
    pub(crate) reason: String,
}

/// What one scale gave.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) loaded: Vec<Loaded>,
    pub(crate) cells: Vec<Cell>,
    pub(crate) skipped: Vec<Skipped>,
}

impl Cell {
    pub(crate) fn add(&mut self, reply: &Reply) {
        self.wall_ns.push(reply.wall_ns as f64);
        self.cpu_ns.push(reply.cpu_ns as f64);
        (self.device_bytes, self.column_bytes) = (reply.device_bytes, reply.column_bytes);
        self.reading = reply.reading;
    }

    /// The middle time, if the answer was right: of one thread what it took of its core, of several
    /// what passed on the clock.
    pub(crate) fn ms(&self, threads: usize) -> Option<f64> {
        let (_, median, _) = spread(if threads == 1 { &self.cpu_ns } else { &self.wall_ns })?;
        self.wrong.is_none().then_some(median / 1e6)
    }
}

/// Appends everything to the workload's file.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn append(out: &Path, header: &Header, scale: f64, results: &Results) -> Outcome<()> {
    let mut text = String::new();
    let loaded = results.loaded.iter().map(|loaded| of_loading(header, scale, loaded));
    let cells = results.cells.iter().map(|cell| of_query(header, scale, cell));
    let skipped = results.skipped.iter().map(|skipped| of_skipped(header, scale, skipped));
    for record in loaded.chain(cells).chain(skipped) {
        text.push_str(&record.to_string());
        text.push('\n');
    }
    let path = out.join(format!("{}.jsonl", header.workload));
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())?;
    Ok(())
}

fn of_query(header: &Header, scale: f64, cell: &Cell) -> Value {
    let mut record = json!({
        "workload": header.workload, "contender": cell.contender, "version": cell.version,
        "setting": "memory", "medium": cell.medium, "phase": "query", "query": cell.query,
        "scale": scale, "data": header.data, "rows": cell.rows, "rounds": header.rounds,
        "threads": header.threads, "verified": cell.wrong.is_none(),
        "machine": header.machine, "commit": header.commit, "run": header.run,
        "note": cell.wrong.clone().unwrap_or_else(|| cell.note.to_owned()),
    });
    if let Some(budget) = header.budget {
        record["budget_bytes"] = json!(budget);
    }
    if let Some(native) = cell.native {
        record["native"] = json!((native * 1e3).round() / 1e3);
    }
    if let Some((device, columns)) = cell.device_bytes.zip(cell.column_bytes) {
        record["device_bytes"] = json!(device);
        record["column_bytes"] = json!(columns);
    }
    let ReadingNs { waiting_ns, unpacking_ns, device_ns } = cell.reading;
    let reading = [
        ("waiting_ns", waiting_ns),
        ("unpacking_ns", unpacking_ns),
        ("device_ns", device_ns),
        ("device_bytes_per_second", device_ns.and(header.device)),
    ];
    for (name, number) in reading {
        if let Some(number) = number {
            record[name] = json!(number);
        }
    }
    if cell.wrong.is_none() {
        record["wall_ns_per_op"] = spread_of(&cell.wall_ns);
        record["cpu_ns_per_op"] = spread_of(&cell.cpu_ns);
    }
    record
}

fn of_loading(header: &Header, scale: f64, loaded: &Loaded) -> Value {
    let seconds = |ns: u64| (ns as f64 / 1e6).round() / 1e3;
    let mut record = json!({
        "workload": header.workload, "contender": loaded.contender, "version": loaded.version,
        "setting": "memory", "medium": loaded.medium, "phase": "load", "scale": scale,
        "data": header.data, "rounds": 1, "wall_s": seconds(loaded.wall_ns),
        "cpu_s": seconds(loaded.cpu_ns), "data_bytes": loaded.text_bytes,
        "verified": true, "note": loaded.note,
        "machine": header.machine, "commit": header.commit, "run": header.run,
    });
    if let Some(held) = loaded.held_bytes {
        record["held_bytes"] = json!(held);
        record["bytes_per_data_byte"] = json!(held as f64 / loaded.text_bytes as f64);
    }
    if let Some(bytes) = loaded.disk_bytes {
        record["disk_bytes"] = json!(bytes);
    }
    record
}

fn of_skipped(header: &Header, scale: f64, skipped: &Skipped) -> Value {
    json!({
        "workload": header.workload, "contender": skipped.contender, "scale": scale,
        "data": header.data, "skipped": skipped.reason, "machine": header.machine,
        "commit": header.commit, "run": header.run,
    })
}

/// The least, the middle and the greatest of some samples.
pub(crate) fn spread_of(samples: &[f64]) -> Value {
    match spread(samples) {
        Some((min, median, max)) => json!({"min": min, "median": median, "max": max}),
        None => Value::Null,
    }
}

fn spread(samples: &[f64]) -> Option<(f64, f64, f64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let middle = sorted.len() / 2;
    let median = match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    };
    Some((first, median, last))
}
