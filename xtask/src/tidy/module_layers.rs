//! Inside a crate an arrow points only downwards: modules use what `layers.toml` lists for them.
//!
//! Every path that begins with `crate`, `super` or `self` is followed, in code and in macros
//! alike, and names that the crate's root re-exports count as the module they come from. The
//! longest listed module path that holds the reader decides. Test code and the root are free.

mod paths;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::finding::Finding;
use super::layers;
use super::module_graph::Module;
use super::project::Project;
use paths::UsedPath;

type Edges = BTreeMap<String, Vec<String>>;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (package, edges) in &project.layers.modules {
        let members: Vec<&Module> = project
            .modules
            .iter()
            .filter(|module| module.package == *package && module.in_library)
            .collect();
        check_list(package, edges, &members, findings);
        let exports = members.iter().find(|module| module.path.is_empty());
        let exports = exports.map(|root| paths::re_exports(text(project, root)));
        let exports = exports.unwrap_or_default();
        for module in members.iter().filter(|module| !module.is_test && !module.path.is_empty()) {
            for used in paths::used(text(project, module), &module.path) {
                let used = through_root(used, &exports);
                check_path(edges, module, &used, findings);
            }
        }
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

fn check_path(edges: &Edges, module: &Module, used: &UsedPath, findings: &mut Vec<Finding>) {
    let mut report = |message: String| {
        findings.push(Finding::new(&module.file, used.line, message));
    };
    let Some((unit, allowed)) = unit_of(edges, &module.path) else {
        return report(format!("module `{}` is missing in {}", module.path[0], layers::PATH));
    };
    let target = used.path.join("::");
    let within = |prefix: &str| target == prefix || target.starts_with(&format!("{prefix}::"));
    let permitted = allowed.iter().any(|prefix| prefix == "*" || within(prefix));
    if !within(unit) && !permitted {
        let target = if target.is_empty() { "every module at once" } else { &target };
        report(format!("module `{unit}` may not use `{target}`"));
    }
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
