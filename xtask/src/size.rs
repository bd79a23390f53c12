//! `cargo xtask size`: how large a program becomes by linking the engine.
//!
//! Builds `xtask/size/probe.rs`, which uses the whole surface of the engine, as a static library,
//! links it into the C program beside it, strips that and counts its bytes. The program must run
//! and must have at most a million bytes. Then a program in the mco-style, with libraries for C
//! that have nothing else: what the program does not ask for is not in them, and not in it.
//! Everything is written below `target/size`.

#[cfg(test)]
mod tests;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const BYTES_MAX: u64 = 1_000_000;
/// The mco-style reads its schema from text, so the schema language is in it; and what the engine
/// does with folders, of which segment files were 10 kB, paged tables 15, and reading compressed
/// columns, several at once and beside the cache, 15; a log that replicas may share, the last 5.
const MCO_BYTES_MAX: u64 = 1_355_000;

/// How small libraries are built.
const PROFILE: [&str; 4] = [
    "profile.release.opt-level=\"z\"",
    "profile.release.lto=\"fat\"",
    "profile.release.codegen-units=1",
    "profile.release.panic=\"abort\"",
];

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
    judge(bytes, BYTES_MAX)?;
    mco_style(root)
}

/// Measures a program in the mco-style, and the libraries that it may be linked with.
fn mco_style(root: &Path) -> Outcome {
    let folder = root.join("target/size");
    let built = folder.join("mco/release");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--package", "remanent-capi", "--no-default-features"]);
    for setting in PROFILE {
        cargo.args(["--config", setting]);
    }
    cargo.arg("--target-dir").arg(folder.join("mco")).current_dir(root);
    process::run(cargo.env_remove("RUSTFLAGS").env_remove("CARGO_ENCODED_RUSTFLAGS"))?;
    let program = folder.join("mco_program");
    let mut compiler = Command::new("cc");
    compiler.args(["-Os", "-Wl,--gc-sections", "-I"]).arg(root.join("crates/capi/include"));
    compiler.arg("-o").arg(&program).arg(root.join("xtask/size/mco.c"));
    compiler.arg(built.join("libremanent_c.a")).args(["-lpthread", "-ldl", "-lm"]);
    process::run(&mut compiler)?;
    process::run(&mut Command::new(&program))?;
    let symbols = Command::new("nm").arg(&program).output()?;
    check_symbols(&String::from_utf8_lossy(&symbols.stdout))?;
    process::run(Command::new("strip").arg(&program))?;
    let shared = folder.join("libremanent_mco.so");
    std::fs::copy(built.join("libremanent_c.so"), &shared)?;
    process::run(Command::new("strip").arg(&shared))?;
    for (what, file) in [("of a program in the mco-style", &program), ("of its library", &shared)] {
        let bytes = std::fs::metadata(file)?.len();
        println!("size: {bytes} bytes {what}, at most {MCO_BYTES_MAX}");
        judge(bytes, MCO_BYTES_MAX)?;
    }
    Ok(())
}

/// That nothing of the other interfaces was linked.
fn check_symbols(symbols: &str) -> Outcome {
    let names = symbols.lines().filter_map(|line| line.split(' ').next_back());
    let foreign = |name: &&str| {
        let own = name.starts_with("rem_mco_");
        !own && (name.starts_with("rem_") || name.starts_with("d_"))
    };
    match names.into_iter().find(foreign) {
        Some(name) => Err(format!("`{name}` is linked, which nobody asked for").into()),
        None => Ok(()),
    }
}

fn judge(bytes: u64, most: u64) -> Outcome {
    if bytes > most {
        return Err(format!("{bytes} bytes, {} too many", bytes - most).into());
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
