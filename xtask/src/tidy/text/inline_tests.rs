//! Tests lie in a sibling file: `#[cfg(test)] mod tests;`, never `mod tests { .. }`.
//!
//! A reader of the code then sees the code, and a long proof does not make a file too long.

#[cfg(test)]
mod tests;

use syn::visit::Visit;

use crate::tidy::finding::Finding;
use crate::tidy::module_graph::is_test_only;
use crate::tidy::project::Project;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        if let Ok(syntax) = &rust.syntax {
            InlineTests { file: &source.path, findings }.visit_file(syntax);
        }
    }
}

struct InlineTests<'a> {
    file: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl<'ast> Visit<'ast> for InlineTests<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() && is_test_only(&module.attrs) {
            let line = module.mod_token.span.start().line;
            let message = format!("tests inside the file; write `mod {};`", module.ident);
            self.findings.push(Finding::new(self.file, line, message));
        }
        syn::visit::visit_item_mod(self, module);
    }
}
