//! The command line of Remanent: `remanent COMMAND ..`, and without a command the SQL shell.
//!
//! A library, so that what is installed otherwise than as a program (a package of Python) has the
//! same commands; whoever links it has the program's allocator.
//!
//! Words become flags in `flags`; then each command, in a file of its own, gives them meaning. A
//! run ends with 0, with 1 if what it was given is wrong, or with 2 if it was called wrongly. What
//! was asked for goes to standard output, everything else to standard error.

#[cfg(feature = "sql")]
mod allocator;
mod flags;
mod outcome;

mod backup;
mod check;
#[cfg(feature = "sql")]
mod client;
mod ddl;
mod dump_log;
#[cfg(feature = "sql")]
mod feed;
mod restore;
mod salvage;
#[cfg(feature = "sql")]
mod serve;
#[cfg(feature = "sql")]
mod set_aside;
#[cfg(feature = "sql")]
mod shell;
mod top;
#[cfg(not(feature = "sql"))]
mod without_sql;

#[cfg(not(feature = "sql"))]
use {without_sql as feed, without_sql as serve, without_sql as set_aside, without_sql as shell};

mod include_folders;
mod recovering;
mod sizes;

use std::ffi::OsString;

use flags::Flags;
use outcome::{Failure, Outcome, answer, say};

/// Runs the command that these words are, without the program's name; the code to end with.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(feature = "sql")]
    allocator::keep_freed_memory();
    let outcome = Flags::parse(words).and_then(|flags| run(&flags));
    let (text, code) = match outcome {
        Ok(()) => return 0,
        Err(Failure::Refused(text)) => (text, 1),
        Err(Failure::Trouble(text)) => (text, 3),
        Err(Failure::Reported(code)) => return code,
        Err(Failure::Usage(text)) => (format!("error: {text}"), 2),
    };
    say(&text);
    code
}

/// A command: its word, its line in the help, and what it does.
struct Command {
    name: &'static str,
    about: &'static str,
    run: fn(&Flags) -> Outcome,
}

const COMMANDS: [Command; 9] = [
    Command {
        name: "ddl",
        about: "reads a schema of either language; checks it, prints it, generates code",
        run: ddl::run,
    },
    Command {
        name: "check",
        about: "reads a database and says what it holds and what is damaged; changes nothing",
        run: check::run,
    },
    Command {
        name: "dump-log",
        about: "prints the log of a database, entry by entry",
        run: dump_log::run,
    },
    Command {
        name: "backup",
        about: "copies a database, or that of a server which runs, into another folder",
        run: backup::run,
    },
    Command {
        name: "restore",
        about: "makes a database of an earlier moment of one that keeps its history",
        run: restore::run,
    },
    Command {
        name: "salvage",
        about: "makes a database of what can be read of a damaged one",
        run: salvage::run,
    },
    Command {
        name: "serve",
        about: "opens a database for clients of PostgreSQL, until it is asked to end",
        run: serve::run,
    },
    Command {
        name: "feed",
        about: "prints the changes that a server commits, each a line of JSON",
        run: feed::run,
    },
    Command {
        name: "top",
        about: "shows what a program says of its open database, live",
        run: top::run,
    },
];

fn run(flags: &Flags) -> Outcome {
    if flags.version {
        return answer(&format!("remanent {}\n", env!("CARGO_PKG_VERSION")));
    }
    let Some(name) = flags.words.first() else {
        return if flags.help { answer(&help()) } else { shell::run(flags) };
    };
    match COMMANDS.iter().find(|command| command.name == name) {
        Some(command) => (command.run)(flags),
        None if name == "help" => answer(&help()),
        None => shell::run(flags),
    }
}

fn help() -> String {
    let commands = COMMANDS.iter().fold(String::new(), |text, command| {
        text + &format!("  {:<9} {}\n", command.name, command.about)
    });
    format!(
        "The Remanent main-memory database\n\n\
         usage: remanent [DIR] [flags]              the SQL shell; `remanent . --help`\n       \
         remanent COMMAND [WORDS] [flags]\n\n\
         commands:\n{commands}\nflags:\n{}\n`remanent COMMAND --help` says more.\n",
        flags::help(&["command", "file", "create", "help", "version"])
    )
}
