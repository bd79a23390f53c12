//! A member of PostgreSQL's streaming replication: a server of its own, and whoever asks it.
//!
//! The first one takes changes and waits for one of two standbys. Rows are inserted by a prepared
//! statement, a client for each thread; CPU time is that of the server alone.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use lab_harness::Outcome;
use lab_postgresql::{Server, connect, copy, create, value};
use postgres::{Client, Statement};

use crate::member::{Member, spread};
use crate::remanent::TEXT;

const SETTINGS: &[&str] = &["shared_buffers=256MB", "max_connections=200", "wal_level=replica"];
/// Who it waits for.
const SYNCHRONOUS: &str = "synchronous_standby_names=ANY 1 (one, two)";
const STANDBYS: [&str; 2] = ["one", "two"];

pub(crate) struct Cluster {
    server: Server,
    leads: bool,
    /// Clients that nobody uses now.
    free: Mutex<Vec<Inserting>>,
}

/// A client that inserts.
struct Inserting {
    client: Client,
    statement: Statement,
    level: String,
}

impl Cluster {
    pub(crate) fn start(folder: &Path, place: usize, ports: &[u16]) -> Outcome<Self> {
        let mut settings = SETTINGS.to_vec();
        match place.checked_sub(1) {
            None => {
                create(folder)?;
                settings.push(SYNCHRONOUS);
            }
            Some(standby) => {
                drop(connect(ports[0])?);
                copy(folder, ports[0], STANDBYS[standby])?;
            }
        }
        let server = Server::start(folder, ports[place], &settings)?;
        Ok(Self { server, leads: place == 0, free: Mutex::default() })
    }

    fn free(&self) -> MutexGuard<'_, Vec<Inserting>> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inserting(&self) -> Outcome<Inserting> {
        if let Some(free) = self.free().pop() {
            return Ok(free);
        }
        let mut client = self.server.connect()?;
        let statement = client.prepare("insert into event values ($1, 7, $2)")?;
        Ok(Inserting { client, statement, level: String::new() })
    }
}

impl Member for Cluster {
    fn leads(&self) -> bool {
        self.leads
    }

    fn define(&self) -> Outcome<()> {
        let table = "create table event (key bigint primary key, number int, text text)";
        Ok(self.server.connect()?.batch_execute(table)?)
    }

    fn insert(&self, key: u64, level: &str) -> Outcome<()> {
        let mut inserting = self.inserting()?;
        if inserting.level != level {
            let words = match level {
                "memory_of_a_majority" => "remote_write",
                "disks_of_a_majority" => "on",
                _ => return Err(format!("it is not asked to commit in {level}").into()),
            };
            inserting.client.batch_execute(&format!("set synchronous_commit = {words}"))?;
            level.clone_into(&mut inserting.level);
        }
        let Inserting { client, statement, .. } = &mut inserting;
        client.execute(&*statement, &[&key.cast_signed(), &TEXT])?;
        self.free().push(inserting);
        Ok(())
    }

    fn load(&self, keys: Range<u64>) -> Outcome<()> {
        let mut client = self.server.connect()?;
        let mut rows = client.copy_in("copy event from stdin")?;
        for key in keys.map(spread) {
            writeln!(rows, "{}\t7\t{TEXT}", key.cast_signed())?;
        }
        rows.finish()?;
        Ok(())
    }

    fn count(&self) -> Outcome<u64> {
        let mut client = self.server.connect()?;
        Ok(value(&mut client, "select count(*) from event")?.parse()?)
    }

    fn find(&self, _: u64) -> Outcome<bool> {
        Err("it is not asked to".into())
    }

    fn changes_applied(&self) -> u64 {
        0
    }

    fn cpu_ns(&self) -> u64 {
        self.server.cpu_ns()
    }
}
