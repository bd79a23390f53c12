//! Looks for Berkeley DB and, where it is, compiles the shims against its own header.
//!
//! The C compiler is asked to compile and link the shims against each place where Debian, Fedora
//! and a build by hand put `db.h` and the library. When none answers, the crate compiles to a
//! stub that reports what is missing: the laboratory's build never fails for it. The script
//! runs again in every build until the header is found, so that an installation is noticed.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which the library is installed, newest habits first.
const LIBRARIES: &[&str] = &["db-5.3", "db"];

/// Directories of `db.h`, beside the one that `BERKELEY_DB_DIR` names.
const HEADERS: &[&str] = &["/usr/include", "/usr/include/libdb", "/usr/local/include"];

/// The shims.
const SOURCES: [&str; 4] = ["src/shim.c", "src/pairs.c", "src/burst.c", "src/replica.c"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(berkeley_db)");
    println!("cargo::rerun-if-env-changed=BERKELEY_DB_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/shim.c");
    println!("cargo::rerun-if-changed=src/pairs.c");
    println!("cargo::rerun-if-changed=src/burst.c");
    println!("cargo::rerun-if-changed=src/replica.c");
    let own = env::var_os("BERKELEY_DB_DIR").map(PathBuf::from);
    let library_dir = own.as_ref().map(|own| own.join("lib"));
    let headers: Vec<PathBuf> = match &own {
        Some(own) => vec![own.join("include")],
        None => HEADERS.iter().map(PathBuf::from).collect(),
    };
    for include in headers {
        let header = include.join("db.h");
        if !header.exists() {
            continue;
        }
        for library in LIBRARIES {
            if links(&include, library_dir.as_deref(), library) {
                println!("cargo::rerun-if-changed={}", header.display());
                build(&include, library_dir.as_deref(), library);
                return;
            }
        }
    }
    println!("cargo::rerun-if-changed=/usr/include/db.h");
}

fn build(include: &Path, library_dir: Option<&Path>, library: &str) {
    let mut shim = cc::Build::new();
    shim.files(SOURCES).include(include).opt_level(2).compile("lab_berkeley_db_shim");
    if let Some(directory) = library_dir {
        println!("cargo::rustc-link-search=native={}", directory.display());
    }
    println!("cargo::rustc-link-lib={library}");
    println!("cargo::rustc-cfg=berkeley_db");
}

/// Whether the shims, as a shared object, compile and find every symbol they call.
fn links(include: &Path, library_dir: Option<&Path>, library: &str) -> bool {
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return false };
    let Ok(compiler) = cc::Build::new().cargo_metadata(false).try_get_compiler() else {
        return false;
    };
    let mut command: Command = compiler.to_command();
    command.args(["-shared", "-fPIC"]).args(SOURCES).arg("-I").arg(include);
    if let Some(directory) = library_dir {
        command.arg("-L").arg(directory);
    }
    command.arg(format!("-l{library}")).arg("-Wl,--no-undefined");
    command.arg("-o").arg(out.join("probe.so"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
