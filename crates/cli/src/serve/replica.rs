//! `remanent serve DIR --replica ..`: a replica of a group, whose database clients reach here.
//!
//! The group opens the database, and opens it again where this replica had what the group has not.
//! Whenever it is open and has a catalog, a server lets clients in: all may read, and change
//! something where the replica leads. When it does not lead any more their sessions end, so that
//! they look for the one that does.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use remanent_engine::{Durability, Options as EngineOptions};
use remanent_exporter::Exporter;
use remanent_replication::{Certificates, GroupOptions, Node, NodeId, NodeStatus, Role, Tcp};
use remanent_server::{EndSignals, Options, Server};
use remanent_sql::{Group, GroupMember, GroupView, SqlDatabase, SqlState};

use super::dividing::{Divided, Dividing};
use super::{MEMORY, access, number, said};
use crate::flags::Flags;
use crate::flags::queries::QueryFlags;
use crate::outcome::{Failure, Outcome, answer};
use crate::recovering::options;
use crate::sizes;

/// How often it is looked whether something has changed.
const LOOK_AFTER: Duration = Duration::from_millis(10);
/// How long statements may go on in a database that the group closes.
const GRACE: Duration = Duration::from_millis(500);
/// For how long sessions may keep a follower from applying what its group has, and one that was
/// elected and is waited for.
const STALLED_MAX: Duration = Duration::from_secs(30);
const ELECTED_STALLED_MAX: Duration = Duration::from_millis(500);
/// How long until it is tried again to serve a database that could not be served, and how often
/// until an error is said that stays.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
const SAY_AFTER: u32 = 50;

/// Flags that say something of a replica alone.
const OF_REPLICAS: [&str; 10] = [
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
];

/// What the flags say of a replica.
pub(super) struct ReplicaFlags {
    group: GroupOptions,
    certificates: Option<Certificates>,
    durability: Durability,
    /// Rows from which on queries are divided.
    divide_queries: Option<usize>,
}

impl ReplicaFlags {
    /// As flags say it; nothing where there is no `--replica`.
    ///
    /// # Errors
    /// A value that a flag cannot have; certificates that cannot be used.
    pub(super) fn of(flags: &Flags) -> Result<Option<Self>, Failure> {
        let usage = |text: String| Failure::Usage(format!("{text}; see `remanent serve --help`"));
        let Some(replica) = &flags.replica else {
            let given = OF_REPLICAS.iter().find(|name| flags.given.contains(name));
            return match given {
                Some(name) => Err(usage(format!("--{name} needs --replica"))),
                None => Ok(None),
            };
        };
        let (id, address) = numbered("replica", replica)?;
        let mut group = GroupOptions::new(id, address).clients(Self::clients(flags));
        let mut numbers = vec![id];
        for peer in flags.peers.iter().flat_map(|peers| peers.split(',')) {
            let (id, address) = numbered("peers", peer)?;
            if numbers.contains(&id) {
                return Err(usage(format!("two replicas cannot both be number {id}")));
            }
            numbers.push(id);
            group = group.peer(id, address);
        }
        if let Some(join) = &flags.join {
            group = group.join(join.as_str());
        }
        if let Some(name) = &flags.group {
            group = group.name(name.as_str());
        }
        match number(flags.heartbeat.as_deref(), "heartbeat")? {
            Some(0) => return Err(usage("--heartbeat takes a number from 1 on".to_owned())),
            Some(millis) => group = group.heartbeat(Duration::from_millis(millis)),
            None => {}
        }
        let files = (&flags.replica_certificate, &flags.replica_key, &flags.replica_authority);
        let certificates = match files {
            (Some(certificate), Some(key), Some(authority)) => {
                Some(Certificates::from_files(certificate, key, authority).map_err(said)?)
            }
            (None, None, None) => None,
            _ => {
                let text = "--replica-certificate, --replica-key and --replica-authority";
                return Err(usage(format!("{text} come together")));
            }
        };
        let durability = match flags.durability.as_deref() {
            None => Durability::ReplicatedDisk,
            Some(level) => {
                let durability = level.parse().ok().filter(|it| *it != Durability::Memory);
                durability.ok_or_else(|| usage(format!("`{level}` is no --durability here")))?
            }
        };
        let divide_queries = match number(flags.divide_queries.as_deref(), "divide-queries")? {
            Some(0) => return Err(usage("--divide-queries takes a number from 1 on".to_owned())),
            rows => rows.map(|rows| rows as usize),
        };
        Ok(Some(Self { group, certificates, durability, divide_queries }))
    }

    /// Where clients reach it, as others are told.
    fn clients(flags: &Flags) -> String {
        let listened = flags.listen.iter().find(|address| !address.starts_with("unix:"));
        let said = flags.advertise.as_ref().or(listened);
        said.map_or(super::ADDRESS, String::as_str).to_owned()
    }
}

/// `3@host:port`.
fn numbered(flag: &str, text: &str) -> Result<(NodeId, String), Failure> {
    let parts = text.trim().split_once('@');
    let parsed = parts.and_then(|(id, address)| Some((id.parse().ok()?, address)));
    match parsed {
        Some((id, address)) if id > 0 && address.contains(':') => Ok((id, address.to_owned())),
        _ => Err(Failure::Usage(format!(
            "--{flag} takes a number and an address, as 3@10.0.0.3:7001, not `{text}`"
        ))),
    }
}

/// Serves until a signal says that it is to end.
///
/// # Errors
/// A folder or address that cannot be used.
pub(super) fn serve(
    path: &str,
    flags: &Flags,
    replica: ReplicaFlags,
    queries: QueryFlags,
    server_options: Options,
) -> Outcome {
    if path == MEMORY {
        let text = "a replica needs a folder: its log is what the group agrees on";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut end = EndSignals::new().map_err(said)?;
    let ReplicaFlags { group, certificates, durability, divide_queries } = replica;
    let dividing = divide_queries.map(Dividing::new).transpose()?;
    let tcp = Tcp::new(certificates);
    let answering = match &dividing {
        Some(dividing) => dividing.over(tcp.clone()),
        None => tcp.clone(),
    };
    // Wrong values are said now, and not by whoever opens the database.
    let options_of = {
        let flags = flags.clone();
        options(&flags).map(|_| move || engine_options(&flags, durability))?
    };
    let node = Node::start_over(path, options_of, group, answering).map_err(said)?;
    let node = Arc::new(node);
    answer(&first_lines(path, flags, &node.status(), durability))?;
    let folder = path.to_owned();
    let options = server_options;
    let (server, refused) = (None, 0);
    let mut serving = Serving { node, folder, queries, options, dividing, tcp, server, refused };
    while !end.has_come() {
        serving.look(flags)?;
        std::thread::sleep(LOOK_AFTER);
    }
    end.end_at_next();
    serving.end(flags)
}

/// The database's options, with what its flags say, which were understood before.
fn engine_options(flags: &Flags, durability: Durability) -> EngineOptions {
    options(flags).unwrap_or_default().durability(durability)
}

/// A replica, and its server while there is one.
struct Serving {
    node: Arc<Node>,
    folder: String,
    queries: QueryFlags,
    options: Options,
    /// If queries are divided: what does so, and how it reaches others.
    dividing: Option<Dividing>,
    tcp: Tcp,
    server: Option<Session>,
    /// How often its database could not be served, one after the other.
    refused: u32,
}

/// A server over the database of a replica, as long as that is open.
struct Session {
    database: Arc<SqlDatabase>,
    server: Server,
    exporter: Option<Exporter>,
    divided: Option<Divided>,
    epoch: u64,
    /// The term in which it leads.
    leads_in: Option<u64>,
    /// Whether it was seen to that somebody can log in.
    has_access: bool,
    /// Since when nothing more could be applied.
    stalled: Option<Instant>,
}

impl Session {
    /// Why it is to end, if it is.
    fn ends(&mut self, epoch: u64, leads: bool, status: &NodeStatus) -> Option<&'static str> {
        if self.epoch != epoch {
            return Some("the database is opened again");
        }
        let leads_in = leads.then_some(status.term);
        if self.leads_in.is_some() && self.leads_in != leads_in {
            return Some("this replica does not lead any more");
        }
        self.leads_in = leads_in;
        let stalled = status.stalled.as_ref().map(|_| self.stalled.unwrap_or_else(Instant::now));
        self.stalled = stalled;
        let max = match status.role {
            Role::Candidate => ELECTED_STALLED_MAX,
            _ => STALLED_MAX,
        };
        let is_long = stalled.is_some_and(|since| since.elapsed() >= max);
        is_long.then_some("they keep this replica from applying what its group has")
    }

    fn leave(self, grace: Duration) {
        drop((self.exporter, self.divided, self.database));
        self.server.leave(grace);
    }
}

impl Serving {
    /// Begins or ends a server, if it is time to.
    fn look(&mut self, flags: &Flags) -> Outcome {
        let epoch = *self.node.epoch().borrow();
        let Some(mut it) = self.server.take() else { return self.begin(epoch, flags) };
        it.divided.iter_mut().for_each(Divided::look);
        match it.ends(epoch, self.node.leads(), &self.node.status()) {
            None => {
                // Who led before may have been lost before anybody could log in.
                if it.leads_in.is_some() && !it.has_access {
                    it.has_access = true;
                    if let Some(access) = given(&it.database, flags)? {
                        answer(&format!("access:   {access}\n"))?;
                    }
                }
                self.server = Some(it);
            }
            Some(why) => {
                tracing::info!("sessions end: {why}");
                it.leave(GRACE);
            }
        }
        Ok(())
    }

    /// Lets clients in, if the database is open and has a catalog.
    fn begin(&mut self, epoch: u64, flags: &Flags) -> Outcome {
        let Some(engine) = self.node.database() else { return Ok(()) };
        let database = match SqlDatabase::new(engine) {
            Ok(database) => database,
            Err(error) => {
                self.refused += 1;
                // The leader makes the catalog, and it is not there yet.
                let is_early = error.state() == SqlState::READ_ONLY;
                if !is_early && self.refused.is_multiple_of(SAY_AFTER) {
                    tracing::error!("the database cannot be served: {error}");
                }
                std::thread::sleep(AGAIN_AFTER);
                return Ok(());
            }
        };
        self.refused = 0;
        database.set_group(Arc::new(Seen(Arc::downgrade(&self.node))));
        self.queries.apply(&database)?;
        let has_access = database.takes_changes();
        let access = match has_access {
            true => match given(&database, flags)? {
                Some(access) => access,
                None => return Ok(()),
            },
            false => access::of_follower(flags),
        };
        let divided = self.dividing.as_ref();
        let divided = divided.map(|it| it.begin(&database, &self.node, &self.tcp)).transpose()?;
        let exporter = super::exporter(&self.folder, database.engine());
        let server = Server::start(Arc::clone(&database), self.options.clone()).map_err(said)?;
        // Where a port was free, it stays the same.
        self.options = self.options.clone().listen_only(server.addresses());
        let ready = server.addresses().iter().fold(String::new(), |text, address| {
            text + &format!("ready for connections at {address}\n")
        });
        answer(&format!("access:   {access}\n{ready}"))?;
        let (leads_in, stalled) = (None, None);
        self.server = Some(Session {
            database,
            server,
            exporter,
            divided,
            epoch,
            leads_in,
            has_access,
            stalled,
        });
        Ok(())
    }

    /// Ends in order.
    fn end(mut self, flags: &Flags) -> Outcome {
        if let Some(it) = self.server.take() {
            let grace = number(flags.grace.as_deref(), "grace")?.map_or(10, |seconds| seconds);
            it.leave(Duration::from_secs(grace));
        }
        // A session that is just ending may look at it.
        let mut node = Err(self.node);
        while let Err(shared) = node {
            std::thread::sleep(LOOK_AFTER);
            node = Arc::try_unwrap(shared);
        }
        if let Ok(node) = node {
            node.stop();
        }
        Ok(())
    }
}

/// Sees to it that somebody can log in to a leader's database, and says who; nothing where it does
/// not lead any more, or no majority has the role yet.
fn given(database: &Arc<SqlDatabase>, flags: &Flags) -> Result<Option<String>, Failure> {
    match access::give(database, flags) {
        Ok(access) => Ok(Some(access)),
        Err(Failure::Refused(text)) => {
            tracing::warn!("{text}");
            std::thread::sleep(AGAIN_AFTER);
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
}

/// The group, for sessions.
#[derive(Debug)]
struct Seen(Weak<Node>);

impl Group for Seen {
    fn view(&self) -> GroupView {
        let Some(node) = self.0.upgrade() else { return GroupView::default() };
        let status = node.status();
        let members = status.members.into_iter().map(|it| GroupMember {
            id: it.id,
            address: it.member.address,
            clients: it.member.clients,
            votes: it.votes,
            position: it.position,
        });
        let leader = status.leader.map(|(id, _)| id);
        GroupView {
            id: status.id,
            leader,
            term: status.term,
            last: status.log_bytes,
            synced: status.log_bytes_synced,
            replicated: status.log_bytes_replicated,
            members: members.collect(),
        }
    }

    fn newest(&self) -> Result<u64, String> {
        let node = self.0.upgrade().ok_or("the replica ends")?;
        node.ask_newest_commit()
    }
}

/// What holds, a line each.
fn first_lines(path: &str, flags: &Flags, status: &NodeStatus, durability: Durability) -> String {
    let kept = match durability {
        Durability::ReplicatedDisk => "a majority of the group has it on their disks",
        Durability::Replicated => "a majority of the group has it in memory",
        _ => "this replica has it; a failover may lose it",
    };
    let budget = match flags.memory.as_deref().and_then(sizes::parse) {
        Some(bytes) => sizes::shown(bytes),
        None => "half of the machine's".to_owned(),
    };
    format!(
        "database: {path}; when a commit is answered, {kept} (durability {})\n\
         replica:  {} of a group\n\
         memory:   at most {budget}\n",
        durability.name(),
        status.id
    )
}
