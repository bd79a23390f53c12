//! d_-style programs in C and C++, against the header that is generated of their schema.
//!
//! Those in C are compiled and run once more with gcc's checks of addresses and undefined
//! behaviour. Each runs in a folder of its own, where its database is.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::build::{compiler, generate, here, link, scratch, succeed};

const CHECKED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

/// An empty folder with the header of a schema.
fn folder(name: &str, schema: &str) -> PathBuf {
    let folder = scratch().join("d").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    generate(&here().join("tests/schema").join(schema), &folder.join("ring.h"));
    folder
}

/// Compiles a program in a folder and runs it in another one.
fn compile_and_run(source: &str, flags: &[&str], folder: &Path, run: &Path) {
    let program = folder.join("program");
    let mut build = compiler(source, folder);
    build.args(flags).arg(here().join("tests/c").join(source));
    link(&mut build, &program);
    // The search for leaks traces the process, which containers often refuse.
    succeed(Command::new(program).current_dir(run).env("ASAN_OPTIONS", "detect_leaks=0"));
}

#[test]
fn currency_follows_each_call_and_every_status_is_met() {
    for (name, flags) in [("ring", &[][..]), ("ring-checked", CHECKED)] {
        let folder = folder(name, "ring.ddl");
        compile_and_run("d_ring.c", flags, &folder, &folder);
    }
}

#[test]
fn tasks_threads_and_processes_share_a_database() {
    for (name, flags) in [("together", &[][..]), ("together-checked", CHECKED)] {
        let folder = folder(name, "ring.ddl");
        compile_and_run("d_together.c", flags, &folder, &folder);
    }
}

#[test]
fn a_program_with_another_schema_is_refused() {
    let (saved, changed) = (folder("saved", "ring.ddl"), folder("changed", "ring_changed.ddl"));
    compile_and_run("d_saved.cpp", &[], &saved, &saved);
    compile_and_run("d_changed.c", &[], &changed, &saved);
}

#[test]
fn generated_headers_compile_alone_in_c_and_cpp() {
    let folder = folder("alone", "ring.ddl");
    for language in ["c", "cpp"] {
        for header in [folder.join("ring.h"), here().join("include/remanent_d.h")] {
            let mut check = compiler(language, &folder);
            check.args(["-fsyntax-only", "-x", if language == "c" { "c" } else { "c++" }]);
            succeed(check.arg(header));
        }
    }
}
