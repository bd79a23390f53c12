//! Queries over the replicas of a group: `remanent serve .. --divide-queries ROWS`.
//!
//! Tasks run in threads of their own. Other replicas send them to the port where replicas talk; the
//! states that they read are retained as long as the database is served.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use remanent_replication::{Node, Tcp};
use remanent_sql::{SqlDatabase, TaskRunner};
use remanent_workers::{ByteStream, Connect, Group, Replicas, Service};
use tokio::runtime::Runtime;

use super::said;
use crate::outcome::Failure;

/// How often states are retained anew.
const RETAINED_AFTER: Duration = Duration::from_millis(500);
/// How long rows are made columns then, which takes a part of this thread's time alone.
const FREEZING: Duration = Duration::from_millis(100);

/// What divides queries, whatever database is open.
pub(super) struct Dividing {
    runtime: Runtime,
    rows_min: usize,
    /// Who answers those that send tasks, while a database is served.
    service: Arc<Mutex<Option<Service>>>,
}

impl Dividing {
    /// Divides queries that read tables of so many rows.
    ///
    /// # Errors
    /// Threads that cannot be started.
    pub(super) fn new(rows_min: usize) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("task")
            .enable_all()
            .build()
            .map_err(said)?;
        Ok(Self { runtime, rows_min, service: Arc::default() })
    }

    /// Connections on which tasks come as well.
    pub(super) fn over(&self, tcp: Tcp) -> Tcp {
        let service = Arc::clone(&self.service);
        tcp.with_http(move |stream| {
            let service = service.lock().unwrap_or_else(PoisonError::into_inner);
            // Where no database is served, the connection is closed.
            if let Some(service) = service.as_ref() {
                service.answer(Box::new(stream));
            }
        })
    }

    /// Runs tasks of others in a database, and has others run those of its queries.
    ///
    /// # Errors
    /// As the engine.
    pub(super) fn begin(
        &self,
        database: &Arc<SqlDatabase>,
        node: &Arc<Node>,
        tcp: &Tcp,
    ) -> Result<Divided, Failure> {
        let runner = Arc::new(TaskRunner::new(database));
        runner.retain_states().map_err(said)?;
        let group: Arc<dyn Group> = Arc::new(Members(Arc::downgrade(node)));
        let service = {
            let _entered = self.runtime.enter();
            Service::start(Arc::clone(&runner), Arc::clone(&group))
        };
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = Some(service);
        let connect = Arc::new(Connecting(tcp.clone()));
        let handle = self.runtime.handle().clone();
        let replicas = Replicas::new(Arc::clone(&runner), group, connect, handle, self.rows_min);
        runner.divide_queries(Arc::new(replicas));
        let service = Arc::clone(&self.service);
        Ok(Divided { runner, retained: Instant::now(), service })
    }
}

/// A database whose queries are divided.
pub(super) struct Divided {
    runner: Arc<TaskRunner>,
    retained: Instant,
    service: Arc<Mutex<Option<Service>>>,
}

impl Divided {
    /// Retains states anew, if it is time to, and makes columns of what tasks have read.
    pub(super) fn look(&mut self) {
        if self.retained.elapsed() >= RETAINED_AFTER {
            self.retained = Instant::now();
            let retained = self.runner.retain_states();
            if let Err(error) = retained.and_then(|()| self.runner.freeze_what_was_read(FREEZING)) {
                tracing::warn!(%error, "tasks of other replicas may not be run");
            }
        }
    }
}

impl Drop for Divided {
    fn drop(&mut self) {
        *self.service.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.runner.release_states();
    }
}

/// The group, for tasks.
#[derive(Debug)]
struct Members(Weak<Node>);

impl Members {
    fn addresses(&self, of_own: bool) -> Vec<String> {
        let Some(node) = self.0.upgrade() else { return Vec::new() };
        let status = node.status();
        let members = status.members.into_iter();
        let members = members.filter(|member| (member.id == status.id) == of_own);
        members.map(|member| member.member.address).collect()
    }
}

impl Group for Members {
    fn term(&self) -> u64 {
        self.0.upgrade().map_or(0, |node| node.status().term)
    }

    fn own(&self) -> String {
        self.addresses(true).pop().unwrap_or_default()
    }

    fn others(&self) -> Vec<String> {
        self.addresses(false)
    }
}

/// Connections as those of replicas.
#[derive(Debug)]
struct Connecting(Tcp);

#[async_trait]
impl Connect for Connecting {
    async fn connect(&self, address: &str) -> io::Result<Box<dyn ByteStream>> {
        Ok(Box::new(self.0.open(address).await?))
    }
}
