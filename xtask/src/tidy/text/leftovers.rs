//! Nothing is left behind: no notes to oneself, no debugging, no ignored test, no silent lint.
//!
//! Work that is not done is an issue and not a comment. A lint is silenced with
//! `#[expect(.., reason = "..")]`, which fails as soon as it is not needed any more.

#[cfg(test)]
mod tests;

use crate::tidy::finding::Finding;
use crate::tidy::project::Project;
use crate::tidy::tree::MaskedLine;

/// In pieces, so that this file does not contain what it looks for.
const MARKERS: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];
const MACROS: &[&str] = &["dbg", "todo", "unimplemented"];

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    for (source, rust) in project.rust_files() {
        for (index, line) in rust.lines.iter().enumerate() {
            let found = marker(&line.comment)
                .or_else(|| debugging_macro(&line.code))
                .or_else(|| attribute(&rust.lines, index));
            if let Some(message) = found {
                findings.push(Finding::new(&source.path, index + 1, message));
            }
        }
    }
    for source in project.tree.files() {
        if source.path.ends_with(".toml") || source.path.ends_with(".sh") {
            for (index, line) in source.text.lines().enumerate() {
                findings
                    .extend(marker(line).map(|text| Finding::new(&source.path, index + 1, text)));
            }
        }
    }
}

fn marker(text: &str) -> Option<String> {
    let mut words = text.split(|character: char| !character.is_alphanumeric());
    let found = words.find(|word| MARKERS.contains(word))?;
    Some(format!("`{found}` is left over; do it or open an issue"))
}

fn debugging_macro(code: &str) -> Option<String> {
    let mut rest = code;
    while let Some(position) = rest.find('!') {
        let before = &rest[..position];
        let name =
            before.rsplit(|character: char| !character.is_alphanumeric() && character != '_');
        let name = name.into_iter().next().unwrap_or_default();
        if MACROS.contains(&name) && !rest[position..].starts_with("!=") {
            return Some(format!("`{name}!` is left over"));
        }
        rest = &rest[position + 1..];
    }
    None
}

fn attribute(lines: &[MaskedLine], index: usize) -> Option<String> {
    let code = lines[index].code.trim_start();
    let inner = code.strip_prefix("#![").or_else(|| code.strip_prefix("#["))?;
    let inner = match inner.strip_prefix("cfg_attr(") {
        Some(conditional) => conditional.split_once(", ").map_or("", |(_, rest)| rest),
        None => inner,
    };
    if inner.starts_with("ignore") {
        return Some("an ignored test proves nothing; run it or delete it".to_owned());
    }
    if inner.starts_with("allow(") {
        return Some(
            "`allow` stays when its reason goes; use `expect(.., reason = ..)`".to_owned(),
        );
    }
    let silent = inner.starts_with("expect(") && !attribute_text(lines, index).contains("reason =");
    silent.then(|| "`expect` needs `reason = \"..\"`".to_owned())
}

/// The attribute that begins on line `index`, to the bracket that closes it.
fn attribute_text(lines: &[MaskedLine], index: usize) -> String {
    let mut text = String::new();
    let mut depth = 0;
    for line in &lines[index..] {
        for character in line.code.chars() {
            text.push(character);
            match character {
                '[' => depth += 1,
                ']' if depth == 1 => return text,
                ']' => depth -= 1,
                _ => {}
            }
        }
    }
    text
}
