//! Programs in C and C++ against the headers and the static library, as users build them.
//!
//! Each is compiled with all warnings as errors, linked and run; what it checks stands in it. The
//! headers of the schemas that they use are generated here.

mod build;
mod d_style;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use build::{compiler, generate, here, link, scratch, succeed};

/// The folder with the generated header of the tests' schema.
fn generated() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = scratch().join("generated");
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        for name in ["mcs", "sensors"] {
            let schema = here().join(format!("tests/schema/{name}.mco"));
            generate(&schema, &folder.join(format!("{name}.h")));
        }
        folder
    })
}

fn compile_and_run(source: &str) {
    let program = scratch().join(source.replace('.', "_"));
    let mut build = compiler(source, generated());
    build.arg(here().join("tests/c").join(source));
    link(&mut build, &program);
    succeed(&mut Command::new(program));
}

#[test]
fn the_loops_of_the_document_run() {
    compile_and_run("mco_document.c");
}

/// The program whose size is measured has the header that would be made now.
#[test]
fn the_header_of_the_measured_program_is_new() {
    let made = std::fs::read_to_string(generated().join("sensors.h")).expect("it was made");
    let kept = here().join("../../xtask/size/sensors.h");
    assert_eq!(std::fs::read_to_string(kept).expect("it is there"), made);
}

#[test]
fn a_small_memory_holds_a_database() {
    compile_and_run("mco_small.c");
}

#[test]
fn the_ring_of_mco_style_calls_holds_and_every_status_is_met() {
    compile_and_run("mco_ring.c");
}

#[test]
fn the_native_interface_does_what_its_header_says() {
    compile_and_run("native.c");
}

#[test]
fn key_value_databases_do_what_the_header_says() {
    compile_and_run("kv.c");
}

#[test]
fn what_was_committed_is_there_again() {
    let program = scratch().join("durable");
    let mut build = compiler("durable.c", generated());
    build.arg(here().join("tests/c/durable.c"));
    link(&mut build, &program);
    let folder = scratch().join("durable_files");
    std::fs::create_dir_all(&folder).expect("the folder can be made");
    succeed(Command::new(program).arg(folder));
}

#[test]
fn structs_lie_in_c_as_they_do_here() {
    compile_and_run("layouts.c");
}

#[test]
fn the_wrapper_works_in_cpp() {
    compile_and_run("wrapper.cpp");
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
        generate(&sources.join(schema), &folder.join(header));
    }
    let program = folder.join("program");
    let mut build = compiler("main.c", &folder);
    build.arg("-I").arg(&sources);
    build.args(["main.c", "mco_side.c", "d_side.c"].map(|source| sources.join(source)));
    link(&mut build, &program);
    succeed(&mut Command::new(program));
}
