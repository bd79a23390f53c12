//! A Markdown file has exactly one top-level title, and it comes first.
//!
//! Lines inside fenced code are no titles. The contents of the book are left to `book`: parts of
//! the book are named by titles there.

#[cfg(test)]
mod tests;

use super::book::CONTENTS;
use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let documents = project.tree.files().filter(|source| source.path.ends_with(".md"));
    for source in documents.filter(|source| source.path != CONTENTS) {
        let titles = titles(&source.text);
        let first = source.text.lines().position(|line| !line.trim().is_empty());
        let message = match titles.as_slice() {
            [] => "no top-level title",
            [only] if Some(*only) != first => "the title is not the first line",
            [_] => continue,
            [_, ..] => "more than one top-level title",
        };
        let line = titles.get(1).or(titles.first()).map_or(1, |index| index + 1);
        findings.push(Finding::new(&source.path, line, message));
    }
}

/// The indexes of the lines that are top-level titles.
fn titles(text: &str) -> Vec<usize> {
    let mut fenced = false;
    let mut titles = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && line.starts_with("# ") {
            titles.push(index);
        }
    }
    titles
}
