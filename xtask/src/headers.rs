//! `cargo xtask headers`: the native C header, made from the Rust that implements it.
//!
//! `headers` writes `crates/capi/include/remanent.h`, `headers --check` fails where the committed
//! file is not what would be written. Only the files below `src/native` are read, so what else the
//! crate exports is in headers of its own.

use std::path::{Path, PathBuf};

use crate::outcome::Outcome;

const HEADER: &str = "crates/capi/include/remanent.h";
const SOURCES: &str = "crates/capi/src/native";
const SETTINGS: &str = "crates/capi/cbindgen.toml";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    match arguments {
        [] => Ok(std::fs::write(root.join(HEADER), make(root)?)?),
        [flag] if flag == "--check" => check(root, &[]),
        _ => Err("the only flag is `--check`".into()),
    }
}

/// Fails where the committed header is not what would be written.
pub(crate) fn check(root: &Path, _arguments: &[String]) -> Outcome {
    if std::fs::read_to_string(root.join(HEADER))? == make(root)? {
        return Ok(());
    }
    Err(format!("{HEADER} is not up to date; run `cargo xtask headers`").into())
}

fn make(root: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let mut sources = Vec::new();
    list(&root.join(SOURCES), &mut sources)?;
    sources.sort();
    let config = cbindgen::Config::from_file(root.join(SETTINGS))?;
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources.iter().fold(builder, |builder, source| builder.with_src(source));
    let mut text = Vec::new();
    builder.generate()?.write(&mut text);
    Ok(String::from_utf8(text)?)
}

/// All sources of a folder and of those in it, without tests and `mod.rs`, which would bring the
/// others in once more.
fn list(folder: &Path, sources: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            list(&path, sources)?;
        } else if !path.ends_with("mod.rs") && !path.ends_with("tests.rs") {
            sources.push(path);
        }
    }
    Ok(())
}
