//! What the ratchet counts, each by a name that people find again.
//!
//! Tests do not count. What macros write is not seen.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};

use super::Counts;
use crate::tidy::project::Project;
use crate::tidy::tree::{RustSource, Source};

/// Rust files of each folder.
pub(super) fn siblings(project: &Project) -> Counts {
    let mut counts = Counts::new();
    for (source, _) in sources(project) {
        let folder = source.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        *counts.entry(folder.to_owned()).or_default() += 1;
    }
    counts
}

/// Files with an `impl` block, without a trait, for each type that the package itself declares. A
/// name that is declared several times stands for the type that has the most such files.
pub(super) fn implementations(project: &Project) -> Counts {
    let mut packages: BTreeMap<&str, Types> = BTreeMap::new();
    for (source, rust) in sources(project) {
        let Ok(syntax) = &rust.syntax else { continue };
        let mut types = TypesOfFile::default();
        types.visit_file(syntax);
        let package = packages.entry(package_of(project, &source.path)).or_default();
        package.declared.extend(types.declared.iter().cloned());
        for name in types.implemented {
            let files = package.files.entry(name.clone()).or_default();
            match types.declared.contains(&name) {
                true => files.at_home = true,
                false => files.elsewhere += 1,
            }
        }
    }
    let mut counts = Counts::new();
    for (package, types) in packages {
        for (name, files) in types.files {
            if types.declared.contains(&name) {
                let count = files.elsewhere + usize::from(files.at_home);
                counts.insert(format!("{package} {name}"), count);
            }
        }
    }
    counts
}

/// Parameters of functions that are tuples taken apart, for each package; `(key, value)` is one
/// thing that every reader knows.
pub(super) fn tuple_parameters(project: &Project) -> Counts {
    by_package(project, |_, rust| {
        let Ok(syntax) = &rust.syntax else { return 0 };
        let mut tuples = Tuples::default();
        tuples.visit_file(syntax);
        tuples.count
    })
}

/// Calls that look for words in the text of an error, outside of files that make errors.
pub(super) fn error_texts(project: &Project) -> Counts {
    by_package(project, |source, rust| {
        let Ok(syntax) = &rust.syntax else { return 0 };
        if source.path.ends_with("/error.rs") {
            return 0;
        }
        let mut texts = ErrorTexts::default();
        texts.visit_file(syntax);
        texts.count
    })
}

fn by_package(project: &Project, count: impl Fn(&Source, &RustSource) -> usize) -> Counts {
    let mut counts = Counts::new();
    for (source, rust) in sources(project) {
        let package = package_of(project, &source.path).to_owned();
        *counts.entry(package).or_default() += count(source, rust);
    }
    counts
}

fn sources(project: &Project) -> impl Iterator<Item = (&Source, &RustSource)> {
    project.rust_files().filter(|(source, _)| !project.is_test(&source.path))
}

/// The package in whose folder a file lies, the innermost one.
fn package_of<'p>(project: &'p Project, path: &str) -> &'p str {
    let holds = |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let packages = project.packages.iter().filter(|package| holds(&package.folder));
    packages.max_by_key(|package| package.folder.len()).map_or("", |package| &package.name)
}

#[derive(Default)]
struct Types {
    declared: BTreeSet<String>,
    files: BTreeMap<String, Files>,
}

/// Files that implement a type: the one that declares it, and others.
#[derive(Default)]
struct Files {
    at_home: bool,
    elsewhere: usize,
}

#[derive(Default)]
struct TypesOfFile {
    declared: BTreeSet<String>,
    implemented: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for TypesOfFile {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declared.insert(item.ident.to_string());
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declared.insert(item.ident.to_string());
    }

    fn visit_item_union(&mut self, item: &'ast syn::ItemUnion) {
        self.declared.insert(item.ident.to_string());
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        if let (None, syn::Type::Path(path)) = (&item.trait_, &*item.self_ty)
            && let Some(last) = path.path.segments.last()
        {
            self.implemented.insert(last.ident.to_string());
        }
    }
}

#[derive(Default)]
struct Tuples {
    count: usize,
}

impl<'ast> Visit<'ast> for Tuples {
    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        let is_tuple = |input: &&syn::FnArg| match input {
            syn::FnArg::Typed(typed) => match &*typed.pat {
                syn::Pat::Tuple(tuple) => !is_pair(tuple),
                _ => false,
            },
            syn::FnArg::Receiver(_) => false,
        };
        self.count += signature.inputs.iter().filter(is_tuple).count();
    }
}

/// Whether a pattern is `(key, value)`.
fn is_pair(tuple: &syn::PatTuple) -> bool {
    let names = tuple.elems.iter().map(|part| match part {
        syn::Pat::Ident(name) => name.ident.to_string(),
        _ => String::new(),
    });
    names.eq(["key", "value"])
}

#[derive(Default)]
struct ErrorTexts {
    count: usize,
}

impl<'ast> Visit<'ast> for ErrorTexts {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let looks = ["contains", "starts_with", "ends_with"].iter().any(|name| call.method == name);
        let is_literal = matches!(
            call.args.first(),
            Some(syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(_), .. }))
        );
        if looks && is_literal && is_error_text(&call.receiver) {
            self.count += 1;
        }
        visit::visit_expr_method_call(self, call);
    }
}

/// Whether an expression is `.message()` of something, or an error's `.to_string()`.
fn is_error_text(receiver: &syn::Expr) -> bool {
    let syn::Expr::MethodCall(call) = receiver else { return false };
    if call.method == "message" {
        return true;
    }
    let is_error = |name: String| ["error", "err", "failure"].contains(&name.as_str());
    let named = match &*call.receiver {
        syn::Expr::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
        syn::Expr::Field(syn::ExprField { member: syn::Member::Named(name), .. }) => {
            Some(name.to_string())
        }
        _ => None,
    };
    call.method == "to_string" && named.is_some_and(is_error)
}
