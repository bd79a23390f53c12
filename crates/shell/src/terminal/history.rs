//! The file in which typed lines are kept.
//!
//! It is `remanent/history` in the folder for state (`XDG_STATE_HOME`, else `~/.local/state`), or
//! what `REMANENT_HISTORY` names; if that is empty, nothing is kept.

use std::ffi::OsString;
use std::path::PathBuf;

use rustyline::Editor;
use rustyline::history::FileHistory;

use super::completion::Completion;

/// Names the file, or is empty.
const VARIABLE: &str = "REMANENT_HISTORY";

/// Reads what was kept.
pub(super) fn load(lines: &mut Editor<Completion, FileHistory>) {
    if let Some(path) = path(|name| std::env::var_os(name)) {
        // There is none yet, or it is not ours: then it begins anew.
        let _ = lines.load_history(&path);
    }
}

/// Adds what was typed since.
pub(super) fn save(lines: &mut Editor<Completion, FileHistory>) {
    let Some(path) = path(|name| std::env::var_os(name)) else { return };
    if let Some(folder) = path.parent() {
        let _ = std::fs::create_dir_all(folder);
    }
    // A history that cannot be kept harms nothing.
    let _ = lines.append_history(&path);
}

/// The file, by the environment.
pub(super) fn path(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(given) = variable(VARIABLE) {
        return (!given.is_empty()).then(|| PathBuf::from(given));
    }
    let state = variable("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let home = || Some(PathBuf::from(variable("HOME")?).join(".local/state"));
    Some(state.or_else(home)?.join("remanent/history"))
}

#[cfg(test)]
mod tests;
