//! A line of Rust has at most 100 characters.
//!
//! A line that holds a URL may be longer, because a URL cannot be broken.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const CHARACTERS_MAX: usize = 100;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, _) in project.rust_files() {
        for (index, line) in source.text.lines().enumerate() {
            let characters = line.chars().count();
            if characters > CHARACTERS_MAX && !line.contains("://") {
                let message =
                    format!("the line has {characters} characters, more than {CHARACTERS_MAX}");
                findings.push(Finding::new(&source.path, index + 1, message));
            }
        }
    }
}
