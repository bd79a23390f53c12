//! The command line, first step: words into flags, by one list that `--help` prints too.
//!
//! Nothing is given meaning here; which flag a command knows is for the command to say, and what
//! stands behind a flag stays text until a command reads it.

#[cfg(feature = "sql")]
pub(crate) mod queries;

use std::ffi::OsString;
use std::path::PathBuf;

use lexopt::{Arg, Parser, ValueExt};

use crate::outcome::Failure;

/// A flag as it is listed.
struct Flag {
    name: &'static str,
    short: char,
    value: Option<&'static str>,
    about: &'static str,
}

const FLAGS: [Flag; 56] = [
    flag("out", 'o', Some("DIR"), "writes DIR/NAME.h and so on, NAME being the database's"),
    flag("include", 'I', Some("DIR"), "looks for included files here as well; may be repeated"),
    flag("char-bytes", '\0', None, "d_-style `char x[n]` is bytes instead of text"),
    flag(
        "memory",
        'm',
        Some("BYTES"),
        "the most memory to take, as 500M or 8G; half of the machine's",
    ),
    flag(
        "freeze",
        '\0',
        Some("WHEN"),
        "on_read makes columns of rows that queries have read, off does not; on_read",
    ),
    flag(
        "buffer-cache",
        '\0',
        Some("BYTES"),
        "columns of paged tables in memory, as 2G; three quarters of it if nothing is said",
    ),
    flag("no-system-cache", '\0', None, "the system keeps no columns that were read from files"),
    flag(
        "query-threads",
        '\0',
        Some("N"),
        "the most threads of a query, all cores if nothing is said",
    ),
    flag(
        "query-memory",
        '\0',
        Some("BYTES"),
        "the most memory of a query, as 500M; that of all if nothing is said",
    ),
    flag("spill-folder", '\0', Some("DIR"), "rows of queries that have no room go to files here"),
    flag("spill-limit", '\0', Some("BYTES"), "the most bytes of these files; 100G"),
    flag("rows", '\0', None, "every change of a row, and not only how many there are"),
    flag("until-commit", '\0', Some("N"), "as it was after this commit, by its timestamp"),
    flag("until-time", '\0', Some("TIME"), "as it was then: 2026-11-21T20:15:00Z, RFC 3339"),
    flag("interval", 'i', Some("SECONDS"), "how often it is asked; 1 if nothing is said"),
    flag("once", '\0', None, "prints one picture as text, and ends"),
    flag("prometheus", '\0', None, "prints the metrics as they come, and ends"),
    flag(
        "listen",
        'l',
        Some("ADDR"),
        "listens at HOST:PORT or unix:FOLDER; 127.0.0.1:5432; may be repeated",
    ),
    flag("trust", '\0', None, "clients on this machine need no password"),
    flag("certificate", '\0', Some("FILE"), "the certificates for TLS, as PEM"),
    flag("key", '\0', Some("FILE"), "the key of the certificate, as PEM"),
    flag("connections-max", '\0', Some("N"), "the most connections at a time; 100"),
    flag("superuser-reserved", '\0', Some("N"), "of these, for superusers alone; 3"),
    flag(
        "startup-timeout",
        '\0',
        Some("SECONDS"),
        "how long a client may take until it is known; 60",
    ),
    flag(
        "stall-timeout",
        '\0',
        Some("SECONDS"),
        "how long a client may take nothing, or leave a message half said; 60",
    ),
    flag("grace", '\0', Some("SECONDS"), "how long statements may go on at the end; 10"),
    flag("log-level", '\0', Some("LEVEL"), "error, warn, info, debug, trace or off; info"),
    flag("log-statements-over", '\0', Some("MS"), "logs statements that take longer"),
    flag("superuser", '\0', Some("NAME"), "makes this role, with REMANENT_PASSWORD's password"),
    flag(
        "replica",
        '\0',
        Some("N@ADDR"),
        "a replica of a group: its number, and HOST:PORT for others",
    ),
    flag(
        "peers",
        '\0',
        Some("N@ADDR,.."),
        "the other replicas of a group that is to be founded; may be repeated",
    ),
    flag("join", '\0', Some("ADDR"), "joins a group that is there: HOST:PORT of any replica"),
    flag("group", '\0', Some("NAME"), "the name of the group; remanent"),
    flag("advertise", '\0', Some("ADDR"), "where clients reach this replica; as --listen"),
    flag(
        "durability",
        '\0',
        Some("LEVEL"),
        "what commits wait for: replicated_disk, replicated, disk, os or buffered; the first",
    ),
    flag("heartbeat", '\0', Some("MS"), "how often a leader says that it is there; 100"),
    flag(
        "divide-queries",
        '\0',
        Some("ROWS"),
        "divides queries of tables with so many rows over the replicas; all of them say it",
    ),
    flag("replica-certificate", '\0', Some("FILE"), "the certificates among replicas, as PEM"),
    flag("replica-key", '\0', Some("FILE"), "the key of these, as PEM"),
    flag("replica-authority", '\0', Some("FILE"), "who has signed those of all replicas, as PEM"),
    flag(
        "change-feed",
        '\0',
        Some("BYTES"),
        "logs rows as they were before, and keeps so many bytes of the log; 0 ends that",
    ),
    flag("from", '\0', Some("LSN"), "the position of the log to begin at, or `now`"),
    flag("table", '\0', Some("NAME"), "changes of this table alone; may be repeated"),
    flag("follow", '\0', None, "goes on with what is committed later"),
    flag("authority", '\0', Some("FILE"), "TLS; who has signed the server's certificate, as PEM"),
    flag("command", 'c', Some("TEXT"), "runs these statements; may be repeated"),
    flag("file", 'f', Some("FILE"), "runs the statements of a file, - for standard input"),
    flag("create", '\0', None, "makes the database if there is none"),
    flag(
        "format",
        '\0',
        Some("FORMAT"),
        "aligned, vertical, unaligned, csv, json, jsonlines or markdown",
    ),
    flag("no-header", 't', None, "only rows: no names of columns, no counts"),
    flag("quiet", 'q', None, "only rows and errors"),
    flag("single-transaction", '1', None, "everything is one transaction"),
    flag("keep-going", 'k', None, "goes on after a statement that has failed"),
    flag("set", 'v', Some("NAME=VALUE"), "sets a variable; may be repeated"),
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
#[derive(Clone, Debug, Default)]
pub(crate) struct Flags {
    /// Words that are no flags, in order.
    pub(crate) words: Vec<String>,
    /// The names of the flags given, to be refused by commands that do not know them.
    pub(crate) given: Vec<&'static str>,
    pub(crate) out: Option<PathBuf>,
    pub(crate) include: Vec<PathBuf>,
    pub(crate) char_bytes: bool,
    pub(crate) memory: Option<String>,
    pub(crate) buffer_cache: Option<String>,
    pub(crate) no_system_cache: bool,
    pub(crate) freeze: Option<String>,
    pub(crate) query_threads: Option<String>,
    pub(crate) query_memory: Option<String>,
    pub(crate) spill_folder: Option<PathBuf>,
    pub(crate) spill_limit: Option<String>,
    pub(crate) rows: bool,
    pub(crate) until_commit: Option<String>,
    pub(crate) until_time: Option<String>,
    pub(crate) interval: Option<String>,
    pub(crate) once: bool,
    pub(crate) prometheus: bool,
    pub(crate) listen: Vec<String>,
    pub(crate) trust: bool,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
    pub(crate) connections_max: Option<String>,
    pub(crate) superuser_reserved: Option<String>,
    pub(crate) startup_timeout: Option<String>,
    pub(crate) stall_timeout: Option<String>,
    pub(crate) grace: Option<String>,
    pub(crate) log_level: Option<String>,
    pub(crate) log_statements_over: Option<String>,
    pub(crate) superuser: Option<String>,
    pub(crate) replica: Option<String>,
    pub(crate) peers: Vec<String>,
    pub(crate) join: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) advertise: Option<String>,
    pub(crate) durability: Option<String>,
    pub(crate) heartbeat: Option<String>,
    pub(crate) divide_queries: Option<String>,
    pub(crate) replica_certificate: Option<PathBuf>,
    pub(crate) replica_key: Option<PathBuf>,
    pub(crate) replica_authority: Option<PathBuf>,
    pub(crate) change_feed: Option<String>,
    pub(crate) from: Option<String>,
    pub(crate) table: Vec<String>,
    pub(crate) follow: bool,
    pub(crate) authority: Option<PathBuf>,
    /// Text and files to run, and which they are: in the order in which they were given.
    pub(crate) inputs: Vec<(bool, String)>,
    pub(crate) create: bool,
    pub(crate) format: Option<String>,
    pub(crate) no_header: bool,
    pub(crate) quiet: bool,
    pub(crate) single_transaction: bool,
    pub(crate) keep_going: bool,
    pub(crate) set: Vec<String>,
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
            flags.take(known.name, &mut parser)?;
        }
        Ok(flags)
    }

    /// Takes a flag with what stands behind it.
    fn take(&mut self, name: &str, parser: &mut Parser) -> Result<(), Failure> {
        match name {
            "out" => self.out = Some(folder(parser)?),
            "include" => self.include.push(folder(parser)?),
            "char-bytes" => self.char_bytes = true,
            "memory" => self.memory = Some(text(parser)?),
            "no-system-cache" => self.no_system_cache = true,
            "buffer-cache" => self.buffer_cache = Some(text(parser)?),
            "freeze" => self.freeze = Some(text(parser)?),
            "query-threads" => self.query_threads = Some(text(parser)?),
            "query-memory" => self.query_memory = Some(text(parser)?),
            "spill-folder" => self.spill_folder = Some(folder(parser)?),
            "spill-limit" => self.spill_limit = Some(text(parser)?),
            "rows" => self.rows = true,
            "until-commit" => self.until_commit = Some(text(parser)?),
            "until-time" => self.until_time = Some(text(parser)?),
            "interval" => self.interval = Some(text(parser)?),
            "once" => self.once = true,
            "prometheus" => self.prometheus = true,
            "listen" => self.listen.push(text(parser)?),
            "trust" => self.trust = true,
            "certificate" => self.certificate = Some(folder(parser)?),
            "key" => self.key = Some(folder(parser)?),
            "connections-max" => self.connections_max = Some(text(parser)?),
            "superuser-reserved" => self.superuser_reserved = Some(text(parser)?),
            "startup-timeout" => self.startup_timeout = Some(text(parser)?),
            "stall-timeout" => self.stall_timeout = Some(text(parser)?),
            "grace" => self.grace = Some(text(parser)?),
            "log-level" => self.log_level = Some(text(parser)?),
            "log-statements-over" => self.log_statements_over = Some(text(parser)?),
            "superuser" => self.superuser = Some(text(parser)?),
            "replica" => self.replica = Some(text(parser)?),
            "peers" => self.peers.push(text(parser)?),
            "join" => self.join = Some(text(parser)?),
            "group" => self.group = Some(text(parser)?),
            "advertise" => self.advertise = Some(text(parser)?),
            "durability" => self.durability = Some(text(parser)?),
            "heartbeat" => self.heartbeat = Some(text(parser)?),
            "divide-queries" => self.divide_queries = Some(text(parser)?),
            "replica-certificate" => self.replica_certificate = Some(folder(parser)?),
            "replica-key" => self.replica_key = Some(folder(parser)?),
            "replica-authority" => self.replica_authority = Some(folder(parser)?),
            "change-feed" => self.change_feed = Some(text(parser)?),
            "from" => self.from = Some(text(parser)?),
            "table" => self.table.push(text(parser)?),
            "follow" => self.follow = true,
            "authority" => self.authority = Some(folder(parser)?),
            "command" => self.inputs.push((false, text(parser)?)),
            "file" => self.inputs.push((true, text(parser)?)),
            "create" => self.create = true,
            "format" => self.format = Some(text(parser)?),
            "no-header" => self.no_header = true,
            "quiet" => self.quiet = true,
            "single-transaction" => self.single_transaction = true,
            "keep-going" => self.keep_going = true,
            "set" => self.set.push(text(parser)?),
            "help" => self.help = true,
            _ => self.version = true,
        }
        Ok(())
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
        text + &format!("  {:<26} {}\n", name.trim_end(), flag.about)
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
