//! How the machines of a schedule do: what each says of itself, and who leads.
//!
//! For those who wait for something, and for those who say what is wrong.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use remanent_engine::Database;
use remanent_replication::{NodeStatus, Role};
use tokio::time::Instant;

use crate::machine::{Machine, Machines, of};

/// How long all have to agree on a good day.
pub(crate) const GOOD_DAY_MAX: Duration = Duration::from_secs(60);
pub(crate) const LOOK_AFTER: Duration = Duration::from_millis(5);

pub(crate) fn status(machine: &Mutex<Machine>) -> Option<NodeStatus> {
    of(machine).node().map(|node| node.status())
}

/// How the leader does, if there is one.
pub(crate) fn leader(machines: &Machines) -> Option<NodeStatus> {
    let mut all = machines.iter().filter_map(status);
    all.find(|status| status.role == Role::Leader)
}

/// The database of the leader, when there is one.
pub(crate) async fn leader_of(machines: &Machines) -> Result<Arc<Database>, Vec<String>> {
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
pub(crate) fn statuses(machines: &Machines) -> Vec<String> {
    let line = |machine: &Mutex<Machine>| {
        let standing = of(machine).standing;
        let failure = of(machine).node().and_then(|node| node.failure());
        let Some(status) = status(machine) else { return format!("{standing:?}, down") };
        let NodeStatus { id, role, term, last, replicated, applied, is_unsure, .. } = &status;
        let (stalled, members) = (&status.stalled, &status.members);
        let members: Vec<_> = members.iter().map(|member| (member.id, member.votes)).collect();
        format!(
            "{id}: {standing:?}, {role:?} in term {term}, last {last}, replicated {replicated}, \
             applied {applied}, unsure {is_unsure}, {stalled:?}, {failure:?}, {members:?}"
        )
    };
    machines.iter().map(line).collect()
}
