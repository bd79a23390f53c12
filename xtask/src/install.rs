//! `cargo xtask install PREFIX`: the C libraries, headers and tools where programs look for them.
//!
//! Built with `--release`. `PREFIX/lib` gets the static archive and the shared library, which is
//! `libremanent.so` with a link of its soname; `include` the headers; `lib/pkgconfig` and
//! `lib/cmake` what finds them; `bin` the command line tool, without the SQL shell and the
//! server unless `--with-sql` asks for them: the crates below SQL take half an hour to build.
//! `--with-replication` has the functions for replicas of a group in the C libraries. With
//! `--quick-build` nothing is optimised across crates, so it is built sooner and slower.

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
    let mut settings: &[(&str, &str)] = &[];
    for flag in flags {
        match flag.as_str() {
            "--with-sql" => program = &["remanent-cli"],
            "--with-replication" => library = &["remanent-capi", "--features", "replication"],
            "--quick-build" => settings = QUICK,
            _ => return Err(USAGE.into()),
        }
    }
    let prefix = std::path::absolute(prefix)?;
    for package in [library, program] {
        let mut build = Command::new("cargo");
        build.args(["build", "--release", "-p"]).args(package).envs(settings.iter().copied());
        process::run(build.current_dir(root))?;
    }
    let built = built_folder(root);
    let version = version(root)?;
    let major = version.split('.').next().unwrap_or_default().to_owned();
    let fill = |template: &str| -> Result<String, std::io::Error> {
        let text = std::fs::read_to_string(root.join(TEMPLATES).join(template))?;
        let text = text.replace("@PREFIX@", &prefix.to_string_lossy());
        Ok(text.replace("@VERSION@", &version).replace("@MAJOR@", &major))
    };
    for folder in ["bin", "include", "lib/pkgconfig", "lib/cmake/Remanent"] {
        std::fs::create_dir_all(prefix.join(folder))?;
    }
    let lib = prefix.join("lib");
    std::fs::copy(built.join("libremanent_c.a"), lib.join("libremanent.a"))?;
    std::fs::copy(built.join("libremanent_c.so"), lib.join("libremanent.so"))?;
    let soname = lib.join(format!("libremanent.so.{major}"));
    let _ = std::fs::remove_file(&soname);
    std::os::unix::fs::symlink("libremanent.so", soname)?;
    for entry in std::fs::read_dir(root.join(HEADERS))? {
        let entry = entry?;
        std::fs::copy(entry.path(), prefix.join("include").join(entry.file_name()))?;
    }
    std::fs::copy(built.join("remanent"), prefix.join("bin/remanent"))?;
    std::fs::write(lib.join("pkgconfig/remanent.pc"), fill("remanent.pc.in")?)?;
    let cmake = lib.join("cmake/Remanent/RemanentConfig.cmake");
    std::fs::write(cmake, fill("RemanentConfig.cmake.in")?)?;
    Ok(())
}

fn built_folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    root.join(target).join("release")
}

fn version(root: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let manifest: toml::Table = std::fs::read_to_string(root.join("Cargo.toml"))?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let version = package.and_then(|package| package.get("version"));
    Ok(version.and_then(toml::Value::as_str).ok_or("the workspace has no version")?.to_owned())
}
