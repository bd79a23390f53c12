//! The command line, first step: words into flags, by one list that `--help` prints too.
//!
//! Nothing is given meaning here; which flag a command knows is for the command to say, and what
//! stands behind a flag stays text until a command reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use crate::Failure;

/// A flag as it is listed.
struct Flag {
    name: &'static str,
    short: char,
    value: Option<&'static str>,
    about: &'static str,
}

const FLAGS: [Flag; 12] = [
    flag("out", 'o', Some("DIR"), "writes DIR/NAME.h and so on, NAME being the database's"),
    flag("include", 'I', Some("DIR"), "looks for included files here as well; may be repeated"),
    flag("char-bytes", '\0', None, "d_-style `char x[n]` is bytes instead of text"),
    flag(
        "memory",
        'm',
        Some("BYTES"),
        "the most memory to take, as 500M or 8G; half of the machine's",
    ),
    flag("rows", '\0', None, "every change of a row, and not only how many there are"),
    flag("until-commit", '\0', Some("N"), "as it was after this commit, by its timestamp"),
    flag("until-time", '\0', Some("TIME"), "as it was then: 2026-11-21T20:15:00Z, RFC 3339"),
    flag("interval", 'i', Some("SECONDS"), "how often it is asked; 1 if nothing is said"),
    flag("once", '\0', None, "prints one picture as text, and ends"),
    flag("prometheus", '\0', None, "prints the metrics as they come, and ends"),
    flag("help", 'h', None, "this text"),
    flag("version", 'V', None, "the version"),
];

const fn flag(
    name: &'static str,
    short: char,
    value: Option<&'static str>,
    about: &'static str,
) -> Flag {
    Flag { name, short, value, about }
}

/// What was on the command line.
#[derive(Debug, Default)]
pub(crate) struct Flags {
    /// Words that are no flags, in order.
    pub(crate) words: Vec<String>,
    /// The names of the flags given, to be refused by commands that do not know them.
    pub(crate) given: Vec<&'static str>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) include: Vec<PathBuf>,
    pub(crate) char_bytes: bool,
    pub(crate) memory: Option<String>,
    pub(crate) rows: bool,
    pub(crate) until_commit: Option<String>,
    pub(crate) until_time: Option<String>,
    pub(crate) interval: Option<String>,
    pub(crate) once: bool,
    pub(crate) prometheus: bool,
    pub(crate) help: bool,
    pub(crate) version: bool,
}

impl Flags {
    /// Takes the arguments apart.
    pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Flags, Failure> {
        let mut parser = Parser::from_args(arguments);
        let mut flags = Flags::default();
        while let Some(argument) = parser.next().map_err(usage)? {
            let known = match &argument {
                Arg::Value(word) => {
                    flags.words.push(word.to_string_lossy().into_owned());
                    continue;
                }
                Arg::Short(short) => FLAGS.iter().find(|flag| flag.short == *short),
                Arg::Long(name) => FLAGS.iter().find(|flag| flag.name == *name),
            };
            let Some(known) = known else {
                return Err(usage(argument.unexpected()));
            };
            flags.given.push(known.name);
            match known.name {
                "out" => flags.out = Some(folder(&mut parser)?),
                "include" => flags.include.push(folder(&mut parser)?),
                "char-bytes" => flags.char_bytes = true,
                "memory" => flags.memory = Some(text(&mut parser)?),
                "rows" => flags.rows = true,
                "until-commit" => flags.until_commit = Some(text(&mut parser)?),
                "until-time" => flags.until_time = Some(text(&mut parser)?),
                "interval" => flags.interval = Some(text(&mut parser)?),
                "once" => flags.once = true,
                "prometheus" => flags.prometheus = true,
                "help" => flags.help = true,
                _ => flags.version = true,
            }
        }
        Ok(flags)
    }

    /// Refuses flags that the command does not know.
    pub(crate) fn only(&self, command: &str, names: &[&str]) -> Result<(), Failure> {
        match self.given.iter().find(|given| !names.contains(given)) {
            None => Ok(()),
            Some(other) => Err(Failure::Usage(format!(
                "--{other} has no meaning for `{command}`; see `remanent {command} --help`"
            ))),
        }
    }

    /// The words behind the command's name, as many as it takes.
    pub(crate) fn words<const N: usize>(&self, expected: [&str; N]) -> Result<[&str; N], Failure> {
        let command = &self.words[0];
        let words = &self.words[1..];
        let wrong =
            |text: String| Failure::Usage(format!("{text}; see `remanent {command} --help`"));
        if let Some(missing) = expected.get(words.len()) {
            return Err(wrong(format!("`{command}` needs {missing}")));
        }
        if let Some(more) = words.get(N) {
            return Err(wrong(format!("`{more}` is one word too many")));
        }
        Ok(std::array::from_fn(|i| words[i].as_str()))
    }
}

/// The lines of `--help` about these flags.
pub(crate) fn help(names: &[&str]) -> String {
    let listed = FLAGS.iter().filter(|flag| names.contains(&flag.name));
    listed.fold(String::new(), |text, flag| {
        let short = match flag.short {
            '\0' => "   ".to_owned(),
            short => format!("-{short},"),
        };
        let name = format!("{short} --{} {}", flag.name, flag.value.unwrap_or(""));
        text + &format!("  {:<25} {}\n", name.trim_end(), flag.about)
    })
}

fn folder(parser: &mut Parser) -> Result<PathBuf, Failure> {
    let value: OsString = parser.value().map_err(usage)?;
    value.parse_with(|text| Ok::<_, std::convert::Infallible>(PathBuf::from(text))).map_err(usage)
}

fn text(parser: &mut Parser) -> Result<String, Failure> {
    parser.value().map_err(usage)?.parse().map_err(usage)
}

fn usage(error: lexopt::Error) -> Failure {
    Failure::Usage(format!("{error}; see --help"))
}
