//! Every Rust file is compiled: a `mod` line leads to it, or cargo builds it as a target.
//!
//! A file nobody compiles rots while it looks alive. Fixtures are listed in `layers.toml`.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use super::finding::Finding;
use super::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let reached: BTreeSet<&str> =
        project.modules.iter().map(|module| module.file.as_str()).collect();
    for (source, _) in project.rust_files() {
        if !reached.contains(source.path.as_str()) {
            findings.push(Finding::new(&source.path, 1, "no `mod` line leads to this file"));
        }
    }
}
