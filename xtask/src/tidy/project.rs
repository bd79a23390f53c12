//! Everything a check may look at: the files, the packages, the module graph, the layers.
//!
//! Built once before the first check. A Rust file that does not parse is a finding and not an
//! error, so that the other checks still speak.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::error::Error;

use super::finding::Finding;
use super::layers::{self, Layers};
use super::module_graph::{self, Module};
use super::packages::{self, Package};
use super::tree::{RustSource, Source, Tree};

pub(crate) struct Project {
    pub(crate) tree: Tree,
    pub(crate) packages: Vec<Package>,
    pub(crate) modules: Vec<Module>,
    pub(crate) layers: Layers,
    test_files: BTreeSet<String>,
}

impl Project {
    pub(crate) fn new(tree: Tree) -> Result<Project, Box<dyn Error>> {
        let layers = tree.get(layers::PATH).map_or("", |source| source.text.as_str());
        let layers = Layers::parse(layers)?;
        let packages = packages::read(&tree)?;
        let modules = module_graph::modules(&tree, &packages);
        let test_files = modules.iter().filter(|module| module.is_test);
        let test_files = test_files.map(|module| module.file.clone()).collect();
        Ok(Project { tree, packages, modules, layers, test_files })
    }

    /// Whether the file is compiled for tests only.
    pub(crate) fn is_test(&self, path: &str) -> bool {
        self.test_files.contains(path)
    }

    /// The Rust files that belong to a crate, which fixtures do not.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&Source, &RustSource)> {
        self.tree.rust_files().filter(|(source, _)| !self.layers.is_fixture(&source.path))
    }
}

/// Reports the Rust files that cannot be read as Rust.
pub(crate) fn check_syntax(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        if let Err(error) = &rust.syntax {
            let line = error.span().start().line;
            findings.push(Finding::new(&source.path, line, format!("does not parse: {error}")));
        }
    }
}
