//! `remanent dump-log DIR [--rows]`: the log of a database, an entry a line.
//!
//! The log is only read, and not applied to anything: tables are known by name as soon as the log
//! has created them, and by number before. An end that is damaged ends the run with 1.

use std::collections::HashMap;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;

use remanent_engine::{Database, LogEntry, LogEntryKind, LogOperation};

use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::{Source, refused};

const FLAG_NAMES: [&str; 2] = ["rows", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("dump-log", &FLAG_NAMES)?;
    let [path] = flags.words(["the folder of a database"])?;
    let source = Source::open(path)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut dump = Dump { shows_rows: flags.rows, names: HashMap::new() };
    let mut failed = None;
    let damage =
        Database::read_log(&source.folder, &mut |entry| match dump.entry(&mut out, entry) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        });
    match failed.or(out.flush().err()) {
        // Who reads has read enough.
        Some(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
        Some(error) => return Err(Failure::Refused(format!("error: standard output: {error}"))),
        None => {}
    }
    match damage.map_err(refused)? {
        None => Ok(()),
        Some(damage) => Err(Failure::Refused(format!("damaged: {damage}"))),
    }
}

struct Dump {
    shows_rows: bool,
    /// The names of tables, as far as the log has said them.
    names: HashMap<u32, String>,
}

impl Dump {
    fn entry(&mut self, out: &mut dyn Write, entry: &LogEntry<'_>) -> std::io::Result<()> {
        let (file, offset) = (entry.file, entry.offset);
        write!(out, "{file} {offset:>8}  ")?;
        match entry.kind {
            LogEntryKind::Commit { timestamp, is_whole: false, .. } => {
                write!(out, "commit {timestamp}: its first part is not there any more")?;
            }
            LogEntryKind::Commit { timestamp, first, .. } => {
                let words = self.definitions(entry).into_iter().chain(counts(entry));
                let words: Vec<_> = words.collect();
                let words = if words.is_empty() { "nothing".to_owned() } else { words.join(", ") };
                write!(out, "commit {timestamp}: {words}")?;
                if let Some(first) = first {
                    write!(out, ", in parts from position {first} on")?;
                }
            }
            LogEntryKind::Part { first, bytes } => {
                write!(out, "part of a transaction, {bytes} bytes, from position {first} on")?;
            }
            LogEntryKind::Definition { timestamp, table, name, words } => {
                if let Some(name) = name {
                    self.names.insert(table, name.to_owned());
                }
                write!(out, "commit {timestamp}: {}: {words}", self.table(table))?;
            }
            LogEntryKind::Time { time_us } => {
                match jiff::Timestamp::from_microsecond(time_us as i64) {
                    Ok(time) => write!(out, "time {time}")?,
                    Err(_) => write!(out, "time {time_us} microseconds")?,
                }
            }
            LogEntryKind::Close => write!(out, "closed")?,
            LogEntryKind::Entry { term, index } => {
                write!(out, "entry {index} of term {term}")?;
            }
            _ => write!(out, "something newer than this program")?,
        }
        writeln!(out, "{}", if entry.synced_before { "; all before it was synced" } else { "" })?;
        if self.shows_rows {
            self.rows(out, entry)?;
        }
        Ok(())
    }

    /// The changes of tables and indexes in a commit, in words.
    fn definitions(&mut self, entry: &LogEntry<'_>) -> Vec<String> {
        let defined = entry.operations().flatten().filter_map(|it| it.definition());
        let mut lines = Vec::new();
        for (table, name, words) in defined {
            if let Some(name) = name {
                self.names.insert(table, name);
            }
            lines.push(format!("{}: {words}", self.table(table)));
        }
        lines
    }

    fn rows(&self, out: &mut dyn Write, entry: &LogEntry<'_>) -> std::io::Result<()> {
        for operation in entry.operations() {
            let (table, row, what) = match operation {
                Err(error) => {
                    writeln!(out, "    {error}")?;
                    continue;
                }
                Ok(LogOperation::Insert { table, row, bytes }) => {
                    (table, row, format!("insert, {} bytes", bytes.len()))
                }
                Ok(LogOperation::Update { table, row, bytes }) => {
                    (table, row, format!("update, {} bytes", bytes.len()))
                }
                Ok(LogOperation::Patch { table, row, first, last, bytes }) => {
                    let length = bytes.len();
                    (table, row, format!("change of {length} bytes between {first} and {last}"))
                }
                Ok(LogOperation::Old { table, row, bytes }) => {
                    (table, row, format!("before, {} bytes", bytes.len()))
                }
                Ok(LogOperation::Delete { table, row }) => (table, row, "delete".to_owned()),
                Ok(_) => continue,
            };
            writeln!(out, "    {} row {row}: {what}", self.table(table))?;
        }
        Ok(())
    }

    fn table(&self, id: u32) -> String {
        match self.names.get(&id) {
            Some(name) => format!("table {id} ({name})"),
            None => format!("table {id}"),
        }
    }
}

/// How many rows a commit changes, in words; none if it changes none.
fn counts(entry: &LogEntry<'_>) -> Option<String> {
    let (mut inserts, mut updates, mut deletes) = (0_u64, 0_u64, 0_u64);
    for operation in entry.operations().flatten() {
        match operation {
            LogOperation::Insert { .. } => inserts += 1,
            LogOperation::Delete { .. } => deletes += 1,
            LogOperation::Define { .. } | LogOperation::Old { .. } => {}
            _ => updates += 1,
        }
    }
    let counted = [(inserts, "inserts"), (updates, "updates"), (deletes, "deletes")];
    let words = counted.iter().filter(|(count, _)| *count > 0);
    let words: Vec<_> = words.map(|(count, what)| format!("{count} {what}")).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn help() -> String {
    format!(
        "Prints the log of a database: file and byte, then what stands there\n\n\
         usage: remanent dump-log DIR [flags]\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if the log is damaged, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
