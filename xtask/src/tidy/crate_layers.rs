//! Every dependency between crates, and on a crate from outside, is one that `layers.toml` lists.
//!
//! Dependencies for tests are listed apart. What the list allows and nobody uses is refused
//! too, so that it says what is and not what once was.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::finding::Finding;
use super::layers::{self, CrateLayer};
use super::packages::{Dependency, Kind, Package};
use super::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for package in &project.packages {
        match project.layers.crates.get(&package.name) {
            Some(layer) => check_package(project, package, layer, findings),
            None => {
                let message = format!("`{}` is missing in {}", package.name, layers::PATH);
                findings.push(Finding::new(&package.manifest_path(), 1, message));
            }
        }
    }
    for name in project.layers.crates.keys() {
        if !is_member(project, name) {
            let message = format!("`{name}` is no crate of the workspace");
            findings.push(Finding::new(layers::PATH, 1, message));
        }
    }
}

fn check_package(
    project: &Project,
    package: &Package,
    layer: &CrateLayer,
    findings: &mut Vec<Finding>,
) {
    for dependency in &package.dependencies {
        let inside = is_member(project, &dependency.name);
        if !is_allowed(layer, dependency, inside) {
            let what = if inside { "use the crate" } else { "depend on" };
            let purpose = if dependency.kind == Kind::Dev { " in tests" } else { "" };
            let message =
                format!("`{}` may not {what} `{}`{purpose}", package.name, dependency.name);
            findings.push(Finding::new(&package.manifest_path(), dependency.line, message));
        }
    }
    let listed = |list: &BTreeMap<String, String>| list.keys().cloned().collect::<Vec<_>>();
    let listings = [
        (layer.uses.clone(), false),
        (layer.dev_uses.clone(), true),
        (listed(&layer.external), false),
        (listed(&layer.dev_external), true),
    ];
    for (names, dev) in listings {
        let used = |name: &str| {
            let mut dependencies = package.dependencies.iter();
            dependencies.any(|used| used.name == name && (used.kind == Kind::Dev) == dev)
        };
        for name in names.iter().filter(|name| !used(name)) {
            let message = format!("`{}` is allowed `{name}` and does not use it", package.name);
            findings.push(Finding::new(layers::PATH, 1, message));
        }
    }
}

fn is_allowed(layer: &CrateLayer, dependency: &Dependency, inside: bool) -> bool {
    let name = &dependency.name;
    let normal = if inside { layer.uses.contains(name) } else { layer.external.contains_key(name) };
    let dev =
        if inside { layer.dev_uses.contains(name) } else { layer.dev_external.contains_key(name) };
    match dependency.kind {
        Kind::Normal | Kind::Build => normal,
        Kind::Dev => normal || dev,
    }
}

fn is_member(project: &Project, name: &str) -> bool {
    project.packages.iter().any(|package| package.name == name)
}
