//! What goes wrong in a schedule, one thing after the other, each chosen by the seed.
//!
//! Messages, machines, processes and disks have their bad luck, beside the clients, images,
//! definitions, and changes of the members. Never does a majority lose its memory at one time, but
//! in a blackout.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use remanent_engine::schema::IndexSchema;
use remanent_engine::{Database, Replica, Result};
use remanent_replication::Node;
use tokio::time::Instant;

use crate::clients::{self, Shared, lock};
use crate::machine::{Machine, Machines, Standing, address, of};
use crate::membership;
use crate::network::Network;

/// A process stands still for so long at least, and for so many powers of ten times that at most.
const STALL_MIN: Duration = Duration::from_millis(100);
const STALL_DECADES: f64 = 2.9;
/// How long a schedule goes on behind a stall that was waited for.
const AFTER_STALL: Duration = Duration::from_secs(3);
/// A group of fewer goes on only with what all of them had.
const VOTERS_MIN: usize = 3;
/// How long a process that goes away is away at least, and how many times that at most.
const AWAY_MIN: Duration = Duration::from_secs(3);
const AWAY_TIMES: f64 = 10.0;

/// What a schedule was like.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Summary {
    pub(crate) appended: usize,
    pub(crate) acknowledged: usize,
    pub(crate) terms: u64,
    pub(crate) kills: usize,
    pub(crate) power_losses: usize,
    pub(crate) cuts: usize,
    pub(crate) stalls: usize,
    pub(crate) joins: usize,
    pub(crate) removals: usize,
    pub(crate) away: usize,
    /// Members whose memory was full at the end.
    pub(crate) full: usize,
}

/// What goes wrong.
pub(crate) struct BadDay {
    machines: Machines,
    network: Network,
    known: Shared,
    /// When it ends.
    pub(crate) until: Instant,
    pub(crate) summary: Summary,
    /// When a majority was last without power: what was in memory alone before may be lost.
    pub(crate) blackout: Option<Instant>,
    may_black_out: bool,
    /// Not in a schedule with a blackout, after which the group may have other members than its
    /// owner was told.
    changes_members: bool,
}

impl BadDay {
    pub(crate) fn new(
        machines: &Machines,
        network: &Network,
        known: &Shared,
        random: &mut StdRng,
    ) -> Self {
        let may_black_out = random.gen_bool(0.15);
        Self {
            machines: Arc::clone(machines),
            network: network.clone(),
            known: Arc::clone(known),
            summary: Summary::default(),
            blackout: None,
            may_black_out,
            changes_members: !may_black_out && random.gen_bool(0.6),
            until: Instant::now() + Duration::from_millis(random.gen_range(4_000..20_000)),
        }
    }

    /// One thing goes wrong, or is made right.
    pub(crate) async fn one_thing(&mut self, random: &mut StdRng) {
        let place = self.place(random);
        match random.gen_range(0..100) {
            0..13 => self.cut(random, place),
            13..20 => self.stall(random, place),
            20..30 => self.network.cut(Vec::new()),
            30..38 => self.network.set_bad(random.gen_range(0..30)),
            38..45 => self.network.set_bad(0),
            45..56 => self.kill(random, place).await,
            56..61 => self.stop(random, place).await,
            61..70 => self.lose_power(random, place).await,
            70..73 if self.may_black_out => self.black_out(random).await,
            73..77 => self.fail_disk(random, place).await,
            77..84 => self.checkpoint(place),
            84..88 => self.go_away(random, place),
            88..95 if self.changes_members => self.change_members(random, place),
            _ => self.define(random),
        }
    }

    /// A member gets less memory than what the others will have in their tables needs.
    pub(crate) async fn give_less_memory(&mut self, random: &mut StdRng) {
        let place = self.place(random);
        of(&self.machines[place]).kill();
        of(&self.machines[place]).has_less_memory = true;
        self.start_later(random, place).await;
    }

    /// A machine that is a member, or runs.
    fn place(&self, random: &mut StdRng) -> usize {
        let is_there = |&place: &usize| {
            let machine = of(&self.machines[place]);
            machine.standing == Standing::Member || machine.node().is_some()
        };
        (0..self.machines.len()).filter(is_there).choose(random).unwrap_or(0)
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
        let voters = membership::voters(&self.machines);
        if voters < VOTERS_MIN || !membership::others_are_sure(&self.machines, place) {
            return;
        }
        self.summary.power_losses += 1;
        of(&self.machines[place]).lose_power(random);
        self.start_later(random, place).await;
    }

    async fn black_out(&mut self, random: &mut StdRng) {
        self.summary.power_losses += membership::members(&self.machines).count();
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
        let machine = of(&self.machines[place]);
        // Who was let go may begin again with what it has.
        machine.start();
    }

    /// A process stands still, more often the leader's, and goes on later: with what it knew.
    fn stall(&mut self, random: &mut StdRng, place: usize) {
        self.summary.stalls += 1;
        let leader = self.machines.iter().position(|machine| of(machine).leads());
        let place = leader.filter(|_| random.gen_bool(0.6)).unwrap_or(place);
        let Some(process) = of(&self.machines[place]).process() else { return };
        let time = STALL_MIN.mul_f64(10_f64.powf(random.gen_range(0.0..STALL_DECADES)));
        if random.gen_bool(0.1) {
            // Others are to see it go on.
            self.until = self.until.max(Instant::now() + time + AFTER_STALL);
        }
        process.stand_still();
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            process.go_on();
        });
    }

    /// A process ends, and begins again much later: when the others have made images, and keep
    /// nothing of what it lacks.
    fn go_away(&mut self, random: &mut StdRng, place: usize) {
        self.summary.away += 1;
        of(&self.machines[place]).kill();
        let time = AWAY_MIN.mul_f64(random.gen_range(1.0..AWAY_TIMES));
        if random.gen_bool(0.1) {
            self.until = self.until.max(Instant::now() + time + AFTER_STALL);
        }
        let machines = Arc::clone(&self.machines);
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            let machine = of(&machines[place]);
            if machine.standing == Standing::Member {
                machine.start();
            }
        });
    }

    fn change_members(&mut self, random: &mut StdRng, place: usize) {
        let leaving = |machine: &&Mutex<Machine>| of(machine).standing == Standing::Leaving;
        let machines = &self.machines;
        if let Some(place) = machines.iter().position(|machine| leaving(&machine)) {
            return membership::ask(machines, place, random);
        }
        match random.gen_range(0..10) {
            0..4 => self.summary.joins += usize::from(membership::join(machines, random)),
            4..8 => self.summary.removals += usize::from(membership::leave(machines, random)),
            _ if of(&machines[place]).standing == Standing::Member
                && membership::voters(machines) >= VOTERS_MIN
                && membership::others_are_sure(machines, place) =>
            {
                self.summary.removals += 1;
                membership::lose_disk(machines, place, random);
            }
            _ => {}
        }
    }

    /// An image, and what is before it goes. Only where it need not wait, since nobody else would
    /// get on meanwhile.
    fn checkpoint(&self, place: usize) {
        let _ = of(&self.machines[place]).session(|node| async move {
            if clients::may_write(&node).await {
                checkpoint(&node);
            }
        });
    }

    fn define(&self, random: &mut StdRng) {
        let leading = self.machines.iter().filter(|machine| of(machine).leads());
        let Some(leader) = leading.choose(random) else { return };
        let (known, drops) = (Arc::clone(&self.known), random.gen_bool(0.5));
        let _ = of(leader).session(|node| async move {
            if !clients::may_write(&node).await {
                return;
            }
            let Some(Err(error)) = node.database().map(|db| define(&db, drops)) else { return };
            if !clients::is_expected(&error) {
                lock(&known).findings.push(format!("a definition: {error}"));
            }
        });
    }
}

fn checkpoint(node: &Node) {
    let Some(db) = node.database() else { return };
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

/// Makes an index, or drops it.
fn define(db: &Database, drops: bool) -> Result<()> {
    let table = db.table("List")?;
    match table.index("by_number") {
        Ok(index) if drops => db.drop_index(&table, index),
        Ok(_) => Ok(()),
        Err(_) => db.create_index(&table, IndexSchema::new("by_number", ["number"])).map(drop),
    }
}
