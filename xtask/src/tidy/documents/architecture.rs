//! `ARCHITECTURE.md` has at most 300 lines, a heading for every crate, a picture with all of them,
//! and a table of which crate uses which that says what `layers.toml` allows.
//!
//! A heading names a crate by its package or its folder; `lab/contenders/*` stands for every
//! crate in that folder. The picture and the table have the crates below `crates/` without
//! `remanent-`; the picture has the others by their folders.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::packages::Package;
use crate::tidy::project::Project;

const PATH: &str = "ARCHITECTURE.md";
const LINES_MAX: usize = 300;
/// What the picture begins with.
const FENCE: &str = "```text";
const PARTS: &[&str] = &["crates", "bindings"];
const TABLE: &str = "| Crate | Uses |";

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
    check_picture(project, &source.text, findings);
    check_table(project, &source.text, findings);
}

/// The first block of text between fences has every crate.
fn check_picture(project: &Project, text: &str, findings: &mut Vec<Finding>) {
    let after = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(FENCE));
    let lines: Vec<(usize, &str)> =
        after.skip(1).take_while(|(_, line)| !line.starts_with("```")).collect();
    // A page without a picture has nothing false in it.
    let Some((first, _)) = lines.first() else { return };
    let is_end = |c: char| c.is_whitespace() || c == ',' || c == ':';
    let words: Vec<&str> = lines.iter().flat_map(|(_, line)| line.split(is_end)).collect();
    for package in &project.packages {
        let name = match package.folder.strip_prefix("crates/") {
            Some(_) => short(&package.name).to_owned(),
            None => package.folder.clone(),
        };
        let around = package.folder.rsplit_once('/').map(|(above, _)| format!("{above}/*"));
        if !words.iter().any(|word| *word == name || Some(*word) == around.as_deref()) {
            let message = format!("the picture does not have `{name}`");
            findings.push(Finding::new(PATH, *first, message));
        }
    }
}

fn check_table(project: &Project, text: &str, findings: &mut Vec<Finding>) {
    let mut allowed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let is_part = |folder: &str| {
        PARTS.iter().any(|part| folder.strip_prefix(part).is_some_and(|it| it.starts_with('/')))
    };
    for package in project.packages.iter().filter(|package| is_part(&package.folder)) {
        let layer = project.layers.crates.get(&package.name);
        let uses = layer.map_or(&[][..], |layer| &layer.uses);
        allowed.insert(short(&package.name), sorted(uses.iter().map(|name| short(name))));
    }
    let lines = text.lines().enumerate().skip_while(|(_, line)| !line.starts_with(TABLE));
    let rows = lines.skip(2).take_while(|(_, line)| line.starts_with('|'));
    for (place, line) in rows {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1).map_or("", |cell| cell.trim_matches('`'));
        let uses = cells.get(2).map_or("", |cell| cell.trim_matches('-')).split(", ");
        let said = sorted(uses.filter(|word| !word.is_empty()));
        match allowed.remove(name) {
            None => {
                let message = format!("`{name}` is no crate, or stands here twice");
                findings.push(Finding::new(PATH, place + 1, message));
            }
            Some(uses) if uses != said => {
                let message = format!("`{name}` uses {}", uses.join(", "));
                findings.push(Finding::new(PATH, place + 1, message));
            }
            Some(_) => {}
        }
    }
    // A project of crates that use nothing needs no table.
    for (name, _) in allowed.iter().filter(|(_, uses)| !uses.is_empty()) {
        let message = format!("the table has no line for the crate `{name}`");
        findings.push(Finding::new(PATH, 1, message));
    }
}

fn short(package: &str) -> &str {
    package.strip_prefix("remanent-").unwrap_or(package)
}

fn sorted<'t>(names: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    names
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
