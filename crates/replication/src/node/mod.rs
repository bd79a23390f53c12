//! A replica as a process has it: opened, run, and opened again when its group asks for that.
//!
//! Opening again is the one way to take back what this replica had and the group has not, and to
//! begin with a copy. So there is one path for all bad days, and it is the one of a good start.

pub(crate) mod beginning;
pub(crate) mod disk;
pub(crate) mod leading;
pub(crate) mod members;
pub(crate) mod newest;
pub(crate) mod service;
pub(crate) mod standing;
pub(crate) mod unsure;
pub(crate) mod voters;

use std::collections::HashMap;
use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openraft::{Config, Raft, RaftMetrics, ServerState, SnapshotPolicy};
use remanent_engine::{Applier, Database, Options, Replica, Storage};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc::UnboundedReceiver, watch};
use tokio::task::JoinSet;

use crate::caller::{Caller, Identity};
use crate::copies::{Copies, Scratch, ScratchFolders, unexpected};
use crate::entry::{Member, Members, NodeId, Types};
use crate::node::newest::LeaderCaller;
use crate::node::service::Answers;
use crate::node::standing::Standing;
use crate::node::unsure::Unsure;
use crate::options::GroupOptions;
use crate::process::of_process;
use crate::raft::machine::Machine;
use crate::raft::network::Network;
use crate::raft::store::{LogEvents, Store};
use crate::state::progress::Progress;
use crate::state::promise::Promise;
use crate::state::restart::{Restart, Restarter, restarter};
use crate::status::{MemberStatus, NodeStatus, Role};
use crate::transport::{Certificates, Tcp, Transport};
use crate::wire::Answer;

/// How long a replica that could not be opened waits before it tries again, at first and at most.
const AGAIN_AFTER: Duration = Duration::from_millis(500);
const AGAIN_MAX: Duration = Duration::from_secs(5);
/// So often it asks for a copy that it was told to fetch, before it goes on with what it has.
const COPY_ATTEMPTS: u32 = 5;
/// How often it is looked whether a database is still used that is to be closed.
const LOOK_AFTER: Duration = Duration::from_millis(2);

/// What is around a replica: real, or made up by whoever tests it.
#[derive(Clone)]
pub struct Surroundings {
    /// The replica's folder.
    pub storage: Arc<dyn Storage>,
    /// Places for copies of it.
    pub scratch: Arc<dyn Scratch>,
    /// The way to other replicas.
    pub transport: Arc<dyn Transport>,
    /// How its database is opened.
    pub options: Arc<dyn Fn() -> Options + Send + Sync>,
    /// Names the start of the machine: where it is another one, what was in memory alone is lost.
    pub boot: String,
    /// Whether all happens in one thread, in the order of a seed.
    pub is_simulated: bool,
}

impl Debug for Surroundings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Surroundings").field("transport", &self.transport).finish_non_exhaustive()
    }
}

/// A replica of a group.
#[derive(Debug)]
pub struct Node {
    shared: Arc<Shared>,
    runtime: Option<Runtime>,
}

/// What all parts of a node have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: GroupOptions,
    pub(crate) around: Surroundings,
    pub(crate) copies: Arc<Copies>,
    running: Mutex<Option<Arc<Running>>>,
    token: Mutex<u64>,
    failure: Mutex<Option<String>>,
    /// One more whenever the database was opened, or is about to be closed.
    pub(crate) epoch: watch::Sender<u64>,
    ended: watch::Sender<bool>,
    pub(crate) restarter: Restarter,
}

/// A replica while its database is open.
pub(crate) struct Running {
    pub(crate) db: Arc<Database>,
    pub(crate) raft: Raft<Types>,
    pub(crate) identity: Arc<Identity>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) promise: Arc<Promise>,
    pub(crate) unsure: Unsure,
    pub(crate) standing: Standing,
    pub(crate) boot: String,
    pub(crate) restarter: Restarter,
    /// Held by whoever changes the members.
    pub(crate) changing: tokio::sync::Mutex<()>,
    pub(crate) wanted_on_disk: Arc<Notify>,
    pub(crate) events: Arc<LogEvents>,
    pub(crate) disk_callers: tokio::sync::Mutex<HashMap<NodeId, Caller>>,
    pub(crate) leader_caller: LeaderCaller,
    is_simulated: bool,
}

impl Node {
    /// Starts a replica in a folder, in threads of its own. `options` are those of its database,
    /// asked for whenever it is opened; columns in its files are compressed. Without certificates
    /// it talks on this machine alone.
    ///
    /// # Errors
    /// If the folder cannot be made, or threads cannot be started. What goes wrong later is in
    /// [`Node::failure`] and in the log.
    pub fn start(
        folder: impl AsRef<Path>,
        options: impl Fn() -> Options + Send + Sync + 'static,
        group: GroupOptions,
        certificates: Option<Certificates>,
    ) -> io::Result<Self> {
        Self::start_over(folder, options, group, Tcp::new(certificates))
    }

    /// The same, over connections that are made as somebody says.
    ///
    /// # Errors
    /// As [`Node::start`].
    pub fn start_over(
        folder: impl AsRef<Path>,
        options: impl Fn() -> Options + Send + Sync + 'static,
        group: GroupOptions,
        transport: Tcp,
    ) -> io::Result<Self> {
        let folder = folder.as_ref();
        let mut scratch = folder.as_os_str().to_owned();
        scratch.push(".copies-of-replica");
        let around = Surroundings {
            storage: Arc::new(remanent_compression::folder(folder)?),
            scratch: Arc::new(ScratchFolders::new(scratch.into())),
            transport: Arc::new(transport),
            options: Arc::new(options),
            boot: boot_of_machine(),
            is_simulated: false,
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(group.threads)
            .thread_name("replica")
            .enable_all()
            .build()?;
        let mut node = {
            let _entered = runtime.enter();
            Self::start_in(around, group)
        };
        node.runtime = Some(runtime);
        Ok(node)
    }

    /// As [`Node::start`], in the runtime that the caller runs in, and with what is given.
    pub fn start_in(around: Surroundings, group: GroupOptions) -> Self {
        let (restarter, restarts) = restarter();
        let copies = Arc::new(Copies::new(Arc::clone(&around.scratch)));
        let shared = Arc::new(Shared {
            options: group,
            around,
            copies,
            running: Mutex::default(),
            token: Mutex::default(),
            failure: Mutex::default(),
            epoch: watch::Sender::new(0),
            ended: watch::Sender::new(false),
            restarter,
        });
        tokio::spawn(of_process(run(Arc::clone(&shared), restarts)));
        Self { shared, runtime: None }
    }

    /// The database, unless it is being opened. Whoever has it lets go of it when
    /// [`Node::epoch`] changes: the replica is opened again when nobody has it any more.
    pub fn database(&self) -> Option<Arc<Database>> {
        self.shared.running().map(|running| Arc::clone(&running.db))
    }

    /// Waits for the database, for a while.
    pub fn wait_for_database(&self, time: Duration) -> Option<Arc<Database>> {
        self.wait_until(time, |_| self.database().is_some());
        self.database()
    }

    /// Waits until this replica leads and takes changes, for a while. Whether it does.
    pub fn wait_for_leadership(&self, time: Duration) -> bool {
        self.wait_until(time, |node| node.leads())
    }

    fn wait_until(&self, time: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let until = std::time::Instant::now().checked_add(time);
        while !is_so(self) && until.is_none_or(|until| std::time::Instant::now() < until) {
            std::thread::sleep(LOOK_AFTER);
        }
        is_so(self)
    }

    /// Whether this replica leads and takes changes.
    pub fn leads(&self) -> bool {
        let leads = |running: Arc<Running>| Replica::of(&running.db).is_ok_and(|it| it.leads());
        self.shared.running().is_some_and(leads)
    }

    /// Changes when the database was opened, or is about to be closed.
    pub fn epoch(&self) -> watch::Receiver<u64> {
        self.shared.epoch.subscribe()
    }

    /// Why the replica could not be opened, if that is so.
    pub fn failure(&self) -> Option<String> {
        lock(&self.shared.failure).clone()
    }

    /// How it does.
    pub fn status(&self) -> NodeStatus {
        self.shared.status()
    }

    /// Has everything up to now confirmed by a majority: whoever reads then reads nothing older.
    ///
    /// # Errors
    /// Who leads, if this replica does not.
    pub async fn confirm_leadership(&self) -> Result<(), Option<NodeId>> {
        let Some(running) = self.shared.running() else { return Err(None) };
        if !Replica::of(&running.db).is_ok_and(|replica| replica.leads()) {
            return Err(running.raft.metrics().borrow().current_leader);
        }
        let confirmed = running.raft.ensure_linearizable().await;
        confirmed.map(drop).map_err(|_| running.raft.metrics().borrow().current_leader)
    }

    /// Has a member leave the group, whether or not it runs: one that is gone for good, or has lost
    /// its folder. If it is none any more, and another one has its number by now, that one stays.
    /// Not to be called in a runtime.
    ///
    /// # Errors
    /// Why it cannot be, in words: no leader is known, or no majority can be reached.
    pub fn remove_member(&self, id: NodeId) -> Result<(), String> {
        let runtime = self.runtime.as_ref().ok_or("the replica runs in another runtime")?;
        runtime.block_on(self.ask_to_remove(id))
    }

    /// As [`Node::remove_member`], in the runtime that the caller runs in.
    ///
    /// # Errors
    /// As there.
    pub async fn ask_to_remove(&self, id: NodeId) -> Result<(), String> {
        let status = self.status();
        let leader = status.leader.ok_or("no leader is known")?.1;
        let known = status.members.iter().find(|member| member.id == id);
        let token = known.map(|known| known.member.token);
        match beginning::ask_to_leave(&self.shared, &leader.address, id, token).await {
            Ok(Answer::Done) => Ok(()),
            Ok(answer) => Err(unexpected(answer).to_string()),
            Err(error) => Err(format!("{}: {error}", leader.address)),
        }
    }

    /// Ends it in order: what it has is on the disk, and it has promised nothing that it may lose.
    pub async fn end(&self) {
        let mut ended = self.shared.ended.subscribe();
        self.shared.restarter.restart(Restart::Stop);
        let _ = ended.wait_for(|&ended| ended).await;
    }

    /// As [`Node::end`], and waits for that. Not to be called in a runtime.
    pub fn stop(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.block_on(self.end());
            runtime.shutdown_timeout(Duration::from_secs(5));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.shared.restarter.restart(Restart::Stop);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Shared {
    pub(crate) fn running(&self) -> Option<Arc<Running>> {
        lock(&self.running).clone()
    }

    pub(crate) fn token(&self) -> u64 {
        *lock(&self.token)
    }

    /// Runs what may take long beside everything else.
    pub(crate) async fn block_on<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        block_on(self.around.is_simulated, work).await
    }

    /// Raft has a leader until there is another. One that hears of no majority is none to its own
    /// replica, and one that is not heard of to others: they have another by now, or none.
    fn known_leader(
        &self,
        running: &Running,
        metrics: &RaftMetrics<NodeId, Member>,
    ) -> Option<NodeId> {
        let heartbeat = self.options.heartbeat;
        metrics.current_leader.filter(|id| match *id == self.options.id {
            true => leading::hears_majority(metrics, heartbeat),
            false => running.standing.heard_leader_within(heartbeat * leading::SILENCE_MAX),
        })
    }

    fn status(&self) -> NodeStatus {
        let mut status = NodeStatus {
            id: self.options.id,
            role: Role::Opening,
            term: 0,
            leader: None,
            last: 0,
            replicated: 0,
            applied: 0,
            log_bytes: 0,
            log_bytes_synced: 0,
            log_bytes_replicated: 0,
            timestamp: 0,
            applied_commits: 0,
            applied_changes: 0,
            stalled: None,
            is_unsure: false,
            members: Vec::new(),
        };
        let Some(running) = self.running() else { return status };
        let metrics = running.raft.metrics().borrow().clone();
        let Ok(replica) = Replica::of(&running.db) else { return status };
        status.role = match metrics.state {
            // One that is elected takes changes a moment later.
            ServerState::Leader if replica.leads() => Role::Leader,
            ServerState::Leader | ServerState::Candidate => Role::Candidate,
            ServerState::Follower => Role::Follower,
            ServerState::Learner => Role::Learner,
            ServerState::Shutdown => Role::Opening,
        };
        let members = metrics.membership_config.membership();
        let leader = self.known_leader(&running, &metrics);
        status.term = metrics.current_term;
        status.leader = leader.and_then(|id| Some((id, members.get_node(&id)?.clone())));
        status.last = replica.last().index;
        status.replicated = replica.replicated();
        status.applied = if replica.leads() { status.last } else { replica.applied().index };
        (status.log_bytes, status.log_bytes_synced) = replica.positions();
        status.log_bytes_replicated = replica.end_of(status.replicated).unwrap_or_default();
        status.timestamp = running.db.newest_timestamp();
        (status.applied_commits, status.applied_changes) = running.progress.applied();
        status.stalled = running.progress.stalled();
        status.is_unsure = running.unsure.is_unsure();
        let voters: Vec<_> = members.voter_ids().collect();
        let matched = |id| Some(metrics.replication.as_ref()?.get(id)?.as_ref()?.index);
        status.members = members
            .nodes()
            .map(|(id, member)| MemberStatus {
                id: *id,
                member: member.clone(),
                votes: voters.contains(id),
                matched: matched(id),
                position: matched(id).and_then(|index| replica.end_of(index)),
            })
            .collect();
        status
    }
}

impl Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("identity", &self.identity).finish_non_exhaustive()
    }
}

impl Running {
    /// The members, as this replica knows them.
    pub(crate) fn members(&self) -> Members {
        self.raft.metrics().borrow().membership_config.membership().clone()
    }

    /// Has the disk take what was written.
    ///
    /// # Errors
    /// What the engine says.
    pub(crate) async fn sync(&self) -> remanent_engine::Result<()> {
        // Where all is one thread, nothing may wait in it for what others do.
        while self.is_simulated && Replica::of(&self.db)?.is_paused() {
            tokio::time::sleep(LOOK_AFTER).await;
        }
        let db = Arc::clone(&self.db);
        block_on(self.is_simulated, move || Replica::of(&db)?.sync()).await
    }

    /// Has the disk take full files of the log, until not many are left that it does not have.
    ///
    /// # Errors
    /// What the engine says.
    pub(crate) async fn sync_if_many(&self) -> remanent_engine::Result<()> {
        while Replica::of(&self.db)?.has_many_unsynced() {
            let db = Arc::clone(&self.db);
            block_on(self.is_simulated, move || Replica::of(&db)?.sync_if_many()).await?;
        }
        Ok(())
    }

    /// Removes files of the log that hold nothing behind an entry.
    ///
    /// # Errors
    /// What the engine says.
    pub(crate) async fn forget(&self, index: u64) -> remanent_engine::Result<()> {
        let db = Arc::clone(&self.db);
        block_on(self.is_simulated, move || Replica::of(&db)?.forget(index)).await
    }
}

async fn block_on<T: Send + 'static>(
    is_simulated: bool,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if is_simulated {
        return work();
    }
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Runs a replica until it is to end.
async fn run(shared: Arc<Shared>, mut restarts: UnboundedReceiver<Restart>) {
    let serving = tokio::spawn(of_process(serve(Arc::clone(&shared))));
    let (mut why, mut again_after, mut failed) = (Restart::Again, AGAIN_AFTER, 0);
    while why != Restart::Stop {
        let opened = tokio::select! {
            biased;
            told = restarts.recv() => {
                why = told.unwrap_or(Restart::Stop);
                continue;
            }
            opened = open(&shared, &why) => opened,
        };
        why = match opened {
            Ok((running, tasks)) => {
                (again_after, failed) = (AGAIN_AFTER, 0);
                live(&shared, running, tasks, &mut restarts).await
            }
            Err(error) => {
                tracing::error!(%error, "a replica cannot be opened");
                *lock(&shared.failure) = Some(error);
                let pause = again_after;
                again_after = AGAIN_MAX.min(2 * pause);
                failed += 1;
                // Who had the copy may be gone for good. The group may need what is here to have a
                // majority, and if it does not, somebody says again that a copy is to be fetched.
                if matches!(why, Restart::Copy(_)) && failed >= COPY_ATTEMPTS {
                    why = Restart::Again;
                }
                tokio::select! {
                    told = restarts.recv() => told.unwrap_or(Restart::Stop),
                    () = tokio::time::sleep(pause) => why,
                }
            }
        };
    }
    serving.abort();
    let _ = shared.ended.send_replace(true);
}

/// Answers other replicas, whether or not the database is open.
async fn serve(shared: Arc<Shared>) {
    loop {
        let answers = Arc::new(Answers(Arc::clone(&shared)));
        let (transport, address) = (&shared.around.transport, &shared.options.member.address);
        if let Err(error) = transport.serve(address, answers).await {
            tracing::error!(%error, %address, "a replica cannot answer there");
            *lock(&shared.failure) = Some(format!("{address}: {error}"));
        }
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

/// Opens the replica, or makes it one first.
async fn open(shared: &Arc<Shared>, why: &Restart) -> Result<(Arc<Running>, JoinSet<()>), String> {
    let around = &shared.around;
    let words = |error: remanent_engine::Error| error.to_string();
    *lock(&shared.token) =
        beginning::token(&*around.storage).map_err(|error| format!("the folder: {error}"))?;
    if let Restart::Copy(from) = why {
        beginning::fetch_from(shared, from, 0).await?;
    }
    if !Replica::is_in(&*around.storage).map_err(words)? {
        beginning::begin(shared).await?;
    }
    let last = if let Restart::Cut(last) = *why { Some(last) } else { None };
    let (storage, options) = (Arc::clone(&around.storage), (around.options)());
    let opened = shared.block_on(move || Database::open_replica(storage, options, last)).await;
    let db = Arc::new(opened.map_err(words)?);
    let (boot, id) = (around.boot.clone(), shared.options.id);
    let (promise, is_unsure) = Promise::read(Arc::clone(&db), id, &boot).map_err(words)?;
    if is_unsure {
        tracing::warn!(id, "it has to catch up before it votes");
    }
    let (promise, progress) = (Arc::new(promise), Arc::new(Progress::default()));
    let identity = Arc::new(Identity {
        id,
        name: shared.options.name.clone(),
        address: shared.options.member.address.clone(),
        group: Replica::of(&db).map_err(words)?.group_id(),
    });
    let restarter = shared.restarter.clone();
    let events = Arc::new(LogEvents::default());
    let store = Store {
        db: Arc::clone(&db),
        restarter: restarter.clone(),
        promise: Arc::clone(&promise),
        events: Arc::clone(&events),
    };
    let machine = Machine {
        db: Arc::clone(&db),
        applier: Applier::new(&db).map_err(words)?,
        progress: Arc::clone(&progress),
        restarter: restarter.clone(),
        is_simulated: around.is_simulated,
    };
    let transport = Arc::clone(&around.transport);
    let network = Network { identity: Arc::clone(&identity), transport: Arc::clone(&transport) };
    let config = Arc::new(config(&shared.options));
    let raft = Raft::new(id, config, network, store, machine);
    let raft = raft.await.map_err(|error| error.to_string())?;
    // Until its task has begun, Raft says that the group has no members.
    raft.with_raft_state(|_| ()).await.map_err(|error| error.to_string())?;
    let standing = Standing::new(raft.clone(), is_unsure);
    let running = Arc::new(Running {
        db,
        raft,
        identity,
        progress,
        promise,
        unsure: Unsure::new(is_unsure),
        standing,
        boot,
        restarter,
        changing: tokio::sync::Mutex::default(),
        wanted_on_disk: Arc::default(),
        events,
        disk_callers: tokio::sync::Mutex::default(),
        leader_caller: LeaderCaller::default(),
        is_simulated: around.is_simulated,
    });
    let tasks = begin_tasks(shared, &running);
    Ok((running, tasks))
}

/// What a replica does besides, while its database is open.
fn begin_tasks(shared: &Arc<Shared>, running: &Arc<Running>) -> JoinSet<()> {
    let transport = &shared.around.transport;
    let mut tasks = JoinSet::new();
    let heartbeat = shared.options.heartbeat;
    tasks.spawn(of_process(leading::watch(Arc::clone(running), heartbeat)));
    tasks.spawn(of_process(leading::write_now_and_then(
        Arc::clone(running),
        shared.options.write_after,
    )));
    let asked = standing::ask_first(Arc::clone(running), Arc::clone(transport), heartbeat);
    tasks.spawn(of_process(asked));
    tasks.spawn(of_process(leading::stand_at_other_times(Arc::clone(running), heartbeat)));
    tasks.spawn(of_process(leading::stand_aside(Arc::clone(running), heartbeat)));
    tasks.spawn(of_process(disk::sync_for_commits(Arc::clone(running), Arc::clone(transport))));
    tasks.spawn(of_process(disk::sync_beside_appends(Arc::clone(running))));
    tasks.spawn(of_process(disk::remove_files(Arc::clone(running))));
    tasks.spawn(of_process(unsure::ask_others(Arc::clone(running), Arc::clone(transport))));
    tasks.spawn(of_process(beginning::join(Arc::clone(shared), Arc::clone(running))));
    tasks
}

/// Lets it run until something ends that; then nobody has its database any more.
async fn live(
    shared: &Arc<Shared>,
    running: Arc<Running>,
    mut tasks: JoinSet<()>,
    restarts: &mut UnboundedReceiver<Restart>,
) -> Restart {
    *lock(&shared.failure) = None;
    *lock(&shared.running) = Some(Arc::clone(&running));
    shared.epoch.send_modify(|epoch| *epoch += 1);
    let mut metrics = running.raft.metrics();
    let why = tokio::select! {
        biased;
        told = restarts.recv() => told.unwrap_or(Restart::Stop),
        _ = metrics.wait_for(|metrics| metrics.running_state.is_err()) => {
            // What told Raft to end may have told why.
            restarts.try_recv().unwrap_or(Restart::Again)
        }
    };
    drop(metrics);
    tracing::info!(id = shared.options.id, ?why, "a replica's database is closed");
    running.progress.end();
    *lock(&shared.running) = None;
    shared.epoch.send_modify(|epoch| *epoch += 1);
    if let Err(error) = running.raft.shutdown().await {
        tracing::warn!(%error, "a part of a replica has panicked");
    }
    tasks.shutdown().await;
    let db = Arc::clone(&running.db);
    let followed = Replica::of(&db).and_then(|replica| replica.follow());
    if why == Restart::Stop {
        let sure = followed
            .and_then(|()| Replica::of(&db)?.sync())
            .and_then(|()| Replica::of(&db)?.set_unsure(running.unsure.is_unsure()));
        if let Err(error) = sure {
            tracing::warn!(%error, "a replica has not ended in order");
        }
    }
    drop(running);
    let mut looks = 0_u32;
    while Arc::strong_count(&db) > 1 {
        looks += 1;
        if looks.is_multiple_of(2500) {
            tracing::warn!("a replica is to be opened again, and its database is still used");
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
    shared.block_on(move || drop(db)).await;
    why
}

fn config(options: &GroupOptions) -> Config {
    let heartbeat = options.heartbeat.as_millis().max(1) as u64;
    Config {
        cluster_name: options.name.clone(),
        heartbeat_interval: heartbeat,
        election_timeout_min: 2 * heartbeat + heartbeat / 2,
        election_timeout_max: 5 * heartbeat,
        // Images are made when the database finds them due.
        snapshot_policy: SnapshotPolicy::Never,
        max_payload_entries: 64,
        max_in_snapshot_log_to_keep: options.entries_kept,
        // Not before others have been asked.
        enable_elect: false,
        ..Config::default()
    }
}

/// Names the start of this machine.
fn boot_of_machine() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    // Where it has no name, every process is taken for one after a start.
    read.unwrap_or_else(|_| format!("{:?}", std::time::SystemTime::now()))
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
