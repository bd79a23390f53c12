//! No trailing white space, no tabs, and a line break at the end of the file.
//!
//! Holds for everything written by hand: Rust, manifests, documents, scripts, C.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const ENDINGS: &[&str] = &[".rs", ".toml", ".md", ".sh", ".c", ".h", ".ci/run"];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for source in project.tree.files() {
        if !ENDINGS.iter().any(|ending| source.path.ends_with(ending)) {
            continue;
        }
        let mut report = |line, message: &str| {
            findings.push(Finding::new(&source.path, line, message));
        };
        for (index, line) in source.text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                report(index + 1, "white space at the end of the line");
            }
            if line.contains('\t') {
                report(index + 1, "a tab; indent with spaces");
            }
        }
        if !source.text.is_empty() && !source.text.ends_with('\n') {
            report(source.text.lines().count(), "no line break at the end of the file");
        }
    }
}
