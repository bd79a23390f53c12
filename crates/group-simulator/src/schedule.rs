//! One schedule: machines, clients, bad luck by seed, and at the end a good day.
//!
//! All happens in one thread, on a clock that goes on when nobody has anything to do. On the good
//! day all machines run, nothing is lost on the way, and they have to agree within a minute.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use remanent_engine::schema::IndexSchema;
use remanent_engine::{Database, Durability, Replica};
use remanent_replication::NodeStatus;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::clients::{self, Known, Shared, lock};
use crate::judge;
use crate::machine::{Machine, address};
use crate::network::Network;

/// How long all have to agree on a good day.
const GOOD_DAY_MAX: Duration = Duration::from_secs(60);
const LOOK_AFTER: Duration = Duration::from_millis(5);

type Machines = Arc<Vec<Mutex<Machine>>>;

/// What a schedule was like.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) appended: usize,
    pub(crate) acknowledged: usize,
    pub(crate) terms: u64,
    pub(crate) kills: usize,
    pub(crate) power_losses: usize,
    pub(crate) cuts: usize,
}

/// Runs the schedule of a seed; what is wrong, in words.
pub(crate) fn run(seed: u64) -> Result<Summary, Vec<String>> {
    remanent_replication::seed_this_thread(seed);
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&seed.to_le_bytes()));
    let runtime = builder.build().map_err(|error| vec![error.to_string()])?;
    runtime.block_on(play(seed))
}

fn of(machine: &Mutex<Machine>) -> MutexGuard<'_, Machine> {
    machine.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn play(seed: u64) -> Result<Summary, Vec<String>> {
    let mut random = StdRng::seed_from_u64(seed);
    let founders = if random.gen_bool(0.2) { 5 } else { 3 };
    let network = Network::new(random.r#gen());
    let machine = |id| Mutex::new(Machine::new(id, network.clone(), founders));
    let machines: Machines = Arc::new((1..=founders).map(machine).collect());
    machines.iter().for_each(|machine| of(machine).start());
    let leader = leader_of(&machines).await?;
    let made = clients::define(&leader).map_err(|error| vec![format!("tables: {error}")])?;
    // Whatever stops then, they are there.
    let machine = machines.iter().find(|machine| of(machine).leads());
    let Some(machine) = machine else { return Err(vec!["tables: nobody leads".to_owned()]) };
    if !clients::wait_for(machine, leader, &made, Durability::ReplicatedDisk).await {
        return Err(vec!["the tables are not on the disks of a majority".to_owned()]);
    }
    let known = Shared::default();
    let mut playing = JoinSet::new();
    for _ in 0..random.gen_range(1..5) {
        let client = clients::run(random.r#gen(), Arc::clone(&machines), Arc::clone(&known));
        playing.spawn(client);
    }
    let mut day = BadDay {
        machines: Arc::clone(&machines),
        network: network.clone(),
        known: Arc::clone(&known),
        summary: Summary::default(),
        blackout: None,
        may_black_out: random.gen_bool(0.15),
    };
    let until = Instant::now() + Duration::from_millis(random.gen_range(4_000..20_000));
    while Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(random.gen_range(50..1500))).await;
        day.one_thing(&mut random).await;
    }
    playing.shutdown().await;
    network.cut(Vec::new());
    network.set_bad(0);
    let blackout = day.blackout;
    let mut summary = day.summary;
    drop(day);
    // What failed before is started again; everything else goes on.
    for machine in machines.iter() {
        of(machine).start();
    }
    agree(&machines).await?;
    let databases: Vec<_> = machines.iter().filter_map(|machine| of(machine).database()).collect();
    let mut known = std::mem::take(&mut *lock(&known));
    judge::judge(&databases, &mut known, blackout);
    summary.terms = machines.iter().filter_map(status).map(|status| status.term).max().unwrap_or(0);
    (summary.appended, summary.acknowledged) = judge::counts(&known);
    let Known { findings, .. } = known;
    drop(databases);
    for machine in machines.iter() {
        of(machine).kill();
    }
    if findings.is_empty() { Ok(summary) } else { Err(findings) }
}

fn status(machine: &Mutex<Machine>) -> Option<NodeStatus> {
    of(machine).node().map(|node| node.status())
}

/// The database of the leader, when there is one.
async fn leader_of(machines: &Machines) -> Result<Arc<Database>, Vec<String>> {
    let begin = Instant::now();
    loop {
        let leader = machines.iter().find(|machine| of(machine).leads());
        if let Some(db) = leader.and_then(|machine| of(machine).database()) {
            return Ok(db);
        }
        if begin.elapsed() >= GOOD_DAY_MAX {
            return Err(vec![format!("nobody leads: {:#?}", statuses(machines))]);
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

/// How each does, in a line.
fn statuses(machines: &Machines) -> Vec<String> {
    let line = |machine| {
        let failure = of(machine).node().and_then(|node| node.failure());
        let Some(status) = status(machine) else { return format!("down, {failure:?}") };
        let NodeStatus { id, role, term, last, replicated, applied, is_unsure, .. } = &status;
        let stalled = &status.stalled;
        format!(
            "{id}: {role:?} in term {term}, last {last}, replicated {replicated}, applied \
             {applied}, unsure {is_unsure}, {stalled:?}, {failure:?}"
        )
    };
    machines.iter().map(line).collect()
}

/// Waits until all have applied what the leader has, and the leader knows that they have it.
async fn agree(machines: &Machines) -> Result<(), Vec<String>> {
    let begin = Instant::now();
    while begin.elapsed() < GOOD_DAY_MAX {
        tokio::time::sleep(LOOK_AFTER).await;
        let db = machines.iter().find(|machine| of(machine).leads());
        let Some(db) = db.and_then(|machine| of(machine).database()) else { continue };
        let is_written = Replica::of(&db).is_ok_and(|replica| replica.write().is_ok());
        drop(db);
        let all: Vec<_> = machines.iter().filter_map(status).collect();
        let leading: Vec<_> = all.iter().filter(|status| status.role.name() == "leader").collect();
        let [leader] = leading[..] else { continue };
        let is_there = |status: &NodeStatus| {
            status.term == leader.term
                && status.last == leader.last
                && status.applied == leader.last
                && status.replicated == leader.last
        };
        if is_written && all.len() == machines.len() && all.iter().all(is_there) {
            return Ok(());
        }
    }
    Err(vec![format!("they do not agree on a good day: {:#?}", statuses(machines))])
}

/// What goes wrong.
struct BadDay {
    machines: Machines,
    network: Network,
    known: Shared,
    summary: Summary,
    /// When a majority was last without power: what was in memory alone before may be lost.
    blackout: Option<Instant>,
    may_black_out: bool,
}

impl BadDay {
    async fn one_thing(&mut self, random: &mut StdRng) {
        let place = random.gen_range(0..self.machines.len());
        match random.gen_range(0..100) {
            0..15 => self.cut(random, place),
            15..30 => self.network.cut(Vec::new()),
            30..40 => self.network.set_bad(random.gen_range(0..30)),
            40..48 => self.network.set_bad(0),
            48..60 => self.kill(random, place).await,
            60..66 => self.stop(random, place).await,
            66..76 => self.lose_power(random, place).await,
            76..79 if self.may_black_out => self.black_out(random).await,
            79..83 => self.fail_disk(random, place).await,
            83..93 => self.checkpoint(place),
            _ => self.define(random),
        }
    }

    /// Cuts one machine off, in one direction or both; or them in two parts.
    fn cut(&mut self, random: &mut StdRng, place: usize) {
        self.summary.cuts += 1;
        let count = self.machines.len() as u64;
        let one = place as u64 + 1;
        let others = (1..=count).filter(|&other| other != one);
        let in_part: Vec<bool> = (0..count).map(|_| random.gen_bool(0.5)).collect();
        let kind = random.gen_range(0..4);
        let cuts = match kind {
            0 => others.flat_map(|other| [(one, other), (other, one)]).collect(),
            1 => others.map(|other| (one, other)).collect(),
            2 => others.map(|other| (other, one)).collect(),
            _ => {
                let all = (1..=count).flat_map(|a| (1..=count).map(move |b| (a, b)));
                let parted =
                    |&(a, b): &(u64, u64)| in_part[a as usize - 1] != in_part[b as usize - 1];
                all.filter(parted).collect::<Vec<_>>()
            }
        };
        self.network.cut(cuts.into_iter().map(|(a, b)| (address(a), address(b))).collect());
    }

    async fn kill(&mut self, random: &mut StdRng, place: usize) {
        self.summary.kills += 1;
        of(&self.machines[place]).kill();
        self.start_later(random, place).await;
    }

    async fn stop(&mut self, random: &mut StdRng, place: usize) {
        let node = of(&self.machines[place]).node();
        if let Some(node) = node {
            // Clients that wait let go of the database when they see that it is closed.
            let _ = tokio::time::timeout(Duration::from_secs(5), node.end()).await;
        }
        of(&self.machines[place]).kill();
        self.start_later(random, place).await;
    }

    /// One machine at a time: what a minority has lost, the others have.
    async fn lose_power(&mut self, random: &mut StdRng, place: usize) {
        let others_are_sure = self.machines.iter().enumerate().all(|(other, machine)| {
            other == place || status(machine).is_none_or(|status| !status.is_unsure)
        });
        if !others_are_sure {
            return;
        }
        self.summary.power_losses += 1;
        of(&self.machines[place]).lose_power(random);
        self.start_later(random, place).await;
    }

    async fn black_out(&mut self, random: &mut StdRng) {
        self.summary.power_losses += self.machines.len();
        for machine in self.machines.iter() {
            of(machine).lose_power(random);
        }
        self.blackout = Some(Instant::now());
        tokio::time::sleep(Duration::from_millis(random.gen_range(1..500))).await;
        for machine in self.machines.iter() {
            of(machine).start();
            tokio::time::sleep(Duration::from_millis(random.gen_range(0..300))).await;
        }
    }

    async fn fail_disk(&mut self, random: &mut StdRng, place: usize) {
        let kind =
            if random.gen_bool(0.5) { io::ErrorKind::StorageFull } else { io::ErrorKind::Other };
        of(&self.machines[place]).disk.fail(kind);
        tokio::time::sleep(Duration::from_millis(random.gen_range(10..1000))).await;
        self.kill(random, place).await;
    }

    async fn start_later(&self, random: &mut StdRng, place: usize) {
        tokio::time::sleep(Duration::from_millis(random.gen_range(1..1500))).await;
        of(&self.machines[place]).start();
    }

    /// An image, and what is before it goes. Only where it need not wait, since nobody else would
    /// get on meanwhile.
    fn checkpoint(&self, place: usize) {
        let Some(db) = of(&self.machines[place]).database() else { return };
        let Ok(replica) = Replica::of(&db) else { return };
        let has = if replica.leads() { replica.last() } else { replica.applied() };
        if replica.leads() && replica.write().is_err() {
            return;
        }
        if replica.replicated() >= has.index && replica.last().index <= replica.replicated() {
            // A disk that fails is reported to whoever commits.
            let _ = db.checkpoint();
        }
    }

    fn define(&self, random: &mut StdRng) {
        let leader = self.machines.iter().find(|machine| of(machine).leads());
        let Some(db) = leader.and_then(|machine| of(machine).database()) else { return };
        let Ok(table) = db.table("List") else { return };
        let done = match table.index("by_number") {
            Ok(index) if random.gen_bool(0.5) => db.drop_index(&table, index),
            Ok(_) => Ok(()),
            Err(_) => db.create_index(&table, IndexSchema::new("by_number", ["number"])).map(drop),
        };
        if let Err(error) = done
            && !clients::is_expected(&error)
        {
            lock(&self.known).findings.push(format!("a definition: {error}"));
        }
    }
}
