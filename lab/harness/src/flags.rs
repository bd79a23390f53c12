//! Flags of a command line: one list, which the parser accepts and the help prints.
//!
//! Words become flags here; what they mean together says each program of the laboratory.

use std::ffi::OsString;

use lexopt::{Arg, Parser};

use crate::setting::Outcome;

/// A flag, which begins with two dashes.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name, without the dashes.
    pub name: &'static str,
    /// What the help calls its value; `None` for a flag that takes none.
    pub value: Option<&'static str>,
    /// A line of the help.
    pub about: &'static str,
}

/// What was typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// What is no flag, in order.
    pub words: Vec<String>,
    /// Names and values of flags, in order; empty for those that take none.
    pub flags: Vec<(&'static str, OsString)>,
}

/// A flag, in a list of them.
#[must_use]
pub const fn flag(name: &'static str, value: Option<&'static str>, about: &'static str) -> Flag {
    Flag { name, value, about }
}

/// Separates the words and the flags of arguments; `-h` and `-V` are `--help` and `--version`.
///
/// # Errors
///
/// When a flag is not in the list or lacks its value.
pub fn read(arguments: impl IntoIterator<Item = OsString>, list: &[Flag]) -> Outcome<Given> {
    let mut parser = Parser::from_args(arguments);
    let mut given = Given::default();
    while let Some(argument) = parser.next()? {
        let (name, typed) = match argument {
            Arg::Value(word) => {
                given.words.push(word.to_string_lossy().into_owned());
                continue;
            }
            Arg::Short('h') => ("help".to_owned(), "-h".to_owned()),
            Arg::Short('V') => ("version".to_owned(), "-V".to_owned()),
            Arg::Short(other) => (String::new(), format!("-{other}")),
            Arg::Long(name) => (name.to_owned(), format!("--{name}")),
        };
        let Some(known) = list.iter().find(|flag| flag.name == name) else {
            return Err(format!("unknown flag {typed}; see --help").into());
        };
        let value = match known.value {
            Some(_) => parser.value()?,
            None => OsString::new(),
        };
        given.flags.push((known.name, value));
    }
    Ok(given)
}

/// The lines of the help, what each flag is about from a column on.
#[must_use]
pub fn help_lines(list: &[Flag], column: usize) -> String {
    let line = |flag: &Flag| {
        let name = format!("--{} {}", flag.name, flag.value.unwrap_or(""));
        format!("  {name:<column$} {}\n", flag.about)
    };
    list.iter().map(line).collect()
}

#[cfg(test)]
#[path = "flags_tests.rs"]
mod tests;
