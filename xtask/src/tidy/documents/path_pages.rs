//! The pages `docs/path-of-*.md` stay true: every file and function in their tables exists.
//!
//! A table has the columns step, file, function, afterwards. An empty file cell repeats the one
//! above. A file is named by its path from the root or by an end of it that only one file has;
//! functions stand in backticks, as `Type::method`, `function` or any other item of that file. A
//! section is a path and no census: it leads through at most [`FILES_MAX`] files.

mod items;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;
use crate::tidy::tree::{RustSource, Source};

/// Files that a section names, in its tables and around them.
const FILES_MAX: usize = 25;

const COLUMNS: [&str; 4] = ["step", "file", "function", "afterwards"];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for page in project.tree.files() {
        let name = page.path.strip_prefix("docs/path-of-");
        if name.is_some_and(|name| name.ends_with(".md")) {
            check_page(project, page, findings);
            check_lengths(page, findings);
        }
    }
}

fn check_page(project: &Project, page: &Source, findings: &mut Vec<Finding>) {
    let mut inside = false;
    let mut rows = 0;
    let mut file = None;
    for (index, line) in page.text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            inside = false;
            continue;
        };
        if !inside {
            inside = cells.iter().map(|cell| cell.to_lowercase()).eq(COLUMNS);
            continue;
        }
        if cells.iter().all(|cell| cell.trim_matches([':', '-']).is_empty()) {
            continue;
        }
        rows += 1;
        let mut report = |message: String| {
            findings.push(Finding::new(&page.path, index + 1, message));
        };
        let [_, named, functions, _] = cells.as_slice() else {
            report(format!("the row has {} columns and not 4", cells.len()));
            continue;
        };
        if !named.is_empty() {
            file = resolve(project, named.trim_matches('`'), &mut report);
        }
        if let Some((source, rust)) = file {
            check_functions(source, rust, functions, &mut report);
        }
    }
    if rows == 0 {
        let message = format!("no table with the columns {}", COLUMNS.join(", "));
        findings.push(Finding::new(&page.path, 1, message));
    }
}

/// Reports the sections that name too many files.
fn check_lengths(page: &Source, findings: &mut Vec<Finding>) {
    let mut start = 1;
    let mut files = BTreeSet::new();
    let end = ("## ", page.text.lines().count() + 1);
    let lines = page.text.lines().enumerate().map(|(index, line)| (line, index + 1));
    for (line, number) in lines.chain([end]) {
        if line.starts_with("## ") {
            if files.len() > FILES_MAX {
                let message =
                    format!("the section names {} files, more than {FILES_MAX}", files.len());
                findings.push(Finding::new(&page.path, start, message));
            }
            start = number;
            files.clear();
        }
        let named = line.split('`').skip(1).step_by(2);
        files.extend(named.filter(|name| name.ends_with(".rs")));
    }
}

/// The cells of a line that is a row of a table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

fn resolve<'a>(
    project: &'a Project,
    named: &str,
    report: &mut impl FnMut(String),
) -> Option<(&'a Source, &'a RustSource)> {
    let ending = format!("/{named}");
    let matching = project
        .rust_files()
        .filter(|(source, _)| source.path == named || source.path.ends_with(&ending));
    let matching: Vec<_> = matching.collect();
    match matching.as_slice() {
        [only] => Some(*only),
        [] => {
            report(format!("there is no file `{named}`"));
            None
        }
        [first, second, ..] => {
            let (first, second) = (&first.0.path, &second.0.path);
            report(format!("`{named}` may be `{first}` or `{second}`"));
            None
        }
    }
}

fn check_functions(
    source: &Source,
    rust: &RustSource,
    cell: &str,
    report: &mut impl FnMut(String),
) {
    let Ok(syntax) = &rust.syntax else { return };
    let known = items::names(syntax);
    // Every second piece between backticks is inside them.
    for named in cell.split('`').skip(1).step_by(2) {
        let name = named.split(['(', '<', '!']).next().unwrap_or_default().trim();
        if !known.contains(name) {
            report(format!("there is no `{name}` in {}", source.path));
        }
    }
}
