//! Which module each Rust file is, found by following `mod` lines from the roots of every crate.
//!
//! Roots are what cargo builds by itself: `lib.rs`, `main.rs`, `build.rs`, files in `src/bin`,
//! `tests`, `examples` and `benches`, and targets with a `path`. A module below `#[cfg(test)]`,
//! and everything in a package's `tests` and `benches`, is test code.

#[cfg(test)]
mod tests;

use proc_macro2::{TokenStream, TokenTree};
use syn::{Attribute, Item, ItemMod, Meta};
use toml::Value;

use super::packages::Package;
use super::tree::Tree;

pub(crate) struct Module {
    pub(crate) file: String,
    pub(crate) package: String,
    /// From the crate's root: empty for the root itself, `["table", "row"]` for `table::row`.
    pub(crate) path: Vec<String>,
    /// Whether the crate it belongs to is the package's library, or its program if it has none.
    pub(crate) in_main_crate: bool,
    pub(crate) is_test: bool,
}

/// All modules that have a file of their own.
pub(crate) fn modules(tree: &Tree, packages: &[Package]) -> Vec<Module> {
    let mut modules = Vec::new();
    for package in packages {
        let main = ["src/lib.rs", "src/main.rs"]
            .map(|file| format!("{}/{file}", package.folder))
            .into_iter()
            .find(|file| tree.get(file).is_some());
        for file in roots(tree, package) {
            let inside = file[package.folder.len() + 1..].to_owned();
            let root = Module {
                package: package.name.clone(),
                path: Vec::new(),
                in_main_crate: main.as_ref() == Some(&file),
                is_test: inside.starts_with("tests/") || inside.starts_with("benches/"),
                file,
            };
            follow(tree, root, true, &mut modules);
        }
    }
    modules
}

/// Whether one of the attributes keeps the item out of everything but tests.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => names_test(list.tokens.clone()),
        _ => false,
    })
}

fn names_test(tokens: TokenStream) -> bool {
    let mut negated = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) if ident == "test" => return true,
            TokenTree::Ident(ident) => negated = ident == "not",
            TokenTree::Group(group) if !negated && names_test(group.stream()) => return true,
            _ => negated = false,
        }
    }
    false
}

fn roots(tree: &Tree, package: &Package) -> Vec<String> {
    let prefix = format!("{}/", package.folder);
    let explicit = explicit_paths(package);
    let is_root = |inside: &str| {
        let parts: Vec<&str> = inside.split('/').collect();
        match parts.as_slice() {
            ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
            ["tests" | "examples" | "benches", _] | ["src", "bin", _] => true,
            ["tests" | "examples" | "benches", _, "main.rs"] => true,
            ["src", "bin", _, "main.rs"] => true,
            _ => explicit.iter().any(|path| path == inside),
        }
    };
    let files = tree.rust_files().filter_map(|(source, _)| source.path.strip_prefix(&prefix));
    files.filter(|inside| is_root(inside)).map(|inside| format!("{prefix}{inside}")).collect()
}

fn explicit_paths(package: &Package) -> Vec<String> {
    let mut paths = Vec::new();
    for section in ["lib", "bin", "test", "example", "bench"] {
        let Some(value) = package.manifest.get(section) else {
            continue;
        };
        let targets = value.as_array().cloned().unwrap_or_else(|| vec![value.clone()]);
        for target in targets {
            paths.extend(target.get("path").and_then(Value::as_str).map(str::to_owned));
        }
    }
    let build = package.manifest.get("package").and_then(|package| package.get("build"));
    paths.extend(build.and_then(Value::as_str).map(str::to_owned));
    paths
}

fn follow(tree: &Tree, module: Module, owns_folder: bool, modules: &mut Vec<Module>) {
    if modules.iter().any(|known| known.file == module.file && known.path == module.path) {
        return;
    }
    let (folder, name) = module.file.rsplit_once('/').unwrap_or(("", &module.file));
    let (folder, stem) = (folder.to_owned(), name.trim_end_matches(".rs"));
    let children = if owns_folder { folder.clone() } else { format!("{folder}/{stem}") };
    let syntax = tree.get(&module.file).and_then(|source| source.rust.as_ref());
    if let Some(Ok(syntax)) = syntax.map(|rust| &rust.syntax) {
        let position =
            ModulePosition { path: module.path.clone(), folder, children, is_test: module.is_test };
        follow_items(tree, &module, &syntax.items, &position, modules);
    }
    modules.push(module);
}

/// Where the items being read stand: their module path and the folders `mod` lines look into.
struct ModulePosition {
    path: Vec<String>,
    /// What `#[path = ".."]` is relative to.
    folder: String,
    children: String,
    is_test: bool,
}

fn follow_items(
    tree: &Tree,
    module: &Module,
    items: &[Item],
    position: &ModulePosition,
    modules: &mut Vec<Module>,
) {
    for item in items {
        let Item::Mod(declaration) = item else {
            continue;
        };
        let name = declaration.ident.to_string();
        let path = [position.path.as_slice(), std::slice::from_ref(&name)].concat();
        let is_test = position.is_test || is_test_only(&declaration.attrs);
        let children = format!("{}/{name}", position.children);
        if let Some((_, items)) = &declaration.content {
            let inner = ModulePosition { path, folder: children.clone(), children, is_test };
            follow_items(tree, module, items, &inner, modules);
        } else if let Some((file, owns_folder)) = file_of(tree, declaration, position, &children) {
            let child = Module {
                package: module.package.clone(),
                in_main_crate: module.in_main_crate,
                file,
                path,
                is_test,
            };
            follow(tree, child, owns_folder, modules);
        }
    }
}

/// The file a `mod x;` stands for, and whether its own children lie in the file's folder.
fn file_of(
    tree: &Tree,
    declaration: &ItemMod,
    position: &ModulePosition,
    children: &str,
) -> Option<(String, bool)> {
    if let Some(path) = path_attribute(&declaration.attrs) {
        let file = normal(&format!("{}/{path}", position.folder));
        return tree.get(&file).map(|_| (file, true));
    }
    let candidates = [(format!("{children}.rs"), false), (format!("{children}/mod.rs"), true)];
    candidates.into_iter().find(|(file, _)| tree.get(file).is_some())
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// The path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}
