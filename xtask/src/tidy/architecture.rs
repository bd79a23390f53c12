//! `ARCHITECTURE.md` has at most 300 lines and a heading for every crate.
//!
//! A heading names a crate by its package or its folder; `lab/contenders/*` stands for every
//! crate in that folder.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::packages::Package;
use super::project::Project;

const PATH: &str = "ARCHITECTURE.md";
const LINES_MAX: usize = 300;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let Some(source) = project.tree.get(PATH) else {
        findings.push(Finding::new(PATH, 1, "the file is missing"));
        return;
    };
    let lines = source.text.lines().count();
    if lines > LINES_MAX {
        let message = format!("the file has {lines} lines, more than {LINES_MAX}");
        findings.push(Finding::new(PATH, LINES_MAX + 1, message));
    }
    let headings: Vec<&str> = source.text.lines().filter(|line| line.starts_with('#')).collect();
    for package in &project.packages {
        if !headings.iter().any(|heading| names(heading, package)) {
            let message = format!("no heading names the crate `{}`", package.name);
            findings.push(Finding::new(PATH, 1, message));
        }
    }
}

fn names(heading: &str, package: &Package) -> bool {
    let folder = package.folder.rsplit_once('/').map(|(above, _)| format!("{above}/*"));
    let mut words = heading.split(|character: char| {
        character.is_whitespace() || matches!(character, '`' | ',' | ':' | '(' | ')')
    });
    words.any(|word| {
        word == package.name || word == package.folder || Some(word) == folder.as_deref()
    })
}
