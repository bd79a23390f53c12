//! Functions that C calls by name: each name once in the repository, with a prefix of its crate.
//!
//! `#[unsafe(no_mangle)]` promises the linker that no other function has the name. That is checked
//! here for all of them at once, instead of a note at each: no two exported functions share a name,
//! and each begins as `[exports]` of `layers.toml` says for its folder, so that none has the name
//! of a function of the program or of its libraries.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::super::finding::Finding;
use super::super::layers;
use super::super::project::Project;
use super::super::tree::MaskedLine;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let folders = &project.layers.exports;
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    let mut used: Vec<&str> = Vec::new();
    for (source, rust) in project.rust_files() {
        let around = folders.iter().filter(|(folder, _)| source.path.starts_with(folder.as_str()));
        let folder = around.max_by_key(|(folder, _)| folder.len());
        for (line, name) in exported(&rust.lines) {
            let mut report =
                |message: String| findings.push(Finding::new(&source.path, line + 1, message));
            match folder {
                None => report(format!("`{name}` is exported from a folder without `[exports]`")),
                Some((folder, prefixes)) => {
                    used.push(folder);
                    if !prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())) {
                        report(format!("`{name}` begins with none of {}", prefixes.join(", ")));
                    }
                }
            }
            if let Some(other) = known.insert(name.clone(), source.path.clone()) {
                report(format!("`{name}` is exported by {other}, too"));
            }
        }
    }
    for folder in folders.keys().filter(|folder| !used.contains(&folder.as_str())) {
        let message = format!("`{folder}` of `[exports]` exports nothing");
        findings.push(Finding::new(layers::PATH, 1, message));
    }
}

/// The names of the exported functions, each by the index of its attribute's line.
fn exported(lines: &[MaskedLine]) -> impl Iterator<Item = (usize, String)> {
    (0..lines.len()).filter_map(|index| Some((index, exported_name(lines, index)?)))
}

/// The name of the function that the attribute in this line exports; none if a macro names it.
pub(super) fn exported_name(lines: &[MaskedLine], index: usize) -> Option<String> {
    // As `rustfmt` writes it.
    if lines[index].code.trim() != "#[unsafe(no_mangle)]" {
        return None;
    }
    let following = lines[index + 1..].iter().take(3).map(|line| line.code.as_str());
    let following = following.collect::<Vec<_>>().join(" ");
    let (_, name) = following.split_once("fn ")?;
    let name: String = name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}
