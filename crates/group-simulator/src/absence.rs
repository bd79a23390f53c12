//! On a good day, one follower hears nobody for a while, or is not heard, or both, by the whole
//! group or by the leader alone. Nobody is to notice when it comes back: the same one leads, in the
//! same term.

use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use remanent_replication::NodeId;

use crate::machine::{Machines, address};
use crate::network::Network;
use crate::views::{leader, statuses};

/// Long enough for many elections.
const ABSENCE: Duration = Duration::from_secs(5);
/// Who stays has a majority without the one that is cut off.
const VOTERS_MIN: usize = 3;

/// Cuts a follower off, and lets it come back.
///
/// # Errors
/// What has become of the leader, in words.
pub(crate) async fn pass(
    machines: &Machines,
    network: &Network,
    random: &mut StdRng,
) -> Result<(), Vec<String>> {
    let Some(before) = leader(machines) else { return Err(vec!["nobody leads".to_owned()]) };
    let voters: Vec<NodeId> =
        before.members.iter().filter(|member| member.votes).map(|member| member.id).collect();
    let followers: Vec<NodeId> = voters.iter().copied().filter(|&id| id != before.id).collect();
    let Some(&away) = followers.choose(random).filter(|_| voters.len() >= VOTERS_MIN) else {
        return Ok(());
    };
    let from_leader_alone = random.gen_bool(0.3);
    let (hears, is_heard) = [(false, false), (false, true), (true, false)][random.gen_range(0..3)];
    let mut cuts = Vec::new();
    for other in 1..=machines.len() as NodeId {
        if other != away && (other == before.id || !from_leader_alone) {
            cuts.extend((!hears).then(|| (address(other), address(away))));
            cuts.extend((!is_heard).then(|| (address(away), address(other))));
        }
    }
    network.cut(cuts);
    tokio::time::sleep(ABSENCE).await;
    network.cut(Vec::new());
    tokio::time::sleep(ABSENCE).await;
    match leader(machines) {
        Some(after) if after.id == before.id && after.term == before.term => Ok(()),
        _ => Err(vec![format!(
            "{} led in term {}, {away} was cut off (of the leader alone: {from_leader_alone}, \
             hears: {hears}, is heard: {is_heard}) and came back: {:#?}",
            before.id,
            before.term,
            statuses(machines)
        )]),
    }
}
