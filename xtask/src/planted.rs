//! `cargo xtask planted [--all|--changed|--record|NAME..]`: bugs put into a copy of the engine, one
//! at a time, and whether the check that has to find each does.
//!
//! The list is `crates/simulator/planted.toml`. The copy and what is built of it lie in
//! `target/planted` and are kept, so that from one bug to the next only the engine is compiled. A
//! text that is not found exactly once, a bug that does not compile or is not found, and a copy
//! without bug that fails a check all fail the command. Without a word it plants the bugs that were
//! touched since all were found; `--record` plants all and writes that down.

mod check;
mod choice;
mod copy;
mod list;
mod page;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::Outcome;
use crate::ci::Part;
use check::{Check, Kind, Verdict};
use choice::Choice;
use copy::Copy;
use list::Bug;

const LIST: &str = "crates/simulator/planted.toml";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["--changed"] => plant_all(root, &Choice::Changed).map(|_| ()),
        ["--all"] => plant_all(root, &Choice::All).map(|_| ()),
        ["--record"] => record(root),
        _ => match words.iter().find(|word| word.starts_with('-')) {
            Some(flag) => Err(format!("`{flag}` is none of --all, --changed, --record").into()),
            None => plant_all(root, &Choice::Named(arguments.to_vec())).map(|_| ()),
        },
    }
}

/// What continuous integration plants: the bugs that were touched, and a part of the others.
pub(crate) fn run_part(root: &Path, part: Part) -> Outcome {
    plant_all(root, &Choice::Part(part)).map(|_| ())
}

/// Plants all bugs of what is committed, and writes down that they were found.
fn record(root: &Path) -> Outcome {
    if !choice::git(root, &["status", "--porcelain", "--", "crates"])?.is_empty() {
        return Err("what is recorded is about a commit: commit `crates` first".into());
    }
    let commit = choice::git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let date = choice::git(root, &["log", "-1", "--format=%cs"])?;
    let table = plant_all(root, &Choice::All)?;
    let path = root.join(page::PATH);
    let text = std::fs::read_to_string(&path)?;
    let text = page::with(&text, &table, date.trim(), commit.trim())
        .ok_or_else(|| format!("{} has no table or no sentence to replace", page::PATH))?;
    Ok(std::fs::write(path, text)?)
}

/// Plants what is chosen; the table of what was found.
fn plant_all(root: &Path, choice: &Choice) -> Result<String, Box<dyn std::error::Error>> {
    let bugs = list::read(&std::fs::read_to_string(root.join(LIST))?)?;
    let copy = Copy::refresh(root)?;
    // Of all, since a text that is gone is quickly found.
    for bug in &bugs {
        bug.edits.iter().try_for_each(|edit| copy.planted_text(edit).map(|_| ()))?;
    }
    let count = bugs.len();
    let bugs = choice.of(&bugs, root)?;
    println!("planted: {} of {count} bugs", bugs.len());
    let start = Instant::now();
    let mut rows = Vec::new();
    let mut missed = Vec::new();
    for bug in &bugs {
        let begin = Instant::now();
        let verdict = plant(&copy, bug)?;
        let seconds = begin.elapsed().as_secs_f64();
        println!("planted: {}: {} ({seconds:.1} s)", bug.name, verdict.shown());
        if !matches!(verdict, Verdict::Found { .. }) {
            missed.push(bug.name.as_str());
        }
        rows.push((*bug, verdict));
    }
    check_unplanted(&copy, &rows)?;
    let table = table(&rows);
    print!("{table}");
    let seconds = start.elapsed().as_secs_f64();
    if missed.is_empty() {
        println!("planted: {} of {} bugs found, in {seconds:.1} s", rows.len(), rows.len());
        return Ok(table);
    }
    let (count, names) = (missed.len(), missed.join(", "));
    Err(format!("{count} of {} bugs not found, in {seconds:.1} s: {names}", rows.len()).into())
}

/// Every check that has found a bug must pass without one, for as long as it took to find it.
fn check_unplanted(copy: &Copy, rows: &[(&Bug, Verdict)]) -> Outcome {
    let mut checks: BTreeMap<(Kind, &str), u64> = BTreeMap::new();
    for (bug, verdict) in rows {
        let Check { kind, what, count } = &bug.check;
        let needed = match verdict {
            // Histories of threads differ from run to run.
            Verdict::Found { needed: Some(needed), .. } if *kind != Kind::Threads => *needed,
            _ => *count,
        };
        let most = checks.entry((*kind, what)).or_default();
        *most = needed.max(*most);
    }
    for ((kind, what), count) in checks {
        let check = Check { kind, what: what.to_owned(), count };
        let begin = Instant::now();
        let verdict = check.run(copy)?;
        let seconds = begin.elapsed().as_secs_f64();
        if let Verdict::Found { after, .. } = verdict {
            return Err(format!("without any bug, {} fails: {after}", check.shown()).into());
        }
        println!("planted: nothing: {} passes ({seconds:.1} s)", check.shown());
    }
    Ok(())
}

/// Checks the copy with a bug in it.
fn plant(copy: &Copy, bug: &Bug) -> Result<Verdict, Box<dyn std::error::Error>> {
    for edit in &bug.edits {
        copy.write(&edit.file, &copy.planted_text(edit)?)?;
    }
    let verdict = bug.check.run(copy);
    for edit in &bug.edits {
        copy.restore(&edit.file)?;
    }
    verdict.map_err(|error| format!("with the bug `{}`: {error}", bug.name).into())
}

/// The table as `docs/planted-bugs.md` has it.
fn table(rows: &[(&Bug, Verdict)]) -> String {
    let names: Vec<String> = rows.iter().map(|(bug, _)| bug.check.name()).collect();
    let cells = rows.iter().zip(&names);
    let cells = cells.map(|((bug, verdict), check)| {
        [bug.name.as_str(), bug.breaks.as_str(), check.as_str(), verdict.shown()]
    });
    page::table(&cells.collect::<Vec<_>>())
}
