//! `cargo xtask package KIND`: what is installed with a package manager, or unpacked.
//!
//! Each kind is made in `target/package`, installed or unpacked there into a folder that was empty,
//! and used: a package that does nothing where it was installed fails here. `wheel` is the Python
//! package; `tar` and `deb` are libraries, headers and the program for C, as `cargo xtask install`
//! puts them down; `crates` is what crates.io would get, `docs` the book as pages of HTML.

mod crates;
mod docs;
mod tree;
mod wheel;

use std::path::{Path, PathBuf};

use crate::outcome::Outcome;

const USAGE: &str = "write `cargo xtask package wheel|tar|deb|crates|docs`";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let [kind] = arguments else { return Err(USAGE.into()) };
    let folder = target(root).join("package");
    std::fs::create_dir_all(&folder)?;
    match kind.as_str() {
        "wheel" => wheel::make(root, &folder),
        "tar" => tree::make_tar(root, &folder),
        "deb" => tree::make_deb(root, &folder),
        "crates" => crates::make(root),
        "docs" => docs::make(root, &folder),
        _ => Err(USAGE.into()),
    }
}

fn target(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from);
    root.join(target)
}

/// The folder of this name, empty.
fn emptied(folder: PathBuf) -> Result<PathBuf, std::io::Error> {
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}
