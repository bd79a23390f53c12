//! `cargo xtask tsan`: tests of the engine under ThreadSanitizer, which reports data races.
//!
//! Works with the stable toolchain and the component `rust-src`: the standard library is built
//! anew with the sanitizer, because the one that comes compiled is not instrumented and makes
//! every `Arc`, channel and test report races that are none. `HELP` says what the run covers.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const HELP: &str = "cargo xtask tsan [ARGUMENT..]

Runs `cargo test ARGUMENT..` with ThreadSanitizer in the code and in the standard library;
without arguments `--package remanent-engine --lib`, the engine's own tests.

Needs the component rust-src:  rustup component add rust-src
The first run builds the standard library (about a minute); all goes to target/tsan.

Covers: every plain read and write of memory, by Rust code of the workspace and of std, that
another thread reads or writes without an order between the two, on the schedules that the
tests happen to take.
Does not cover: orders made by a fence alone. ThreadSanitizer does not see `atomic::fence`, so
plain data handed over by relaxed operations around fences is reported although it is sound.
Data read under an optimistic latch must be atomic (relaxed), and is then no race to report.
Nor does it know the weaker orders of the processor: the shuttle models and the orderings'
comments argue those. Foreign code (C libraries) is not instrumented.

Not part of `cargo xtask ci`: it builds everything once more.";

const DEFAULT_ARGUMENTS: &[&str] = &["--package", "remanent-engine", "--lib"];

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    if arguments.first().is_some_and(|argument| argument == "help") {
        println!("{HELP}");
        return Ok(());
    }
    let sources = sysroot()?.join("lib/rustlib/src/rust/library/std/Cargo.toml");
    if !sources.exists() {
        return Err("needs the component rust-src: rustup component add rust-src".into());
    }
    process::run(command(&host()?, arguments).current_dir(root))
}

fn command(target: &str, arguments: &[String]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-Zbuild-std", "--target", target, "--target-dir", "target/tsan"]);
    if arguments.is_empty() {
        cargo.args(DEFAULT_ARGUMENTS);
    } else {
        cargo.args(arguments);
    }
    // The stable compiler knows both -Z options and asks for this word.
    cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=thread");
    if std::env::var_os("TSAN_OPTIONS").is_none() {
        cargo.env("TSAN_OPTIONS", "halt_on_error=1:second_deadlock_stack=1");
    }
    cargo
}

fn sysroot() -> Result<PathBuf, Box<dyn Error>> {
    Ok(PathBuf::from(rustc(&["--print", "sysroot"])?.trim()))
}

/// The target that programs of this machine are built for.
fn host() -> Result<String, Box<dyn Error>> {
    let version = rustc(&["-vV"])?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV names no host")?.to_owned())
}

fn rustc(arguments: &[&str]) -> Result<String, Box<dyn Error>> {
    let output = Command::new("rustc").args(arguments).output();
    let output = output.map_err(|error| format!("cannot run `rustc`: {error}"))?;
    Ok(String::from_utf8(output.stdout)?)
}
