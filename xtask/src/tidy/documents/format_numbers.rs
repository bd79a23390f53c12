//! A number in a `FORMAT.md` that stands before a constant in parentheses is the constant's.
//!
//! Written `2^17 (PAYLOAD_MAX)` with the name between backticks; `file::NAME` where several files
//! have one of that name. The constants are those of the Rust files in the page's folder and below.
//! Every page has such a number, so that none is false for long.

mod value;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;
use value::Value;

const NAME: &str = "FORMAT.md";

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let is_page = |path: &str| path.rsplit('/').next() == Some(NAME);
    for page in project.tree.files().filter(|source| is_page(&source.path)) {
        let folder = page.path.strip_suffix(NAME).unwrap_or_default();
        let constants = constants(project, folder);
        let mut count = 0;
        for (line, text) in (1..).zip(page.text.lines()) {
            for (number, name) in claims(text) {
                count += 1;
                if let Some(message) = judge(&constants, number, name) {
                    findings.push(Finding::new(&page.path, line, message));
                }
            }
        }
        if count == 0 {
            let message = "no number stands before its constant: `17 (`NAME`)`";
            findings.push(Finding::new(&page.path, 1, message));
        }
    }
}

/// The constants below a folder: by `NAME`, and by `file::NAME`. A name of several has none.
fn constants(project: &Project, folder: &str) -> BTreeMap<String, Option<Value>> {
    let mut constants = BTreeMap::new();
    let below =
        |path: &str| path.strip_prefix(folder).is_some_and(|rest| !rest.starts_with("tests/"));
    for (source, rust) in project.rust_files().filter(|(source, _)| below(&source.path)) {
        let (Ok(syntax), false) = (&rust.syntax, project.is_test(&source.path)) else { continue };
        let stem = value::stem(&source.path);
        for (name, value) in value::constants(syntax) {
            constants.insert(format!("{stem}::{name}"), Some(value));
            constants.entry(name).and_modify(|known| *known = None).or_insert(Some(value));
        }
    }
    constants
}

fn judge(constants: &BTreeMap<String, Option<Value>>, number: &str, name: &str) -> Option<String> {
    match constants.get(name) {
        None => Some(format!("there is no constant `{name}` below this folder")),
        Some(None) => Some(format!("there are several `{name}`: name the file before it")),
        Some(Some(value)) => match value::read(number) {
            Some(said) if said == *value => None,
            _ => Some(format!("`{name}` is {value} and not {number}")),
        },
    }
}

/// Numbers and names: `.. 2^29 - 1 (`NAME`)`.
fn claims(text: &str) -> Vec<(&str, &str)> {
    let mut claims = Vec::new();
    for (at, _) in text.match_indices("(`") {
        let Some(name) = text[at + 2..].split('`').next() else { continue };
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_constant = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let is_named = last.chars().all(is_constant) && last.starts_with(char::is_alphabetic);
        let number = value::at_end(text[..at].trim_end());
        if let (true, Some(number)) = (is_named, number) {
            claims.push((number, name));
        }
    }
    claims
}
