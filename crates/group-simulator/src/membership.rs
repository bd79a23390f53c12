//! Members come and go, one at a time, as their owner wants it.
//!
//! A machine with an empty disk joins; a member is let go, whether or not it runs, leads or stands
//! still; one that has lost its disk is let go and joins again. Who was let go may run on with what
//! it has. Whether the group has done what it was asked for is not always told: then it is asked
//! again, on the good day at the latest.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IteratorRandom;
use remanent_replication::{NodeId, NodeStatus, Role};
use tokio::time::Instant;

use crate::machine::{Machine, Machines, Standing, of};
use crate::views::{self, GOOD_DAY_MAX, statuses};

/// How many members there are at least: a group of two would stand when one of them had lost its
/// memory.
const MEMBERS_MIN: usize = 3;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(25);
const AGAIN_AFTER: Duration = Duration::from_millis(100);

/// The machines that are members, or are to be.
pub(crate) fn members(machines: &Machines) -> impl Iterator<Item = &Mutex<Machine>> {
    machines.iter().filter(|machine| of(machine).standing == Standing::Member)
}

/// The number of a machine that is a member and runs.
fn running(machines: &Machines, random: &mut StdRng) -> Option<NodeId> {
    let running = members(machines).filter(|machine| of(machine).node().is_some());
    running.map(|machine| of(machine).id).choose(random)
}

/// A machine that is none becomes a member, with nothing on its disk. Whether there was one.
pub(crate) fn join(machines: &Machines, random: &mut StdRng) -> bool {
    let strangers =
        machines.iter().filter(|machine| of(machine).standing == Standing::Stranger).choose(random);
    let (Some(stranger), Some(member)) = (strangers, running(machines, random)) else {
        return false;
    };
    of(stranger).lose_disk();
    of(stranger).join(member);
    true
}

/// The group is asked to let a member go. Whether one is asked for.
pub(crate) fn leave(machines: &Machines, random: &mut StdRng) -> bool {
    if members(machines).count() <= MEMBERS_MIN || voters(machines) <= MEMBERS_MIN {
        return false;
    }
    let leader = machines.iter().position(|machine| of(machine).leads());
    let is_member = |place: &usize| of(&machines[*place]).standing == Standing::Member;
    let down = (0..machines.len()).filter(|&place| of(&machines[place]).node().is_none());
    let place = match random.gen_range(0..4) {
        0 => leader.filter(is_member),
        1 => down.filter(is_member).choose(random),
        _ => (0..machines.len()).filter(is_member).choose(random),
    };
    let Some(place) = place else { return false };
    of(&machines[place]).standing = Standing::Leaving;
    ask(machines, place, random);
    true
}

/// A member loses its disk: the group is to let it go, and then it joins again. It may start as it
/// was used to before, and is to be taken for another one.
pub(crate) fn lose_disk(machines: &Machines, place: usize, random: &mut StdRng) {
    let mut machine = of(&machines[place]);
    machine.lose_disk();
    machine.has_lost_all = true;
    machine.standing = Standing::Leaving;
    if random.gen_bool(0.5) {
        machine.start();
    }
    drop(machine);
    ask(machines, place, random);
}

/// How many votes the group has at least, as far as its members know.
pub(crate) fn voters(machines: &Machines) -> usize {
    let known = members(machines).filter_map(views::status);
    let voters = known.map(|status| status.members.iter().filter(|member| member.votes).count());
    voters.filter(|&count| count > 0).min().unwrap_or(0)
}

/// Asks some member, which asks the leader, to let go who is leaving.
pub(crate) fn ask(machines: &Machines, place: usize, random: &mut StdRng) {
    let Some(asked) = machines.iter().filter(|it| of(it).node().is_some()).choose(random) else {
        return;
    };
    let (all, id) = (Arc::clone(machines), of(&machines[place]).id);
    let _ = of(asked).session(|node| async move {
        let answered = tokio::time::timeout(PATIENCE, node.ask_to_remove(id)).await;
        tracing::debug!(target: "remanent_replication", id, ?answered, "a member is to leave");
        if matches!(answered, Ok(Ok(()))) {
            left(&all, place);
        }
    });
}

/// The group has let it go. Who has nothing begins again; who would ask to join again ends.
fn left(machines: &Machines, place: usize) {
    let mut machine = of(&machines[place]);
    if machine.standing != Standing::Leaving {
        return;
    }
    machine.standing = Standing::Stranger;
    if machine.was_to_join() {
        machine.kill();
    }
    let has_lost_all = machine.has_lost_all;
    drop(machine);
    let other = machines.iter().find(|machine| of(machine).leads());
    let other = other.or_else(|| members(machines).next()).map(|machine| of(machine).id);
    if has_lost_all && let Some(other) = other {
        of(&machines[place]).join(other);
    }
}

/// Whether all machines but one have what they ever had. One that has lost its disk has that again
/// when the group has given it a vote; one that has lost its memory, when it votes.
pub(crate) fn others_are_sure(machines: &Machines, place: usize) -> bool {
    let is_sure = |machine: &Mutex<Machine>| {
        let mut machine = of(machine);
        let status = machine.node().map(|node| node.status());
        if let Some(status) = status.filter(|status| status.role != Role::Opening) {
            let votes = status.members.iter().any(|member| member.id == status.id && member.votes);
            machine.has_lost_memory &= status.is_unsure;
            machine.has_lost_all &= machine.standing != Standing::Member || !votes;
        }
        !machine.has_lost_all && !machine.has_lost_memory
    };
    // All of them are looked at.
    let unsure = machines.iter().enumerate().filter(|&(_, machine)| !is_sure(machine));
    unsure.filter(|&(other, _)| other != place).count() == 0
}

/// On the good day, all that were to leave do, and who could not join is told whom to ask.
///
/// # Errors
/// What is wrong, in words.
pub(crate) async fn settle(machines: &Machines) -> Result<(), Vec<String>> {
    let begin = Instant::now();
    let mut place = 0;
    while place < machines.len() {
        if begin.elapsed() >= GOOD_DAY_MAX {
            return Err(vec![format!("members cannot leave: {:#?}", statuses(machines))]);
        }
        tokio::time::sleep(AGAIN_AFTER).await;
        let leader = machines.iter().find(|machine| of(machine).leads());
        let Some(node) = leader.and_then(|leader| of(leader).node()) else { continue };
        let (status, id) = (node.status(), of(&machines[place]).id);
        let is_known = status.members.iter().any(|member| member.id == id);
        let (standing, was_to_join) = {
            let machine = of(&machines[place]);
            (machine.standing, machine.was_to_join())
        };
        match standing {
            Standing::Leaving if !is_known => left(machines, place),
            Standing::Leaving if node.ask_to_remove(id).await.is_ok() => left(machines, place),
            Standing::Leaving => continue,
            // It may have asked to join once more before it was told that it has left.
            Standing::Stranger if is_known && was_to_join => {
                of(&machines[place]).standing = Standing::Leaving;
                continue;
            }
            Standing::Member if was_to_join && !is_known => {
                let mut machine = of(&machines[place]);
                // It was asked twice to leave, the second time after it had joined again, and has
                // not heard of that: as long as it has what it had, it asks nobody.
                let own = machine.node().map(|node| node.status());
                let is_unaware = |own: NodeStatus| own.members.iter().any(|it| it.id == own.id);
                if own.is_some_and(is_unaware) {
                    machine.lose_disk();
                }
                machine.join(status.id);
            }
            _ => {}
        }
        place += 1;
    }
    Ok(())
}
