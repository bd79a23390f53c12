//! `cargo xtask planted [--all|--changed|--record|NAME..]`: bugs put into a copy of the workspace,
//! one at a time, and whether the check that has to find each does.
//!
//! The lists are `crates/simulator/planted.toml`, of bugs of the engine, and
//! `crates/sql/planted.toml`, of what stands on DataFusion. The copy and what is built of it lie in
//! `target/planted` and are kept, so that from one bug to the next little is compiled. A text that
//! is not found exactly once, a bug that does not compile or is not found, and a copy without bug
//! that fails a check all fail the command. Without a word it plants the bugs that were touched
//! since all were found; `--record` plants all, or all of one list, and writes that down.

mod check;
mod choice;
mod copy;
mod foreign;
mod list;
mod page;
mod test_target;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::outcome::Outcome;
use crate::part::Part;
use check::{Check, Kind, Verdict};
use choice::Choice;
use copy::Copy;

pub(crate) use list::{Bug, read};

/// A list of bugs, and a table of the page.
#[derive(Clone, Copy)]
pub(crate) struct List {
    pub(crate) path: &'static str,
    /// Its place among the tables of the page.
    place: usize,
    /// How many a run of continuous integration plants at most, others each time.
    most: usize,
}

pub(crate) const LISTS: [List; 2] = [
    List { path: "crates/simulator/planted.toml", place: 0, most: 2 },
    List { path: "crates/sql/planted.toml", place: 1, most: 1 },
];

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] | ["--changed"] => plant_all(root, &Choice::Changed, &LISTS).map(|_| ()),
        ["--all"] => plant_all(root, &Choice::All, &LISTS).map(|_| ()),
        ["--record"] => record(root, &LISTS),
        ["--record", "engine"] => record(root, &LISTS[..1]),
        ["--record", "sql"] => record(root, &LISTS[1..]),
        _ => match words.iter().find(|word| word.starts_with('-')) {
            Some(flag) => Err(format!("`{flag}` is none of --all, --changed, --record").into()),
            None => plant_all(root, &Choice::Named(arguments.to_vec()), &LISTS).map(|_| ()),
        },
    }
}

/// What continuous integration plants: the bugs that were touched, and a part of the others.
pub(crate) fn run_part(root: &Path, part: Part) -> Outcome {
    plant_all(root, &Choice::Part(part), &LISTS[..1]).map(|_| ())
}

/// The same of what stands on DataFusion: a few of those that were touched.
pub(crate) fn run_sql_part(root: &Path, part: Part) -> Outcome {
    plant_all(root, &Choice::Part(part), &LISTS[1..]).map(|_| ())
}

/// Plants all bugs of these lists into what is committed, and writes down that they were found.
fn record(root: &Path, lists: &[List]) -> Outcome {
    if !choice::git(root, &["status", "--porcelain", "--", "crates"])?.is_empty() {
        return Err("what is recorded is about a commit: commit `crates` first".into());
    }
    let commit = choice::git(root, &["rev-parse", "--short=12", "HEAD"])?;
    let date = choice::git(root, &["log", "-1", "--format=%cs"])?;
    let tables = plant_all(root, &Choice::All, lists)?;
    let path = root.join(page::PATH);
    let mut text = std::fs::read_to_string(&path)?;
    for (list, table) in lists.iter().zip(&tables) {
        let with = page::with(&text, list.place, table, date.trim(), commit.trim());
        text = with.ok_or_else(|| {
            format!("{} has no table for each list, or no sentence before it", page::PATH)
        })?;
    }
    Ok(std::fs::write(path, text)?)
}

/// Plants what is chosen; of each list the table of what was found.
fn plant_all(
    root: &Path,
    choice: &Choice,
    lists: &[List],
) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let bugs_of = |list: &List| read(&std::fs::read_to_string(root.join(list.path))?);
    let bugs: Vec<Vec<Bug>> = lists.iter().map(bugs_of).collect::<Result<_, _>>()?;
    let names: Vec<&str> = bugs.iter().flatten().map(|bug| bug.name.as_str()).collect();
    if let Some(name) = choice.unknown(&names) {
        return Err(format!("there is no bug `{name}`").into());
    }
    let copy = Copy::refresh(root)?;
    // Of all, since a text that is gone is quickly found.
    for bug in bugs.iter().flatten() {
        bug.edits.iter().try_for_each(|edit| copy.planted_text(edit).map(|_| ()))?;
    }
    let mut tables = Vec::new();
    let mut missed = Vec::new();
    for (list, bugs) in lists.iter().zip(&bugs) {
        let (table, of_list) = plant_list(&copy, *list, bugs, &choice.of(bugs, *list, root))?;
        tables.push(table);
        missed.extend(of_list);
    }
    match missed.is_empty() {
        true => Ok(tables),
        false => Err(format!("{} bugs not found: {}", missed.len(), missed.join(", ")).into()),
    }
}

/// Plants bugs of one list: the table of what was found, and the names of what was not.
fn plant_list(
    copy: &Copy,
    list: List,
    all: &[Bug],
    bugs: &[&Bug],
) -> Result<(String, Vec<String>), Box<dyn std::error::Error>> {
    println!("planted: {} of {} bugs of {}", bugs.len(), all.len(), list.path);
    let start = Instant::now();
    let mut rows = Vec::new();
    let mut missed = Vec::new();
    for bug in bugs {
        let begin = Instant::now();
        let verdict = plant(copy, bug)?;
        let seconds = begin.elapsed().as_secs_f64();
        println!("planted: {}: {} ({seconds:.1} s)", bug.name, verdict.shown());
        if !matches!(verdict, Verdict::Found { .. }) {
            missed.push(bug.name.clone());
        }
        rows.push((*bug, verdict));
    }
    check_unplanted(copy, &rows)?;
    let table = table(&rows);
    if !rows.is_empty() {
        print!("{table}");
    }
    let (found, seconds) = (rows.len() - missed.len(), start.elapsed().as_secs_f64());
    println!("planted: {found} of {} bugs found, in {seconds:.1} s", rows.len());
    Ok((table, missed))
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
