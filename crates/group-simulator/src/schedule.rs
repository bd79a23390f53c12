//! One schedule: machines, clients, bad luck by seed, and at the end a good day.
//!
//! All happens in one thread, on a clock that goes on when nobody has anything to do. On the good
//! day all machines run, nothing is lost on the way, and they have to agree within a minute; and
//! one that is cut off then has the others go on as if nothing had been.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use remanent_engine::{Durability, Replica};
use remanent_replication::{NodeStatus, Process};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::absence;
use crate::bad_day::{BadDay, Summary};
use crate::clients::{self, Known, Shared, lock};
use crate::judge;
use crate::machine::{Machine, Machines, Standing, of};
use crate::membership;
use crate::network::Network;
use crate::views::{GOOD_DAY_MAX, LOOK_AFTER, leader_of, status, statuses};

/// How long a replica may take to be opened.
const TO_BE_OPENED: Duration = Duration::from_secs(3);
/// Machines that may become members.
const SPARES: u64 = 2;
/// Entries that are kept for those that are behind.
const ENTRIES_KEPT: u64 = 1000;
const FEW_ENTRIES_KEPT: u64 = 100;

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

async fn play(seed: u64) -> Result<Summary, Vec<String>> {
    let mut random = StdRng::seed_from_u64(seed);
    let founders = if random.gen_bool(0.2) { 5 } else { 3 };
    let network = Network::new(random.r#gen());
    let kept = if random.gen_bool(0.5) { ENTRIES_KEPT } else { FEW_ENTRIES_KEPT };
    let machine = |id| Mutex::new(Machine::new(id, network.clone(), founders, kept));
    let machines: Machines = Arc::new((1..=founders + SPARES).map(machine).collect());
    machines.iter().for_each(|machine| of(machine).start());
    let leader = leader_of(&machines).await?;
    let made = clients::define(&leader).map_err(|error| vec![format!("tables: {error}")])?;
    // Whatever stops then, they are there.
    let machine = machines.iter().find(|machine| of(machine).leads());
    let Some(machine) = machine else { return Err(vec!["tables: nobody leads".to_owned()]) };
    let Some(node) = of(machine).node() else { return Err(vec!["tables: it is down".to_owned()]) };
    if !clients::wait_for(&node, leader, &made, Durability::ReplicatedDisk).await {
        return Err(vec!["the tables are not on the disks of a majority".to_owned()]);
    }
    drop(node);
    let known = Shared::default();
    let mut playing = JoinSet::new();
    let has_less_memory = random.gen_bool(0.1);
    for _ in 0..random.gen_range(1..5) {
        let (machines, known) = (Arc::clone(&machines), Arc::clone(&known));
        let client = clients::run(random.r#gen(), machines, known, has_less_memory);
        playing.spawn(client);
    }
    let mut day = BadDay::new(&machines, &network, &known, &mut random);
    if has_less_memory {
        day.give_less_memory(&mut random).await;
    }
    while Instant::now() < day.until {
        tokio::time::sleep(Duration::from_millis(random.gen_range(50..1500))).await;
        day.one_thing(&mut random).await;
    }
    playing.shutdown().await;
    network.cut(Vec::new());
    network.set_bad(0);
    let BadDay { blackout, mut summary, .. } = day;
    begin_good_day(&machines, has_less_memory, &mut summary).await?;
    agree(&machines).await?;
    absence::pass(&machines, &network, &mut random).await?;
    agree(&machines).await?;
    let databases: Vec<_> =
        membership::members(&machines).filter_map(|machine| of(machine).database()).collect();
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

/// Has all members run, with enough memory, and all leave that are to.
///
/// # Errors
/// What is wrong, in words.
async fn begin_good_day(
    machines: &Machines,
    has_less_memory: bool,
    summary: &mut Summary,
) -> Result<(), Vec<String>> {
    // What failed before is started again, what stands goes on, and so does everything else.
    for machine in machines.iter() {
        of(machine).process().inspect(Process::go_on);
        // The group may need who is to leave as well, to let it go.
        if of(machine).standing != Standing::Stranger {
            of(machine).start();
        }
    }
    // Whoever has too little memory is in nobody's way, unless it cannot even be opened, or another
    // one has lost its disk.
    if has_less_memory {
        tokio::time::sleep(TO_BE_OPENED).await;
        let is_open = |machine: &Mutex<Machine>| {
            of(machine).standing == Standing::Stranger || of(machine).database().is_some()
        };
        if machines.iter().all(is_open) {
            drop(leader_of(machines).await?);
        }
    }
    for machine in machines.iter() {
        give_memory(machine, summary);
    }
    membership::settle(machines).await
}

/// A machine that had less memory than the others gets as much. One that stands still says why.
fn give_memory(machine: &Mutex<Machine>, summary: &mut Summary) {
    if !std::mem::take(&mut of(machine).has_less_memory) {
        return;
    }
    let why = of(machine).node().and_then(|node| node.failure().or(node.status().stalled));
    summary.full += usize::from(why.is_some());
    tracing::debug!(target: "remanent_replication", ?why, "it gets more memory");
    of(machine).kill();
    if of(machine).standing == Standing::Member {
        of(machine).start();
    }
}

/// Waits until all members have applied what the leader has, the leader knows that they have it,
/// and the group has those members and no others.
async fn agree(machines: &Machines) -> Result<(), Vec<String>> {
    let begin = Instant::now();
    let mut ids: Vec<u64> = membership::members(machines).map(|machine| of(machine).id).collect();
    ids.sort_unstable();
    while begin.elapsed() < GOOD_DAY_MAX {
        tokio::time::sleep(LOOK_AFTER).await;
        let db = machines.iter().find(|machine| of(machine).leads());
        let Some(db) = db.and_then(|machine| of(machine).database()) else { continue };
        let is_written = Replica::of(&db).is_ok_and(|replica| replica.write().is_ok());
        drop(db);
        let all: Vec<_> = machines.iter().filter_map(status).collect();
        let leading: Vec<_> = all.iter().filter(|status| status.role.name() == "leader").collect();
        let [leader] = leading[..] else { continue };
        let mut voters: Vec<u64> =
            leader.members.iter().filter(|member| member.votes).map(|member| member.id).collect();
        voters.sort_unstable();
        let is_there = |status: &NodeStatus| {
            status.term == leader.term
                && status.last == leader.last
                && status.applied == leader.last
                && status.replicated == leader.last
        };
        let mut all = membership::members(machines).map(status);
        let all_there = all.all(|status| status.as_ref().is_some_and(is_there));
        if is_written && voters == ids && leader.members.len() == ids.len() && all_there {
            return Ok(());
        }
    }
    Err(vec![format!("they do not agree on a good day: {:#?}", statuses(machines))])
}
