//! From the first byte of a connection to a client that is authenticated: TLS, protocol,
//! authentication, settings.
//!
//! Nothing of the database is touched before the client has proved who it is; until then it may
//! send little and must be quick.

mod scram;

pub use scram::is_verifier_of;
pub(crate) mod tls;

use std::sync::Arc;

use remanent_sql::{Error, Notice, READ_AFTER, Role, Session, SqlDatabase, SqlState};

use crate::registry::{Registration, Shared};
use crate::wire::ConnectionError;
use crate::wire::backend::{self, Severity};
use crate::wire::channel::Channel;
use crate::wire::frontend::First;

/// Settings that are sent to clients at first, and whenever they change.
pub(crate) const REPORTED: [&str; 14] = [
    "application_name",
    "client_encoding",
    "DateStyle",
    "default_transaction_read_only",
    "in_hot_standby",
    "integer_datetimes",
    "IntervalStyle",
    "is_superuser",
    "scram_iterations",
    "server_encoding",
    "server_version",
    "session_authorization",
    "standard_conforming_strings",
    "TimeZone",
];

/// How a connection that was to begin did not.
#[derive(Debug)]
pub(crate) enum Refused {
    /// It asked for something else, which was done.
    Done,
    /// It cannot begin, for a reason that is sent to the client.
    Because(Error),
    /// The other side is gone, or does not speak the protocol.
    Connection(ConnectionError),
}

impl From<ConnectionError> for Refused {
    fn from(broken: ConnectionError) -> Self {
        Self::Connection(broken)
    }
}

impl From<std::io::Error> for Refused {
    fn from(error: std::io::Error) -> Self {
        Self::Connection(error.into())
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Because(error)
    }
}

/// Who asks for a session, and how.
pub(crate) struct Client {
    pub(crate) user: String,
    /// Whether it connects from another machine.
    is_far: bool,
    parameters: Vec<(String, String)>,
}

/// Reads on until a client has said who it is.
///
/// # Errors
/// As [`Refused`].
pub(crate) fn read_startup(
    channel: &mut Channel,
    shared: &Shared,
    is_far: bool,
) -> Result<Client, Refused> {
    loop {
        match channel.first()? {
            First::Tls => match &shared.options.tls {
                Some(_) if channel.has_input() => {
                    // What came before the handshake could be anybody's.
                    return Err(ConnectionError::Protocol("bytes before TLS").into());
                }
                Some(config) if !channel.is_tls() => {
                    channel.out.extend_from_slice(b"S");
                    channel.flush()?;
                    let connection = rustls::ServerConnection::new(Arc::clone(config));
                    let connection = connection.map_err(std::io::Error::other)?;
                    channel.encrypt(connection)?;
                }
                _ => {
                    channel.out.extend_from_slice(b"N");
                    channel.flush()?;
                }
            },
            First::GssEncryption => {
                channel.out.extend_from_slice(b"N");
                channel.flush()?;
            }
            First::Cancel { process, secret } => {
                shared.connections.cancel(process, &secret);
                return Err(Refused::Done);
            }
            First::Startup { minor, parameters } => {
                if minor > 0 {
                    let unknown = parameters.iter().map(|(name, _)| name.as_str());
                    let unknown: Vec<&str> = unknown.filter(|n| n.starts_with("_pq_.")).collect();
                    backend::negotiate(&mut channel.out, 0, &unknown);
                }
                return Ok(client(parameters, is_far)?);
            }
        }
    }
}

fn client(parameters: Vec<(String, String)>, is_far: bool) -> Result<Client, Error> {
    let value = |name: &str| parameters.iter().find(|(key, _)| key == name).map(|(_, v)| v.clone());
    if value("replication").is_some_and(|value| value != "false" && value != "0") {
        let text = "there is no replication protocol";
        return Err(Error::new(SqlState::FEATURE_NOT_SUPPORTED, text));
    }
    match value("user") {
        Some(user) if !user.is_empty() => Ok(Client { user, is_far, parameters }),
        _ => Err(Error::new(SqlState::BAD_AUTHORIZATION, "no user name was given")),
    }
}

/// Has the client prove who it is, and begins its session.
///
/// # Errors
/// As [`Refused`].
pub(crate) fn begin_session(
    channel: &mut Channel,
    shared: &Shared,
    registration: &Registration,
    client: &Client,
) -> Result<Session, Refused> {
    if client.is_far && !channel.is_tls() {
        let text = "connections from other machines have to be encrypted";
        return Err(Error::new(SqlState::BAD_AUTHORIZATION, text)
            .hint("Use sslmode=require.")
            .into());
    }
    let database = &shared.database;
    let trusts = shared.options.trust && !client.is_far;
    let role = match trusts {
        true => database.role(&client.user),
        false => Some(authenticate(channel, database, &client.user)?),
    };
    // Who is trusted under a name that is no role may do everything.
    registration.begin_session(role.as_ref().is_none_or(|role| role.is_superuser))?;
    let mut session = database.session();
    match role {
        // As it was when it proved its password, or not at all.
        Some(role) => session.admit(&role).map_err(|_| refusal(&client.user))?,
        // Only where everybody is trusted.
        None => session.set_user(&client.user),
    }
    backend::authentication(&mut channel.out, 0, &[]);
    set_up(channel, &mut session, client)?;
    Ok(session)
}

/// The role that has proved its password. One that does not exist, may not log in or has no
/// password is asked and refused as one that gives a wrong password.
fn authenticate(
    channel: &mut Channel,
    database: &SqlDatabase,
    user: &str,
) -> Result<Role, Refused> {
    let role = database.role(user).filter(|role| role.may_log_in);
    let verifier = role.as_ref().and_then(|role| role.verifier.clone());
    let nobody = scram::Nobody { secret: &database.secret(), user };
    match (role, scram::exchange(channel, verifier.as_deref(), nobody)?) {
        (Some(role), true) => Ok(role),
        _ => Err(refusal(user).into()),
    }
}

fn refusal(user: &str) -> Error {
    let text = format!("password authentication failed for user \"{user}\"");
    Error::new(SqlState::BAD_PASSWORD, text)
}

/// The settings that the client brings, and those that are sent to it.
///
/// # Errors
/// If the session would read less than the client has to see.
fn set_up(channel: &mut Channel, session: &mut Session, client: &Client) -> Result<(), Error> {
    for (name, value) in &client.parameters {
        match name.as_str() {
            "user" | "database" | "replication" => {}
            "options" => {
                for (name, value) in options(value) {
                    configure(channel, session, &name, &value)?;
                }
            }
            name if name.starts_with("_pq_.") => {}
            name => configure(channel, session, name, value)?,
        }
    }
    for name in REPORTED {
        if let Some(value) = reported(session, name) {
            backend::parameter_status(&mut channel.out, name, &value);
        }
    }
    Ok(())
}

/// The value of a setting, as it is sent to clients.
pub(crate) fn reported(session: &Session, name: &str) -> Option<String> {
    match name {
        "scram_iterations" => None,
        name => session.setting(name),
    }
}

fn configure(
    channel: &mut Channel,
    session: &mut Session,
    name: &str,
    value: &str,
) -> Result<(), Error> {
    if let Err(error) = session.configure(name, value) {
        if name == READ_AFTER {
            return Err(error);
        }
        // A client that would like another time zone can do without.
        let notice = Notice::warning(SqlState::WARNING, format!("ignored: {error}"));
        backend::notice(&mut channel.out, &notice);
    }
    Ok(())
}

/// `-c name=value` and `--name=value`, as `PGOPTIONS` has them.
fn options(text: &str) -> Vec<(String, String)> {
    let mut words = Vec::from([String::new()]);
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        let escaped = if c == '\\' { characters.next() } else { None };
        match (escaped, words.last_mut()) {
            (None, _) if c.is_whitespace() => words.push(String::new()),
            (escaped, Some(word)) => word.push(escaped.unwrap_or(c)),
            _ => {}
        }
    }
    let assignments = words.iter().filter_map(|word| {
        let word = word.strip_prefix("-c").or_else(|| word.strip_prefix("--")).unwrap_or(word);
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.to_owned()))
    });
    assignments.collect()
}

/// Sends a client the reason why its connection ends.
pub(crate) fn refuse(channel: &mut Channel, error: &Error) {
    backend::error(&mut channel.out, Severity::Fatal, error);
    // If it is gone, nobody needs the reason.
    let _ = channel.flush();
}
