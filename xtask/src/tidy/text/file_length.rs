//! A Rust file has at most 800 lines.
//!
//! Tests count like any file; they lie in files of their own and so do not count against the
//! code they test.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const LINES_MAX: usize = 800;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, _) in project.rust_files() {
        let lines = source.text.lines().count();
        if lines > LINES_MAX {
            let message = format!("the file has {lines} lines, more than {LINES_MAX}");
            findings.push(Finding::new(&source.path, LINES_MAX + 1, message));
        }
    }
}
