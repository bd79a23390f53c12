//! How users build programs: gcc or g++, the headers, the static library, all warnings errors.
//!
//! The library is built once for a run of the tests, in their own target folder. What fails fails
//! the test with the compiler's words.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use remanent_ddl::{Options, Source};

pub(crate) fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn scratch() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

pub(crate) fn succeed(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{text}", output.status);
}

/// The static library, built as the tests are; or the one at the path in `REMANENT_C_LIBRARY`.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        if let Some(built) = std::env::var_os("REMANENT_C_LIBRARY") {
            return built.into();
        }
        let target = scratch().parent().expect("it lies in the target folder");
        let release = !cfg!(debug_assertions);
        let profile = if release { "release" } else { "test" };
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--package", "remanent-capi", "--profile", profile]);
        if cfg!(feature = "replication") {
            build.args(["--features", "replication"]);
        }
        succeed(build.arg("--target-dir").arg(target).current_dir(here()));
        target.join(if release { "release" } else { "debug" }).join("libremanent_c.a")
    })
}

/// A compiler of the language of a file, with its standard and all warnings.
pub(crate) fn compiler(source: &str, folder: &Path) -> Command {
    let is_cpp = source.ends_with("cpp");
    let mut compiler = Command::new(if is_cpp { "g++" } else { "gcc" });
    compiler.arg(if is_cpp { "-std=c++17" } else { "-std=c11" });
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-g"]);
    compiler.arg("-I").arg(here().join("include")).arg("-I").arg(folder);
    compiler
}

/// Writes the header of a schema of the tests.
pub(crate) fn generate(schema: &Path, header: &Path) {
    let text = std::fs::read(schema).expect("the schema is there");
    let name = schema.file_name().and_then(|name| name.to_str()).expect("a name");
    let parsed = remanent_ddl::parse(&Source::new(name, text), &Options::default());
    let (schema, _) = parsed.unwrap_or_else(|errors| panic!("{errors}"));
    std::fs::write(header, schema.to_c()).expect("it can be written");
}

/// Links a program with the library.
pub(crate) fn link(build: &mut Command, program: &Path) {
    build.arg(library()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program);
    succeed(build);
}
