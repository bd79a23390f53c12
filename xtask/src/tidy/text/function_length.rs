//! A function has at most 70 lines, from `fn` to its closing brace.
//!
//! Functions written by macros are not seen.

#[cfg(test)]
mod tests;

use proc_macro2::Span;
use syn::visit::Visit;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;

const LINES_MAX: usize = 70;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        if let Ok(syntax) = &rust.syntax {
            Functions { file: &source.path, findings }.visit_file(syntax);
        }
    }
}

struct Functions<'a> {
    file: &'a str,
    findings: &'a mut Vec<Finding>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, end: Span) {
        let first = signature.fn_token.span.start().line;
        let lines = end.end().line + 1 - first;
        if lines > LINES_MAX {
            let name = &signature.ident;
            let message = format!("`{name}` has {lines} lines, more than {LINES_MAX}");
            self.findings.push(Finding::new(self.file, first, message));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig, function.block.brace_token.span.close());
        syn::visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig, function.block.brace_token.span.close());
        syn::visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig, block.brace_token.span.close());
        }
        syn::visit::visit_trait_item_fn(self, function);
    }
}
