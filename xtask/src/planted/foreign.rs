//! What the workspace has built of foreign crates, taken over by the copy.
//!
//! Of our own crates nothing is, since cargo knows them by their place in the workspace, and would
//! take what was built of one for that of the other.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Takes over what is there of a profile, if nothing was built of it here yet.
pub(super) fn take_over(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    if to.exists() || !from.join(".fingerprint").exists() {
        return Ok(());
    }
    for part in ["deps", "build", ".fingerprint"] {
        let is_linked = part != ".fingerprint";
        std::fs::create_dir_all(to.join(part))?;
        let entries = std::fs::read_dir(from.join(part))?.filter_map(Result::ok);
        let names = entries.map(|entry| entry.path());
        let names: Vec<PathBuf> = names.filter(|path| is_foreign(path, part == "deps")).collect();
        for names in names.chunks(500) {
            let mut cp = Command::new("cp");
            cp.arg("-a").args(is_linked.then_some("-l")).args(names).arg(to.join(part));
            crate::process::run(&mut cp)?;
        }
    }
    Ok(())
}

/// Whether what was built is that of a foreign crate: of libraries only, where it is one of them.
fn is_foreign(path: &Path, is_library: bool) -> bool {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_ours = ["remanent", "lab", "xtask"].iter().any(|ours| {
        let name = if is_library { name.strip_prefix("lib").unwrap_or(name) } else { name };
        let rest = name.strip_prefix(ours);
        rest.is_some_and(|rest| rest.starts_with(['-', '_']))
    });
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    !is_ours && (!is_library || matches!(extension, "rlib" | "rmeta" | "so"))
}

#[cfg(test)]
mod tests;
