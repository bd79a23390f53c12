//! The files of the repository as the checks see them: path, size and text, read once.
//!
//! A path is relative to the root and uses `/`. Files come from git: tracked ones and new ones
//! that are not ignored, so a check speaks before the commit and not after it. Rust files also
//! carry their text with comments and strings taken apart, and their syntax tree.

mod masked;

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::Command;

pub(crate) use masked::MaskedLine;

pub(crate) struct Tree {
    files: BTreeMap<String, Source>,
}

pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) size_bytes: u64,
    /// Empty for a file that is not UTF-8.
    pub(crate) text: String,
    /// Present for a file ending in `.rs`.
    pub(crate) rust: Option<RustSource>,
}

pub(crate) struct RustSource {
    pub(crate) lines: Vec<MaskedLine>,
    pub(crate) syntax: Result<syn::File, syn::Error>,
}

impl Tree {
    /// Reads the working tree below `root`.
    pub(crate) fn read(root: &Path) -> Result<Tree, Box<dyn Error>> {
        let mut tree = Tree { files: BTreeMap::new() };
        for path in paths_known_to_git(root)? {
            let place = root.join(&path);
            // A symbolic link is not read: what it points to is listed under its own name.
            let is_file = place.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if is_file {
                tree.insert(path, std::fs::read(place)?);
            }
        }
        Ok(tree)
    }

    /// A tree of the given paths and texts, for tests of the checks.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree { files: BTreeMap::new() };
        for (path, text) in files {
            tree.insert((*path).to_owned(), text.as_bytes().to_vec());
        }
        tree
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    pub(crate) fn files(&self) -> impl Iterator<Item = &Source> {
        self.files.values()
    }

    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&Source, &RustSource)> {
        self.files().filter_map(|source| Some((source, source.rust.as_ref()?)))
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Source> {
        self.files.get(path)
    }

    /// Whether a file has this path, or lies below it if it names a folder.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        self.files.contains_key(path) || self.files.keys().any(|file| file.starts_with(&folder))
    }

    fn insert(&mut self, path: String, bytes: Vec<u8>) {
        let size_bytes = bytes.len() as u64;
        let text = String::from_utf8(bytes).unwrap_or_default();
        let rust = path
            .ends_with(".rs")
            .then(|| RustSource { lines: masked::lines(&text), syntax: syn::parse_file(&text) });
        self.files.insert(path.clone(), Source { path, size_bytes, text, rust });
    }
}

fn paths_known_to_git(root: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let output = Command::new("git")
        // Listing names runs nothing of the repository, whoever its folder belongs to.
        .args(["-c", "safe.directory=*", "-c", "core.quotePath=false"])
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot run git: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("git ls-files failed: {}", reason.trim()).into());
    }
    let names = String::from_utf8(output.stdout)?;
    Ok(names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}
