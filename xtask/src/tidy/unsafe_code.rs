//! `unsafe` stands only in files named in `layers.toml`, and every use says why it is sound.
//!
//! A block, an `impl`, an `extern` block or an attribute has `// SAFETY:` on the lines above the
//! statement it is in; an `unsafe fn` or `unsafe trait` has a `# Safety` section for its callers,
//! or `// SAFETY:` where it implements a trait that already has one. Names that are exported to C
//! need neither: `exported_names` checks what the attribute promises.

pub(crate) mod exported_names;
#[cfg(test)]
mod tests;

use super::finding::Finding;
use super::layers;
use super::project::Project;
use super::tree::MaskedLine;

pub(crate) fn check(project: &Project, findings: &mut Vec<Finding>) {
    let allowed = &project.layers.unsafe_files;
    for (source, rust) in project.rust_files() {
        let listed = allowed.iter().any(|entry| {
            *entry == source.path || (entry.ends_with('/') && source.path.starts_with(entry))
        });
        for (line, what) in uses(&rust.lines) {
            if exported_names::exported_name(&rust.lines, line).is_some() {
                continue;
            }
            let mut report = |message: &str| {
                findings.push(Finding::new(&source.path, line + 1, message));
            };
            if !listed {
                report("`unsafe` in a file that `xtask/layers.toml` does not list");
            }
            match what {
                Use::Pointer => {}
                Use::Needs if !has_note(&rust.lines, line, &["SAFETY:"]) => {
                    report("`unsafe` without a `// SAFETY:` note above it");
                }
                Use::Offers if !has_note(&rust.lines, line, &["# Safety", "SAFETY:"]) => {
                    report("an `unsafe fn` or `unsafe trait` without a `# Safety` section");
                }
                Use::Needs | Use::Offers => {}
            }
        }
    }
    for entry in allowed.iter().filter(|entry| !project.tree.has(entry)) {
        let message = format!("`{entry}` is listed for `unsafe` and does not exist");
        findings.push(Finding::new(layers::PATH, 1, message));
    }
}

enum Use {
    /// Promises something to the compiler: a block, an `impl`, an `extern` block, an attribute.
    Needs,
    /// Asks something of callers: a function or a trait.
    Offers,
    /// Only names the type of a function.
    Pointer,
}

/// Each `unsafe` in code, by index of its line.
fn uses(lines: &[MaskedLine]) -> Vec<(usize, Use)> {
    let mut uses = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        for (position, _) in line.code.match_indices("unsafe") {
            let is_word = |character: char| character.is_alphanumeric() || character == '_';
            let rest = &line.code[position + "unsafe".len()..];
            if line.code[..position].ends_with(is_word) || rest.starts_with(is_word) {
                continue;
            }
            let following = lines[index + 1..].iter().take(3).map(|line| line.code.as_str());
            let rest = [rest].into_iter().chain(following).collect::<Vec<_>>().join(" ");
            uses.push((index, kind(rest.trim_start())));
        }
    }
    uses
}

/// What the text after `unsafe` makes of it.
fn kind(rest: &str) -> Use {
    // The name of the calling convention is an empty string here.
    let rest = rest
        .strip_prefix("extern")
        .map_or(rest, |rest| rest.trim_start().trim_start_matches('"').trim_start());
    if rest.starts_with("trait ") {
        return Use::Offers;
    }
    match rest.strip_prefix("fn").map(str::trim_start) {
        Some(rest) if rest.starts_with('(') => Use::Pointer,
        Some(_) => Use::Offers,
        None => Use::Needs,
    }
}

/// Whether a comment with one of `words` stands above the statement that holds line `index`.
fn has_note(lines: &[MaskedLine], index: usize, words: &[&str]) -> bool {
    for line in lines[..index].iter().rev() {
        let code = line.code.trim();
        let is_attribute = code.starts_with("#[") || code.ends_with(")]");
        if words.iter().any(|word| line.comment.contains(word)) && code.is_empty() {
            return true;
        }
        let is_blank = code.is_empty() && line.comment.is_empty();
        if is_blank || (!is_attribute && code.ends_with([';', '{', '}'])) {
            return false;
        }
    }
    false
}
