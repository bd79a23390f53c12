//! The command line, first step: words into flags, by one list that `--help` prints too.
//!
//! Nothing is given meaning here; which flag a command knows is for the command to say.

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

const FLAGS: [Flag; 5] = [
    flag("out", 'o', Some("DIR"), "writes DIR/NAME.h and so on, NAME being the database's"),
    flag("include", 'I', Some("DIR"), "looks for included files here as well; may be repeated"),
    flag("char-bytes", '\0', None, "d_-style `char x[n]` is bytes instead of text"),
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
                "help" => flags.help = true,
                _ => flags.version = true,
            }
        }
        Ok(flags)
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
        text + &format!("  {:<22} {}\n", name.trim_end(), flag.about)
    })
}

fn folder(parser: &mut Parser) -> Result<PathBuf, Failure> {
    let value: OsString = parser.value().map_err(usage)?;
    value.parse_with(|text| Ok::<_, std::convert::Infallible>(PathBuf::from(text))).map_err(usage)
}

fn usage(error: lexopt::Error) -> Failure {
    Failure::Usage(format!("{error}; see --help"))
}
