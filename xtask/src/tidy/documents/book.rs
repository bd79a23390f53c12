//! The book has each page of `docs` once: `docs/SUMMARY.md`, its contents, names all of them.
//!
//! That what it names exists is left to `links`.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

pub(crate) const CONTENTS: &str = "docs/SUMMARY.md";

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let files = || project.tree.files();
    let Some(contents) = files().find(|source| source.path == CONTENTS) else { return };
    let names = files().filter_map(|source| source.path.strip_prefix("docs/"));
    for name in names.filter(|name| name.ends_with(".md") && *name != "SUMMARY.md") {
        let link = format!("]({name})");
        let mut lines = contents.text.lines().enumerate().filter(|(_, line)| line.contains(&link));
        match (lines.next(), lines.next()) {
            (None, _) => {
                findings.push(Finding::new(CONTENTS, 1, format!("`{name}` is not in the book")));
            }
            (Some(_), Some((index, _))) => {
                let message = format!("`{name}` is in the book twice");
                findings.push(Finding::new(CONTENTS, index + 1, message));
            }
            (Some(_), None) => {}
        }
    }
}
