//! `cargo xtask size`: how large a program becomes by linking the engine.
//!
//! Builds `xtask/size/probe.rs`, which uses the whole surface of the engine, as a static library,
//! links it into the C program beside it, strips that and counts its bytes. The program must run
//! and must have at most a million bytes. Everything is written below `target/size`.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Outcome, process};

const BYTES_MAX: u64 = 1_000_000;

const MANIFEST: &str = r#"[package]
name = "probe"
version = "0.0.0"
edition = "2024"
publish = false

[workspace]

[lib]
crate-type = ["staticlib"]
path = "ROOT/xtask/size/probe.rs"

[dependencies]
remanent-engine = { path = "ROOT/crates/engine" }
remanent-schema = { path = "ROOT/crates/schema" }

[profile.release]
opt-level = "z"
lto = "fat"
codegen-units = 1
panic = "abort"
strip = true
"#;

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    if let Some(argument) = arguments.first() {
        return Err(format!("takes no argument, got `{argument}`").into());
    }
    let program = build(root)?;
    process::run(&mut Command::new(&program))?;
    let bytes = std::fs::metadata(&program)?.len();
    println!("size: {bytes} bytes with the engine linked in, at most {BYTES_MAX}");
    judge(bytes)
}

fn judge(bytes: u64) -> Outcome {
    if bytes > BYTES_MAX {
        return Err(format!("{bytes} bytes, {} too many", bytes - BYTES_MAX).into());
    }
    Ok(())
}

/// Builds the probe and returns the path of the program.
fn build(root: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let folder = root.join("target/size");
    std::fs::create_dir_all(&folder)?;
    let place = root.to_str().ok_or("the path of the workspace is not UTF-8")?;
    std::fs::write(folder.join("Cargo.toml"), MANIFEST.replace("ROOT", place))?;
    // The versions that everything else is built with.
    std::fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target-dir", "build"]).current_dir(&folder);
    // Flags for the workspace's own builds, such as those of a sanitizer, would be measured too.
    process::run(cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    let program = folder.join("program");
    let mut compiler = Command::new("cc");
    compiler.args(["-Os", "-s", "-Wl,--gc-sections", "-o"]).arg(&program);
    compiler.arg(root.join("xtask/size/main.c")).arg(folder.join("build/release/libprobe.a"));
    process::run(compiler.args(["-lpthread", "-ldl", "-lm"]))?;
    Ok(program)
}
