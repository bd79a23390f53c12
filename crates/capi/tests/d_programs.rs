//! d_-style programs in C and C++, against the header that is generated of their schema.
//!
//! Each is compiled with all warnings as errors, those in C once more with gcc's checks of
//! addresses and undefined behaviour, and run in a folder of its own, where its database is.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use remanent_ddl::{Options, Source};

const CHECKED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// The static library, built as the tests are.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = scratch().parent().expect("it lies in the target folder");
        let release = !cfg!(debug_assertions);
        let profile = if release { "release" } else { "test" };
        succeed(
            Command::new(env!("CARGO"))
                .args(["build", "--package", "remanent-capi", "--profile", profile])
                .arg("--target-dir")
                .arg(target)
                .current_dir(here()),
        );
        target.join(if release { "release" } else { "debug" }).join("libremanent_c.a")
    })
}

/// An empty folder with the header of a schema.
fn folder(name: &str, schema: &str) -> PathBuf {
    let folder = scratch().join("d").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    let text = std::fs::read(here().join("tests/schema").join(schema)).expect("it is there");
    let parsed = remanent_ddl::parse(&Source::new(schema, text), &Options::default());
    let (schema, _) = parsed.unwrap_or_else(|errors| panic!("{errors}"));
    std::fs::write(folder.join("ring.h"), schema.to_c()).expect("it can be written");
    folder
}

/// A compiler of the language of a file, with its standard and all warnings.
fn compiler(source: &str, folder: &Path) -> Command {
    let is_cpp = source.ends_with("cpp");
    let mut compiler = Command::new(if is_cpp { "g++" } else { "gcc" });
    compiler.arg(if is_cpp { "-std=c++17" } else { "-std=c11" });
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
    compiler.arg("-I").arg(here().join("include")).arg("-I").arg(folder);
    compiler
}

/// Compiles a program in a folder and runs it in another one.
fn compile_and_run(source: &str, flags: &[&str], folder: &Path, run: &Path) {
    let program = folder.join("program");
    let mut build = compiler(source, folder);
    build.args(flags).arg(here().join("tests/c").join(source)).arg(library());
    succeed(build.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
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
