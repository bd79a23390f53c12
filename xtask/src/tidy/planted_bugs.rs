//! The text that a planted bug replaces is in its file, once.
//!
//! So whoever changes such a line learns it before the commit, and not when bugs are planted.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::project::Project;
use crate::planted::{self, Bug, List};

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for List { path, .. } in planted::LISTS {
        let Some(list) = project.tree.get(path) else { continue };
        match planted::read(&list.text) {
            Ok(bugs) => findings.extend(bugs.iter().flat_map(|bug| stale(project, path, bug))),
            Err(error) => findings.push(Finding::new(path, 1, error.to_string())),
        }
    }
}

fn stale(project: &Project, list: &str, bug: &Bug) -> Vec<Finding> {
    let mut findings = Vec::new();
    for edit in &bug.edits {
        let text = project.tree.get(&edit.file).map_or("", |source| &source.text);
        let count = text.matches(&edit.find).count();
        if count != 1 {
            let line = line_of(project, list, &edit.find);
            let message = format!("`{}`: {} has its text {count} times", bug.name, edit.file);
            findings.push(Finding::new(list, line, message));
        }
    }
    findings
}

/// The line of the list that has the first line of what is to be found.
fn line_of(project: &Project, list: &str, find: &str) -> usize {
    let first = find.lines().next().unwrap_or(find);
    let text = project.tree.get(list).map_or("", |source| &source.text);
    (1..).zip(text.lines()).find(|(_, line)| line.contains(first)).map_or(1, |(line, _)| line)
}
