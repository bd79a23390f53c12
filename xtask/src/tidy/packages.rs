//! The packages of the workspace and what each depends on, read from the `Cargo.toml` files.
//!
//! Only what the checks ask for is kept: name, folder, whether it is published, and each
//! dependency with its kind and line. A dependency under `[target.'cfg(..)'.dependencies]`
//! counts like any other of its kind.

use std::error::Error;

use toml::{Table, Value};

use super::tree::Tree;

pub(crate) struct Package {
    pub(crate) name: String,
    /// Folder relative to the root, without a final `/`.
    pub(crate) folder: String,
    pub(crate) manifest: Table,
    pub(crate) dependencies: Vec<Dependency>,
}

pub(crate) struct Dependency {
    /// The package's name, which `package = ".."` may make another than the key.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) line: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

impl Package {
    pub(crate) fn manifest_path(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    pub(crate) fn is_published(&self) -> bool {
        self.manifest
            .get("package")
            .and_then(|package| package.get("publish"))
            .is_none_or(|publish| publish.as_bool() != Some(false))
    }
}

/// All members of the workspace, in the order of the root manifest.
pub(crate) fn read(tree: &Tree) -> Result<Vec<Package>, Box<dyn Error>> {
    let root = manifest(tree, "Cargo.toml")?;
    let workspace = root.get("workspace").and_then(Value::as_table);
    let members = workspace.and_then(|table| table.get("members")).and_then(Value::as_array);
    let members = members.ok_or("Cargo.toml has no [workspace] members")?;
    let mut packages = Vec::new();
    for member in members.iter().filter_map(Value::as_str) {
        for folder in folders(tree, member) {
            packages.push(read_package(tree, folder)?);
        }
    }
    Ok(packages)
}

/// Parses one manifest of the tree.
pub(crate) fn manifest(tree: &Tree, path: &str) -> Result<Table, Box<dyn Error>> {
    let source = tree.get(path).ok_or_else(|| format!("{path} is missing"))?;
    source.text.parse().map_err(|error| format!("{path}: {error}").into())
}

/// The folders a member stands for: itself, or with a final `/*` every package one level below.
fn folders(tree: &Tree, member: &str) -> Vec<String> {
    let Some(parent) = member.strip_suffix("/*") else {
        return vec![member.to_owned()];
    };
    let manifests = tree.files().filter_map(|source| source.path.strip_suffix("/Cargo.toml"));
    manifests
        .filter(|folder| folder.rsplit_once('/').is_some_and(|(above, _)| above == parent))
        .map(str::to_owned)
        .collect()
}

fn read_package(tree: &Tree, folder: String) -> Result<Package, Box<dyn Error>> {
    let path = format!("{folder}/Cargo.toml");
    let manifest = manifest(tree, &path)?;
    let text = &tree.get(&path).ok_or("manifest vanished")?.text;
    let name = manifest.get("package").and_then(|package| package.get("name"));
    let name = name.and_then(Value::as_str).ok_or_else(|| format!("{path} has no package name"))?;
    let mut dependencies = read_dependencies(&manifest, text);
    for target in manifest.get("target").and_then(Value::as_table).into_iter().flatten() {
        dependencies
            .extend(target.1.as_table().into_iter().flat_map(|t| read_dependencies(t, text)));
    }
    Ok(Package { name: name.to_owned(), folder, dependencies, manifest })
}

fn read_dependencies(table: &Table, text: &str) -> Vec<Dependency> {
    let kinds = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Build),
        ("dev-dependencies", Kind::Dev),
    ];
    let mut dependencies = Vec::new();
    for (section, kind) in kinds {
        for (key, value) in table.get(section).and_then(Value::as_table).into_iter().flatten() {
            let renamed = value.get("package").and_then(Value::as_str);
            dependencies.push(Dependency {
                name: renamed.unwrap_or(key).to_owned(),
                kind,
                line: line_of(text, section, key),
            });
        }
    }
    dependencies
}

/// The line on which `key` stands in `section`, or the section's, or the first.
fn line_of(text: &str, section: &str, key: &str) -> usize {
    let mut inside = false;
    let mut found = 1;
    for (index, line) in text.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim_matches(['[', ']']).split('.').any(|part| part == section);
            if inside {
                found = index + 1;
            }
        }
        let named = line.trim_start().trim_start_matches('"').strip_prefix(key);
        if inside && named.is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"'])) {
            return index + 1;
        }
    }
    found
}
