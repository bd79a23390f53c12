//! Programs in C and C++ against the headers and the static library, as users build them.
//!
//! Each is compiled with all warnings as errors, linked and run; what it checks stands in it. The
//! header of the schema that the mco-style programs use is generated here.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use remanent_ddl::{Options, Source};

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

/// The folder with the generated header of the tests' schema.
fn generated() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("generated");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let text = std::fs::read(here().join("tests/schema/mcs.mco")).expect("it is there");
        let parsed = remanent_ddl::parse(&Source::new("mcs.mco", text), &Options::default());
        let (schema, _) = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        std::fs::write(folder.join("mcs.h"), schema.to_c()).expect("it can be written");
        folder
    })
}

fn compile_and_run(compiler: &str, standard: &str, source: &str) {
    let program = scratch().join(source.replace('.', "_"));
    let mut build = Command::new(compiler);
    build.args([standard, "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
    build.arg("-I").arg(here().join("include")).arg("-I").arg(generated());
    build.arg(here().join("tests/c").join(source)).arg(library());
    build.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    succeed(&mut build);
    succeed(&mut Command::new(program));
}

#[test]
fn the_loops_of_the_document_run() {
    compile_and_run("gcc", "-std=c11", "mco_document.c");
}

#[test]
fn the_ring_of_mco_style_calls_holds_and_every_status_is_met() {
    compile_and_run("gcc", "-std=c11", "mco_ring.c");
}

#[test]
fn the_native_interface_does_what_its_header_says() {
    compile_and_run("gcc", "-std=c11", "native.c");
}

#[test]
fn structs_lie_in_c_as_they_do_here() {
    compile_and_run("gcc", "-std=c11", "layouts.c");
}

#[test]
fn the_wrapper_works_in_cpp() {
    compile_and_run("g++", "-std=c++17", "wrapper.cpp");
}

#[test]
fn headers_compile_alone_in_c_and_cpp() {
    let header = generated().join("mcs.h");
    let include = here().join("include");
    for (compiler, language) in [("gcc", "c"), ("g++", "c++")] {
        for file in [&header, &include.join("remanent_mco.h"), &include.join("remanent.h")] {
            let mut build = Command::new(compiler);
            build.args([
                "-Wall",
                "-Wextra",
                "-Werror",
                "-pedantic",
                "-fsyntax-only",
                "-x",
                language,
            ]);
            succeed(build.arg("-I").arg(&include).arg(file));
        }
    }
}

#[test]
fn one_database_is_used_by_all_interfaces() {
    let sources = here().join("tests/c/one_database");
    let folder = scratch().join("one_database");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    for (schema, header) in [("both.mco", "both_mco.h"), ("both.ddl", "both_d.h")] {
        let text = std::fs::read(sources.join(schema)).expect("it is there");
        let parsed = remanent_ddl::parse(&Source::new(schema, text), &Options::default());
        let (schema, _) = parsed.unwrap_or_else(|errors| panic!("{errors}"));
        std::fs::write(folder.join(header), schema.to_c()).expect("it can be written");
    }
    let program = folder.join("program");
    let mut build = Command::new("gcc");
    build.args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-g"]);
    build.arg("-I").arg(here().join("include")).arg("-I").arg(&folder).arg("-I").arg(&sources);
    build.args(["main.c", "mco_side.c", "d_side.c"].map(|source| sources.join(source)));
    build.arg(library()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program);
    succeed(&mut build);
    succeed(&mut Command::new(program));
}
