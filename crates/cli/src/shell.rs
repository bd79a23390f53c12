//! `remanent [DIR]`: the SQL shell, on the database in a folder or on one in memory.
//!
//! A folder without a database gets one only if `--create` says so: a mistyped command or path must
//! not leave folders behind. What the shell understands is in its own crate.

use std::path::Path;
use std::sync::Arc;

use remanent_shell::{End, Format, Input, Options, Streams};
use remanent_sql::SqlDatabase;

use crate::flags::queries::QueryFlags;
use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer, say};
use crate::recovering::{end_progress, options};

pub(crate) const FLAG_NAMES: [&str; 19] = [
    "command",
    "file",
    "create",
    "format",
    "no-header",
    "quiet",
    "single-transaction",
    "keep-going",
    "set",
    "memory",
    "buffer-cache",
    "no-system-cache",
    "freeze",
    "query-threads",
    "query-memory",
    "spill-folder",
    "spill-limit",
    "help",
    "version",
];

/// Names a database without a folder.
const MEMORY: &str = ":memory:";

/// The status of a run that Ctrl-C ended, as shells have it.
const INTERRUPTED: u8 = 130;

/// Runs the shell.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    if let [_, second, ..] = &flags.words[..] {
        let text = format!("`{second}` is one word too many; see `remanent --help`");
        return Err(Failure::Usage(text));
    }
    flags.only("remanent", &FLAG_NAMES)?;
    let path = flags.words.first().map(String::as_str).filter(|path| *path != MEMORY);
    let shell_options = shell_options(path, flags)?;
    let queries = QueryFlags::of(flags)?;
    let database = open(path, flags)?;
    queries.apply(&database)?;
    if let Some(damage) = database.engine().damage() {
        say(&format!("warning: {damage}\nthe database can only be read"));
    }
    let ended = remanent_shell::run(database, &shell_options, Streams::standard());
    match ended.map_err(|error| Failure::Trouble(format!("error: {error}")))? {
        End::Fine => Ok(()),
        End::Failed => Err(Failure::Reported(1)),
        End::Trouble => Err(Failure::Reported(3)),
        End::Interrupted => Err(Failure::Reported(INTERRUPTED)),
    }
}

fn shell_options(path: Option<&str>, flags: &Flags) -> Result<Options, Failure> {
    let format = match flags.format.as_deref() {
        None => Format::default(),
        Some(name) => Format::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = Format::NAMES.iter().map(|(name, _)| *name).collect();
            Failure::Usage(format!("--format takes {}, not `{name}`", known.join(", ")))
        })?,
    };
    let mut variables = Vec::new();
    for text in &flags.set {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| Failure::Usage(format!("--set takes NAME=VALUE, not `{text}`")))?;
        variables.push((name.to_owned(), value.to_owned()));
    }
    let inputs = flags.inputs.iter().map(|(is_file, text)| match is_file {
        true => Input::File(text.into()),
        false => Input::Text(text.clone()),
    });
    Ok(Options {
        name: name_of(path),
        inputs: inputs.collect(),
        format,
        quiet: flags.quiet,
        no_header: flags.no_header,
        keep_going: flags.keep_going,
        single_transaction: flags.single_transaction,
        variables,
    })
}

/// What the prompt calls the database.
fn name_of(path: Option<&str>) -> String {
    let Some(path) = path else { return "memory".to_owned() };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.into());
    whole.file_name().map_or(path.to_owned(), |name| name.to_string_lossy().into_owned())
}

fn open(path: Option<&str>, flags: &Flags) -> Result<Arc<SqlDatabase>, Failure> {
    let options = options(flags)?;
    let trouble = |error: remanent_sql::Error| {
        let about = path.map_or(String::new(), |path| format!("{path}: "));
        Failure::Trouble(format!("error: {about}{error}"))
    };
    let Some(path) = path else {
        let engine = remanent_engine::Database::open(options);
        let engine = engine.map_err(|error| trouble(error.into()))?;
        return SqlDatabase::new(Arc::new(engine)).map_err(trouble);
    };
    if !flags.create {
        refuse_nothing(path)?;
    }
    let opened = SqlDatabase::open_at(path, options);
    end_progress();
    opened.map_err(trouble)
}

/// Refuses a path that holds no database.
fn refuse_nothing(path: &str) -> Outcome {
    let folder = Path::new(path);
    if !folder.exists() {
        let is_word = !path.contains(std::path::MAIN_SEPARATOR);
        return Err(match is_word {
            true => Failure::Usage(format!(
                "there is no command and no folder `{path}`; --create makes a database, \
                 `remanent --help` lists commands"
            )),
            false => Failure::Trouble(format!(
                "error: {path}: there is no such folder; --create makes a database"
            )),
        });
    }
    if folder.is_file() {
        let text = format!("`{path}` is a file; a database is a folder, and -f runs a script");
        return Err(Failure::Usage(text));
    }
    let refused = |error: std::io::Error| Failure::Trouble(format!("error: {path}: {error}"));
    for entry in std::fs::read_dir(folder).map_err(refused)? {
        let name = entry.map_err(refused)?.file_name();
        let name = name.to_string_lossy();
        if name.starts_with("log-") || name.starts_with("image-") {
            return Ok(());
        }
    }
    let text = format!("error: {path}: there is no database in it; --create makes one");
    Err(Failure::Trouble(text))
}

fn help() -> String {
    format!(
        "The SQL shell\n\n\
         usage: remanent [DIR] [flags]\n\n\
         Opens the database in DIR, or one in memory, and runs what is typed, or what -c, -f or\n\
         standard input say. `\\?` lists the commands of the shell.\n\
         \nflags:\n{}\n\
         Ends with 0; with 1 if a statement failed, at which a script stops; with 2 if it was\n\
         called wrongly; with 3 if the database or a file cannot be opened, read or written;\n\
         with 130 if Ctrl-C ended a script.\n",
        flags::help(&FLAG_NAMES)
    )
}
