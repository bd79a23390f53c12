//! A Rust file opens with 3 to 15 lines of `//!`: purpose, what always holds, what it leaves.
//!
//! Test files are free, their names say it. The front page of a library (`lib.rs`) may be
//! longer, because users read it as the crate's documentation.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const LINES_MIN: usize = 3;
const LINES_MAX: usize = 15;
const FRONT_PAGE_LINES_MAX: usize = 80;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, _) in project.rust_files() {
        if project.is_test(&source.path) {
            continue;
        }
        let lines = source.text.lines().take_while(|line| line.starts_with("//!")).count();
        let front_page = source.path.ends_with("src/lib.rs");
        let lines_max = if front_page { FRONT_PAGE_LINES_MAX } else { LINES_MAX };
        let message = match lines {
            0 => "the first line is not `//!` with what the file is for".to_owned(),
            _ if lines < LINES_MIN => {
                format!("the header has {lines} lines, fewer than {LINES_MIN}")
            }
            _ if lines > lines_max => {
                format!("the header has {lines} lines, more than {lines_max}")
            }
            _ => continue,
        };
        findings.push(Finding::new(&source.path, 1, message));
    }
}
