//! Inside a crate an arrow points only downwards: modules use what `layers.toml` lists for them.
//!
//! Every path that begins with `crate`, `super` or `self` is followed, in code and in macros
//! alike, and names that the crate's root re-exports count as the module they come from. The
//! longest listed module path that holds the reader decides. Test code and the root are free. A
//! crate with more than eight modules at its top has a list, and the list has no edge too many.

mod paths;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use super::finding::Finding;
use super::layers;
use super::module_graph::Module;
use super::project::Project;
use paths::UsedPath;

/// A crate with more modules at its top than this has a list of them.
const UNLISTED_MAX: usize = 8;

type Edges = BTreeMap<String, Vec<String>>;

/// Edges that were met: the module, and the entry that allows it.
type Met<'a> = BTreeSet<(&'a str, &'a str)>;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    check_unlisted(project, findings);
    for (package, edges) in &project.layers.modules {
        let members = members(project, package);
        check_list(package, edges, &members, findings);
        let exports = members.iter().find(|module| module.path.is_empty());
        let exports = exports.map(|root| paths::re_exports(text(project, root)));
        let mut exports = exports.unwrap_or_default();
        // A module that is there hides another that stands for it in other builds.
        exports.retain(|name, _| !members.iter().any(|module| module.path == [name.as_str()]));
        let mut met = Met::new();
        for module in members.iter().filter(|module| !module.is_test && !module.path.is_empty()) {
            for used in paths::used(text(project, module), &module.path) {
                let used = through_root(used, &exports);
                met.extend(check_path(edges, module, &used, findings));
            }
        }
        for (unit, entry) in edges.iter().flat_map(|(unit, all)| all.iter().map(move |e| (unit, e)))
        {
            if entry != "*" && !met.contains(&(unit.as_str(), entry.as_str())) {
                let message = format!("`{unit}` of `{package}` does not use `{entry}`");
                findings.push(Finding::new(layers::PATH, 1, message));
            }
        }
    }
}

/// The modules of a package's library, or of its program if it has none.
fn members<'a>(project: &'a Project, package: &str) -> Vec<&'a Module> {
    let of_package = |module: &&Module| module.package == package && module.in_main_crate;
    project.modules.iter().filter(of_package).collect()
}

/// Every crate of many modules has a list, or a reason why not.
fn check_unlisted(project: &Project, findings: &mut Vec<Finding>) {
    let layers = &project.layers;
    for package in &project.packages {
        let members = members(project, &package.name);
        let top = members.iter().filter(|module| module.path.len() == 1 && !module.is_test).count();
        let is_listed = layers.modules.contains_key(&package.name);
        let is_excused = layers.unlisted.contains_key(&package.name);
        if top > UNLISTED_MAX && !is_listed && !is_excused {
            let message = format!("`{}` has {top} modules and no list of them", package.name);
            findings.push(Finding::new(layers::PATH, 1, message));
        }
    }
    let is_needless = |name: &&String| {
        layers.modules.contains_key(*name) || !project.packages.iter().any(|p| p.name == **name)
    };
    for name in layers.unlisted.keys().filter(is_needless) {
        let message = format!("`{name}` has a list of its modules, or is no crate");
        findings.push(Finding::new(layers::PATH, 1, message));
    }
}

fn text<'a>(project: &'a Project, module: &Module) -> &'a str {
    project.tree.get(&module.file).map_or("", |source| source.text.as_str())
}

/// Replaces a name that the root re-exports by the path it comes from.
fn through_root(used: UsedPath, exports: &BTreeMap<String, Vec<String>>) -> UsedPath {
    match used.path.first().and_then(|first| exports.get(first)) {
        Some(origin) => {
            UsedPath { path: [origin.as_slice(), &used.path[1..]].concat(), line: used.line }
        }
        None => used,
    }
}

/// Reports an edge that is not listed; otherwise the edges that allow it.
fn check_path<'a>(
    edges: &'a Edges,
    module: &Module,
    used: &UsedPath,
    findings: &mut Vec<Finding>,
) -> Vec<(&'a str, &'a str)> {
    let mut report = |message: String| {
        findings.push(Finding::new(&module.file, used.line, message));
    };
    let Some((unit, allowed)) = unit_of(edges, &module.path) else {
        report(format!("module `{}` is missing in {}", module.path[0], layers::PATH));
        return Vec::new();
    };
    let target = used.path.join("::");
    let within = |prefix: &str| target == prefix || target.starts_with(&format!("{prefix}::"));
    let allowing = allowed.iter().filter(|entry| *entry == "*" || within(entry));
    let allowing: Vec<_> = allowing.map(|entry| (unit, entry.as_str())).collect();
    if !within(unit) && allowing.is_empty() {
        let target = if target.is_empty() { "every module at once" } else { &target };
        report(format!("module `{unit}` may not use `{target}`"));
    }
    allowing
}

/// The longest listed path that holds `path`, with what it may use.
fn unit_of<'a>(edges: &'a Edges, path: &[String]) -> Option<(&'a str, &'a [String])> {
    (1..=path.len()).rev().find_map(|length| {
        let (unit, allowed) = edges.get_key_value(&path[..length].join("::"))?;
        Some((unit.as_str(), allowed.as_slice()))
    })
}

/// The list names modules that exist and has no circle.
fn check_list(package: &str, edges: &Edges, members: &[&Module], findings: &mut Vec<Finding>) {
    let mut report = |message: String| findings.push(Finding::new(layers::PATH, 1, message));
    let exists = |name: &str| members.iter().any(|module| module.path.join("::") == name);
    for (unit, allowed) in edges {
        let named = std::iter::once(unit).chain(allowed).filter(|name| *name != "*");
        for name in named.filter(|name| !exists(name)) {
            report(format!("`{package}` has no module `{name}`"));
        }
        if reaches(edges, allowed, unit, &mut Vec::new()) {
            report(format!("the edges of `{package}` lead from `{unit}` back to itself"));
        }
    }
}

fn reaches<'a>(
    edges: &'a Edges,
    from: &'a [String],
    goal: &str,
    seen: &mut Vec<&'a String>,
) -> bool {
    from.iter().any(|step| {
        if step == goal {
            return true;
        }
        if seen.contains(&step) {
            return false;
        }
        seen.push(step);
        edges.get(step).is_some_and(|next| reaches(edges, next, goal, seen))
    })
}
