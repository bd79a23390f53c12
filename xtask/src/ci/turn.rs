//! Whose turn it is: which tenth of what is too much for every run.
//!
//! Runs are counted in a file of whoever runs them, `remanent/ci-turn` in the folder that
//! `XDG_STATE_HOME` names or `~/.local/state`, so that on one machine each part runs every tenth
//! time. A machine without the file begins at the number of commits, which differs from one change
//! to the next: so machines that keep nothing have one part or another, too.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The number of the next run; counted if the run is a whole one.
pub(super) fn next(root: &Path, is_counted: bool) -> Result<u64, Box<dyn std::error::Error>> {
    let file = file();
    let last = file.as_deref().and_then(read);
    let turn = match last {
        Some(last) => last.wrapping_add(1),
        None => commits(root)?,
    };
    if let Some(file) = file.filter(|_| is_counted)
        && let Err(error) = write(&file, turn)
    {
        // The next run has the same part, unless something was committed.
        eprintln!("ci: {}: {error}; runs are not counted", file.display());
    }
    Ok(turn)
}

fn file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").filter(|folder| !folder.is_empty());
    let state = state.map(PathBuf::from).or_else(|| {
        let home = std::env::var_os("HOME")?;
        Some(Path::new(&home).join(".local/state"))
    });
    state.map(|state| state.join("remanent/ci-turn"))
}

fn read(file: &Path) -> Option<u64> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn write(file: &Path, turn: u64) -> std::io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(file))?;
    std::fs::write(file, format!("{turn}\n"))
}

fn commits(root: &Path) -> Result<u64, Box<dyn std::error::Error>> {
    let mut git = Command::new("git");
    let output = git.args(["rev-list", "--count", "HEAD"]).current_dir(root).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().parse().unwrap_or(0))
}

#[cfg(test)]
mod tests;
