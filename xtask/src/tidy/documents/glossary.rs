//! The glossary has each heading and each word once, and its names exist.
//!
//! Names stand between backticks in the columns Rust and C; in parentheses they are planned and
//! not yet there. A name exists if each of its parts is a word somewhere in Rust or C of the
//! repository; parts with other characters than those of names are prose.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const PATH: &str = "docs/glossary.md";

/// The columns whose names are looked for.
const COLUMNS: [&str; 2] = ["Rust", "C"];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let Some(page) = project.tree.get(PATH) else { return };
    let known = words_of_the_code(project);
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut header: Vec<&str> = Vec::new();
    for (line, text) in (1..).zip(page.text.lines()) {
        let mut report = |message: String| findings.push(Finding::new(PATH, line, message));
        if text.starts_with('#') {
            header.clear();
            if let Some(before) = seen.insert(text, line) {
                report(format!("the heading stands in line {before} too"));
            }
        }
        let Some(inner) = text.strip_prefix('|') else { continue };
        let cells: Vec<&str> = inner.split('|').map(str::trim).collect();
        if header.is_empty() {
            header = cells;
            continue;
        }
        for (column, cell) in header.iter().zip(&cells) {
            for name in names(cell).filter(|_| COLUMNS.contains(column)) {
                if let Some(part) = name.split("::").find(|part| !known.contains(part)) {
                    report(format!("nothing is named `{part}`"));
                }
            }
        }
    }
}

/// The names of a cell, without those in parentheses and without parameters of types.
fn names(cell: &str) -> impl Iterator<Item = &str> {
    // Every second piece between backticks is inside them.
    let pieces: Vec<&str> = cell.split('`').collect();
    let mut names = Vec::new();
    for place in (1..pieces.len()).step_by(2) {
        let name = pieces[place].split('<').next().unwrap_or_default();
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let is_planned = pieces[place - 1].ends_with('(');
        let begins = name.starts_with(|c: char| c.is_alphabetic());
        if begins && name.chars().all(is_name) && !is_planned {
            names.push(name);
        }
    }
    names.into_iter()
}

fn words_of_the_code(project: &Project) -> BTreeSet<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let rust = project.tree.rust_files();
    let rust = rust.flat_map(|(_, rust)| &rust.lines).map(|line| line.code.as_str());
    let is_c = |path: &str| [".h", ".c", ".hpp"].iter().any(|end| path.ends_with(end));
    let c = project.tree.files().filter(|source| is_c(&source.path));
    let all = rust.chain(c.map(|source| source.text.as_str()));
    all.flat_map(|text| text.split(move |c: char| !is_word(c))).collect()
}
