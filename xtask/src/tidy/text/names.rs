//! No drawer for leftovers: no crate, folder, file or module is named `utils` or the like.
//!
//! A function without a home goes to the module of its main argument.

#[cfg(test)]
mod tests;

use syn::visit::Visit;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const BANNED: &[&str] =
    &["utils", "util", "common", "misc", "helpers", "helper", "shared", "types"];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for package in &project.packages {
        let words = package.name.split(['-', '_']);
        if let Some(word) = words.into_iter().find(|word| BANNED.contains(word)) {
            findings.push(Finding::new(&package.manifest_path(), 1, message(word)));
        }
    }
    for (source, rust) in project.rust_files() {
        let parts = source.path.trim_end_matches(".rs").split('/');
        if let Some(part) = parts.into_iter().find(|part| BANNED.contains(part)) {
            findings.push(Finding::new(&source.path, 1, message(part)));
        }
        if let Ok(syntax) = &rust.syntax {
            Modules { file: &source.path, findings }.visit_file(syntax);
        }
    }
}

fn message(name: &str) -> String {
    format!("`{name}` says nothing; name what is in it")
}

struct Modules<'a> {
    file: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for Modules<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        let name = module.ident.to_string();
        if BANNED.contains(&name.as_str()) {
            let line = module.ident.span().start().line;
            self.findings.push(Finding::new(self.file, line, message(&name)));
        }
        syn::visit::visit_item_mod(self, module);
    }
}
