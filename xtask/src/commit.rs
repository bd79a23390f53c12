//! `cargo xtask commit [REVISION]`: a commit's message has a short title and says why.
//!
//! The title has at most 72 columns, and behind an empty line there is a body. Without a revision
//! it is about the newest commit. A merge says what it merges, and is free.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;

const TITLE_COLUMNS_MAX: usize = 72;

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let revision = match arguments {
        [] => "HEAD",
        [revision] if !revision.starts_with('-') => revision,
        _ => return Err("takes one revision".into()),
    };
    // The parents in one line, then the message.
    let mut git = Command::new("git");
    let output = git.args(["log", "-1", "--format=%P%n%B", revision]).current_dir(root).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let (parents, message) = text.split_once('\n').unwrap_or(("", &text));
    if parents.split_whitespace().count() > 1 {
        return Ok(());
    }
    check(message).map_err(|reason| format!("{revision}: {reason}").into())
}

/// What is wrong with the message of a commit.
fn check(message: &str) -> Result<(), String> {
    let mut lines = message.lines();
    let title = lines.next().unwrap_or_default();
    let columns = title.chars().count();
    if columns > TITLE_COLUMNS_MAX {
        return Err(format!("the title has {columns} columns, more than {TITLE_COLUMNS_MAX}"));
    }
    if title.trim().is_empty() {
        return Err("there is no title".to_owned());
    }
    if lines.next().is_some_and(|line| !line.trim().is_empty()) {
        return Err("no empty line follows the title".to_owned());
    }
    match lines.any(|line| !line.trim().is_empty()) {
        true => Ok(()),
        false => Err("there is no body that says why".to_owned()),
    }
}
