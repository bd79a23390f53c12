//! `cargo xtask planted [NAME..]`: bugs put into a copy of the engine, one at a time, and whether
//! the check that has to find each does.
//!
//! The list is `crates/simulator/planted.toml`. The copy and what is built of it lie in
//! `target/planted` and are kept, so that from one bug to the next only the engine is compiled. A
//! text that is not found exactly once, a bug that does not compile or is not found, and a copy
//! without bug that fails a check all fail the command.

mod check;
mod copy;
mod list;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use crate::Outcome;
use check::{Check, Kind, Verdict};
use copy::Copy;
use list::Bug;

const LIST: &str = "crates/simulator/planted.toml";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let bugs = list::read(&std::fs::read_to_string(root.join(LIST))?)?;
    let bugs = chosen(&bugs, arguments)?;
    let copy = Copy::refresh(root)?;
    for bug in &bugs {
        bug.edits.iter().try_for_each(|edit| copy.planted_text(edit).map(|_| ()))?;
    }
    let start = Instant::now();
    check_unplanted(&copy, &bugs)?;
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
    print!("{}", table(&rows));
    let seconds = start.elapsed().as_secs_f64();
    if missed.is_empty() {
        println!("planted: {} of {} bugs found, in {seconds:.1} s", rows.len(), rows.len());
        return Ok(());
    }
    let (count, names) = (missed.len(), missed.join(", "));
    Err(format!("{count} of {} bugs not found, in {seconds:.1} s: {names}", rows.len()).into())
}

fn chosen<'b>(bugs: &'b [Bug], names: &[String]) -> Result<Vec<&'b Bug>, String> {
    let is_known = |name: &&String| bugs.iter().any(|bug| bug.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("there is no bug `{name}` in {LIST}"));
    }
    let is_chosen = |bug: &&Bug| names.is_empty() || names.contains(&bug.name);
    Ok(bugs.iter().filter(is_chosen).collect())
}

/// Every check that is made of a bug must pass without one, as often as it is ever made.
fn check_unplanted(copy: &Copy, bugs: &[&Bug]) -> Outcome {
    let mut checks: BTreeMap<(Kind, &str), u64> = BTreeMap::new();
    for Check { kind, what, count } in bugs.iter().map(|bug| &bug.check) {
        let most = checks.entry((*kind, what)).or_default();
        *most = (*count).max(*most);
    }
    for ((kind, what), count) in checks {
        let check = Check { kind, what: what.to_owned(), count };
        let begin = Instant::now();
        let verdict = check.run(copy)?;
        let seconds = begin.elapsed().as_secs_f64();
        if let Verdict::Found { after } = verdict {
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
    let mut text = String::from("| planted bug | what it breaks | found by | after |\n");
    text.push_str("| --- | --- | --- | --- |\n");
    for (bug, verdict) in rows {
        let (found, check) = (verdict.shown(), bug.check.name());
        text.push_str(&format!("| {} | {} | {check} | {found} |\n", bug.name, bug.breaks));
    }
    text
}
