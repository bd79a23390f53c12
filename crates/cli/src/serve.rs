//! `remanent serve DIR`: a database for clients of PostgreSQL.
//!
//! The folder is opened, and made if there is none; the word `:memory:` is a database that is gone
//! afterwards. It runs until SIGTERM or SIGINT, ends in order, and then ends with 0. What holds
//! without flags is said on standard output, and last that clients are let in; the log goes to
//! standard error.

use std::sync::Arc;
use std::time::Duration;

use remanent_engine::Database;
use remanent_exporter::{Exporter, Listen};
use remanent_server::{EndSignals, Options, Server};
use remanent_sql::SqlDatabase;

mod access;
mod dividing;
mod replica;

use self::access::{FIRST_ROLE, PASSWORD};
use crate::flags::queries::QueryFlags;
use crate::flags::{self, Flags};
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::{options, refused};
use crate::sizes;

const FLAG_NAMES: [&str; 33] = [
    "listen",
    "trust",
    "certificate",
    "key",
    "superuser",
    "connections-max",
    "superuser-reserved",
    "startup-timeout",
    "stall-timeout",
    "grace",
    "log-level",
    "log-statements-over",
    "memory",
    "buffer-cache",
    "no-system-cache",
    "change-feed",
    "freeze",
    "query-threads",
    "query-memory",
    "spill-folder",
    "spill-limit",
    "replica",
    "peers",
    "join",
    "group",
    "advertise",
    "durability",
    "heartbeat",
    "divide-queries",
    "replica-certificate",
    "replica-key",
    "replica-authority",
    "help",
];

/// Names a database without a folder.
const MEMORY: &str = ":memory:";

/// Where it listens by default: this machine alone, where clients look first.
const ADDRESS: &str = "127.0.0.1:5432";

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("serve", &FLAG_NAMES)?;
    let [path] = flags.words(["the folder of a database, or `:memory:`"])?;
    let server_options = server_options(flags)?;
    let queries = QueryFlags::of(flags)?;
    let replica = replica::ReplicaFlags::of(flags)?;
    let level = flags.log_level.as_deref().unwrap_or("info");
    remanent_server::log_to_standard_error(level).map_err(Failure::Usage)?;
    if let Some(replica) = replica {
        return replica::serve(path, flags, replica, queries, server_options);
    }
    let database = open(path, flags)?;
    queries.apply(&database)?;
    // Before anybody connects: clients could take all the files that the process may open.
    let end = EndSignals::new().map_err(said)?;
    // First, so that no password is made that nobody sees; without roles it lets nobody in.
    let server = Server::start(Arc::clone(&database), server_options).map_err(said)?;
    let access = access::give(&database, flags)?;
    let exporter = match path {
        MEMORY => None,
        folder => exporter(folder, database.engine()),
    };
    answer(&first_lines(path, &database, &access, server.addresses()))?;
    end.wait();
    drop(exporter);
    server.stop();
    Ok(())
}

/// Lets `remanent top` see the database, in its folder; a server goes on without that.
fn exporter(folder: &str, engine: &Arc<Database>) -> Option<Exporter> {
    let started = Exporter::start(Arc::clone(engine), Listen::folder(folder));
    started.inspect_err(|error| tracing::warn!("there are no metrics: {error}")).ok()
}

fn open(path: &str, flags: &Flags) -> Result<Arc<SqlDatabase>, Failure> {
    let options = options(flags)?;
    match path {
        MEMORY => {
            let engine = Database::open(options).map_err(refused)?;
            SqlDatabase::new(Arc::new(engine)).map_err(said)
        }
        folder => SqlDatabase::open_at(folder, options).map_err(said),
    }
}

fn server_options(flags: &Flags) -> Result<Options, Failure> {
    let usage = |text: &str| Failure::Usage(format!("{text}; see `remanent serve --help`"));
    let mut options = Options::new().trust(flags.trust);
    if flags.listen.is_empty() {
        options = options.listen(ADDRESS);
    }
    for address in &flags.listen {
        options = options.listen(address);
    }
    options = match (&flags.certificate, &flags.key) {
        (Some(certificate), Some(key)) => options.certificate(certificate.clone(), key.clone()),
        (None, None) => options,
        _ => return Err(usage("--certificate and --key come together")),
    };
    if let Some(count) = number(flags.connections_max.as_deref(), "connections-max")? {
        options = options.connections_max(count as usize);
    }
    if let Some(count) = number(flags.superuser_reserved.as_deref(), "superuser-reserved")? {
        options = options.superuser_reserved(count as usize);
    }
    if let Some(seconds) = number(flags.startup_timeout.as_deref(), "startup-timeout")? {
        options = options.startup_timeout(Duration::from_secs(seconds));
    }
    if let Some(seconds) = number(flags.stall_timeout.as_deref(), "stall-timeout")? {
        options = options.stall_timeout(Duration::from_secs(seconds));
    }
    if let Some(seconds) = number(flags.grace.as_deref(), "grace")? {
        options = options.grace(Duration::from_secs(seconds));
    }
    if let Some(millis) = number(flags.log_statements_over.as_deref(), "log-statements-over")? {
        options = options.log_statements_over(Duration::from_millis(millis));
    }
    Ok(options)
}

fn number(text: Option<&str>, flag: &str) -> Result<Option<u64>, Failure> {
    let parsed = text.map(|text| {
        let wrong = |_| Failure::Usage(format!("--{flag} takes a number, not `{text}`"));
        text.parse::<u64>().map_err(wrong)
    });
    parsed.transpose()
}

/// What holds, a line each, and at the end where clients are let in.
fn first_lines(path: &str, database: &SqlDatabase, access: &str, addresses: &[String]) -> String {
    let kept = match path {
        MEMORY => "in memory alone, gone at the end",
        _ => "a commit is on the disk before it is answered (durability disk)",
    };
    let budget = sizes::shown(database.engine().memory().budget);
    let ready = addresses.iter().fold(String::new(), |text, address| {
        text + &format!("ready for connections at {address}\n")
    });
    format!("database: {path}; {kept}\nmemory:   at most {budget}\naccess:   {access}\n{ready}")
}

pub(crate) fn said(error: impl std::fmt::Display) -> Failure {
    Failure::Refused(format!("error: {error}"))
}

fn help() -> String {
    format!(
        "Opens a database for clients of PostgreSQL\n\n\
         usage: remanent serve DIR [flags]\n\n\
         DIR is made if it is not there; `:memory:` is a database that is gone afterwards. It\n\
         listens at {ADDRESS} unless --listen says otherwise: HOST:PORT, or\n\
         unix:FOLDER[:PORT] for the socket in it that `psql -h FOLDER` looks for. Clients prove\n\
         who they are by SCRAM-SHA-256. Where nobody can log in yet, the superuser\n\
         {FIRST_ROLE} is made, with the password of {PASSWORD} or with one that is\n\
         shown once; other machines are let in over TLS alone. A commit is on the disk before it\n\
         is answered. SIGTERM and SIGINT end it in order.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if it cannot open or listen, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
