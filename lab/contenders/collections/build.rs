//! Hands the compiler's version to the crate.
//!
//! The standard library has no version of its own at run time; its compiler's is recorded in
//! its place.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(compiler).arg("--version").output();
    let text = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    let words: Vec<&str> = text.as_deref().unwrap_or_default().split_whitespace().collect();
    let version = words.get(..2).map_or("rustc".to_owned(), |words| words.join(" "));
    println!("cargo::rustc-env=LAB_RUSTC_VERSION={version}");
}
