//! A machine with a replica: started, killed, standing still, without power, with an empty disk.
//!
//! What was killed winds down on its own, and can neither write nor speak: its disk and its socket
//! are of an earlier process. Sessions of clients are of the process as everything else is: they
//! stand still with it, and are gone with it.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use remanent_engine::{Database, Durability, Options, Storage};
use remanent_replication::{GroupOptions, Node, NodeId, Process, Scratch, Surroundings};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::disk::{Disk, Mounted};
use crate::network::{Network, Socket};

/// What a database may take, and what it may take where that is less.
const MEMORY: u64 = 16 << 20;
const LESS_MEMORY: u64 = 3 << 20;

/// A machine.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) id: NodeId,
    pub(crate) disk: Disk,
    network: Network,
    /// The addresses of all members that there are at the beginning.
    founders: u64,
    /// Whom it asks to be a member, where it is not one of those, or not any more.
    join: Option<NodeId>,
    /// How many entries before an image it keeps for others.
    entries_kept: u64,
    /// Whether it is a member, as far as its owner knows.
    pub(crate) standing: Standing,
    /// Its disk was lost, and it is not a member again since.
    pub(crate) has_lost_all: bool,
    /// It was without power, and is not seen to be sure of what it has since.
    pub(crate) has_lost_memory: bool,
    /// Its database may take less memory than those of the others.
    pub(crate) has_less_memory: bool,
    boot: u64,
    running: Mutex<Option<Running>>,
}

/// Whether a machine is a member of the group, as far as its owner knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Standing {
    /// It is one, or has asked to be one.
    Member,
    /// The group was asked to let it go, and may have done so.
    Leaving,
    /// It is none.
    Stranger,
}

/// All machines of a schedule.
pub(crate) type Machines = Arc<Vec<Mutex<Machine>>>;

pub(crate) fn of(machine: &Mutex<Machine>) -> MutexGuard<'_, Machine> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct Running {
    node: Arc<Node>,
    socket: Socket,
    process: Process,
    sessions: JoinSet<()>,
}

/// Places for copies, which are gone with the process.
#[derive(Debug, Default)]
struct Copies;

impl Scratch for Copies {
    fn make(&self) -> io::Result<Arc<dyn Storage>> {
        let mounted: Mounted = Disk::default().mount();
        Ok(Arc::new(mounted))
    }

    fn remove(&self, _: Arc<dyn Storage>) {}
}

/// The address of a machine.
pub(crate) fn address(id: NodeId) -> String {
    format!("machine-{id}")
}

fn options(budget: u64) -> Options {
    let options = Options::new().budget(budget).transactions_max(64).hash_seed(7);
    let options = options.durability(Durability::Buffered).log_file_size(16 << 10);
    options.log_buffer_size(8 << 10).checkpoint_after(0)
}

impl Machine {
    /// Those up to `founders` found a group.
    pub(crate) fn new(id: NodeId, network: Network, founders: u64, entries_kept: u64) -> Self {
        let standing = if id <= founders { Standing::Member } else { Standing::Stranger };
        Self {
            id,
            disk: Disk::default(),
            network,
            founders,
            join: None,
            entries_kept,
            standing,
            has_lost_all: false,
            has_lost_memory: false,
            has_less_memory: false,
            boot: 1,
            running: Mutex::default(),
        }
    }

    /// Starts its replica, if it does not run and is of a group, or to be of one.
    pub(crate) fn start(&self) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.is_some() {
            return;
        }
        let mut group = GroupOptions::new(self.id, address(self.id));
        match self.join.filter(|_| self.standing == Standing::Member) {
            Some(member) => group = group.join(address(member)),
            None if self.id > self.founders && self.join.is_none() => return,
            None => {
                for other in (1..=self.founders).filter(|&other| other != self.id) {
                    group = group.peer(other, address(other));
                }
            }
        }
        let budget = if self.has_less_memory { LESS_MEMORY } else { MEMORY };
        let process = Process::default();
        let socket = self.network.socket(&address(self.id), process.clone());
        let around = Surroundings {
            storage: Arc::new(self.disk.mount()),
            scratch: Arc::new(Copies),
            transport: Arc::new(socket.clone()),
            options: Arc::new(move || options(budget)),
            boot: self.boot.to_string(),
            is_simulated: true,
        };
        let group = group.write_after(Duration::from_millis(10)).entries_kept(self.entries_kept);
        let node = Arc::new(process.enter(|| Node::start_in(around, group)));
        *running = Some(Running { node, socket, process, sessions: JoinSet::new() });
    }

    /// Ends its process, whatever it does.
    pub(crate) fn kill(&self) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(running) = running {
            running.socket.kill();
            self.disk.unmount();
            // What is left of it winds down.
            running.process.go_on();
        }
    }

    /// It loses its disk, and gets an empty one.
    pub(crate) fn lose_disk(&mut self) {
        self.kill();
        self.disk = Disk::default();
        self.boot += 1;
    }

    /// It is to be a member of the group that another one is of, and starts.
    pub(crate) fn join(&mut self, member: NodeId) {
        self.kill();
        self.standing = Standing::Member;
        self.join = Some(member);
        self.start();
    }

    /// Whether it was ever told to join.
    pub(crate) fn was_to_join(&self) -> bool {
        self.join.is_some()
    }

    /// Serves a client in its process; whoever waits for that hears when it is done, or that the
    /// process has ended. Nothing, if none runs.
    pub(crate) fn session<F>(
        &self,
        serve: impl FnOnce(Arc<Node>) -> F,
    ) -> Option<oneshot::Receiver<()>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let Running { node, process, sessions, .. } = running.as_mut()?;
        while sessions.try_join_next().is_some() {}
        let (sender, done) = oneshot::channel();
        let serving = serve(Arc::clone(node));
        sessions.spawn(process.run(async move {
            serving.await;
            let _ = sender.send(());
        }));
        Some(done)
    }

    /// Its process, if one runs.
    pub(crate) fn process(&self) -> Option<Process> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map(|running| running.process.clone())
    }

    /// The machine stops: what its disk did not have for sure may be gone.
    pub(crate) fn lose_power(&mut self, random: &mut StdRng) {
        self.kill();
        self.disk.lose_power(random);
        self.has_lost_memory = true;
        self.boot += 1;
    }

    pub(crate) fn node(&self) -> Option<Arc<Node>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.as_ref().map(|running| Arc::clone(&running.node))
    }

    pub(crate) fn database(&self) -> Option<Arc<Database>> {
        self.node()?.database()
    }

    pub(crate) fn leads(&self) -> bool {
        self.node().is_some_and(|node| node.leads())
    }
}
