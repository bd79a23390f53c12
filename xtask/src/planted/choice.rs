//! Which bugs are planted: all, those named, or those that a change may have hidden.
//!
//! A change touches a bug if it changes the file that the bug is put into, or the bug itself. What
//! has changed is asked of git, since the commit at which `docs/planted-bugs.md` says that all were
//! found: so no bug stays untried behind code that has changed since.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use super::list::{self, Bug};
use super::{List, page};
use crate::part::Part;

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    All,
    Changed,
    /// Some of those touched, or of all if there are none.
    Part(Part),
    Named(Vec<String>),
}

impl Choice {
    /// The bugs of the list that are chosen, in their order.
    pub(super) fn of<'b>(&self, bugs: &'b [Bug], list: List, root: &Path) -> Vec<&'b Bug> {
        let touched = match self {
            Self::All | Self::Part(Part::All) | Self::Named(_) => BTreeSet::new(),
            Self::Changed | Self::Part(_) => touched(bugs, list, root),
        };
        if let Self::Part(Part::Tenth(tenth)) = self {
            return some(bugs, &touched, *tenth as usize, list.most);
        }
        let is_chosen = |bug: &&Bug| match self {
            Self::All | Self::Part(_) => true,
            Self::Changed => touched.contains(&bug.name),
            Self::Named(names) => names.contains(&bug.name),
        };
        bugs.iter().filter(is_chosen).collect()
    }

    /// A name that was asked for and is none.
    pub(super) fn unknown(&self, known: &[&str]) -> Option<&str> {
        let Self::Named(names) = self else { return None };
        names.iter().map(String::as_str).find(|name| !known.contains(name))
    }
}

/// Of those that were touched so many, and others in the next tenth; half as many of all if none
/// was touched.
fn some<'b>(
    bugs: &'b [Bug],
    touched: &BTreeSet<String>,
    tenth: usize,
    most: usize,
) -> Vec<&'b Bug> {
    let is_touched = |bug: &&Bug| touched.contains(&bug.name);
    let (most, bugs): (usize, Vec<&Bug>) = match touched.is_empty() {
        true => (most.div_ceil(2), bugs.iter().collect()),
        false => (most, bugs.iter().filter(is_touched).collect()),
    };
    let count = most.min(bugs.len());
    (0..count).map(|at| bugs[(tenth * most + at) % bugs.len()]).collect()
}

/// The names of the bugs that were touched since all were found; of all, if git cannot tell.
fn touched(bugs: &[Bug], list: List, root: &Path) -> BTreeSet<String> {
    let names = |bugs: &[&Bug]| bugs.iter().map(|bug| bug.name.clone()).collect();
    match since_all_were_found(list, root) {
        Ok((files, before)) => {
            let is_touched = |bug: &&Bug| is_touched(bug, &files, &before);
            names(&bugs.iter().filter(is_touched).collect::<Vec<_>>())
        }
        Err(reason) => {
            println!("planted: all bugs, since what has changed is unknown: {reason}");
            names(&bugs.iter().collect::<Vec<_>>())
        }
    }
}

pub(super) fn is_touched(bug: &Bug, files: &BTreeSet<String>, before: &[Bug]) -> bool {
    let in_changed_file = bug.edits.iter().any(|edit| files.contains(&edit.file));
    in_changed_file || before.iter().all(|known| known != bug)
}

/// The files that have changed since, and the bugs as they were listed then.
fn since_all_were_found(
    list: List,
    root: &Path,
) -> Result<(BTreeSet<String>, Vec<Bug>), Box<dyn std::error::Error>> {
    let page = std::fs::read_to_string(root.join(page::PATH))?;
    let commit =
        page::commit(&page, list.place).ok_or_else(|| format!("{} names no commit", page::PATH))?;
    let files = git(root, &["diff", "--name-only", &commit])?;
    // The list may be younger than that.
    let before = git(root, &["show", &format!("{commit}:{}", list.path)]);
    let before = before.map_or(Ok(Vec::new()), |text| list::read(&text))?;
    Ok((files.lines().map(str::to_owned).collect(), before))
}

pub(super) fn git(root: &Path, arguments: &[&str]) -> Result<String, Box<dyn std::error::Error>> {
    let output = Command::new("git").args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

#[cfg(test)]
mod tests;
