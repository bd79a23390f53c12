//! Code is ASCII: characters beyond it stand only in comments and in strings.
//!
//! Two characters that look alike are no way to tell two names apart.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        for (index, line) in rust.lines.iter().enumerate() {
            if let Some(character) = line.code.chars().find(|character| !character.is_ascii()) {
                let message = format!("`{character}` is not ASCII and stands in code");
                findings.push(Finding::new(&source.path, index + 1, message));
            }
        }
    }
}
