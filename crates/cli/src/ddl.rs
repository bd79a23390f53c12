//! `remanent ddl check|print|c|rust|sql FILE`: a schema read, checked and turned into something.
//!
//! Errors and warnings go to standard error, several in one run. `-` reads standard input. Without
//! `-o` the result goes to standard output; with it, to a file named after the database.

use std::io::Read;
use std::path::Path;

use remanent_ddl::{Options, Schema, Source, parse_with};

use crate::flags::{self, Flags};
use crate::include_folders::IncludeFolders;
use crate::outcome::{Failure, Outcome, answer, say};

/// What can be done with a schema: the word, the ending of the file written, what it is.
const ACTIONS: [(&str, &str, &str); 5] = [
    ("check", "", "says what is wrong with it"),
    ("print", "", "canonical text, with macros and included files written out"),
    ("c", "h", "the C header, C11 and C++17"),
    ("rust", "rs", "a Rust module"),
    ("sql", "sql", "CREATE TABLE statements"),
];

const FLAG_NAMES: [&str; 4] = ["out", "include", "char-bytes", "help"];

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("ddl", &FLAG_NAMES)?;
    let usage = |text: String| Err(Failure::Usage(format!("{text}; see `remanent ddl --help`")));
    let (action, file) = match &flags.words[1..] {
        [] => return usage("what should be done with the schema?".to_owned()),
        [action] => return usage(format!("`ddl {action}` of which file?")),
        [action, file] => (action, file),
        [_, _, third, ..] => return usage(format!("`{third}` is one word too many")),
    };
    let Some((action, ending, _)) = ACTIONS.iter().find(|(known, ..)| known == action) else {
        return usage(format!("a schema cannot be `{action}`ed"));
    };
    if flags.out.is_some() && ending.is_empty() {
        return usage(format!("`ddl {action}` writes no file, so -o has no meaning"));
    }
    let schema = read(file, flags)?;
    let text = match *action {
        "check" => return Ok(()),
        "print" => schema.to_text(),
        "c" => schema.to_c(),
        "rust" => schema.to_rust(),
        _ => schema.to_sql(),
    };
    match &flags.out {
        None => answer(&text),
        Some(folder) => write(folder, &format!("{}.{ending}", schema.name), &text),
    }
}

fn read(file: &str, flags: &Flags) -> Result<Schema, Failure> {
    let refused = |error: std::io::Error| Failure::Refused(format!("error: {file}: {error}"));
    let mut bytes = Vec::new();
    let name = if file == "-" {
        std::io::stdin().read_to_end(&mut bytes).map_err(refused)?;
        "standard input"
    } else {
        bytes = std::fs::read(file).map_err(refused)?;
        file
    };
    let options = Options { dialect: None, char_bytes: flags.char_bytes };
    let mut folders = IncludeFolders { folders: flags.include.clone() };
    match parse_with(&Source::new(name, bytes), &options, &mut folders) {
        Ok((schema, warnings)) => {
            warnings.iter().for_each(|warning| say(&format!("{warning}\n")));
            Ok(schema)
        }
        Err(errors) => Err(Failure::Refused(errors.to_string())),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Outcome {
    let path = folder.join(name);
    let made = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    made.map_err(|error| Failure::Refused(format!("error: {}: {error}", path.display())))
}

fn help() -> String {
    let actions = ACTIONS
        .iter()
        .fold(String::new(), |text, (action, _, about)| text + &format!("  {action:<7} {about}\n"));
    format!(
        "Reads a schema: mco-style (FILE.mco), d_-style (FILE.ddl), `-` for standard input\n\n\
         usage: remanent ddl ACTION FILE [flags]\n\n\
         actions:\n{actions}\nflags:\n{}\n\
         Ends with 0, with 1 if the schema is refused, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
