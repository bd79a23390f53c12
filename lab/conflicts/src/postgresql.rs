//! PostgreSQL 15 of the run's own, with its files in memory where there is a place for that.
//!
//! It keeps nothing (its documentation, Non-Durable Settings) and is set for serializable
//! transactions as its documentation says (Serializable Isolation Level): random pages cost little
//! so that indexes are used, and a page has room for many locks of rows.

use std::net::TcpListener;
use std::path::Path;

use lab_harness::Outcome;
use lab_postgresql::{Server, value};

use crate::contenders::{CLIENTS, Contender};

const SETTINGS: &[&str] = &[
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=256MB",
    "random_page_cost=1.1",
    "max_pred_locks_per_transaction=256",
    "max_pred_locks_per_page=64",
];

/// A server and its folder, which goes after it.
struct Started {
    #[expect(dead_code, reason = "it is there to be dropped")]
    server: Server,
    #[expect(dead_code, reason = "it is there to be dropped")]
    folder: tempfile::TempDir,
}

/// Starts one; `None` where it is not installed.
///
/// # Errors
///
/// When it does not start.
pub(crate) fn start() -> Outcome<Option<Contender>> {
    if !lab_postgresql::is_installed() {
        return Ok(None);
    }
    let shared = Path::new("/dev/shm");
    let place = if shared.is_dir() { shared.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("conflicts").tempdir_in(place)?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    lab_postgresql::create(folder.path())?;
    let server = Server::start(folder.path(), port, SETTINGS)?;
    let clients = (0..CLIENTS).map(|_| server.connect());
    let mut clients = clients.collect::<Outcome<Vec<_>>>()?;
    let version = value(&mut clients[0], "show server_version")?;
    let processes =
        clients.iter_mut().map(|client| Ok(value(client, "select pg_backend_pid()")?.parse()?));
    Ok(Some(Contender {
        name: "postgresql",
        version: version.split(' ').next().unwrap_or_default().to_owned(),
        note: format!("in memory, {}, analyzed", SETTINGS.join(", ")),
        after_load: &["vacuum analyze t", "vacuum analyze d"],
        processes: processes.collect::<Outcome<_>>()?,
        clients,
        server: Box::new(Started { server, folder }),
    }))
}
