//! Looks for RocksDB where packages and a build by hand put it.
//!
//! The C compiler is asked to compile a probe against `rocksdb/c.h` and to link it. When that
//! fails, the crate compiles to a stub that reports what is missing: the laboratory's build never
//! fails for it. The script runs again in every build until the header is found, so that an
//! installation is noticed.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Directories of `rocksdb/c.h`, beside the one that `ROCKSDB_DIR` names.
const HEADERS: &[&str] = &["/usr/include", "/usr/local/include"];

/// Names one function of every part that the bindings declare, the newest among them.
const PROBE: &str = "
#include <rocksdb/c.h>
void *lab_used[] = { (void *)rocksdb_open, (void *)rocksdb_put, (void *)rocksdb_get_pinned,
    (void *)rocksdb_create_iterator, (void *)rocksdb_options_set_manual_wal_flush,
    (void *)rocksdb_options_statistics_get_string, (void *)rocksdb_filterpolicy_create_bloom_full };
";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(rocksdb)");
    println!("cargo::rerun-if-env-changed=ROCKSDB_DIR");
    println!("cargo::rerun-if-changed=build.rs");
    let own = env::var_os("ROCKSDB_DIR").map(PathBuf::from);
    let library_dir = own.as_ref().map(|own| own.join("lib"));
    let headers: Vec<PathBuf> = match &own {
        Some(own) => vec![own.join("include")],
        None => HEADERS.iter().map(PathBuf::from).collect(),
    };
    for include in headers {
        let header = include.join("rocksdb/c.h");
        if header.exists() && links(&include, library_dir.as_deref()) {
            println!("cargo::rerun-if-changed={}", header.display());
            if let Some(directory) = library_dir {
                println!("cargo::rustc-link-search=native={}", directory.display());
            }
            println!("cargo::rustc-link-lib=dylib=rocksdb");
            println!("cargo::rustc-cfg=rocksdb");
            println!("cargo::rustc-env=LAB_ROCKSDB_VERSION={}", version(&include));
            return;
        }
    }
    println!("cargo::rerun-if-changed=/usr/include/rocksdb/c.h");
}

/// Whether the probe, as a shared object, compiles and finds every symbol it names.
fn links(include: &Path, library_dir: Option<&Path>) -> bool {
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else { return false };
    let probe = out.join("probe.c");
    if fs::write(&probe, PROBE).is_err() {
        return false;
    }
    let Ok(compiler) = cc::Build::new().cargo_metadata(false).try_get_compiler() else {
        return false;
    };
    let mut command: Command = compiler.to_command();
    command.args(["-shared", "-fPIC"]).arg(&probe).arg("-I").arg(include);
    if let Some(directory) = library_dir {
        command.arg("-L").arg(directory);
    }
    command.args(["-lrocksdb", "-Wl,--no-undefined"]).arg("-o").arg(out.join("probe.so"));
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The version in the header, since the library does not report its own through C.
fn version(include: &Path) -> String {
    let text = fs::read_to_string(include.join("rocksdb/version.h")).unwrap_or_default();
    let part = |name: &str| {
        let start = format!("#define ROCKSDB_{name} ");
        let found = text.lines().find_map(|line| line.strip_prefix(&start));
        found.map_or("?", str::trim).to_owned()
    };
    [part("MAJOR"), part("MINOR"), part("PATCH")].join(".")
}
