//! The copy of the workspace that bugs are put into, below `target/planted`.
//!
//! Only files whose content differs are written, so that nothing is compiled without need; what is
//! gone from the workspace goes from the copy too. Git says which files there are.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::list::Edit;

pub(super) struct Copy {
    pub(super) root: PathBuf,
    /// The copy of the workspace, and what is built of it.
    pub(super) workspace: PathBuf,
    pub(super) build: PathBuf,
}

impl Copy {
    /// Makes the copy what the workspace is.
    pub(super) fn refresh(root: &Path) -> Result<Self, Box<dyn Error>> {
        let folder = root.join("target/planted");
        let copy = Self {
            root: root.to_path_buf(),
            workspace: folder.join("workspace"),
            build: folder.join("build"),
        };
        std::fs::create_dir_all(&copy.build)?;
        let files = files_known_to_git(root)?;
        for file in &files {
            copy.restore(file)?;
        }
        remove_others(&copy.workspace, &copy.workspace, &files)?;
        Ok(copy)
    }

    /// Where the workspace itself is built.
    pub(super) fn target(&self) -> PathBuf {
        let target = std::env::var_os("CARGO_TARGET_DIR");
        target.map_or_else(|| self.root.join("target"), |target| self.root.join(target))
    }

    /// The text of a file with the edit made.
    pub(super) fn planted_text(&self, edit: &Edit) -> Result<String, Box<dyn Error>> {
        let text = std::fs::read_to_string(self.workspace.join(&edit.file))
            .map_err(|error| format!("{}: {error}", edit.file))?;
        match text.matches(&edit.find).count() {
            1 => Ok(text.replace(&edit.find, &edit.put)),
            count => {
                let message = "the text to find is there so often and not once";
                Err(format!("{}: {message}: {count}\n{}", edit.file, edit.find).into())
            }
        }
    }

    /// Writes a file of the copy.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), Box<dyn Error>> {
        write_if_other(&self.workspace.join(file), text.as_bytes())
    }

    /// Makes a file of the copy what it is in the workspace.
    pub(super) fn restore(&self, file: &str) -> Result<(), Box<dyn Error>> {
        write_if_other(&self.workspace.join(file), &std::fs::read(self.root.join(file))?)
    }
}

fn write_if_other(path: &Path, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
    std::fs::write(path, bytes)?;
    Ok(())
}

/// Files by their paths from the root: those that are tracked, and new ones that are not ignored.
fn files_known_to_git(root: &Path) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let arguments = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    let output = Command::new("git").args(arguments).current_dir(root).output()?;
    if !output.status.success() {
        return Err("git does not tell the files of the workspace".into());
    }
    let names = String::from_utf8(output.stdout)?;
    let names = names.split('\0').filter(|name| root.join(name).is_file());
    Ok(names.map(str::to_owned).collect())
}

/// Removes the files below `folder` that are not among `files`.
fn remove_others(top: &Path, folder: &Path, files: &BTreeSet<String>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(top, &path, files)?;
            continue;
        }
        let name = path.strip_prefix(top).ok().and_then(Path::to_str);
        if name.is_none_or(|name| !files.contains(name)) {
            std::fs::remove_file(&path)?;
        }
    }
    Ok(())
}
