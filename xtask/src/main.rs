//! `cargo xtask`: the project's own tools, in the language of the project.
//!
//! One table lists every command with one line of help; a command is a function that succeeds
//! or says in words why it did not. Nothing in the workspace depends on this program.
#![expect(clippy::print_stdout, reason = "a command line program answers on standard output")]

mod ci;
mod commit;
mod differential;
mod examples;
mod headers;
mod install;
mod outcome;
mod package;
mod part;
mod planted;
mod powerloss;
mod process;
mod size;
mod thread_sanitizer;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outcome::Outcome;

struct Command {
    name: &'static str,
    summary: &'static str,
    run: fn(root: &Path, arguments: &[String]) -> Outcome,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "tidy",
        summary: "check the rules of style and the layers; prints file:line: message",
        run: tidy::run,
    },
    Command {
        name: "ci",
        summary: "run what continuous integration runs; `ci list`, `ci --all`, `ci STEP..`",
        run: ci::run,
    },
    Command {
        name: "commit",
        summary: "check the message of the newest commit, or of another; `commit [REVISION]`",
        run: commit::run,
    },
    Command {
        name: "planted",
        summary: "put bugs into a copy of the engine and see that they are found; `planted --all`",
        run: planted::run,
    },
    Command {
        name: "powerloss",
        summary: "take the power from a writer, on ext4 and XFS; `powerloss N`, `powerloss help`",
        run: powerloss::run,
    },
    Command {
        name: "differential",
        summary: "ask Remanent and PostgreSQL the same at random; `differential help`",
        run: differential::run,
    },
    Command {
        name: "size",
        summary: "link the engine into a minimal stripped C program; fails over 1 MB",
        run: size::run,
    },
    Command {
        name: "tsan",
        summary: "run the engine's tests under ThreadSanitizer; `tsan help` says what that covers",
        run: thread_sanitizer::run,
    },
    Command {
        name: "headers",
        summary: "write the native C header; `headers --check` compares instead",
        run: headers::run,
    },
    Command {
        name: "install",
        summary: "build the C libraries, put them and tools there; `install PREFIX [..]`",
        run: install::run,
    },
    Command {
        name: "package",
        summary: "make what a package manager installs, and install it; `package wheel`",
        run: package::run,
    },
    Command {
        name: "examples",
        summary: "build and run examples/c; `examples [FLAGS] [NAME..]`",
        run: examples::run,
    },
    Command { name: "help", summary: "print this list", run: help },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("help", String::as_str);
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprintln!("xtask: there is no command `{name}`; `cargo xtask help` lists them");
        return ExitCode::from(2);
    };
    match (command.run)(&workspace_root(), arguments.get(1..).unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("xtask {name}: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn help(_root: &Path, _arguments: &[String]) -> Outcome {
    for command in COMMANDS {
        println!("cargo xtask {:<12} {}", command.name, command.summary);
    }
    Ok(())
}

fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lies in a folder of the workspace").to_path_buf()
}
