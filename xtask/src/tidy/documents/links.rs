//! Links between Markdown files lead somewhere: the file or folder they name exists.
//!
//! Links to the web are left alone, and so is what follows a `#`. Code is no link, but a path of
//! the repository between backticks exists as well, and so does a page that a comment in Rust
//! names: from the root, or by the end of its path.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    check_comments(project, findings);
    let documents = project.tree.files().filter(|source| source.path.ends_with(".md"));
    for source in documents {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut fenced = false;
        for (index, line) in source.text.lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            let targets = if fenced { Vec::new() } else { targets(line) };
            let paths = if fenced { Vec::new() } else { paths(project, line) };
            for path in paths.into_iter().filter(|path| !project.tree.has(path)) {
                let message = format!("there is no `{path}`");
                findings.push(Finding::new(&source.path, index + 1, message));
            }
            for target in targets {
                let path = resolve(folder, target);
                if !path.is_empty() && !project.tree.has(&path) {
                    let message = format!("the link leads to `{path}`, which does not exist");
                    findings.push(Finding::new(&source.path, index + 1, message));
                }
            }
        }
    }
}

fn check_comments(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        // Tests make up pages of their own.
        let is_made_up = project.is_test(&source.path);
        for (index, line) in rust.lines.iter().enumerate().filter(|_| !is_made_up) {
            for named in pages(&line.comment) {
                let ending = format!("/{}", named.trim_start_matches("../"));
                let is_there = |path: &str| path == &ending[1..] || path.ends_with(&ending);
                if !project.tree.files().any(|file| is_there(&file.path)) {
                    let message = format!("there is no page `{named}`");
                    findings.push(Finding::new(&source.path, index + 1, message));
                }
            }
        }
    }
}

/// The Markdown files that a comment names.
fn pages(comment: &str) -> impl Iterator<Item = &str> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let words = comment.split(move |c: char| !is_path(c));
    let names = words.map(|word| word.trim_end_matches('.'));
    names.filter(|word| word.len() > ".md".len() && word.ends_with(".md"))
}

/// Paths from the root between backticks: they begin with a folder that holds a crate.
fn paths<'l>(project: &Project, line: &'l str) -> Vec<&'l str> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/');
    let folders = project.packages.iter().filter_map(|package| package.folder.split('/').next());
    let folders: Vec<&str> = folders.collect();
    let names = line.split('`').skip(1).step_by(2);
    let paths = names.filter(|name| name.contains('/') && name.chars().all(is_path));
    paths.filter(|path| path.split('/').next().is_some_and(|top| folders.contains(&top))).collect()
}

/// What the links on a line lead to, as far as it lies in the repository.
fn targets(line: &str) -> Vec<&str> {
    // Every second piece between backticks is code.
    let prose = line.split('`').step_by(2).filter(|_| line.contains("]("));
    let after = prose.flat_map(|piece| piece.split("](").skip(1));
    let targets = after.filter_map(|rest| rest.split([')', '#', ' ']).next());
    targets.filter(|target| !target.contains(':')).collect()
}

/// The path from the root that `target` means in a document of `folder`.
fn resolve(folder: &str, target: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            _ => parts.push(part),
        }
    }
    if target.is_empty() { String::new() } else { parts.join("/") }
}
