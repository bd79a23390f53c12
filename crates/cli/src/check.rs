//! `remanent check DIR`: what a database holds, and what of it is damaged.
//!
//! The database is read into memory as opening it would, and every index is compared with the
//! rows. Nothing in the folder is changed. What it holds goes to standard output; what is wrong,
//! definitions of SQL that cannot be read included, is why the run ends with 1.

mod index_check;

use std::fmt::Write;

use remanent_engine::schema::IndexKind;
use remanent_engine::{Database, RecoverUntil, Storage, Table};

use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::{Source, options, refused};
use crate::{set_aside, sizes};

const FLAG_NAMES: [&str; 2] = ["memory", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("check", &FLAG_NAMES)?;
    let [path] = flags.words(["the folder of a database"])?;
    let options = options(flags)?;
    let source = Source::open(path)?;
    let mut wrong = Vec::new();
    answer(&files(&source, &mut wrong)?)?;
    match source.recover(options, RecoverUntil::End) {
        Ok(db) => {
            wrong.extend(db.damage().map(ToString::to_string));
            answer(&content(&db, &mut wrong).map_err(refused)?)?;
            wrong.extend(set_aside::of(db));
        }
        Err(Failure::Refused(text)) => wrong.push(text.trim_start_matches("error: ").to_owned()),
        Err(usage) => return Err(usage),
    }
    if wrong.is_empty() {
        return answer("nothing is damaged\n");
    }
    let lines: Vec<_> = wrong.iter().map(|what| format!("damaged: {what}")).collect();
    Err(Failure::Refused(lines.join("\n")))
}

/// The files of the database, one a line.
fn files(source: &Source, wrong: &mut Vec<String>) -> Result<String, Failure> {
    let mut text = String::new();
    for image in Database::images(&source.folder).map_err(refused)? {
        let state = if image.damage.is_some() { ", damaged" } else { "" };
        let (name, size) = (&image.name, sizes::shown(image.bytes));
        // Writing to a text does not fail.
        let _ = writeln!(text, "image {name}: {size}, up to commit {}{state}", image.timestamp);
        wrong.extend(image.damage.map(|damage| format!("{name}: {damage}")));
    }
    let names = || {
        let mut names = source.folder.names()?;
        names.sort();
        let is_log = |name: &String| name.starts_with("log-") && name != "log-head";
        let log = names.into_iter().filter(is_log);
        log.map(|name| Ok((source.folder.open(&name)?.len()?, name))).collect()
    };
    let logs: std::io::Result<Vec<(u64, String)>> = names();
    let logs = logs.map_err(|error| Failure::Refused(format!("error: {error}")))?;
    let bytes: u64 = logs.iter().map(|(bytes, _)| bytes).sum();
    if let [(_, first), ..] = &logs[..] {
        let size = sizes::shown(bytes);
        let _ = writeln!(text, "log: {} files from {first} on, {size}", logs.len());
    }
    Ok(text)
}

/// The tables with their rows and indexes, one a line.
fn content(db: &Database, wrong: &mut Vec<String>) -> remanent_engine::Result<String> {
    let mut text = format!("last commit: {}\n", db.begin_read()?.timestamp());
    let sets = db.set_names();
    for name in db.table_names() {
        let (table, kind) = match sets.contains(&name) {
            true => (db.set(&name)?.relation().clone(), "set"),
            false => (db.table(&name)?, "table"),
        };
        let rows = db.begin_read()?.scan(&table)?.count();
        let of = if kind == "set" { "members" } else { "rows" };
        let _ = writeln!(text, "{kind} {name}: {rows} {of}{}", indexes(&table)?);
        wrong.extend(index_check::check(db, &table)?);
    }
    let memory = sizes::shown(db.memory().held);
    let _ = writeln!(text, "memory: {memory}");
    Ok(text)
}

fn indexes(table: &Table) -> remanent_engine::Result<String> {
    let mut text = String::new();
    for (name, handle) in table.indexes() {
        let kind = match table.index_schema(handle)?.kind {
            IndexKind::Ordered => "ordered",
            IndexKind::Hash => "hash",
        };
        let _ = write!(text, ", index {name} ({kind})");
    }
    Ok(text)
}

fn help() -> String {
    format!(
        "Reads a database and says what it holds and what is damaged\n\n\
         usage: remanent check DIR [flags]\n\n\
         Nothing in the folder is changed. The database is read into memory, which has to hold\n\
         it; every index is compared with the rows.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if anything is damaged, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
