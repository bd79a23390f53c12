//! Commands of the shell: a backslash and a word, or a dot and a word as sqlite3 has them.
//!
//! One list has their names, their line in the help and what they do.

mod buffer;
mod describe;
mod files;
mod help;
mod list;
mod memory;
mod pattern;
mod settings;

use crate::lines::Lines;
use crate::reading::arguments::Arguments;
use crate::reading::pending::Pending;
use crate::reading::variables::Variables;
use crate::shell::Shell;
use crate::stop::{Failure, Stop};

pub(crate) use settings::PSET_NAMES;

/// A command.
struct Command {
    /// Its names, of which the first is the one that the help has.
    names: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    run: fn(&mut Shell, &mut Call<'_, '_>) -> Result<(), Failure>,
}

/// A command as it is called.
pub(crate) struct Call<'c, 'l> {
    /// The name, without a plus sign behind it.
    name: &'c str,
    /// Whether a plus sign asks for more.
    is_verbose: bool,
    arguments: Arguments<'l>,
    pending: &'c mut Pending,
    lines: &'c mut Lines,
    /// What is to be read when the command has ended.
    further: Option<Further>,
}

/// Statements and commands that a command has named, which are read before the rest of its line.
pub(crate) enum Further {
    Text(String),
    /// A file, by its name.
    File(String),
}

const COMMANDS: &[Command] = &[
    command(&["?", "help", ".help"], "", "this list", help::list),
    command(&["h"], "[WORD]", "what statements there are", help::statements),
    command(&["q", "quit", "exit", ".quit", ".exit"], "", "ends", |_, _| Err(Stop::Quit.into())),
    command(&["g"], "[FILE | |PROGRAM]", "runs the statement, as ; does", buffer::go),
    command(&["gx"], "[FILE | |PROGRAM]", "the same with a line for each value", buffer::go),
    command(&["gset"], "[PREFIX]", "runs it and sets variables to its one row", buffer::set),
    command(&["watch"], "[SECONDS]", "runs it again and again", buffer::watch),
    command(&["p"], "", "shows the statement", buffer::print),
    command(&["r"], "", "forgets the statement", buffer::reset),
    command(&["e", "edit"], "[FILE]", "edits the statement, or a file", buffer::edit),
    command(&["s"], "[FILE]", "shows what was typed, or writes it", buffer::history),
    command(
        &["d"],
        "[PATTERN]",
        "what a table, view, index or sequence is; lists them",
        describe::run,
    ),
    command(
        &["dt", ".tables"],
        "[PATTERN]",
        "tables; with + what is said of them",
        list::relations,
    ),
    command(&["di", ".indexes"], "[PATTERN]", "indexes", list::relations),
    command(&["dv"], "[PATTERN]", "views", list::relations),
    command(&["ds"], "[PATTERN]", "sequences", list::relations),
    command(&["dn"], "[PATTERN]", "schemas", list::schemas),
    command(&["du", "dg"], "[PATTERN]", "roles", list::roles),
    command(&["l", ".databases"], "", "the database", list::database),
    command(&["memory"], "", "where the memory goes", memory::run),
    command(
        &["copy"],
        "TABLE from|to FILE [with (..)]",
        "rows from a file, or into one",
        files::copy,
    ),
    command(&["i", "include", ".read"], "FILE", "runs the statements of a file", files::include),
    command(&["o", "out", ".output"], "[FILE | |PROGRAM]", "answers go there", files::output),
    command(&["!", ".shell"], "[WORDS]", "runs a program of the system", files::system),
    command(&["cd", ".cd"], "[FOLDER]", "goes to a folder", files::change_folder),
    command(&["echo", ".print"], "[TEXT]", "writes text", files::echo),
    command(&["set"], "[NAME [VALUE]]", "sets a variable, which :NAME stands for", settings::set),
    command(&["unset"], "NAME", "forgets a variable", settings::unset),
    command(&["pset"], "[NAME [VALUE]]", "how answers look: format, null, ..", settings::pset),
    command(&["f", ".mode"], "[FORMAT]", "the format of answers", settings::format),
    command(&["x"], "[on | off | auto]", "a line for each value", settings::expanded),
    command(&["a"], "", "values without blanks around them, or with", settings::aligned),
    command(&["t", ".headers"], "[on | off]", "only rows", settings::rows_only),
    command(&["timing", ".timer"], "[on | off]", "how long statements take", settings::timing),
];

const fn command(
    names: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    run: fn(&mut Shell, &mut Call<'_, '_>) -> Result<(), Failure>,
) -> Command {
    Command { names, arguments, about, run }
}

/// All names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().flat_map(|command| command.names.iter().copied())
}

/// Whether what is typed now of this command is the name of a file.
pub(crate) fn takes_file(name: &str, typed: &str) -> bool {
    match name {
        "copy" => {
            let words: Vec<&str> = typed.split_whitespace().collect();
            let before = if typed.ends_with(char::is_whitespace) {
                words.last()
            } else {
                words.len().checked_sub(2).map(|place| &words[place])
            };
            before.is_some_and(|word| matches!(word.to_lowercase().as_str(), "from" | "to"))
        }
        "i" | "include" | ".read" | "o" | "out" | ".output" | "e" | "edit" | "cd" | ".cd" | "s"
        | "g" | "gx" => true,
        _ => false,
    }
}

/// Runs the command that a text begins with, its backslash already taken off; what follows it, and
/// what it wants to be read.
pub(crate) fn run<'l>(
    shell: &mut Shell,
    text: &'l str,
    pending: &mut Pending,
    lines: &mut Lines,
) -> (Result<(), Failure>, &'l str, Option<Further>) {
    let text = text.trim_end_matches(['\n', '\r']);
    let end = text.find(|c: char| c.is_whitespace() || c == '\\').unwrap_or(text.len());
    let end = if text.starts_with('!') { 1 } else { end };
    let (word, rest) = text.split_at(end);
    let plain = word.trim_end_matches('+').trim_end_matches(';');
    let name = if plain.is_empty() { word } else { plain };
    let found = COMMANDS.iter().find(|command| command.names.contains(&name));
    let Some(command) = found else {
        let shown = if word.starts_with('.') { word.to_owned() } else { format!("\\{word}") };
        let text = format!("there is no command {shown}; \\? lists them");
        return (Err(Failure::said(text)), "", None);
    };
    let is_verbose = word.ends_with('+');
    let arguments = Arguments::new(rest);
    let mut call = Call { name, is_verbose, arguments, pending, lines, further: None };
    let ran = (command.run)(shell, &mut call);
    (ran, call.arguments.behind(), call.further)
}

impl Call<'_, '_> {
    fn next(&mut self, variables: &Variables) -> Option<String> {
        self.arguments.next(variables)
    }

    /// The next word, which has to be there.
    fn needed(&mut self, variables: &Variables, what: &str) -> Result<String, Failure> {
        let name = self.name;
        self.next(variables).ok_or_else(|| Failure::said(format!("\\{name} needs {what}")))
    }
}

#[cfg(test)]
mod tests;
