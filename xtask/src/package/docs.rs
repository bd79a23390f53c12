//! The book as pages of HTML, made by mdBook, which is installed below `target/package`.
//!
//! Links that lead from a page to a file of the repository stay as they are; tidy checks them.

use std::path::Path;
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const MDBOOK: &str = "~0.5";

pub(super) fn make(root: &Path, folder: &Path) -> Outcome {
    let tools = folder.join("tools");
    let program = tools.join("bin/mdbook");
    if !program.exists() {
        let mut install = Command::new("cargo");
        install.args(["install", "--quiet", "--locked", "mdbook", "--version", MDBOOK, "--root"]);
        process::run(install.arg(&tools))?;
    }
    let book = super::emptied(folder.join("book"))?;
    process::run(Command::new(program).arg("build").arg(root).arg("--dest-dir").arg(&book))?;
    let first = book.join("index.html");
    if !first.exists() {
        return Err(format!("mdBook has made no {}", first.display()).into());
    }
    println!("the book begins with {}", first.display());
    Ok(())
}
