//! The paths that a Rust file mentions, as seen from the root of its crate.
//!
//! Works on tokens and not on syntax, so that paths inside macros count. `super` and `self` are
//! resolved against the module the tokens stand in, `use` groups are taken apart, and every
//! module below a file that has a body of its own is entered.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

pub(super) struct UsedPath {
    /// From the crate's root; empty for `crate::*`.
    pub(super) path: Vec<String>,
    pub(super) line: usize,
}

/// Every path beginning with `crate`, `super` or `self` in the text of the module `module`.
pub(super) fn used(text: &str, module: &[String]) -> Vec<UsedPath> {
    let mut found = Vec::new();
    if let Ok(tokens) = text.parse::<TokenStream>() {
        scan(&tokens.into_iter().collect::<Vec<_>>(), module, &mut found);
    }
    found
}

/// The names that a root file takes out of its modules, each with the path it comes from.
pub(super) fn re_exports(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut exports = BTreeMap::new();
    if let Ok(file) = syn::parse_file(text) {
        for item in file.items {
            if let syn::Item::Use(item) = item {
                export(&item.tree, &mut Vec::new(), &mut exports);
            }
        }
    }
    exports
}

fn export(
    tree: &syn::UseTree,
    path: &mut Vec<String>,
    exports: &mut BTreeMap<String, Vec<String>>,
) {
    let origin = |path: &[String], last: String| {
        let mut origin: Vec<String> = path.to_vec();
        origin.extend((last != "self").then_some(last));
        origin.into_iter().skip_while(|part| part == "crate" || part == "self").collect::<Vec<_>>()
    };
    match tree {
        syn::UseTree::Path(part) => {
            path.push(part.ident.to_string());
            export(&part.tree, path, exports);
            path.pop();
        }
        syn::UseTree::Name(name) => {
            let origin = origin(path, name.ident.to_string());
            if let Some(last) = origin.last() {
                exports.insert(last.clone(), origin);
            }
        }
        syn::UseTree::Rename(rename) => {
            exports.insert(rename.rename.to_string(), origin(path, rename.ident.to_string()));
        }
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                export(tree, path, exports);
            }
        }
        syn::UseTree::Glob(_) => {}
    }
}

fn scan(tokens: &[TokenTree], module: &[String], found: &mut Vec<UsedPath>) {
    let mut index = 0;
    while index < tokens.len() {
        let is_start = index < 2 || !is_colons(&tokens[index - 2..]);
        if let Some(base) = base_of(tokens, index, module).filter(|_| is_start) {
            index = follow(tokens, index, base, found);
            continue;
        }
        if let TokenTree::Group(group) = &tokens[index] {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            match module_name(tokens, index) {
                Some(name) => scan(&inner, &[module, &[name]].concat(), found),
                None => scan(&inner, module, found),
            }
        }
        index += 1;
    }
}

/// The path that `crate::`, `self::` or `super::` at `index` stands for.
fn base_of(tokens: &[TokenTree], index: usize, module: &[String]) -> Option<Vec<String>> {
    let TokenTree::Ident(ident) = &tokens[index] else {
        return None;
    };
    if !tokens.get(index + 1..).is_some_and(is_colons) {
        return None;
    }
    match ident.to_string().as_str() {
        "crate" => Some(Vec::new()),
        "self" => Some(module.to_vec()),
        "super" => Some(module[..module.len().saturating_sub(1)].to_vec()),
        _ => None,
    }
}

/// Reads on after the first word of a path, and returns where it ends.
fn follow(
    tokens: &[TokenTree],
    start: usize,
    mut path: Vec<String>,
    found: &mut Vec<UsedPath>,
) -> usize {
    let line = tokens[start].span().start().line;
    let mut index = start + 1;
    while tokens.get(index..).is_some_and(is_colons) {
        match tokens.get(index + 2) {
            Some(TokenTree::Ident(ident)) if ident == "super" => {
                path.pop();
            }
            Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(is_comma) {
                    follow_part(part, &path, found);
                }
                return index + 3;
            }
            // A glob, or the arguments of a generic.
            _ => break,
        }
        index += 3;
    }
    found.push(UsedPath { path, line });
    index
}

/// One part of a `use` group: `name`, `name::..`, `self`, `super::..` or `*`.
fn follow_part(part: &[TokenTree], path: &[String], found: &mut Vec<UsedPath>) {
    let mut path = path.to_vec();
    match part.first() {
        Some(TokenTree::Ident(ident)) if ident == "self" => {}
        Some(TokenTree::Ident(ident)) if ident == "super" => {
            path.pop();
        }
        Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
        Some(_) => {}
        None => return,
    }
    follow(part, 0, path, found);
}

/// The name of the module whose body is the group at `index`.
fn module_name(tokens: &[TokenTree], index: usize) -> Option<String> {
    let [.., TokenTree::Ident(keyword), TokenTree::Ident(name)] = &tokens[..index] else {
        return None;
    };
    (keyword == "mod").then(|| name.to_string())
}

fn is_colons(tokens: &[TokenTree]) -> bool {
    let is_colon = |token: &TokenTree| matches!(token, TokenTree::Punct(p) if p.as_char() == ':');
    matches!(tokens, [first, second, ..] if is_colon(first) && is_colon(second))
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}
