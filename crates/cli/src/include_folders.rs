//! Where `#include` looks on disk: beside the including file, then in the folders given with `-I`.
//!
//! A file is known by its path as the file system resolves it, so that one which includes itself
//! by another spelling is found.

use std::path::{Path, PathBuf};

use remanent_ddl::{Resolver, Source};

/// Folders to look into, in order.
pub(crate) struct IncludeFolders {
    pub(crate) folders: Vec<PathBuf>,
}

impl Resolver for IncludeFolders {
    fn resolve(&mut self, name: &str, including: &str) -> Result<Source, String> {
        let beside = Path::new(including).parent().unwrap_or(Path::new("")).to_path_buf();
        let mut tried = Vec::new();
        for folder in std::iter::once(&beside).chain(&self.folders) {
            let path = folder.join(name);
            match std::fs::read(&path) {
                Ok(bytes) => {
                    let whole = path.canonicalize().unwrap_or_else(|_| path.clone());
                    let here = std::env::current_dir().and_then(|here| here.canonicalize());
                    let near = here
                        .ok()
                        .and_then(|here| whole.strip_prefix(here).map(Path::to_path_buf).ok());
                    let shown = near.unwrap_or(whole);
                    return Ok(Source::new(shown.to_string_lossy(), bytes));
                }
                Err(error) => tried.push(format!("{}: {error}", path.display())),
            }
        }
        Err(format!("give its folder with -I; {}", tried.join("; ")))
    }
}
