//! `remanent serve PATH --listen ADDRESS`: a database for clients of PostgreSQL.
//!
//! The folder is opened, and made if there is none; the word `:memory:` is a database that is gone
//! afterwards. It runs until SIGTERM or SIGINT, ends in order, and then ends with 0.

use std::sync::Arc;
use std::time::Duration;

use remanent_server::{Options, Server};
use remanent_sql::SqlDatabase;

use crate::flags::{self, Flags};
use crate::recovering::{options, refused};
use crate::{Failure, Outcome, answer, say};

const FLAG_NAMES: [&str; 11] = [
    "listen",
    "trust",
    "certificate",
    "key",
    "superuser",
    "connections-max",
    "grace",
    "log-level",
    "log-statements-over",
    "memory",
    "help",
];

/// Names a database without a folder.
const MEMORY: &str = ":memory:";

/// Holds the password of the role that `--superuser` makes.
const PASSWORD: &str = "REMANENT_PASSWORD";

/// Runs the command.
pub(crate) fn run(flags: &Flags) -> Outcome {
    if flags.help {
        return answer(&help());
    }
    flags.only("serve", &FLAG_NAMES)?;
    let [path] = flags.words(["the folder of a database, or `:memory:`"])?;
    let server_options = server_options(flags)?;
    let level = flags.log_level.as_deref().unwrap_or("info");
    remanent_server::log_to_standard_error(level).map_err(Failure::Usage)?;
    let database = open(path, flags)?;
    if let Some(name) = &flags.superuser {
        make_superuser(&database, name)?;
    }
    let server = Server::start(database, server_options).map_err(said)?;
    for address in server.addresses() {
        say(&format!("ready for connections at {address}"));
    }
    remanent_server::wait_for_end().map_err(said)?;
    server.stop();
    Ok(())
}

fn open(path: &str, flags: &Flags) -> Result<Arc<SqlDatabase>, Failure> {
    let options = options(flags)?;
    match path {
        MEMORY => {
            let engine = remanent_engine::Database::open(options).map_err(refused)?;
            SqlDatabase::new(Arc::new(engine)).map_err(said)
        }
        folder => SqlDatabase::open_at(folder, options).map_err(said),
    }
}

fn server_options(flags: &Flags) -> Result<Options, Failure> {
    let usage = |text: &str| Failure::Usage(format!("{text}; see `remanent serve --help`"));
    let mut options = Options::new().trust(flags.trust);
    if flags.listen.is_empty() {
        return Err(usage("`serve` needs an address to listen at, --listen"));
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

/// Makes the role, or gives it the password if it is there.
fn make_superuser(database: &Arc<SqlDatabase>, name: &str) -> Outcome {
    let password = std::env::var(PASSWORD).unwrap_or_default();
    if password.is_empty() {
        let text = format!("--superuser needs a password in the environment, as {PASSWORD}");
        return Err(Failure::Usage(text));
    }
    let verb = if database.role(name).is_some() { "ALTER" } else { "CREATE" };
    let name = name.replace('"', "\"\"");
    let password = password.replace('\'', "''");
    let text = format!("{verb} ROLE \"{name}\" LOGIN SUPERUSER PASSWORD '{password}'");
    database.session().execute(&text).map_err(said)?;
    Ok(())
}

fn said(error: impl std::fmt::Display) -> Failure {
    Failure::Refused(format!("error: {error}"))
}

fn help() -> String {
    format!(
        "Opens a database for clients of PostgreSQL\n\n\
         usage: remanent serve DIR --listen ADDRESS [flags]\n\n\
         DIR is made if it is not there; `:memory:` is a database that is gone afterwards. The\n\
         address is HOST:PORT, or unix:FOLDER[:PORT] for the socket in it that `psql -h FOLDER`\n\
         looks for. Clients prove who they are by SCRAM-SHA-256; other machines are let in over\n\
         TLS alone. SIGTERM and SIGINT end it in order.\n\
         \nflags:\n{}\n\
         Ends with 0, with 1 if it cannot open or listen, with 2 if it was called wrongly.\n",
        flags::help(&FLAG_NAMES)
    )
}
