//! One program of `examples/c`: what belongs to it, how it is compiled, how it is started.
//!
//! An example is a folder with `main.c` or `main.cpp` and at most one schema, `*.mco` or `*.ddl`.
//! What the flags of compilers are is decided here; who calls them is not.

use std::error::Error;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How an example is built and run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    /// As in everyday use, with all of its work.
    Plain,
    /// With gcc's checks of addresses and of undefined behaviour.
    Sanitize,
    /// In a machine that knows which memory is whose.
    Valgrind,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Mode::Plain => "plain",
            Mode::Sanitize => "under sanitizers",
            Mode::Valgrind => "under valgrind",
        }
    }
}

/// A program of the folder.
#[derive(Debug)]
pub(super) struct Example {
    pub(super) name: String,
    pub(super) schema: Option<PathBuf>,
    pub(super) is_cpp: bool,
    source: PathBuf,
}

/// The examples of a folder, in the order of their names.
pub(super) fn all(folder: &Path) -> Result<Vec<Example>, Box<dyn Error>> {
    let mut examples = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            examples.push(Example::read(&entry.path())?);
        }
    }
    examples.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(examples)
}

impl Example {
    fn read(folder: &Path) -> Result<Self, Box<dyn Error>> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder)? {
            files.push(entry?.path());
        }
        let with_extension = |extensions: &[&str]| {
            let fits = |file: &&PathBuf| {
                file.extension().and_then(OsStr::to_str).is_some_and(|it| extensions.contains(&it))
            };
            files.iter().find(fits).cloned()
        };
        let source = files.iter().find(|file| file.ends_with("main.c") || is_cpp(file));
        let source = source.ok_or_else(|| format!("example `{name}` has no main.c or main.cpp"))?;
        let schema = with_extension(&["mco", "ddl"]);
        Ok(Self { name, schema, is_cpp: is_cpp(source), source: source.clone() })
    }

    /// The call that makes `program` in the folder, which has the header of the schema.
    pub(super) fn compile(&self, mode: Mode, folder: &Path, prefix: &Path) -> Command {
        let mut compiler = Command::new(if self.is_cpp { "g++" } else { "gcc" });
        compiler.arg(if self.is_cpp { "-std=c++17" } else { "-std=c11" });
        add_warnings(&mut compiler, folder, prefix);
        compiler.args(match mode {
            Mode::Plain => &["-O2"][..],
            Mode::Sanitize => &[
                "-O1",
                "-g",
                "-fsanitize=address,undefined",
                "-fno-sanitize-recover=undefined",
                "-fno-omit-frame-pointer",
            ],
            Mode::Valgrind => &["-O1", "-g"],
        });
        compiler.arg(&self.source).arg(prefix.join("lib/libremanent.a"));
        compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(folder.join("program"));
        compiler
    }

    /// The call that finds what is wrong in a program in C for a compiler of C++.
    pub(super) fn check_as_cpp(&self, folder: &Path, prefix: &Path) -> Command {
        let mut compiler = Command::new("g++");
        compiler.args(["-x", "c++", "-std=c++17", "-fsyntax-only"]);
        add_warnings(&mut compiler, folder, prefix);
        compiler.arg(&self.source);
        compiler
    }

    /// The call that runs what was compiled.
    pub(super) fn start(&self, mode: Mode, folder: &Path) -> Command {
        let program = folder.join("program");
        match mode {
            Mode::Plain => Command::new(program),
            Mode::Sanitize => {
                let mut command = Command::new(program);
                // Leaks are valgrind's: the sanitizer's own search needs to trace the process,
                // which containers often refuse.
                command.arg("--quick").env("ASAN_OPTIONS", "detect_leaks=0");
                command
            }
            Mode::Valgrind => {
                let mut command = Command::new("valgrind");
                // What is only possibly lost is held by a pointer into its middle, as the table
                // of each hash map of the library is.
                command.args([
                    "--quiet",
                    "--error-exitcode=1",
                    "--leak-check=full",
                    "--show-leak-kinds=definite,indirect",
                    "--errors-for-leak-kinds=definite,indirect",
                    "--fair-sched=try",
                ]);
                command.arg(program).arg("--quick");
                command
            }
        }
    }
}

fn add_warnings(compiler: &mut Command, folder: &Path, prefix: &Path) {
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pedantic"]);
    compiler.arg("-I").arg(prefix.join("include")).arg("-I").arg(folder);
}

fn is_cpp(file: &Path) -> bool {
    file.ends_with("main.cpp")
}
