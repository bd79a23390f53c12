//! The command line of Remanent: `remanent COMMAND ..`.
//!
//! Words become flags in `flags`; then each command, in a file of its own, gives them meaning. A
//! run ends with 0, with 1 if what it was given is wrong, or with 2 if it was called wrongly. What
//! was asked for goes to standard output, everything else to standard error.

mod ddl;
mod flags;
mod include_folders;

use std::io::Write;
use std::process::ExitCode;

use flags::Flags;

/// Why a run failed.
#[derive(Debug)]
enum Failure {
    /// It was called wrongly: a sentence about the call.
    Usage(String),
    /// What it was given is wrong, or something could not be read or written.
    Refused(String),
}

type Outcome = Result<(), Failure>;

fn main() -> ExitCode {
    let outcome = Flags::parse(std::env::args_os().skip(1)).and_then(|flags| run(&flags));
    let (text, code) = match outcome {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Refused(text)) => (text, 1),
        Err(Failure::Usage(text)) => (format!("error: {text}"), 2),
    };
    say(&text);
    ExitCode::from(code)
}

fn run(flags: &Flags) -> Outcome {
    if flags.version {
        return answer(&format!("remanent {}\n", env!("CARGO_PKG_VERSION")));
    }
    match flags.words.first().map(String::as_str) {
        Some("ddl") => ddl::run(flags),
        Some("help") | None if flags.help || !flags.words.is_empty() => answer(&help()),
        None => Err(Failure::Usage("a command is missing; see `remanent --help`".to_owned())),
        Some(other) => {
            Err(Failure::Usage(format!("there is no command `{other}`; see `remanent --help`")))
        }
    }
}

fn help() -> String {
    format!(
        "The Remanent main-memory database\n\n\
         usage: remanent COMMAND [WORDS] [flags]\n\n\
         commands:\n  \
         ddl    reads a schema of either language; checks it, prints it, generates code\n\n\
         flags:\n{}\n`remanent COMMAND --help` says more.\n",
        flags::help(&["help", "version"])
    )
}

/// Writes what was asked for.
fn answer(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Who reads has read enough: `remanent ddl c FILE | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::Refused(format!("error: standard output: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Writes what concerns the person and not the answer.
fn say(text: &str) {
    // If nobody listens, there is nobody to tell that to either.
    let _ = writeln!(std::io::stderr(), "{text}");
}
