//! Links between Markdown files lead somewhere: the file or folder they name exists.
//!
//! Links to the web are left alone, and so is what follows a `#`. Code is no link.

#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let documents = project.tree.files().filter(|source| source.path.ends_with(".md"));
    for source in documents {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let mut fenced = false;
        for (index, line) in source.text.lines().enumerate() {
            fenced ^= line.trim_start().starts_with("```");
            let targets = if fenced { Vec::new() } else { targets(line) };
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
