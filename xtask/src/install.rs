//! `cargo xtask install PREFIX`: the C libraries, headers and tools where programs look for them.
//!
//! Built with `--release`. `PREFIX/lib` gets the static archive and the shared library, a file with
//! its version and links to it; `include` the headers; `lib/pkgconfig` and `lib/cmake` what finds
//! them, relative to where they lie; `bin` the command line tool, without the SQL shell and the
//! server unless `--with-sql` asks for them. Those are built with the profile `analytics`: the
//! crates below SQL take a quarter of an hour. `--with-replication` has the functions for replicas
//! of a group in the C libraries. With `--quick-build` nothing is optimised across crates, so it is
//! built sooner and slower.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::outcome::Outcome;
use crate::process;

const USAGE: &str =
    "write `cargo xtask install PREFIX [--with-sql] [--with-replication] [--quick-build]`";

/// Settings for what is built to be tested, and not to be fast.
pub(crate) const QUICK: &[(&str, &str)] = &[
    ("CARGO_PROFILE_RELEASE_LTO", "off"),
    ("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16"),
    ("CARGO_PROFILE_RELEASE_DEBUG", "0"),
];
const HEADERS: &str = "crates/capi/include";
const TEMPLATES: &str = "crates/capi/install";

pub(crate) fn run(root: &Path, arguments: &[String]) -> Outcome {
    let [prefix, flags @ ..] = arguments else { return Err(USAGE.into()) };
    let mut library: &[&str] = &["remanent-capi"];
    let mut program: &[&str] = &["remanent-cli", "--no-default-features"];
    let mut program_profile = "release";
    let mut settings: &[(&str, &str)] = &[];
    for flag in flags {
        match flag.as_str() {
            "--with-sql" => (program, program_profile) = (&["remanent-cli"], "analytics"),
            "--with-replication" => library = &["remanent-capi", "--features", "replication"],
            "--quick-build" => settings = QUICK,
            _ => return Err(USAGE.into()),
        }
    }
    let prefix = std::path::absolute(prefix)?;
    for (package, profile) in [(library, "release"), (program, program_profile)] {
        let mut build = Command::new("cargo");
        build.args(["build", "--profile", profile, "-p"]).args(package);
        process::run(build.envs(settings.iter().copied()).current_dir(root))?;
    }
    let built = built_folder(root, "release");
    let version = version(root)?;
    let major = version.split('.').next().unwrap_or_default().to_owned();
    let fill = |template: &str| -> Result<String, std::io::Error> {
        let text = std::fs::read_to_string(root.join(TEMPLATES).join(template))?;
        Ok(text.replace("@VERSION@", &version).replace("@MAJOR@", &major))
    };
    for folder in ["bin", "include", "lib/pkgconfig", "lib/cmake/Remanent"] {
        std::fs::create_dir_all(prefix.join(folder))?;
    }
    let lib = prefix.join("lib");
    std::fs::copy(built.join("libremanent_c.a"), lib.join("libremanent.a"))?;
    let real = format!("libremanent.so.{version}");
    std::fs::copy(built.join("libremanent_c.so"), lib.join(&real))?;
    for link in [format!("libremanent.so.{major}"), "libremanent.so".to_owned()] {
        let link = lib.join(link);
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&real, link)?;
    }
    for entry in std::fs::read_dir(root.join(HEADERS))? {
        let entry = entry?;
        std::fs::copy(entry.path(), prefix.join("include").join(entry.file_name()))?;
    }
    let built = built_folder(root, program_profile);
    std::fs::copy(built.join("remanent"), prefix.join("bin/remanent"))?;
    std::fs::write(lib.join("pkgconfig/remanent.pc"), fill("remanent.pc.in")?)?;
    let cmake = lib.join("cmake/Remanent/RemanentConfig.cmake");
    std::fs::write(cmake, fill("RemanentConfig.cmake.in")?)?;
    Ok(())
}

fn built_folder(root: &Path, profile: &str) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    root.join(target).join(profile)
}

pub(crate) fn version(root: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version"));
    Ok(version.and_then(toml::Value::as_str).ok_or("the workspace has no version")?.to_owned())
}
